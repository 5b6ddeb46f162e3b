/* pingpong, pairs, handoff: round trips of two messages between two processes. */
#include "bench/trial.h"

enum { PAIRS = 1000 };

static struct {
    uint64_t trips;
    uint64_t pairs;
    bool handoff;
} plan;

/* pong: answers the sender. */
static int pong_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    if (trial_cancelled(events, count, out)) return 0;
    for (size_t i = 0; i < count; i++) {
        if (plan.handoff) trial_must(weft_out_handoff(out, events[i].from, events[i].tag, NULL, 0), "a hand-off was refused");
        else trial_send(events[i].from, events[i].tag);
    }
    return 0;
}
static const weft_behavior pong = {.name = "pong", .step = pong_step};

/* ping: starts each round and tells the umpire when all are done. */
struct ping {
    weft_pid pong, umpire;
    uint64_t left, sum;
};

static int ping_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    *(struct ping *)self = *(const struct ping *)input;
    return 0;
}

static int ping_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct ping *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (count > 0) self->left--, self->sum += events[0].tag;
    if (self->left == 0) {
        trial_send(self->umpire, self->sum);
        weft_out_status(out, WEFT_STEP_DONE);
    } else if (plan.handoff) {
        trial_must(weft_out_handoff(out, self->pong, self->left, NULL, 0), "a hand-off was refused");
    } else {
        trial_send(self->pong, self->left);
    }
    return 0;
}
static const weft_behavior ping = {.name = "ping", .state_size = sizeof(struct ping), .init = ping_init, .step = ping_step};

struct umpire {
    uint64_t waits_for, sum;
    bool begun;
};

static void start_pairs(struct umpire *self) {
    weft_pid me = weft_self();
    self->begun = true;
    self->waits_for = plan.pairs;
    trial_begin();
    for (uint64_t i = 0; i < plan.pairs; i++) {
        uint64_t trips = plan.trips / plan.pairs + (i < plan.trips % plan.pairs);
        struct ping first = {.pong = trial_spawn(&pong, NULL, 0), .umpire = me, .left = trips};
        trial_spawn(&ping, &first, sizeof first);
    }
}

static int umpire_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct umpire *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (!self->begun) {
        start_pairs(self);
    } else if (self->waits_for > 0) {
        for (size_t i = 0; i < count; i++)
            self->sum += events[i].tag;
        self->waits_for -= count;
        trial_check(self->sum);
        if (self->waits_for == 0) trial_end();
    }
    return 0;
}
static const weft_behavior umpire = {.name = "umpire", .state_size = sizeof(struct umpire), .step = umpire_step};

static void run_pairs(const struct bench_args *args, struct bench_result *result, uint64_t pairs, bool handoff) {
    plan.trips = args->n;
    plan.pairs = args->n < pairs ? args->n : pairs;
    plan.handoff = handoff;
    trial_run(args, result, &umpire, NULL, 0);
}

static void pingpong(const struct bench_args *args, struct bench_result *result) { run_pairs(args, result, 1, false); }
BENCH(pingpong, .name = "pingpong", .about = "round trip of two messages", .kind = "step", .n = 1000000, .run = pingpong)

static void pairs(const struct bench_args *args, struct bench_result *result) { run_pairs(args, result, PAIRS, false); }
BENCH(pairs, .name = "pairs", .about = "round trip, a thousand pairs at once", .kind = "step", .n = 1000000, .run = pairs)

static void handoff(const struct bench_args *args, struct bench_result *result) { run_pairs(args, result, 1, true); }
BENCH(handoff, .name = "handoff", .about = "round trip of two hand-off sends", .kind = "step", .n = 1000000, .run = handoff)
