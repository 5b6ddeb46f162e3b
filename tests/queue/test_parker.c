/* The parker: token rules, deadlines, early returns of the futex, and a hammer that ends only if no wake-up is lost. */
#include "base/rng.h"
#include "queue/parker.h"
#include "scripted.h"
#include "test.h"

#include <errno.h>
#include <unistd.h>

enum { MS = 1000 * 1000 };

static struct parker parker;

TEST(parker_token_before_the_park) {
    parker_init(&parker);
    parker_unpark(&parker);
    EXPECT_EQ(parker_park(&parker, SYS_FOREVER), 0);
    EXPECT_EQ(parker_park(&parker, 0), -ETIMEDOUT); /* it was taken */
}

TEST(parker_tokens_melt_into_one) {
    parker_init(&parker);
    for (int i = 0; i < 5; i++)
        parker_unpark(&parker);
    EXPECT_EQ(parker_park(&parker, SYS_FOREVER), 0);
    EXPECT_EQ(parker_park(&parker, sys->now() + MS), -ETIMEDOUT);
}

TEST(parker_deadline) {
    parker_init(&parker);
    uint64_t deadline = sys->now() + 3 * MS;
    EXPECT_EQ(parker_park(&parker, deadline), -ETIMEDOUT);
    EXPECT(sys->now() >= deadline);
    parker_unpark(&parker); /* the word is not left asleep (P4) */
    EXPECT_EQ(parker_park(&parker, sys->now() + 1000 * MS), 0);
    parker_unpark(&parker);
    EXPECT_EQ(parker_park(&parker, 0), 0); /* a token counts even when the deadline has passed */
}

static void *unparks(void *arg) {
    usleep(*(unsigned *)arg);
    parker_unpark(&parker);
    return NULL;
}

TEST(parker_wakes_a_sleeper) {
    parker_init(&parker);
    unsigned delay = 5000;
    sys_thread thread;
    EXPECT_EQ(sys->thread_start(&thread, unparks, &delay), 0);
    EXPECT_EQ(parker_park(&parker, SYS_FOREVER), 0);
    EXPECT_EQ(sys->thread_join(thread), 0);
}

TEST(parker_sleeps_on_after_signals_and_false_wakeups) {
    sys_scripted_install();
    sys_script.futex_eintr_every = 2;
    sys_script.futex_spurious_every = 3;
    parker_init(&parker);
    unsigned delay = 3000;
    sys_thread thread;
    EXPECT_EQ(sys->thread_start(&thread, unparks, &delay), 0);
    EXPECT_EQ(parker_park(&parker, SYS_FOREVER), 0);
    EXPECT_EQ(sys->thread_join(thread), 0);
    EXPECT_EQ(parker_park(&parker, sys->now() + MS), -ETIMEDOUT);
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.futex_wake) <= 1, 1);
}

/* Two threads wake each other in turn; a lost wake-up leaves both asleep. */
static struct parker beds[2];
static unsigned rounds;
static uint64_t plain; /* handed over with the token, without any other order */

static void *turns(void *arg) {
    unsigned me = *(unsigned *)arg;
    for (unsigned i = 0; i < rounds; i++) {
        if (me == 0 || i > 0) EXPECT_EQ(parker_park(&beds[me], SYS_FOREVER), 0);
        EXPECT_EQ(plain % 2, me == 0);
        plain++;
        parker_unpark(&beds[!me]);
    }
    return NULL;
}

TEST(parker_stress_turns) {
    rounds = 20000 * test_scale();
    parker_init(&beds[0]);
    parker_init(&beds[1]);
    unsigned names[2] = {0, 1};
    sys_thread threads[2];
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(sys->thread_start(&threads[i], turns, &names[i]), 0);
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(sys->thread_join(threads[i]), 0);
    EXPECT_EQ(plain, 2 * rounds);
}

/* Several unparkers bring numbered items; the owner, which also lets deadlines pass, must find every one of them after
 * the last token. Brought = taken. */
enum { BRINGERS = 3 };
static struct { atom_u64 brought; } boxes[BRINGERS];
static uint64_t seed;

static void *brings(void *arg) {
    unsigned me = *(unsigned *)arg;
    struct rng rng;
    rng_seed(&rng, seed, me);
    for (unsigned i = 0; i < rounds; i++) {
        atom_add_rlx(&boxes[me].brought, 1); /* rlx: the token carries it over */
        parker_unpark(&parker);
        if (rng_below(&rng, 8) == 0) usleep(rng_below(&rng, 50));
    }
    return NULL;
}

TEST(parker_stress_many_unparkers) {
    rounds = 5000 * test_scale();
    seed = test_seed(1);
    struct rng rng;
    rng_seed(&rng, seed, BRINGERS);
    parker_init(&parker);
    unsigned names[BRINGERS];
    sys_thread threads[BRINGERS];
    for (unsigned i = 0; i < BRINGERS; i++) {
        names[i] = i;
        EXPECT_EQ(sys->thread_start(&threads[i], brings, &names[i]), 0);
    }
    uint64_t taken = 0, timeouts = 0;
    while (taken < (uint64_t)BRINGERS * rounds) {
        uint64_t deadline = rng_below(&rng, 2) ? SYS_FOREVER : sys->now() + rng_below(&rng, 100) * 1000;
        int error = parker_park(&parker, deadline);
        EXPECT(error == 0 || error == -ETIMEDOUT);
        timeouts += error != 0;
        uint64_t seen = 0;
        for (unsigned i = 0; i < BRINGERS; i++)
            seen += atom_load_rlx(&boxes[i].brought);
        EXPECT(seen >= taken);
        taken = seen;
    }
    for (unsigned i = 0; i < BRINGERS; i++)
        EXPECT_EQ(sys->thread_join(threads[i]), 0);
    EXPECT_EQ(taken, (uint64_t)BRINGERS * rounds);
    (void)timeouts;
}

/* An owner that sleeps elsewhere is told of, once, and finds its token when it comes back. */
TEST(parker_away_and_back) {
    struct parker one;
    parker_init(&one);
    EXPECT(parker_away(&one));
    EXPECT(!parker_back(&one)); /* no unpark has come */
    EXPECT(parker_away(&one));
    EXPECT(parker_unpark(&one));  /* it is away */
    EXPECT(!parker_unpark(&one)); /* and has been told */
    EXPECT(parker_back(&one));
    EXPECT(!parker_back(&one));
    EXPECT(!parker_unpark(&one));
    EXPECT(!parker_away(&one)); /* takes the token instead */
    EXPECT(parker_away(&one));
    EXPECT(!parker_back(&one));
}

int main(int argc, char **argv) { return test_main(argc, argv); }
