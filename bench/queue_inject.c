/* `weft bench queue.inject`: the global FIFO.
 *
 *   ns_op         a push and a take of one entry, no contention
 *   batch_ns      one entry's share of pushing and taking 64 at once
 *   contended_ns  a push and a take of one entry when two threads do so */
#include "bench/bench.h"
#include "queue/inject.h"

#include <stdio.h>

enum { BATCH = 64 };

static struct inject inject;
static uint64_t contended_n;

static void push_and_take(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        uint64_t entry;
        bench_keep(inject_push(&inject, i + 1));
        bench_keep(inject_take_batch(&inject, &entry, 1));
    }
}

static double batch_ns(uint64_t n) {
    uint64_t batch[BATCH] = {0}, start = bench_now();
    for (uint64_t done = 0; done < n; done += BATCH) {
        bench_keep(inject_push_batch(&inject, batch, BATCH));
        bench_keep(inject_take_batch(&inject, batch, BATCH));
    }
    return bench_since(start) * 1e9 / (double)n;
}

static void contend(unsigned self, void *arg) {
    (void)self, (void)arg;
    push_and_take(contended_n);
}

static void run(const struct bench_args *args, struct bench_result *result) {
    inject_init(&inject);
    if (inject_reserve(&inject, 1024) != 0) {
        snprintf(result->skipped, sizeof result->skipped, "no memory");
        return;
    }
    push_and_take(args->n / 8); /* warm */
    uint64_t start = bench_now();
    push_and_take(args->n);
    result->seconds = bench_since(start);
    bench_extra(result, "batch_ns", batch_ns(args->n));
    contended_n = args->n / 16;
    double seconds = bench_parallel(result, 2, contend, NULL);
    bench_extra(result, "contended_ns", seconds * 1e9 / (double)(2 * contended_n));
    inject_destroy(&inject);
    result->workers = 1; /* in ns_op */
}
BENCH(queue_inject, .name = "queue.inject", .about = "the global FIFO: push and take, alone, in batches, contended", .n = 5000000,
      .run = run)
