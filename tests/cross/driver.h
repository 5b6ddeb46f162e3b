/* Runs one trial in a runtime of its own. */
#ifndef WEFT_TESTS_CROSS_DRIVER_H
#define WEFT_TESTS_CROSS_DRIVER_H

#include "call_oracle.h"

enum { A_LITTLE = 30 * 1000, A_WHILE = 2000 * 1000, SHORT = 3000 * 1000 };

/* ---- the caller ----------------------------------------------------------------------------------------------------- */

static inline uint64_t caller_deadline(struct trial *trial) {
    struct view view = view_of(&trial->combination);
    if (view.state->deadline) return view.state->deadline(trial);
    if (view.limit == FOREVER) return WEFT_FOREVER;
    return view.nobody && !view_is_told(&view) ? trial->begun + SHORT : patient();
}

static inline void caller_open(struct trial *trial) {
    trial->begun = weft_now();
    if (trial->completer->opens) trial->completer->opens(trial);
    atom_store_rel(&trial->open, 1);
}

/* Everything that comes before the call. */
static inline void caller_prepare(struct trial *trial) {
    if (trial->call->make) trial->call->make(trial);
    atom_store_rel(&trial->made, 1);
    if (trial->completer->inside) trial->completer->inside(trial);
    await(&trial->held);
    if (trial->state->enter) trial->state->enter(trial);
    caller_open(trial);
    if (moment_of(trial) == BEFORE) await(&trial->completed);
}

/* Everything that comes after it: the unit, the mail, one more message. */
static inline void caller_go_on(struct trial *trial) {
    weft_msg *message;
    weft_shield_begin();
    oracle_settle(trial);
    atom_store_rel(&trial->settled, 1);
    if (trial->state->leave) trial->state->leave(trial);
    EXPECT_EQ(weft_recv_tag(TAG_GOODBYE, &message, patient()), 0);
    weft_msg_free(message);
    if (trial->call->clean) trial->call->clean(trial);
    EXPECT_EQ(weft_recv(&message, 0), WEFT_ETIMEDOUT); /* nothing more has come */
    weft_shield_end();
}

static inline void caller_call(void *arg) {
    struct trial *trial = arg;
    errno = ERRNO_KEPT;
    trial->code = trial->call->wait(trial, trial->deadline);
    if (trial->state->packs && trial->call->is & CALL_PACKS) EXPECT_EQ(errno, ERRNO_KEPT);
}

/* The same by a step process. */
static inline int stepper_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method;
    memcpy(self, input, size);
    return 0;
}
static inline int stepper_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct trial *trial = *(struct trial **)self;
    (void)events, (void)count;
    caller_call(trial);
    weft_out_status(out, WEFT_STEP_DONE);
    atom_store_rel(&trial->stepped, 1);
    return 0;
}
static inline void caller_call_by_step(struct trial *trial) {
    static const weft_behavior stepper = {.state_size = sizeof trial, .init = stepper_init, .step = stepper_step};
    weft_spawn_options options = {.runtime = rt.runtime, .input = &trial, .input_size = sizeof trial};
    weft_pid pid;
    EXPECT_EQ(weft_spawn_step(&stepper, &options, &pid), 0);
    await(&trial->stepped);
}

static inline void caller_rest(struct trial *trial) {
    oracle_judge(trial);
    EXPECT_EQ(weft_self(), trial->caller);
    atom_store_rel(&trial->returned, 1);
    caller_go_on(trial);
    atom_store_rel(&trial->ended, 1);
}

static inline void caller_body(struct trial *trial) {
    caller_prepare(trial);
    trial->deadline = caller_deadline(trial);
    atom_store_rel(&trial->go, 1);
    if (trial->state->is_thread) EXPECT_EQ(weft_blocking_long(caller_call, trial), 0);
    else if (trial->state->is_step) caller_call_by_step(trial);
    else caller_call(trial);
    atom_store_rel(&trial->came_back, 1);
    if (!trial->state->ends) caller_rest(trial);
}

static inline void caller_main(void *arg) {
    struct trial *trial = arg;
    trial->caller = weft_self();
    if (trial->state->around) trial->state->around(trial);
    else caller_body(trial);
}

/* False: the deadline had passed before the caller was spawned. */
static inline bool owner_try(struct trial *trial, uint64_t deadline) {
    weft_scope scope;
    weft_stackful_options options = {.flags = trial->state->flags};
    weft_scope_begin(&scope, deadline);
    if (deadline == WEFT_FOREVER) EXPECT_EQ(weft_scope_spawn_with(&scope, sibling_main, trial, NULL, &trial->sibling), 0);
    int error = weft_scope_spawn_with(&scope, caller_main, trial, &options, NULL);
    if (error) EXPECT(error == WEFT_ECANCELED && weft_now() >= deadline);
    EXPECT_EQ(weft_scope_end(&scope), trial->state->scope_result);
    return !error;
}
/* The owner of the scope that the caller is a child in. */
static inline void owner_main(void *arg) {
    struct trial *trial = arg;
    uint64_t in = trial->state->scope;
    while (!owner_try(trial, in == WEFT_FOREVER ? WEFT_FOREVER : weft_in(in)))
        in *= 2;
}

