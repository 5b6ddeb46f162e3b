/* The lock: one holder at a time, and every taker gets it. */
#include "base/rng.h"
#include "queue/lock.h"
#include "scripted.h"
#include "test.h"

#include <unistd.h>

static struct lock lock;

TEST(lock_try_take_drop) {
    lock_init(&lock);
    EXPECT(lock_try(&lock));
    EXPECT(!lock_try(&lock));
    lock_drop(&lock);
    lock_take(&lock);
    EXPECT(!lock_try(&lock));
    lock_drop(&lock);
    EXPECT(lock_try(&lock));
    lock_drop(&lock);
}

static void *takes(void *arg) {
    lock_take(&lock);
    ++*(int *)arg;
    lock_drop(&lock);
    return 0;
}

TEST(lock_sleeper_is_woken) {
    lock_init(&lock);
    int plain = 0;
    sys_thread threads[2];
    lock_take(&lock);
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(sys->thread_start(&threads[i], takes, &plain), 0);
    while (atom_load_rlx(&lock.word) != LOCK_ASLEEP)
        usleep(100);
    usleep(1000); /* likely asleep by now */
    EXPECT_EQ(plain, 0);
    lock_drop(&lock);
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(sys->thread_join(threads[i]), 0);
    EXPECT_EQ(plain, 2);
    EXPECT_EQ(atom_load_rlx(&lock.word), LOCK_FREE);
}

TEST(lock_uncontended_makes_no_system_call) {
    sys_scripted_install();
    lock_init(&lock);
    for (int i = 0; i < 1000; i++) {
        lock_take(&lock);
        lock_drop(&lock);
    }
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.futex_wait), 0);
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.futex_wake), 0);
}

enum { THREADS = 4 };
static unsigned rounds;
static uint64_t seed, inside, total; /* plain, guarded by the lock */

static void *hammers(void *arg) {
    unsigned me = *(unsigned *)arg;
    struct rng rng;
    rng_seed(&rng, seed, me);
    for (unsigned i = 0; i < rounds; i++) {
        if (rng_below(&rng, 4) || !lock_try(&lock)) lock_take(&lock);
        EXPECT_EQ(inside, 0);
        inside = 1;
        total++;
        if (rng_below(&rng, 64) == 0) sys->yield(); /* a holder that loses its core: the others go to sleep */
        inside = 0;
        lock_drop(&lock);
    }
    return 0;
}

static void hammer(void) {
    seed = test_seed(1);
    lock_init(&lock);
    unsigned names[THREADS];
    sys_thread threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        names[i] = i;
        EXPECT_EQ(sys->thread_start(&threads[i], hammers, &names[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        EXPECT_EQ(sys->thread_join(threads[i]), 0);
    EXPECT_EQ(total, (uint64_t)THREADS * rounds);
}

TEST(lock_stress) {
    rounds = 100000 * test_scale();
    hammer();
}

TEST(lock_stress_with_false_wakeups) {
    rounds = 20000 * test_scale();
    sys_scripted_install();
    sys_script.futex_eintr_every = 3;
    sys_script.futex_spurious_every = 5;
    hammer();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
