/* queue.idle: what every submission pays to learn that no worker sleeps, and what a worker pays to go to sleep.
 *
 * The full_ keys are the same with full fences on both sides, as where the kernel refuses membarrier: the choice
 * between a cheap submission and a cheap sleep. While the worker falls asleep, a second thread keeps the other CPU
 * busy, so that membarrier has a thread to interrupt. */
#include "queue/idle.h"
#include "bench/bench.h"
#include "sys/sys.h"

enum { SLEEPS = 20000 };

static struct idle idle;
static atom_bool ended;

static double submit_ns(uint64_t n) {
    idle_init(&idle, 64);
    atom_u64 work; /* a plain store, as the owner of a run queue makes it */
    atom_store_rlx(&work, 0);
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < n; i++) {
        atom_store_rel(&work, i);
        bench_keep(idle_wake(&idle));
    }
    return bench_since(start) * 1e9 / (double)n;
}

static void sleep_and_leave(unsigned self, void *arg) {
    double *ns = arg;
    if (self == 1) {
        for (uint64_t i = 0; !atom_load_rlx(&ended); i++)
            bench_keep(i);
        return;
    }
    idle_init(&idle, 2);
    uint64_t start = bench_now();
    for (unsigned i = 0; i < SLEEPS; i++) {
        idle_enter(&idle, 0, false);
        idle_leave(&idle, 0, false);
    }
    *ns = bench_since(start) * 1e9 / SLEEPS;
    atom_store_rlx(&ended, true);
}

static double sleep_ns(struct bench_result *result) {
    double ns = 0;
    atom_store_rlx(&ended, false);
    bench_parallel(result, 2, sleep_and_leave, &ns);
    return ns;
}

static double wake_ns(uint64_t n) {
    idle_init(&idle, 64);
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < n; i++) {
        atom_or_rlx(&idle.sleeping[0], 8); /* as idle_enter, without its fence */
        idle_wake(&idle);
        idle_found(&idle);
    }
    return bench_since(start) * 1e9 / (double)n;
}

static void run(const struct bench_args *args, struct bench_result *result) {
    double ns = submit_ns(args->n);
    result->seconds = ns * (double)args->n / 1e9;
    bench_extra(result, "sleep_ns", sleep_ns(result));
    bench_extra(result, "wake_ns", wake_ns(2 * 1000 * 1000));
    bool was = atom_load_rlx(&atom_fence_light_is_full);
    atom_store_rlx(&atom_fence_light_is_full, true); /* no thread but this one runs now */
    bench_extra(result, "full_ns", submit_ns(args->n / 4));
    bench_extra(result, "full_sleep_ns", sleep_ns(result));
    atom_store_rlx(&atom_fence_light_is_full, was);
    result->workers = 1;
}
BENCH(idle, .name = "queue.idle",
      .about = "a submission, no worker asleep; sleep_ns: to sleep and back; wake_ns: wake, search; full_: full fences",
      .n = 100 * 1000 * 1000, .run = run)
