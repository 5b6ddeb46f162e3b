/* ring: a message goes round among 503 processes, n hops in all. */
#include "bench/trial.h"

enum { MEMBERS = 503 };

static uint64_t hops;

struct member {
    weft_pid next;
    bool is_first;
};

static int member_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    *(struct member *)self = *(const struct member *)input;
    return 0;
}

static int member_step(void *state, const weft_event *events, size_t count, weft_out *out);
static const weft_behavior member = {.name = "member", .state_size = sizeof(struct member), .init = member_init, .step = member_step};

/* The first one makes the others, backwards, and sends the message off. */
static void close_ring(struct member *first) {
    weft_pid next = weft_self();
    for (unsigned i = 1; i < MEMBERS; i++)
        next = trial_spawn(&member, &(struct member){.next = next}, sizeof(struct member));
    first->next = next;
    first->is_first = false;
    trial_begin();
    trial_send(next, hops);
}

/* The tag says how many hops are left, the one just made included. */
static int member_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct member *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (self->is_first) close_ring(self);
    for (size_t i = 0; i < count; i++) {
        if (events[i].tag > 1) trial_send(self->next, events[i].tag - 1);
        else trial_end();
    }
    return 0;
}

static void run(const struct bench_args *args, struct bench_result *result) {
    hops = args->n;
    trial_run(args, result, &member, &(struct member){.is_first = true}, sizeof(struct member));
}
BENCH(ring, .name = "ring", .about = "one hop of a message round 503 processes", .kind = "step", .n = 1000000, .run = run)
