/* `weft bench time`: timers without processes.
 *
 *   time.fire      ns_op: n timers armed for random moments of the next second, and fired; --n says how many at a time
 *                  arm_ns, fire_ns: its two halves
 *   time.cancel    ns_op: one armed and cancelled, while a million others are armed */
#include "base/rng.h"
#include "bench/bench.h"
#include "time/timers.h"

#include <stdio.h>
#include <stdlib.h>

static struct timers timers;

#define SECOND UINT64_C(1000000000)
#define START (1000 * SECOND) /* the clock's, when a round begins */

/* Each timer on a page of its own and not at the same offset, as on the stacks of so many processes; or side by side when
 * there would be too many pages. */
static unsigned char *memory;
static size_t stride;

static struct timer *timer_at(uint64_t i) { return (struct timer *)(void *)(memory + i * stride); }

static bool make_timers(uint64_t count, struct bench_result *result) {
    stride = count <= 300000 ? 4096 + 64 : 64;
    memory = aligned_alloc(64, count * stride);
    for (uint64_t i = 0; memory && i < count; i++)
        timer_init(timer_at(i));
    if (!memory) snprintf(result->skipped, sizeof result->skipped, "not enough memory");
    return memory;
}

/* One batch; returns how many there were. */
static uint64_t fire(uint64_t now) {
    uint64_t count = 0;
    for (struct timer *timer = timers_run(&timers, now), *next; timer; timer = next, count++) {
        next = timer->next;
        timer_done(timer);
    }
    return count;
}

/* Returns what the arming took. */
static double fire_round(struct rng *rng, uint64_t n) {
    timers_init(&timers, START);
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < n; i++)
        timers_arm(&timers, timer_at(i), START + rng_below(rng, (uint32_t)SECOND));
    double seconds = bench_since(start);
    for (uint64_t fired = 0, now = START; fired < n; now += 100000) /* looks every 100 us */
        while (timers_next(&timers) <= now)
            fired += fire(now);
    timers_destroy(&timers);
    return seconds;
}

static void run_fire(const struct bench_args *args, struct bench_result *result) {
    struct rng rng;
    double arm = 0;
    uint64_t rounds = args->n < 200000 ? 200000 / args->n : 1;
    rng_seed(&rng, 1, 0);
    if (!make_timers(args->n, result)) return;
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < rounds; i++)
        arm += fire_round(&rng, args->n);
    double ns = 1e9 / (double)(args->n * rounds), seconds = bench_since(start);
    result->seconds = seconds / (double)rounds;
    bench_extra(result, "arm_ns", arm * ns);
    bench_extra(result, "fire_ns", (seconds - arm) * ns);
    free(memory);
}
BENCH(time_fire, .name = "time.fire", .about = "timers armed for random moments and fired", .n = 200000, .run = run_fire)

static void run_cancel(const struct bench_args *args, struct bench_result *result) {
    enum { ARMED = 1000000 };
    struct rng rng;
    struct timer timer;
    rng_seed(&rng, 1, 0);
    if (!make_timers(ARMED, result)) return;
    timers_init(&timers, START);
    for (uint64_t i = 0; i < ARMED; i++)
        timers_arm(&timers, timer_at(i), START + rng_next(&rng) % (60 * SECOND));
    timer_init(&timer);
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < args->n; i++) {
        timers_arm(&timers, &timer, START + 30 * SECOND + i);
        bench_keep(timers_cancel(&timer));
    }
    result->seconds = bench_since(start);
    free(memory); /* with the timers that are armed in it: nothing looks at them any more */
}
BENCH(time_cancel, .name = "time.cancel", .about = "a timer armed and cancelled while a million others are armed", .n = 10000000,
      .run = run_cancel)
