/* ring and flight, with stackful processes. See step_ring.c. */
#include "base/atom.h"
#include "bench/trial.h"

#include <stdlib.h>

enum { RING_MEMBERS = 503, FLIGHT_MEMBERS = 1000 };

struct member {
    weft_pid next;
    uint64_t number;
};

static uint64_t hops, members, tokens;
static atom_u64 arrived, places;

/* A token has made its last hop: where, counted from one. */
static void arrive(uint64_t number) {
    atom_add_rlx(&places, number + 1);                     /* rlx: the next line orders it */
    if (atom_add_acqrel(&arrived, 1) + 1 < tokens) return; /* acqrel: the last one comes after the others */
    trial_check(atom_load_rlx(&places));
    trial_end();
}

/* The tag says how many hops are left, the one just made included. */
static void pass_on(void *arg) {
    struct member self = *(struct member *)arg;
    uint64_t tag;
    while (trial_recv(&tag)) {
        if (tag > 1) trial_send(self.next, tag - 1);
        else arrive(self.number);
    }
}

/* The first one makes the others, backwards, and sends the tokens off, each from a place of its own. */
static void first_member(void *arg) {
    struct member *all = arg;
    weft_pid *at = calloc(members, sizeof *at);
    if (!at) trial_must(WEFT_ENOMEM, "a list of members");
    at[0] = weft_self();
    for (uint64_t i = members - 1; i > 0; i--) {
        all[i] = (struct member){at[(i + 1) % members], i};
        at[i] = trial_spawn_stackful(pass_on, &all[i]);
    }
    all[0] = (struct member){at[1 % members], 0};
    uint64_t tag;
    trial_send(all[0].next, members); /* a lap before the clock: every member has run then, and waits */
    if (!trial_recv(&tag)) return;
    trial_begin();
    for (uint64_t t = 0; t < tokens; t++)
        trial_send(at[(t + 1) % members], hops / tokens + (t < hops % tokens));
    free(at);
    pass_on(&all[0]);
}

static void run_round(const struct bench_args *args, struct bench_result *result, uint64_t count, uint64_t in_flight) {
    hops = args->n;
    members = count;
    tokens = in_flight < hops ? in_flight : hops;
    struct member *all = calloc(members, sizeof *all);
    if (!all) trial_must(WEFT_ENOMEM, "a list of members");
    trial_run_stackful(args, result, first_member, all);
    free(all);
}
static void run_ring(const struct bench_args *args, struct bench_result *result) { run_round(args, result, args->size, 1); }
BENCH(stackful_ring, .name = "ring", .about = "one hop of a message round a ring of processes", .kind = "stackful", .n = 1000000,
      .size = RING_MEMBERS, .run = run_ring)
static void run_flight(const struct bench_args *args, struct bench_result *result) { run_round(args, result, FLIGHT_MEMBERS, args->size); }
BENCH(stackful_flight, .name = "flight", .about = "one hop round 1,000 processes; as many messages in flight as --size says",
      .kind = "stackful", .n = 1000000, .size = 100, .run = run_flight)
