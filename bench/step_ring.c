/* ring: a message goes round among 503 processes, or as many as --size says, n hops in all. flight: round a thousand processes go as many
 * messages at once as --size says, each from a place of its own; n hops in all. */
#include "base/atom.h"
#include "bench/trial.h"

#include <stdlib.h>

enum { RING_MEMBERS = 503, FLIGHT_MEMBERS = 1000 };

static uint64_t hops, members, tokens;
static atom_u64 arrived, places;

struct member {
    weft_pid next;
    uint32_t number;
    bool is_first, is_warm;
    weft_pid *at; /* the first one's, until the tokens are off */
};

static int member_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    *(struct member *)self = *(const struct member *)input;
    return 0;
}

static int member_step(void *state, const weft_event *events, size_t count, weft_out *out);
static const weft_behavior member = {.name = "member", .state_size = sizeof(struct member), .init = member_init, .step = member_step};

/* The first one makes the others, backwards. A lap before the clock: every member has run then, and waits. */
static void close_ring(struct member *first) {
    weft_pid *at = first->at = calloc(members, sizeof *at);
    if (!at) trial_must(WEFT_ENOMEM, "a list of members");
    at[0] = weft_self();
    for (uint64_t i = members - 1; i > 0; i--)
        at[i] = trial_spawn(&member, &(struct member){.next = at[(i + 1) % members], .number = (uint32_t)i}, sizeof(struct member));
    first->next = at[1 % members];
    first->is_first = false;
    first->is_warm = true;
    trial_send(first->next, members);
}

/* The lap is over. It sends the tokens off, each from a place of its own. */
static void send_tokens(struct member *first) {
    first->is_warm = false;
    trial_begin();
    for (uint64_t t = 0; t < tokens; t++)
        trial_send(first->at[(t + 1) % members], hops / tokens + (t < hops % tokens));
    free(first->at);
}

/* A token has made its last hop: where, counted from one. */
static void arrive(uint64_t number) {
    atom_add_rlx(&places, number + 1);                     /* rlx: the next line orders it */
    if (atom_add_acqrel(&arrived, 1) + 1 < tokens) return; /* acqrel: the last one comes after the others */
    trial_check(atom_load_rlx(&places));
    trial_end();
}

/* The tag says how many hops are left, the one just made included. */
static int member_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct member *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (self->is_first) close_ring(self);
    for (size_t i = 0; i < count; i++) {
        if (events[i].tag > 1) trial_send(self->next, events[i].tag - 1);
        else if (self->is_warm) send_tokens(self);
        else arrive(self->number);
    }
    return 0;
}

static void run_round(const struct bench_args *args, struct bench_result *result, uint64_t count, uint64_t in_flight) {
    hops = args->n;
    members = count;
    tokens = in_flight < hops ? in_flight : hops;
    trial_run(args, result, &member, &(struct member){.is_first = true}, sizeof(struct member));
}
static void run_ring(const struct bench_args *args, struct bench_result *result) { run_round(args, result, args->size, 1); }
BENCH(ring, .name = "ring", .about = "one hop of a message round a ring of processes", .kind = "step", .n = 1000000, .size = RING_MEMBERS,
      .run = run_ring)
static void run_flight(const struct bench_args *args, struct bench_result *result) { run_round(args, result, FLIGHT_MEMBERS, args->size); }
BENCH(flight, .name = "flight", .about = "one hop round 1,000 processes; as many messages in flight as --size says", .kind = "step",
      .n = 1000000, .size = 100, .run = run_flight)
