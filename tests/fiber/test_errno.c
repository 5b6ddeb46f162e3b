/* errno stays with the process, whatever thread it goes on on: with <weft/errno.h>, at any optimisation (test_errno_o3.c). */
#include "migrate.h"

#define CHECK_ERRNO(value)                                                                                                                 \
    do {                                                                                                                                   \
        int seen = errno;                                                                                                                  \
        if (seen != (value)) test_fail(__FILE__, __LINE__, "errno is %d, it was %d", seen, value);                                         \
    } while (0)

static void keeps_errno(void *arg) {
    int number = (int)(uintptr_t)arg;
    migrate_begin();
    uintptr_t last = victim_thread();
    EXPECT_EQ(errno, 0); /* a new process begins with none */
    for (int round = 0; !atom_load_acq(&migrate_over); round++) {
        int mine = 1000 * (number + 1) + round % 1000;
        errno = mine;
        migrate_hop((unsigned)round, migrate_pids[(number + 1) % MIGRATE_PROCESSES]);
        CHECK_ERRNO(mine);
        errno = mine + 1; /* through the address just used, and once more after a move */
        weft_yield();
        CHECK_ERRNO(mine + 1);
        if (round % 4 == 0) {
            EXPECT_EQ(close(-1), -1);
            migrate_hop((unsigned)round + 4, migrate_pids[(number + 1) % MIGRATE_PROCESSES]);
            CHECK_ERRNO(EBADF);
        }
        uintptr_t here = victim_thread();
        if (here != last) atom_add_rlx(&migrate_moves, 1);
        last = here;
    }
    atom_add_rel(&migrate_done, 1);
}
static void keep(void) { migrate_run(keeps_errno); }
TEST_WITHIN(errno_stays_with_the_process, 120) { rt_each(keep); }

/* Thread-local variables are the thread's, read anew after each call. */
static _Thread_local uintptr_t whose;
static __attribute__((noinline)) uintptr_t *whose_place(void) {
    __asm__ volatile("");
    return &whose;
}
static void sees_its_thread(void *arg) {
    int number = (int)(uintptr_t)arg;
    migrate_begin();
    uintptr_t last = 0;
    for (unsigned round = 0; !atom_load_acq(&migrate_over); round++) {
        uintptr_t here = victim_thread(), marked = *whose_place();
        if (marked == 0) *whose_place() = here; /* the first process here */
        else if (marked != here) test_fail(__FILE__, __LINE__, "a variable of another thread");
        migrate_hop(round, migrate_pids[(number + 1) % MIGRATE_PROCESSES]);
        if (here != last) atom_add_rlx(&migrate_moves, 1);
        last = here;
    }
    atom_add_rel(&migrate_done, 1);
}
static void see(void) { migrate_run(sees_its_thread); }
TEST_WITHIN(errno_and_other_thread_locals, 120) { rt_each(see); }

/* The first process on a thread finds errno as it would in a program's beginning, whatever failed there before. */
static atom_u64 clean;
static void begins(void *arg) {
    (void)arg;
    EXPECT_EQ(errno, 0);
    EXPECT_EQ(close(-1), -1);
    atom_add_rel(&clean, 1);
}
static void begin_many(void) {
    atom_store_rlx(&clean, 0);
    for (unsigned i = 0; i < 500; i++)
        victim_spawn(begins, NULL, 0, NULL);
    rt_wait(&clean, 500);
}
TEST(errno_is_0_at_first) { rt_each(begin_many); }

int main(int argc, char **argv) { return test_main(argc, argv); }
