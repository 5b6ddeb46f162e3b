/* Hand-off: the receiver runs at once on the sender's worker if it can be had, and once for each time that it was made ready.
 *
 * Givers are processes of their own with one step each. The receiver is as in wake.c: what is left in a queue in the end is run, and then
 * it must have seen everything. */
#include "small_runtime.h"

#include "mail/send.h"
#include "step/step.h"

enum { GIVERS = 2, BOTH = 3 };

static weft_pid receiver;
static struct proc *giver[GIVERS];
SHARED struct message letter;  /* of the threads that only send */
SHARED unsigned seen;          /* the receiver's: a bit for each letter */
SHARED unsigned taken[GIVERS]; /* a giver's worker: was it given the receiver? */
static unsigned wanted;

static int receive_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        chk_assert(!(seen & 1u << events[i].tag), "a message comes once");
        seen |= 1u << events[i].tag;
    }
    weft_out_status(out, WEFT_STEP_IDLE);
    return 0;
}
static const weft_behavior receives = {.name = "receiver", .step = receive_step};

/* The state is the letter's number. */
struct giver {
    unsigned letter;
};
static int give_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    ((struct giver *)self)->letter = *(const unsigned *)input;
    return 0;
}
static int give_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)count;
    int error = weft_out_handoff(out, receiver, ((struct giver *)self)->letter, NULL, 0);
    chk_assert(error == 0, "the receiver lives");
    return 0;
}
static const weft_behavior gives = {.name = "giver", .state_size = sizeof(struct giver), .init = give_init, .step = give_step};

/* ---- setup -------------------------------------------------------------------------------------------------------- */

static struct proc *claimed(void) {
    struct proc *proc = policy_pop(small_worker(0));
    chk_assert(proc != NULL, "it can be claimed");
    return proc;
}

/* Givers claimed; the receiver, claimed too. Each worker has memory for its messages. */
static void set_up(enum policy_name policy, unsigned givers) {
    small_begin(policy, 4, 4);
    wanted = 1u << givers | ((1u << givers) - 1);
    for (unsigned i = 0; i < GIVERS; i++) {
        weft_pid pid;
        small_play(0);
        chk_assert(weft_spawn_step(&gives, &(weft_spawn_options){.input = &i, .input_size = sizeof i}, &pid) == 0, "spawned");
        giver[i] = claimed();
        pool_refill(&small_worker(i + 1)->local.cache.pool, 0);
    }
    receiver = small_spawn(&receives);
    chk_assert(claimed() == small_proc(receiver), "it runs");
    small_message(&letter, givers);
}
static void only_givers(unsigned givers) { wanted = (1u << givers) - 1; }

static void runs(enum policy_name policy, unsigned givers, bool and_letter) {
    set_up(policy, givers);
    if (!and_letter) only_givers(givers);
}
static void sleeps(enum policy_name policy, unsigned givers, bool and_letter) {
    runs(policy, givers, and_letter);
    state_park(&small_proc(receiver)->state, STATE_IDLE);
}
/* In the queue of worker 0. */
static void is_ready(enum policy_name policy, unsigned givers, bool and_letter) {
    runs(policy, givers, and_letter);
    ready(small, small_worker(0), small_proc(receiver), state_yield(&small_proc(receiver)->state), READY_YIELDED);
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static void steps(void) { step_run(small_play(0), small_proc(receiver)); }
static void takes_and_steps(void) {
    struct proc *proc = policy_pop(small_play(0));
    if (proc) step_run(small_worker(0), proc);
}

/* What these make ready stays in their queues until all is over: they are busy. */
static void give(unsigned i) {
    struct worker *worker = small_play(1 + i);
    step_run(worker, giver[i]);
    taken[i] = (unsigned)atom_load_rlx(&worker->local.counters.handoffs);
}
static void gives_0(void) { give(0); }
static void gives_1(void) { give(1); }
/* The second half of a hand-off alone, for a letter that another brings. */
static void wakes_to_run(void) {
    struct worker *worker = small_play(2);
    struct proc *proc = send_wake(&worker->local, worker, receiver, true);
    if (proc) step_run(worker, proc);
}
static void sends(void) {
    struct worker *worker = small_play(3);
    chk_assert(send_message(&worker->local, worker, receiver, &letter) == 0, "the receiver lives");
}
static void sends_and_runs(void) {
    sends();
    small_run_own(small_worker(3));
}
static void steals(void) {
    struct worker *worker = small_play(3);
    bool busy = false;
    struct proc *stolen = policy_steal(worker, small_worker(0), true, &busy);
    if (stolen) step_run(worker, stolen);
}

static void has_seen_all(void) {
    for (unsigned w = 0; w < 4; w++)
        small_run_own(small_play(w));
    chk_assert(state_of(atom_load_rlx(&small_proc(receiver)->state.word)) == STATE_IDLE, "it has gone to sleep");
    chk_assert(seen == wanted, "it does not sleep beside a message");
    small_end();
}
static void was_taken(void) {
    chk_assert(taken[0] == 1, "a receiver that sleeps, or lies in a queue, is had");
    has_seen_all();
}

/* A step that hands over and then computes until the receiver has heard of the other letter. */
static atom_u32 heard;
static int hear_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    int error = receive_step(self, events, count, out);
    if (seen & 2) atom_store_rel(&heard, 1);
    return error;
}
static const weft_behavior hears = {.name = "hearer", .step = hear_step};
static int give_slowly_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    int error = give_step(self, events, count, out);
    struct spin spin = spin_begin();
    while (!atom_load_acq(&heard))
        spin_wait(&spin);
    return error;
}
static const weft_behavior gives_slowly = {
    .name = "slow giver", .state_size = sizeof(struct giver), .init = give_init, .step = give_slowly_step};
