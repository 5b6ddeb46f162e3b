/* queue.parker: what it costs to wake a thread that sleeps, and to find the token already there. */
#include "queue/parker.h"
#include "bench/bench.h"
#include "sys/sys.h"

struct turns {
    struct parker bed[2] __attribute__((aligned(64)));
    uint64_t rounds;
};

static void take_turns(unsigned self, void *arg) {
    struct turns *turns = arg;
    for (uint64_t i = 0; i < turns->rounds; i++) {
        if (self == 0 || i > 0) parker_park(&turns->bed[self], SYS_FOREVER);
        parker_unpark(&turns->bed[!self]);
    }
    if (self == 1) parker_park(&turns->bed[1], SYS_FOREVER);
}

static double token_ns(uint64_t n) {
    struct parker parker;
    parker_init(&parker);
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < n; i++) {
        parker_unpark(&parker);
        parker_park(&parker, SYS_FOREVER);
    }
    return bench_since(start) * 1e9 / (double)n;
}

static void run(const struct bench_args *args, struct bench_result *result) {
    struct turns turns = {.rounds = args->n};
    parker_init(&turns.bed[0]);
    parker_init(&turns.bed[1]);
    result->seconds = bench_parallel(result, 2, take_turns, &turns);
    bench_extra(result, "token_ns", token_ns(10 * 1000 * 1000));
}
BENCH(parker, .name = "queue.parker", .about = "two threads wake each other in turn: round trips; token_ns: unpark, then park", .n = 10000,
      .run = run)
