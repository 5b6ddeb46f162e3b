#include "time/timers.h"

#include "../queue/crew.h"
#include "naive.h"

#include <string.h>

static struct timers own, other;

/* Takes what is due, in the order given, and says so. */
static void expect_run(struct timers *any, uint64_t now, struct timer *const *expected, unsigned count) {
    struct timer *timer = timers_run(any, now), *next;
    for (unsigned i = 0; i < count; i++, timer = next) {
        EXPECT(timer == expected[i]);
        EXPECT(atom_load_rlx(&timer->place) == TIMER_TAKEN);
        next = timer->next;
        timer_done(timer);
    }
    EXPECT(timer == NULL);
}

/* ---- One thread ------------------------------------------------------------------------------------------------ */

TEST(timers_fire_in_order) {
    struct timer a, b, c;
    timer_init(&a);
    timer_init(&b);
    timer_init(&c);
    timers_init(&own, 1000);
    EXPECT(timers_next(&own) == SYS_FOREVER);
    EXPECT(timers_arm(&own, &a, 5000));
    EXPECT(!timers_arm(&own, &b, 7000));
    EXPECT(timers_arm(&own, &c, 4000));
    EXPECT_EQ(timers_next(&own), 4000);
    expect_run(&own, 3999, NULL, 0);
    expect_run(&own, 6000, (struct timer *[]){&c, &a}, 2);
    EXPECT_EQ(timers_next(&own), 7000);
    EXPECT(!timers_cancel(&a));
    EXPECT(!timers_cancel_wait(&c));
    expect_run(&own, 7000, (struct timer *[]){&b}, 1);
    EXPECT(timers_next(&own) == SYS_FOREVER);
    timers_destroy(&own);
}

TEST(timers_are_cancelled_and_armed_again) {
    struct timer a, b;
    timer_init(&a);
    timer_init(&b);
    timers_init(&own, 0);
    EXPECT(timers_cancel(&a)); /* never armed */
    timers_arm(&own, &a, 10);
    timers_arm(&own, &b, 20);
    EXPECT(timers_cancel(&a));
    EXPECT(timers_cancel(&a));
    EXPECT_EQ(timers_next(&own), 20); /* no wake-up for what is gone */
    expect_run(&own, 15, NULL, 0);
    timers_arm(&own, &a, 16);
    expect_run(&own, 100, (struct timer *[]){&a, &b}, 2);
    timers_arm(&own, &a, 17); /* late, after it was done */
    EXPECT(timers_next(&own) <= 17);
    expect_run(&own, 100, (struct timer *[]){&a}, 1);
    timers_destroy(&own);
}

TEST(timers_for_ever_never_fire) {
    struct timer a, b;
    timer_init(&a);
    timer_init(&b);
    timers_init(&own, 0);
    EXPECT(!timers_arm(&own, &a, SYS_FOREVER));
    EXPECT(timers_next(&own) == SYS_FOREVER);
    timers_arm(&own, &b, SYS_FOREVER - 1);
    expect_run(&own, SYS_FOREVER - 2, NULL, 0);
    expect_run(&own, SYS_FOREVER, (struct timer *[]){&b}, 1);
    EXPECT(timers_cancel(&a));
    timers_arm(&own, &a, SYS_FOREVER);
    EXPECT(timers_cancel_wait(&a));
    timers_destroy(&own);
}

TEST(timers_come_in_batches) {
    enum { COUNT = 3 * TIMERS_BATCH + 5 };
    static struct timer timers[COUNT];
    timers_init(&own, 0);
    for (unsigned i = 0; i < COUNT; i++) {
        timer_init(&timers[i]);
        timers_arm(&own, &timers[i], 1000 - i);
    }
    unsigned seen = 0;
    for (struct timer *timer; (timer = timers_run(&own, 1000));) {
        unsigned batch = 0;
        for (struct timer *next; timer; timer = next, batch++, seen++) {
            EXPECT(timer == &timers[COUNT - 1 - seen]);
            next = timer->next;
            timer_done(timer);
        }
        EXPECT(batch == TIMERS_BATCH || seen == COUNT);
        EXPECT(timers_next(&own) == (seen == COUNT ? SYS_FOREVER : timers[COUNT - 1 - seen].when));
    }
    EXPECT_EQ(seen, COUNT);
    timers_destroy(&own);
}

TEST(timers_periodic_is_armed_by_its_runner) {
    struct timer timer;
    timer_init(&timer);
    timers_init(&own, 0);
    timers_arm(&own, &timer, 100);
    for (uint64_t now = 100, fired = 0; fired < 10; fired++) {
        EXPECT(timers_run(&own, now) == &timer);
        now += 250; /* slow: two are missed each time */
        timers_arm(&own, &timer, timer_next_period(timer.when, 100, now));
        EXPECT(timers_run(&own, now) == NULL);
        now = timers_next(&own);
        EXPECT_EQ(now % 100, 0);
    }
    EXPECT(timers_cancel_wait(&timer));
    timers_destroy(&own);
}

TEST(timers_are_not_armed_where_all_have_left) {
    struct timers own, other;
    struct timer a, b;
    bool earlier;
    timers_init(&own, 0);
    timers_init(&other, 0);
    timer_init(&a);
    timer_init(&b);
    uint32_t moved = timers_moved(&own);
    EXPECT(timers_arm_unmoved(&own, moved, &a, 1000, &earlier) && earlier);
    timers_move(&other, &own);
    EXPECT(!timers_arm_unmoved(&own, moved, &b, 500, &earlier) && !earlier);
    EXPECT_EQ(timers_next(&own), SYS_FOREVER);
    EXPECT(timers_arm_unmoved(&own, timers_moved(&own), &b, 500, &earlier) && earlier);
    EXPECT(timers_cancel(&a) && timers_cancel(&b));
    timers_destroy(&own);
    timers_destroy(&other);
}