static void sleeps_and_hears(enum policy_name policy, unsigned givers, bool and_letter) {
    set_up(policy, givers);
    (void)and_letter;
    atom_store_rlx(&heard, 0);
    atom_store_rlx(&small_proc(receiver)->behavior, &hears);
    atom_store_rlx(&giver[0]->behavior, &gives_slowly);
    state_park(&small_proc(receiver)->state, STATE_IDLE);
}

#define HANDOFF(id, state, policy, givers, and_letter, finish_with, ...)                                                                   \
    static void id##_setup(void) { state(policy, givers, and_letter); }                                                                    \
    SCENARIO(id, .setup = id##_setup, .finish = finish_with, __VA_ARGS__)

HANDOFF(handoff_asleep, sleeps, POLICY_RING, 1, false, was_taken, .about = "to one that sleeps: it runs now", .threads = {gives_0})
HANDOFF(handoff_asleep_line, sleeps, POLICY_LINE, 1, false, was_taken, .about = "the same, policy line", .threads = {gives_0})
HANDOFF(handoff_queued, is_ready, POLICY_RING, 1, false, was_taken, .about = "to one in another worker's queue: it runs now",
        .threads = {gives_0})
HANDOFF(handoff_queued_line, is_ready, POLICY_LINE, 1, false, was_taken, .about = "the same, policy line", .threads = {gives_0})

HANDOFF(handoff_park, runs, POLICY_RING, 1, true, has_seen_all, .about = "the receiver parks || a hand-off || a send",
        .threads = {steps, gives_0, sends})
HANDOFF(handoff_park_line, runs, POLICY_LINE, 1, true, has_seen_all, .about = "the same, policy line", .threads = {steps, gives_0, sends})
HANDOFF(handoff_park_two, runs, POLICY_RING, 2, false, has_seen_all, .about = "the receiver parks || two hand-offs",
        .threads = {steps, gives_0, gives_1})
HANDOFF(handoff_park_two_line, runs, POLICY_LINE, 2, false, has_seen_all, .about = "the same, policy line",
        .threads = {steps, gives_0, gives_1}, .deep_in = CHK_ALL)

HANDOFF(handoff_ready, is_ready, POLICY_RING, 1, false, has_seen_all, .about = "the receiver is taken from its queue || a hand-off",
        .threads = {takes_and_steps, gives_0})
HANDOFF(handoff_ready_line, is_ready, POLICY_LINE, 1, false, has_seen_all, .about = "the same, policy line",
        .threads = {takes_and_steps, gives_0})
HANDOFF(handoff_steal, is_ready, POLICY_RING, 1, false, has_seen_all, .about = "a thief takes the receiver || a hand-off",
        .threads = {steals, gives_0})
HANDOFF(handoff_steal_line, is_ready, POLICY_LINE, 1, false, has_seen_all, .about = "the same, policy line", .threads = {steals, gives_0})
HANDOFF(handoff_steal_two_line, is_ready, POLICY_LINE, 1, false, has_seen_all,
        .about = "a thief takes the receiver || two hand-offs, policy line", .threads = {steals, gives_0, wakes_to_run}, .deep_in = CHK_C11)
HANDOFF(handoff_ready_send_line, is_ready, POLICY_LINE, 1, true, has_seen_all,
        .about = "the receiver is taken from its queue || a hand-off || a send, policy line", .threads = {takes_and_steps, gives_0, sends},
        .deep_in = CHK_C11)
HANDOFF(handoff_asleep_send, sleeps, POLICY_RING, 1, true, has_seen_all, .about = "a hand-off || a send to one that sleeps",
        .threads = {gives_0, sends_and_runs})
HANDOFF(handoff_hears_others, sleeps_and_hears, POLICY_RING, 1, true, has_seen_all,
        .about = "a step hands over and goes on until the receiver has heard of another's letter || a send",
        .threads = {gives_0, sends_and_runs})
HANDOFF(handoff_hears_others_line, sleeps_and_hears, POLICY_LINE, 1, true, has_seen_all, .about = "the same, policy line",
        .threads = {gives_0, sends_and_runs})
HANDOFF(handoff_asleep_send_line, sleeps, POLICY_LINE, 1, true, has_seen_all,
        .about = "the same, policy line: the waker has the right to queue, and no other thread to claim",
        .threads = {gives_0, sends_and_runs})
HANDOFF(handoff_asleep_two_line, sleeps, POLICY_LINE, 1, true, has_seen_all,
        .about = "two hand-offs || a send to one that sleeps, policy line", .threads = {wakes_to_run, gives_0, sends}, .deep_in = CHK_ALL)
