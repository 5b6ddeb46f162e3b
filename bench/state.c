/* proc.state: the transitions that every switch and every message pay for, without contention. */
#include "proc/state.h"
#include "bench/bench.h"

static double each(uint64_t start, uint64_t n) { return bench_since(start) * 1e9 / (double)n; }

/* Two processes: one yields, the other is claimed. */
static inline double two_take_turns(uint64_t n, uint16_t (*yield)(struct state *)) {
    static struct {
        struct state state __attribute__((aligned(64)));
        uint16_t ticket;
    } two[2];
    for (unsigned i = 0; i < 2; i++)
        two[i].ticket = state_init(&two[i].state);
    state_claim(&two[0].state, two[0].ticket);
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < n; i++) {
        two[i % 2].ticket = yield(&two[i % 2].state);
        bench_keep(state_claim(&two[(i + 1) % 2].state, two[(i + 1) % 2].ticket));
    }
    return bench_since(start);
}

static void run(const struct bench_args *args, struct bench_result *result) {
    static struct state state;
    uint64_t n = args->n;
    result->seconds = two_take_turns(n, state_yield);
    bench_extra(result, "swapped_ns", two_take_turns(n, state_yield_any) * 1e9 / (double)n);
    state_claim(&state, state_init(&state));
    uint64_t start;

    start = bench_now();
    for (uint64_t i = 0; i < n; i++) {
        state_park(&state, STATE_IDLE);
        state_claim(&state, state_wake(&state).ticket);
    }
    bench_extra(result, "message_ns", each(start, n));

    start = bench_now();
    for (uint64_t i = 0; i < n; i++) {
        state_park(&state, STATE_IDLE);
        state_wake_to_run(&state);
    }
    bench_extra(result, "hand_off_ns", each(start, n));

    start = bench_now();
    for (uint64_t i = 0; i < n; i++)
        bench_keep(state_wake(&state).verdict); /* Running, notified already */
    bench_extra(result, "notify_ns", each(start, n));

    start = bench_now();
    for (uint64_t i = 0; i < n; i++)
        bench_keep(state_claim(&state, 0xaaaa));
    bench_extra(result, "stale_ns", each(start, n));
}
BENCH(state, .name = "proc.state",
      .about = "two yield in turn (swapped_ns: by swap); message_ns: park, wake, claim; hand_off_ns: park, wake_to_run",
      .n = 20 * 1000 * 1000, .run = run)
