/* `weft bench queue.deque`: the growing run queue.
 *
 *   ns_op      a push and a pop by the owner, 64 deep, no contention
 *   last_ns    the same, one deep: every pop takes the last entry, by compare-and-swap
 *   steal_ns   one steal, no contention
 *   half_ns    one entry's share of stealing half of 256
 *   robbed_ns  as ns_op while another thread steals all the time */
#include "base/atom.h"
#include "bench/bench.h"
#include "queue/deque.h"

#include <stdio.h>

enum { DEPTH = 64, MANY = 256 };

static struct deque deque, thief;

static double push_and_pop(uint64_t n, uint64_t depth) {
    uint64_t start = bench_now();
    for (uint64_t done = 0; done < n; done += depth) {
        for (uint64_t i = 0; i < depth; i++)
            bench_keep(deque_push(&deque, i + 1));
        for (uint64_t i = 0; i < depth; i++)
            bench_keep(deque_pop(&deque));
    }
    return bench_since(start);
}

static double steal_ns(uint64_t n, bool half) {
    double seconds = 0;
    uint64_t stolen = 0, entry;
    while (stolen < n) {
        while (deque_size(&deque) < MANY)
            deque_push(&deque, 1);
        uint64_t start = bench_now();
        if (half) {
            stolen += (uint64_t)deque_steal_half(&thief, &deque, &entry);
        } else {
            for (unsigned i = 0; i < MANY; i++)
                stolen += (uint64_t)deque_steal(&deque, &entry);
        }
        seconds += bench_since(start);
        while (deque_pop(&thief) != ENTRY_NONE)
            continue;
    }
    while (deque_pop(&deque) != ENTRY_NONE)
        continue;
    return seconds * 1e9 / (double)stolen;
}

static atom_bool over;
static uint64_t robbed_n;
static double owner_seconds;

static void rob(unsigned self, void *arg) {
    (void)arg;
    if (self == 0) {
        owner_seconds = push_and_pop(robbed_n, DEPTH);
        atom_store_rel(&over, true);
    } else {
        uint64_t entry;
        while (!atom_load_acq(&over))
            bench_keep(deque_steal(&deque, &entry));
    }
}

static void run(const struct bench_args *args, struct bench_result *result) {
    if (deque_init(&deque) != 0 || deque_init(&thief) != 0) {
        snprintf(result->skipped, sizeof result->skipped, "no memory");
        return;
    }
    push_and_pop(args->n / 8, DEPTH); /* warm */
    result->seconds = push_and_pop(args->n, DEPTH);
    uint64_t last = args->n / 4;
    bench_extra(result, "last_ns", push_and_pop(last, 1) * 1e9 / (double)last);
    bench_extra(result, "steal_ns", steal_ns(args->n / 8, false));
    bench_extra(result, "half_ns", steal_ns(args->n / 8, true));
    robbed_n = args->n / 4;
    atom_store_rlx(&over, false);
    bench_parallel(result, 2, rob, NULL);
    bench_extra(result, "robbed_ns", owner_seconds * 1e9 / (double)robbed_n);
    deque_destroy(&deque);
    deque_destroy(&thief);
    result->workers = 1; /* in ns_op */
}
BENCH(queue_deque, .name = "queue.deque", .about = "the growing run queue: push and pop by its owner, steals", .n = 10000000, .run = run)
