/* parked and unborn, with stackful processes: what a million of them cost while they wait, and before they have run. */
#include "base/atom.h"
#include "bench/trial.h"

enum { PARKED_BURST = 32 };

static uint64_t processes;
static atom_u64 parked; /* how many have had their message */

static void sitter(void *unused) {
    uint64_t tag;
    (void)unused;
    for (bool first = true; trial_recv(&tag); first = false)
        if (first && atom_add_rlx(&parked, 1) + 1 == processes) trial_end(); /* rlx: a count */
}

static void usher(void *unused) {
    (void)unused;
    trial_begin();
    for (uint64_t i = 0; i < processes; i++) {
        trial_send(trial_spawn_stackful(sitter, NULL), i);
        if (i % PARKED_BURST == 0) weft_yield();
    }
}

static void run_parked(const struct bench_args *args, struct bench_result *result) {
    processes = args->n;
    trial_open(args, result, "stackful");
    uint64_t before = trial_rss();
    trial_spawn_stackful(usher, NULL);
    trial_wait();
    uint64_t after = trial_rss();
    trial_close(result);
    bench_extra(result, "bytes_each", ((double)after - (double)before) / (double)args->n);
}
BENCH(stackful_parked, .name = "parked", .about = "processes that wait; bytes_each: resident memory of one", .kind = "stackful",
      .n = 1000000, .run = run_parked)

static uint64_t unborn_bytes;

static void unborn_spawner(void *unused) {
    (void)unused;
    uint64_t before = trial_rss();
    trial_begin();
    for (uint64_t i = 0; i < processes; i++)
        trial_spawn_stackful(sitter, NULL);
    unborn_bytes = trial_rss() - before;
    trial_end();
}

static void run_unborn(const struct bench_args *args, struct bench_result *result) {
    struct bench_args one = *args;
    one.workers = 1; /* no other worker may run them */
    processes = args->n;
    trial_run_stackful(&one, result, unborn_spawner, NULL);
    bench_extra(result, "bytes_each", (double)unborn_bytes / (double)args->n);
}
BENCH(stackful_unborn, .name = "parked.unborn", .about = "spawned and not yet run; bytes_each: resident memory of one", .kind = "stackful",
      .n = 1000000, .run = run_unborn)
