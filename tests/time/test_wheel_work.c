/* What a timer costs does not grow with the number of timers: counted, not measured. This file is compiled so that every branch of it reports
 * itself (cmake/tests.cmake), with the wheel's source in it, so a loop that goes through many timers cannot hide. */
#include "test.h"

#include "base/rng.h"

/* The library has the wheel too, and this is another one. */
#define wheel_init work_init
#define wheel_add work_add
#define wheel_remove work_remove
#define wheel_bound work_bound
#define wheel_pop work_pop
#define wheel_move work_move
#include "time/wheel.c"

#include <stdio.h>
#include <stdlib.h>

#if defined(__clang__)
#define NOT_COUNTED __attribute__((no_sanitize("coverage")))
#else
#define NOT_COUNTED __attribute__((no_sanitize_coverage))
#endif

static volatile uint64_t steps; /* the calls that count are put in when the compiler has done with everything else */
static volatile bool counting;
void __sanitizer_cov_trace_pc(void);
NOT_COUNTED void __sanitizer_cov_trace_pc(void) { steps += counting; }

/* ---- one kind of operation ---------------------------------------------------------------------------------------- */

struct work {
    uint64_t all, most; /* of all operations; of one */
};
static uint64_t begun;
static void work_begin(void) {
    begun = steps;
    counting = true;
}
static void work_end(struct work *work) {
    counting = false;
    uint64_t took = steps - begun;
    work->all += took;
    if (took > work->most) work->most = took;
}

static struct wheel wheel;

static void arm(struct timer *timer, uint64_t when, struct work *work) {
    timer->when = when;
    work_begin();
    wheel_add(&wheel, timer);
    work_end(work);
}
static void cancel(struct timer *timer, struct work *work) {
    work_begin();
    wheel_remove(&wheel, timer);
    work_end(work);
}
/* As timers_run does, but for the batches: with as many moves at a time as it likes. */
static struct timer *fire(uint64_t now, struct work *work) {
    unsigned moves = UINT32_MAX;
    work_begin();
    struct timer *timer = wheel_pop(&wheel, now, &moves);
    work_end(work);
    return timer;
}
static uint64_t next(struct work *work) {
    work_begin();
    uint64_t bound = wheel_bound(&wheel);
    work_end(work);
    return bound;
}

/* ---- so many timers ------------------------------------------------------------------------------------------------- */

enum { FEW = 1000, MANY = 100000, VERY_MANY = 1000000 };
static const unsigned sizes[] = {FEW, MANY, VERY_MANY};
enum { SIZES = sizeof sizes / sizeof sizes[0] };
static struct timer *timers;
static struct rng rng;

static void set_up(void) {
    if (!timers) timers = calloc(VERY_MANY, sizeof *timers);
    EXPECT(timers);
    rng_seed(&rng, test_seed(1), 0);
    wheel_init(&wheel, 0);
}
static uint64_t within(uint64_t span) { return rng_next(&rng) % span; }
static double each(const struct work *work, unsigned n) { return (double)work->all / n; }

/* Armed for any time within an hour, cancelled in another order: as most deadlines are. */
TEST_WITHIN(wheel_work_of_arming_and_cancelling, 120) {
    uint64_t most[SIZES];
    for (unsigned i = 0; i < SIZES; i++) {
        struct work arming = {0}, cancelling = {0};
        unsigned n = sizes[i];
        set_up();
        for (unsigned k = 0; k < n; k++)
            arm(&timers[k], within(UINT64_C(3600000000000)), &arming);
        for (uint64_t k = 0; k < n; k++)
            cancel(&timers[k * 7919 % n], &cancelling);
        EXPECT_EQ(wheel.levels, 0);
        printf("%7u timers: arming %.1f steps (at most %lu), cancelling %.1f (%lu)\n", n, each(&arming, n), (unsigned long)arming.most,
               each(&cancelling, n), (unsigned long)cancelling.most);
        most[i] = arming.most + cancelling.most;
        EXPECT(most[i] > 0 && most[i] <= most[0] + 2); /* not one of them, ever */
    }
}

/* All of them fire, each at its time. */
static double firing(unsigned n, uint64_t span) {
    struct work arming = {0}, pops = {0}, looks = {0};
    uint64_t last = 0, now;
    unsigned fired = 0;
    set_up();
    for (unsigned k = 0; k < n; k++)
        arm(&timers[k], span ? within(span) : k, &arming);
    while ((now = next(&looks)) != SYS_FOREVER)
        for (struct timer *timer; (timer = fire(now, &pops)); fired++, last = timer->when)
            EXPECT(timer->when >= last);
    EXPECT_EQ(fired, n);
    printf("%7u timers within %.3f s: %.1f steps to fire one, %.1f to look for the next\n", n, (double)span / 1e9, each(&pops, n),
           each(&looks, n));
    return each(&pops, n) + each(&looks, n);
}
/* A thousand times as many cost so many times as much each, at most. */
static void fire_all(uint64_t span, double growth) {
    double few = firing(FEW, span);
    EXPECT(few > 0);
    for (unsigned i = 1; i < SIZES; i++)
        EXPECT(firing(sizes[i], span) <= growth * few);
}
TEST_WITHIN(wheel_work_of_firing_in_the_order_of_arming, 120) { fire_all(0, 1.25); }
/* Where they lie closer together they go through more of the levels, once each: there are so many levels and no more. */
TEST_WITHIN(wheel_work_of_firing_within_a_second, 120) { fire_all(UINT64_C(1000000000), 2.5); }
TEST_WITHIN(wheel_work_of_firing_within_an_hour, 120) { fire_all(UINT64_C(3600000000000), 2.5); }

int main(int argc, char **argv) { return test_main(argc, argv); }
