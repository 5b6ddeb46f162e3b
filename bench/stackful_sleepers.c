/* sleepers, with stackful processes. See step_sleepers.c. */
#include "base/atom.h"
#include "base/rng.h"
#include "bench/trial.h"

#include <weft/time.h>

enum { SLEEPERS_BURST = 64 };

static uint64_t sleepers;
static atom_u64 woken;

static void sleeper(void *nanoseconds) {
    trial_must(weft_sleep((uint64_t)(uintptr_t)nanoseconds), "sleeping");
    if (atom_add_rlx(&woken, 1) + 1 < sleepers) return; /* rlx: a count */
    trial_check(sleepers);
    trial_end();
}

static void waker(void *unused) {
    struct rng rng;
    (void)unused;
    rng_seed(&rng, 1, 1);
    trial_begin();
    for (uint64_t i = 0; i < sleepers; i++) {
        trial_spawn_stackful(sleeper, (void *)(uintptr_t)rng_below(&rng, 1000000000));
        if (i % SLEEPERS_BURST == 0) weft_yield();
    }
}

static void run_sleepers(const struct bench_args *args, struct bench_result *result) {
    sleepers = args->n;
    trial_run_stackful(args, result, waker, NULL);
    bench_extra(result, "late_ms", (result->seconds - 1) * 1e3);
    bench_extra(result, "cpu_s", trial_cpu_seconds());
}
BENCH(stackful_sleepers, .name = "sleepers", .about = "processes that sleep up to 1 s; late_ms: past that second", .kind = "stackful",
      .n = 200000, .run = run_sleepers)
