/* The control: why <weft/errno.h> is there. Without it a compiler may keep errno's address over a weft call, and a thread-local
 * variable's. What it does is not checked, only counted: no compiler has to. That processes move is. */
#include "migrate.h"

#undef errno
#define errno (*__errno_location())

static atom_u64 rounds, stale_errno, stale_local;

/* One round in a function of its own: what it writes goes to the right place, only what it reads may not come from there. */
static __attribute__((noinline)) bool errno_kept(int mine, unsigned round, weft_pid partner) {
    errno = mine;
    migrate_hop(round, partner);
    return errno == mine;
}

static void plain_errno(void *arg) {
    int number = (int)(uintptr_t)arg;
    migrate_begin();
    uintptr_t last = victim_thread();
    for (int round = 0; !atom_load_acq(&migrate_over); round++) {
        int mine = 1000 * (number + 1) + round % 1000;
        if (!errno_kept(mine, (unsigned)round, migrate_pids[(number + 1) % MIGRATE_PROCESSES])) atom_add_rlx(&stale_errno, 1);
        atom_add_rlx(&rounds, 1);
        uintptr_t here = victim_thread();
        if (here != last) atom_add_rlx(&migrate_moves, 1);
        last = here;
    }
    atom_add_rel(&migrate_done, 1);
}

static _Thread_local uintptr_t whose;
static __attribute__((noinline)) bool local_is_stale(uintptr_t here, unsigned round, weft_pid partner) {
    whose = here;
    migrate_hop(round, partner);
    return victim_thread() != here && whose == here;
}
static void plain_local(void *arg) {
    int number = (int)(uintptr_t)arg;
    migrate_begin();
    for (unsigned round = 0; !atom_load_acq(&migrate_over); round++) {
        uintptr_t here = victim_thread();
        if (local_is_stale(here, round, migrate_pids[(number + 1) % MIGRATE_PROCESSES])) atom_add_rlx(&stale_local, 1);
        atom_add_rlx(&rounds, 1);
        if (here != victim_thread()) atom_add_rlx(&migrate_moves, 1);
    }
    atom_add_rel(&migrate_done, 1);
}

/* Only a process that has moved reads what is another thread's. One worker moves too: to another thread, when its own gets no time. */
static void expect_moved(uint64_t stale) { EXPECT(stale <= atom_load_rlx(&migrate_moves)); }

static void count_errno(void) {
    atom_store_rlx(&rounds, 0);
    atom_store_rlx(&stale_errno, 0);
    migrate_run(plain_errno);
    printf("errno without <weft/errno.h>: wrong %lu times in %lu rounds\n", (unsigned long)atom_load_rlx(&stale_errno),
           (unsigned long)atom_load_rlx(&rounds));
    expect_moved(atom_load_rlx(&stale_errno));
}
TEST(migrate_control_errno) {
    if (ANNOTATE_THREAD) return; /* it would see the race with the thread whose variable that is, and be right */
    rt_body = count_errno;
    rt_one("ring", 4);
    rt_one("deque", 2);
    rt_one("ring", 1);
}

static void count_local(void) {
    atom_store_rlx(&rounds, 0);
    atom_store_rlx(&stale_local, 0);
    migrate_run(plain_local);
    printf("a thread-local variable by its name: the former thread's %lu times in %lu rounds\n", (unsigned long)atom_load_rlx(&stale_local),
           (unsigned long)atom_load_rlx(&rounds));
    expect_moved(atom_load_rlx(&stale_local));
}
TEST(migrate_control_thread_local) {
    if (ANNOTATE_THREAD) return; /* as above */
    rt_body = count_local;
    rt_one("ring", 4);
    rt_one("deque", 2);
    rt_one("ring", 1);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
