/* `weft bench queue.mpsc`: the mailbox.
 *
 *   ns_op         a push and a pop by one thread
 *   batch_ns      the same, 64 deep
 *   contended_ns  one message when a producer and a consumer work at once; the consumer looks and never sleeps
 *   fanin_ns      the same with three producers */
#include "base/spin.h"
#include "bench/bench.h"
#include "queue/mpsc.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 64, PRODUCERS = 3 };

static struct mpsc box;
static struct mpsc_node some[DEPTH];

static double push_and_pop(uint64_t n, unsigned depth) {
    uint64_t start = bench_now();
    for (uint64_t done = 0; done < n; done += depth) {
        for (unsigned i = 0; i < depth; i++)
            bench_keep(mpsc_push(&box, &some[i]));
        for (unsigned i = 0; i < depth; i++)
            bench_keep(mpsc_pop(&box));
    }
    return bench_since(start);
}

struct crowd {
    struct mpsc_node *nodes;
    uint64_t each, producers;
};

static void work(unsigned self, void *arg) {
    struct crowd *crowd = arg;
    if (self > 0) {
        struct mpsc_node *mine = crowd->nodes + (self - 1) * crowd->each;
        for (uint64_t i = 0; i < crowd->each; i++)
            bench_keep(mpsc_push(&box, &mine[i]));
        return;
    }
    struct spin spin = spin_begin();
    for (uint64_t left = crowd->each * crowd->producers; left > 0;) {
        if (mpsc_pop(&box)) {
            left--;
            spin = spin_begin();
        } else {
            spin_wait(&spin);
        }
    }
}

static double crowd_ns(struct bench_result *result, struct mpsc_node *nodes, uint64_t n, uint64_t producers) {
    struct crowd crowd = {nodes, n / producers, producers};
    double seconds = bench_parallel(result, (unsigned)producers + 1, work, &crowd);
    return seconds * 1e9 / (double)(crowd.each * producers);
}

static void run(const struct bench_args *args, struct bench_result *result) {
    uint64_t crowd_n = args->n / 8 + PRODUCERS;
    struct mpsc_node *nodes = calloc(crowd_n, sizeof *nodes);
    if (!nodes) {
        snprintf(result->skipped, sizeof result->skipped, "no memory");
        return;
    }
    for (uint64_t i = 0; i < crowd_n; i++) /* touch the pages */
        nodes[i].next = &nodes[i];
    mpsc_init(&box);
    push_and_pop(args->n / 8, 1); /* warm */
    result->seconds = push_and_pop(args->n, 1);
    bench_extra(result, "batch_ns", push_and_pop(args->n, DEPTH) * 1e9 / (double)args->n);
    bench_extra(result, "contended_ns", crowd_ns(result, nodes, crowd_n, 1));
    bench_extra(result, "fanin_ns", crowd_ns(result, nodes, crowd_n, PRODUCERS));
    free(nodes);
    result->workers = 1; /* in ns_op */
}
BENCH(queue_mpsc, .name = "queue.mpsc", .about = "the mailbox: push and pop, alone and with producers", .n = 10000000, .run = run)