static inline void caller_spawn(struct trial *trial) {
    const struct caller_state *state = trial->state;
    weft_stackful_options options = {.runtime = rt.runtime, .stack_size = 128 << 10, .flags = WEFT_SPAWN_JOINABLE};
    weft_mailbox mailbox = {.messages = state->bound};
    if (!state->scope) options.flags |= state->flags;
    if (state->bound) options.mailbox = &mailbox;
    if (state->context) {
        uint64_t deadline = state->context == WEFT_FOREVER ? WEFT_FOREVER : weft_in(state->context);
        EXPECT_EQ(weft_context_new(NULL, &trial->context, deadline), 0);
        options.context = trial->context;
    }
    EXPECT_EQ(weft_spawn_with(state->scope ? owner_main : caller_main, trial, &options, &trial->root), 0);
}

/* ---- the test's thread ---------------------------------------------------------------------------------------------- */

/* While the call is made: before the unit comes, or at about the same time. */
static inline void trial_disturb(struct trial *trial, struct rng *rng) {
    if (trial->state->before) trial->state->before(trial);
    await(&trial->go);
    if (!trial->state->during) return;
    uint64_t until = trial->begun + (moment_of(trial) == LATER ? A_WHILE / 2 : rng_below(rng, A_LITTLE));
    if (moment_of(trial) == LATER) pause_until(until);
    while (weft_now() < until) {}
    trial->state->during(trial);
}

static inline void trial_complete_late(struct trial *trial) {
    await(&trial->returned);
    while (trial->completer == &completers[NOBODY] && !completer_try(trial))
        pause_briefly();
}

static inline void trial_end(struct trial *trial) {
    int reason = -1;
    if (trial->state->after) trial->state->after(trial);
    await(&trial->settled);
    EXPECT_EQ(weft_send(trial->caller, TAG_GOODBYE, NULL, 0), 0);
    if (!trial->state->stops) {
        EXPECT_EQ(weft_join(trial->root, &reason, patient()), 0);
        EXPECT_EQ(reason, trial->state->reason);
    }
    await(&trial->ended);
    if (trial->has_thread) EXPECT_EQ(pthread_join(trial->thread, NULL), 0);
}

/* All processes end, and all memory is back. */
static inline void trial_stop(struct trial *trial) {
    if (!trial->has_stopper) stop_main(NULL);
    else EXPECT_EQ(pthread_join(trial->stopper, NULL), 0);
    EXPECT_EQ(stop_result, 0);
    EXPECT_EQ(stop_report.left, 0);
    rt_watch_end();
    if (trial->other) EXPECT_EQ(weft_stop(trial->other, NULL, WEFT_FOREVER), 0);
    if (trial->context) weft_context_drop(trial->context);
    if (trial->beside) weft_context_drop(trial->beside);
    EXPECT_EQ(rt_live_memory(), 0);
}

static inline void trial_begin(struct trial *trial, const struct combination *one, struct rng *rng) {
    memset(trial, 0, sizeof *trial);
    trial->combination = *one;
    trial->call = &calls[one->at[CALL]];
    trial->state = &states[one->at[STATE]];
    trial->completer = &completers[one->at[COMPLETER]];
    trial->body = caller_body;
    trial->rest = caller_rest;
    trial->delay = moment_of(trial) == LATER ? A_WHILE : moment_of(trial) == RACE ? rng_below(rng, A_LITTLE) : 0;
    rt_start_with(&(weft_config){.policy = policy_names[one->at[POLICY]],
                                 .workers = worker_counts[one->at[WORKERS]],
                                 .preempt = one->at[PREEMPT] == 1,
                                 .preempt_us = 50,
                                 .seed = 1});
}

static inline void trial_run(const struct combination *one, uint64_t seed) {
    struct trial *trial = &trial_now;
    struct rng rng;
    char text[200];
    combination_text(one, text, sizeof text);
    test_doing("WEFT_TEST_SEED=%llu WEFT_CROSS=%s", (unsigned long long)seed, text);
    unsigned before = rt_descriptors();
    rng_seed(&rng, seed, 1);
    trial_begin(trial, one, &rng);
    caller_spawn(trial);
    await(&trial->made);
    if (trial->completer == &completers[NOBODY]) completer_hold(trial);
    if (trial->completer->outside) trial->completer->outside(trial);
    trial_disturb(trial, &rng);
    trial_complete_late(trial);
    trial_end(trial);
    trial_stop(trial);
    EXPECT_EQ(rt_descriptors(), before);
}

#endif
