/* `weft bench queue.line`: the sentinel-locked run queue.
 *
 *   ns_op         an enqueue and a dequeue, 64 deep, no contention
 *   entry_ns      an enqueue and the dequeue of that very node from the middle
 *   contended_ns  an enqueue and a dequeue when two threads do so on one line, trying again when it is locked
 *   locked_pct    how many of their tries found the line locked */
#include "base/spin.h"
#include "bench/bench.h"
#include "queue/line.h"

enum { DEPTH = 64 };

static struct line line;
static struct line_node nodes[3 * DEPTH];

static double enqueue_and_dequeue(uint64_t n) {
    uint64_t start = bench_now();
    for (uint64_t done = 0; done < n; done += DEPTH) {
        for (unsigned i = 0; i < DEPTH; i++)
            bench_keep(line_try_enqueue(&line, &nodes[i]).success);
        for (unsigned i = 0; i < DEPTH; i++)
            bench_keep(line_try_dequeue(&line).node);
    }
    return bench_since(start);
}

static double entry_ns(uint64_t n) {
    for (unsigned i = 0; i < DEPTH; i++)
        line_try_enqueue(&line, &nodes[i]);
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < n; i++) {
        struct line_node *node = &nodes[i % DEPTH];
        bench_keep(line_try_dequeue_entry(&line, node));
        bench_keep(line_try_enqueue(&line, node).success);
    }
    double seconds = bench_since(start);
    while (line_try_dequeue(&line).node)
        continue;
    return seconds * 1e9 / (double)n;
}

static uint64_t contended_n, tries[2];

static void contend(unsigned self, void *arg) {
    (void)arg;
    struct line_node *node = &nodes[DEPTH + self];
    uint64_t tried = 0;
    for (uint64_t i = 0; i < contended_n; i++) {
        while (tried++, !line_try_enqueue(&line, node).success)
            spin_pause();
        struct line_dequeued result;
        while (tried++, result = line_try_dequeue(&line), !result.success || !result.node)
            spin_pause();
        node = result.node; /* perhaps the other one's: there is one each */
    }
    tries[self] = tried;
}

static void run(const struct bench_args *args, struct bench_result *result) {
    line_init(&line);
    for (unsigned i = 0; i < 3 * DEPTH; i++)
        line_node_init(&nodes[i]);
    enqueue_and_dequeue(args->n / 8); /* warm */
    result->seconds = enqueue_and_dequeue(args->n);
    bench_extra(result, "entry_ns", entry_ns(args->n / 2));
    contended_n = args->n / 16;
    double seconds = bench_parallel(result, 2, contend, NULL);
    bench_extra(result, "contended_ns", seconds * 1e9 / (double)(2 * contended_n));
    bench_extra(result, "locked_pct", 100.0 * (1 - 4.0 * (double)contended_n / (double)(tries[0] + tries[1])));
    result->workers = 1; /* in ns_op */
}
BENCH(queue_line, .name = "queue.line", .about = "the sentinel-locked run queue: enqueue and dequeue", .n = 10000000, .run = run)