TEST(timers_move_to_another_worker) {
    struct timer a, b, c, d;
    timer_init(&a);
    timer_init(&b);
    timer_init(&c);
    timer_init(&d);
    timers_init(&own, 0);
    timers_init(&other, 500);
    timers_arm(&own, &a, 1000);
    timers_arm(&own, &b, 300);
    timers_arm(&own, &c, 1000);
    timers_arm(&other, &d, 600);
    EXPECT(timers_move(&other, &own));
    EXPECT(!timers_move(&other, &own));
    EXPECT(timers_next(&own) == SYS_FOREVER);
    EXPECT_EQ(timers_next(&other), 300);
    timers_destroy(&own);
    EXPECT(timers_cancel(&d));
    expect_run(&other, 5000, (struct timer *[]){&b, &a, &c}, 3);
    timers_destroy(&other);
}

/* ---- Threads: users that wait on their stacks, runners, one that moves ------------------------------------------- */

enum { USERS = 3, RUNNERS = 2, PLACES = 3 };

struct waiter {
    struct timer timer;
    uint64_t payload; /* plain: written before the arm, read by the runner */
    atom_u32 fired;
};

static struct timers places[PLACES];
static atom_u64 stress_clock;
static atom_u32 users_left;
static uint64_t stress_rounds, stress_seed;
static uint64_t cancelled_by[CREW_MAX], waited_by[CREW_MAX], run_by[CREW_MAX];

/* One wait; the waiter is gone, and its memory written over, when it returns. */
static void stress_wait(struct rng *rng, unsigned self) {
    struct waiter waiter;
    timer_init(&waiter.timer);
    atom_store_rlx(&waiter.fired, 0);
    uint64_t when = atom_load_rlx(&stress_clock) + rng_below(rng, 500);
    waiter.payload = ~when;
    timers_arm(&places[rng_below(rng, PLACES)], &waiter.timer, when);
    if (rng_below(rng, 4) == 0) { /* until it fires: it must not get lost */
        while (!atom_load_rlx(&waiter.fired))
            sched_yield();
        EXPECT(!timers_cancel_wait(&waiter.timer));
        waited_by[self]++;
    } else {
        for (unsigned i = rng_below(rng, 200); i > 0; i--)
            spin_pause();
        crew_stumble(rng, 16);
        bool in_time = timers_cancel_wait(&waiter.timer);
        EXPECT_EQ(atom_load_rlx(&waiter.fired), !in_time);
        *(in_time ? &cancelled_by[self] : &waited_by[self]) += 1;
    }
    memset(&waiter, 0xee, sizeof waiter);
    __asm__ volatile("" ::"r"(&waiter) : "memory");
}

static void stress_use(struct rng *rng, unsigned self) {
    for (uint64_t round = 0; round < stress_rounds; round++)
        stress_wait(rng, self);
    atom_sub_rel(&users_left, 1);
}

static void stress_run(struct rng *rng, unsigned self) {
    while (atom_load_acq(&users_left)) {
        uint64_t now = atom_add_rlx(&stress_clock, rng_below(rng, 100));
        struct timers *any = &places[rng_below(rng, PLACES)];
        crew_stumble(rng, 4);
        if (timers_next(any) > now) continue;
        uint64_t last = 0;
        for (struct timer *timer = timers_run(any, now), *next; timer; timer = next, run_by[self]++) {
            struct waiter *waiter = (struct waiter *)timer;
            next = timer->next;
            EXPECT(timer->when <= now && timer->when >= last);
            EXPECT(waiter->payload == ~timer->when);
            last = timer->when;
            EXPECT_EQ(atom_add_rlx(&waiter->fired, 1), 0);
            crew_stumble(rng, 256);
            timer_done(timer);
        }
    }
}

static void stress_move(struct rng *rng) {
    while (atom_load_acq(&users_left)) {
        unsigned from = rng_below(rng, PLACES), to = (from + 1 + rng_below(rng, PLACES - 1)) % PLACES;
        timers_move(&places[to], &places[from]);
        sched_yield();
    }
}

static void stress_work(unsigned self) {
    struct rng rng;
    rng_seed(&rng, stress_seed, self);
    if (self < USERS) stress_use(&rng, self);
    else if (self < USERS + RUNNERS) stress_run(&rng, self);
    else stress_move(&rng);
}

TEST_WITHIN(timers_stress, 120) {
    uint64_t cancelled = 0, waited = 0, run = 0;
    stress_seed = test_seed(20261116);
    stress_rounds = UINT64_C(50000) * test_scale();
    atom_store_rlx(&stress_clock, 1);
    atom_store_rlx(&users_left, USERS);
    for (unsigned i = 0; i < PLACES; i++)
        timers_init(&places[i], 0);
    crew_run(USERS + RUNNERS + 1, stress_work, stress_work);
    for (unsigned i = 0; i < CREW_MAX; i++) {
        cancelled += cancelled_by[i];
        waited += waited_by[i];
        run += run_by[i];
    }
    EXPECT_EQ(cancelled + waited, USERS * stress_rounds);
    EXPECT_EQ(run, waited);
    EXPECT(cancelled > 0 && waited > 0);
    for (unsigned i = 0; i < PLACES; i++) {
        EXPECT(timers_next(&places[i]) == SYS_FOREVER);
        timers_destroy(&places[i]);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
