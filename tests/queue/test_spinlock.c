/* The spinlock: one holder at a time, and every taker gets it. */
#include "queue/spinlock.h"

#include "crew.h"

static struct spinlock lock;

TEST(spinlock_try_take_drop) {
    spinlock_init(&lock);
    EXPECT(spinlock_try(&lock));
    EXPECT(!spinlock_try(&lock));
    spinlock_drop(&lock);
    spinlock_take(&lock);
    EXPECT(!spinlock_try(&lock));
    spinlock_drop(&lock);
    EXPECT(spinlock_try(&lock));
    spinlock_drop(&lock);
}

enum { THREADS = 4 };
static unsigned rounds;
static uint64_t seed, inside, total; /* the last two: plain, guarded by the lock */

static void hammers(unsigned self) {
    struct rng rng;
    rng_seed(&rng, seed, self);
    for (unsigned i = 0; i < rounds; i++) {
        if (rng_below(&rng, 4) || !spinlock_try(&lock)) spinlock_take(&lock);
        EXPECT_EQ(inside, 0);
        inside = 1;
        total++;
        crew_stumble(&rng, 64); /* a holder that loses its core: the others give up theirs */
        inside = 0;
        spinlock_drop(&lock);
    }
}

TEST(spinlock_stress) {
    seed = test_seed(1);
    rounds = 100000 * test_scale();
    spinlock_init(&lock);
    crew_run(THREADS, hammers, hammers);
    EXPECT_EQ(total, (uint64_t)THREADS * rounds);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
