/* The scripted twin: every fault it can play, that it counts, and that it forgets. */
#include "queue/parker.h"
#include "scripted.h"
#include "test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { MS = 1000 * 1000 };
#define SECOND (UINT64_C(1000) * MS)

TEST(scripted_is_the_real_world_without_a_script) {
    sys_scripted_install();
    EXPECT(sys != &sys_linux);
    uint64_t before = sys_linux.now(), now = sys->now(), after = sys_linux.now();
    EXPECT(before <= now && now <= after);
    void *memory = sys->alloc(100);
    EXPECT(memory && sys_scripted_live() == 1);
    sys->free(memory, 100);
    EXPECT_EQ(sys_scripted_live(), 0);
    EXPECT(sys->cpus() == sys_linux.cpus());
    sys_scripted_reset();
    EXPECT(sys == &sys_linux);
}

TEST(scripted_fails_one_allocation) {
    sys_scripted_install();
    sys_script.alloc_fail_at = 2;
    void *blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = sys->alloc(8);
    EXPECT(blocks[0] && !blocks[1] && blocks[2] && blocks[3]);
    EXPECT_EQ(sys_scripted_live(), 3);
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.alloc), 4);
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.alloc_failed), 1);
    for (int i = 0; i < 4; i++)
        sys->free(blocks[i], 8);
    EXPECT_EQ(sys_scripted_live(), 0);
    sys_scripted_recount();
    void *first = sys->alloc(8);
    EXPECT(first && !sys->alloc(8)); /* counted anew */
    sys->free(first, 8);
}

TEST(scripted_fails_all_allocations_from_one_on) {
    sys_scripted_install();
    sys_script.alloc_fail_from = 3;
    void *one = sys->alloc(8), *two = sys->alloc(8);
    EXPECT(one && two);
    for (int i = 0; i < 5; i++)
        EXPECT(!sys->alloc(8));
    sys->free(one, 8);
    sys->free(two, 8);
    EXPECT_EQ(sys_scripted_live(), 0);
}

static void *nothing(void *arg) { return arg; }

TEST(scripted_refuses_threads) {
    sys_scripted_install();
    sys_script.threads_limited = true;
    sys_script.threads_allowed = 1;
    sys_thread one, two;
    EXPECT_EQ(sys->thread_start(&one, nothing, NULL), 0);
    EXPECT_EQ(sys->thread_start(&two, nothing, NULL), -EAGAIN);
    EXPECT_EQ(sys->thread_join(one), 0);
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.thread_start), 2);
}

TEST(scripted_clock_jumps_and_stands_still) {
    sys_scripted_install();
    uint64_t start = sys->now();
    sys_scripted_jump((int64_t)(100 * SECOND));
    EXPECT(sys->now() >= start + 100 * SECOND);
    sys_scripted_jump(-(int64_t)(200 * SECOND));
    EXPECT(sys->now() <= start - 90 * SECOND); /* even backwards, which the real one never does */
    sys_scripted_freeze();
    uint64_t frozen = sys->now();
    usleep(2000);
    EXPECT(sys->now() == frozen);
    sys_scripted_jump(5);
    EXPECT(sys->now() == frozen + 5);
    sys_scripted_unfreeze();
    uint64_t going = sys->now();
    EXPECT(going >= frozen + 5 && going < frozen + 10 * SECOND);
    usleep(2000);
    EXPECT(sys->now() > going);
}

static struct parker parker;
static int parked;
static void *parks(void *arg) {
    parked = parker_park(&parker, *(uint64_t *)arg);
    return NULL;
}

TEST(scripted_clock_moves_sleepers) {
    sys_scripted_install();
    sys_scripted_freeze();
    parker_init(&parker);
    uint64_t deadline = sys->now() + 3600 * SECOND;
    sys_thread thread;
    EXPECT_EQ(sys->thread_start(&thread, parks, &deadline), 0);
    usleep(5000);
    sys_scripted_jump((int64_t)(3601 * SECOND)); /* an hour passes in no time */
    EXPECT_EQ(sys->thread_join(thread), 0);
    EXPECT_EQ(parked, -ETIMEDOUT);
    EXPECT_EQ(parker_park(&parker, sys->now()), -ETIMEDOUT);
}

TEST(scripted_futex_returns_early) {
    sys_scripted_install();
    atom_u32 word;
    atom_store_rlx(&word, 7);
    sys_script.futex_eintr_every = 2;
    EXPECT_EQ(sys->futex_wait(&word, 7, 0), -ETIMEDOUT);
    EXPECT_EQ(sys->futex_wait(&word, 7, SYS_FOREVER), -EINTR);
    sys_script.futex_eintr_every = 0;
    sys_script.futex_spurious_every = 1;
    EXPECT_EQ(sys->futex_wait(&word, 7, SYS_FOREVER), 0);
    sys_script.futex_spurious_every = 0;
    EXPECT_EQ(sys->futex_wait(&word, 8, SYS_FOREVER), -EAGAIN);
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.futex_wait), 4);
}

TEST(scripted_membarrier_refused) {
    bool at_load = atom_load_rlx(&atom_fence_light_is_full); /* set up when the program was loaded; an emulator may refuse, too */
    sys_scripted_install();
    sys_script.fence_refused = true;
    sys_fence_setup();
    EXPECT(atom_load_rlx(&atom_fence_light_is_full));
    sys_fence_heavy();
    atom_fence_light();
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.fence_heavy), 1);
    sys_scripted_reset();
    EXPECT(atom_load_rlx(&atom_fence_light_is_full) == at_load);
}

TEST(scripted_random_repeats_and_fails) {
    sys_scripted_install();
    unsigned char a[33], b[33], c[33];
    sys_script.random_fixed = true;
    sys_script.random_seed = 9;
    EXPECT_EQ(sys->random(a, sizeof a), 0);
    EXPECT_EQ(sys->random(b, sizeof b), 0);
    EXPECT(memcmp(a, b, sizeof a) != 0); /* a stream, not one value */
    sys_scripted_install();
    sys_script.random_fixed = true;
    sys_script.random_seed = 9;
    EXPECT_EQ(sys->random(c, sizeof c), 0);
    EXPECT(memcmp(a, c, sizeof a) == 0);
    sys_script.random_error = -EIO;
    EXPECT_EQ(sys->random(c, sizeof c), -EIO);
}

TEST(scripted_cpus) {
    sys_scripted_install();
    sys_script.cpus = 17;
    EXPECT_EQ(sys->cpus(), 17);
    sys_scripted_reset();
    EXPECT(sys->cpus() == sys_linux.cpus());
}

int main(int argc, char **argv) { return test_main(argc, argv); }
