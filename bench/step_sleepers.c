/* sleepers: n processes that each sleep once, a random time of up to a second. late_ms is how much more than that second all of it took,
 * cpu_s the processor time. sleepers.timers: as many messages to be sent later, armed at once; what one costs, armed and sent. */
#include "base/atom.h"
#include "base/rng.h"
#include "bench/trial.h"

#include <weft/command.h>
#include <weft/time.h>

#include <stdlib.h>

enum { SLEEPERS_BURST = 64 };

static uint64_t sleepers;
static atom_u64 woken;

static void sleeper_woken(void) {
    if (atom_add_rlx(&woken, 1) + 1 < sleepers) return; /* rlx: a count */
    trial_check(sleepers);
    trial_end();
}

static int sleeper_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events;
    static _Thread_local struct rng rng;
    if (count > 0) {
        sleeper_woken();
        weft_out_status(out, WEFT_STEP_DONE);
        return 0;
    }
    if (rng.s[0] == 0) rng_seed(&rng, 1, (uint64_t)(uintptr_t)&rng);
    uint64_t nanoseconds = rng_below(&rng, 1000000000);
    trial_must(weft_out_sleep(out, 0, nanoseconds), "going to sleep");
    weft_out_status(out, WEFT_STEP_BLOCKED);
    return 0;
}
static const weft_behavior sleeper = {.name = "sleeper", .step = sleeper_step};

struct waker {
    uint64_t spawned;
};
static int waker_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct waker *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (self->spawned == 0) trial_begin();
    for (unsigned i = 0; i < SLEEPERS_BURST && self->spawned < sleepers; i++, self->spawned++)
        trial_spawn(&sleeper, NULL, 0);
    weft_out_status(out, self->spawned < sleepers ? WEFT_STEP_CONTINUE : WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior waker = {.name = "waker", .state_size = sizeof(struct waker), .step = waker_step};

static void run_sleepers(const struct bench_args *args, struct bench_result *result) {
    sleepers = args->n;
    trial_run(args, result, &waker, NULL, 0);
    bench_extra(result, "late_ms", (result->seconds - 1) * 1e3);
    bench_extra(result, "cpu_s", trial_cpu_seconds());
}
BENCH(step_sleepers, .name = "sleepers", .about = "processes that sleep up to 1 s; late_ms: past that second", .kind = "step", .n = 200000,
      .run = run_sleepers)

/* ---- timers ------------------------------------------------------------------------------------------------------------- */

static uint64_t timers, armed_ns;

static int timers_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    uint64_t *came = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (count == 0) {
        struct rng rng;
        rng_seed(&rng, 1, 1);
        trial_begin();
        uint64_t begin = bench_now();
        for (uint64_t i = 0; i < timers; i++)
            trial_must(weft_after(UINT64_C(1000000000) + rng_below(&rng, 1000000000), weft_self(), i, NULL, 0, NULL), "arming a timer");
        armed_ns = bench_now() - begin;
        return 0;
    }
    *came += count;
    if (*came < timers) return 0;
    trial_end();
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior arming = {.name = "arming", .state_size = sizeof(uint64_t), .step = timers_step};

static void run_timers(const struct bench_args *args, struct bench_result *result) {
    timers = args->n;
    trial_run(args, result, &arming, NULL, 0);
    result->ns_op = trial_cpu_seconds() * 1e9 / (double)args->n; /* of the processor: it sleeps most of the time */
    bench_extra(result, "arm_ns", (double)armed_ns / (double)args->n);
    bench_extra(result, "late_ms", (result->seconds - 2) * 1e3);
    bench_extra(result, "cpu_s", trial_cpu_seconds());
}
BENCH(step_timers, .name = "sleepers.timers", .about = "messages sent 1 to 2 s later; ns_op: processor time of one", .kind = "step",
      .n = 1000000, .run = run_timers)

/* Armed, and cancelled before their time, as deadlines are: `armed` stay armed all the time. */
static weft_timer *pending;
static uint64_t armed;

static void arm(struct rng *rng, uint64_t i) {
    uint64_t in = UINT64_C(3600000000000) + rng_below(rng, 1000000000);
    trial_must(weft_after(in, weft_self(), i, NULL, 0, &pending[i % armed]), "arming a timer");
}

static int cancelling_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    (void)state;
    if (trial_cancelled(events, count, out)) return 0;
    struct rng rng;
    uint64_t cancelled = 0;
    rng_seed(&rng, 1, 1);
    for (uint64_t i = 0; i < armed; i++)
        arm(&rng, i);
    trial_begin();
    for (uint64_t i = armed; i < armed + timers; i++) {
        trial_must(weft_timer_cancel(pending[i % armed]), "cancelling a timer");
        cancelled++;
        arm(&rng, i);
    }
    trial_check(cancelled);
    trial_end();
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior cancelling = {.name = "cancelling", .step = cancelling_step};

static void run_cancelled(const struct bench_args *args, struct bench_result *result) {
    timers = args->n;
    armed = args->size;
    pending = calloc(armed, sizeof *pending);
    if (!pending) trial_must(WEFT_ENOMEM, "a list of timers");
    trial_run(args, result, &cancelling, NULL, 0);
    free(pending);
}
BENCH(step_cancelled, .name = "sleepers.cancelled", .about = "a message to be sent later, and cancelled; as many armed as --size says",
      .kind = "step", .n = 1000000, .size = 65536, .run = run_cancelled)
