/* `weft bench queue.ring`: the bounded run queue.
 *
 *   ns_op      a push and a pop by the owner, 64 deep, no contention
 *   cas_ns     the same with an owner that pops by compare-and-swap: what the idempotent owner saves
 *   next_ns    into the LIFO slot and out again
 *   steal_ns   one entry's share of stealing half of a full ring
 *   robbed_ns, cas_robbed_ns   ns_op and cas_ns while another thread steals all the time
 *   again_pct  how many more entries were delivered by robbed_ns than pushed */
#include "base/atom.h"
#include "bench/bench.h"
#include "queue/ring.h"

#include <stddef.h>

enum { DEPTH = 64 };

static struct ring ring, thief;

static void push_and_pop(uint64_t n) {
    for (uint64_t done = 0; done < n; done += DEPTH) {
        for (uint64_t i = 0; i < DEPTH; i++)
            bench_keep(ring_push(&ring, i + 1));
        for (uint64_t i = 0; i < DEPTH; i++)
            bench_keep(ring_pop(&ring));
    }
}

/* ring_pop as it would have to be if no entry might come twice. */
__attribute__((noinline)) static uint64_t pop_by_cas(struct ring *own) {
    uint64_t head = atom_load_rlx(&own->head), entry;
    do {
        if (head == atom_load_rlx(&own->tail)) return ENTRY_NONE;
        entry = atom_load_rlx(&own->slots[head % RING_SIZE]);
    } while (!atom_cas_rlx_rlx(&own->head, &head, head + 1));
    return entry;
}

static double cas_ns(uint64_t n) {
    uint64_t start = bench_now();
    for (uint64_t done = 0; done < n; done += DEPTH) {
        for (uint64_t i = 0; i < DEPTH; i++)
            bench_keep(ring_push(&ring, i + 1));
        for (uint64_t i = 0; i < DEPTH; i++)
            bench_keep(pop_by_cas(&ring));
    }
    return bench_since(start) * 1e9 / (double)n;
}

static double next_ns(uint64_t n) {
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < n; i++) {
        bench_keep(ring_put_next(&ring, i + 1));
        bench_keep(ring_take_next(&ring));
    }
    return bench_since(start) * 1e9 / (double)n;
}

static double steal_ns(uint64_t n) {
    double seconds = 0;
    uint64_t stolen = 0, first;
    while (stolen < n) {
        while (ring_push(&ring, 1))
            continue;
        uint64_t start = bench_now();
        stolen += (uint64_t)ring_steal(&thief, &ring, &first);
        seconds += bench_since(start);
        while (ring_pop(&thief) != ENTRY_NONE)
            continue;
    }
    return seconds * 1e9 / (double)stolen;
}

static atom_bool over;
static uint64_t (*robbed_pop)(struct ring *);
static uint64_t robbed_n, delivered[2];
static double owner_seconds;

static void rob(unsigned self, void *arg) {
    (void)arg;
    uint64_t got = 0;
    if (self == 0) {
        uint64_t start = bench_now();
        for (uint64_t done = 0; done < robbed_n; done += DEPTH) {
            for (uint64_t i = 0; i < DEPTH; i++)
                bench_keep(ring_push(&ring, i + 1));
            for (uint64_t i = 0; i < DEPTH; i++)
                got += robbed_pop(&ring) != ENTRY_NONE;
        }
        owner_seconds = bench_since(start);
        atom_store_rel(&over, true);
    } else {
        while (!atom_load_acq(&over)) {
            uint64_t first;
            if (ring_steal(&thief, &ring, &first) > 0) got++;
            while (ring_pop(&thief) != ENTRY_NONE)
                got++;
        }
    }
    delivered[self] = got;
}

static double robbed_ns(struct bench_result *result, uint64_t n, uint64_t (*pop)(struct ring *)) {
    ring_init(&ring);
    ring_init(&thief);
    robbed_n = (n + DEPTH - 1) / DEPTH * DEPTH;
    robbed_pop = pop;
    atom_store_rlx(&over, false);
    bench_parallel(result, 2, rob, NULL);
    return owner_seconds * 1e9 / (double)robbed_n;
}

static void run(const struct bench_args *args, struct bench_result *result) {
    ring_init(&ring);
    ring_init(&thief);
    push_and_pop(args->n / 8); /* warm */
    uint64_t start = bench_now();
    push_and_pop(args->n);
    result->seconds = bench_since(start);
    bench_extra(result, "cas_ns", cas_ns(args->n / 2));
    bench_extra(result, "next_ns", next_ns(args->n / 2));
    bench_extra(result, "steal_ns", steal_ns(args->n / 8));
    bench_extra(result, "cas_robbed_ns", robbed_ns(result, args->n / 4, pop_by_cas));
    bench_extra(result, "robbed_ns", robbed_ns(result, args->n / 4, ring_pop));
    bench_extra(result, "again_pct", 100.0 * ((double)(delivered[0] + delivered[1]) / (double)robbed_n - 1));
    result->workers = 1; /* in ns_op */
}
BENCH(queue_ring, .name = "queue.ring", .about = "the bounded run queue: push and pop by its owner, steals", .n = 20000000, .run = run)
