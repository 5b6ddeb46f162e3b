/* The table of completers: what makes the unit that the caller waits for, and from where. */
#ifndef WEFT_TESTS_CROSS_COMPLETERS_H
#define WEFT_TESTS_CROSS_COMPLETERS_H

#include "calls.h"
#include "states.h"

static inline void completer_hold(struct trial *trial) {
    if (trial->call->hold) trial->call->hold(trial);
    atom_store_rel(&trial->held, 1);
}

/* False: not yet. What belonged to a call that has returned is not wanted any more. */
static inline bool completer_try(struct trial *trial) {
    atom_store_rel(&trial->completing, 1);
    bool useless = (trial->call->is & CALL_ONCE) && atom_load_acq(&trial->returned);
    if (trial->call->complete && !trial->call->complete(trial) && !useless) return false;
    atom_store_rel(&trial->completed, 1);
    return true;
}

/* So long until the unit shall come. */
static inline uint64_t completer_early(const struct trial *trial) {
    uint64_t now = weft_now(), due = trial->begun + trial->delay;
    return now < due ? due - now : 0;
}

/* What comes later does when the caller has been packed, if it shall be. */
static inline bool completer_may(struct trial *trial) {
    bool packed = moment_of(trial) != LATER || !trial->state->packs || atom_load_acq(&trial->asked);
    return atom_load_acq(&trial->open) && packed;
}

/* In a race no thread sleeps, so that both are there at once. */
static inline void completer_await_open(struct trial *trial) {
    while (!completer_may(trial)) {
        if (moment_of(trial) != RACE) pause_briefly();
        else if (weft_self() == WEFT_NOBODY) sched_yield();
        else weft_yield();
    }
    if (moment_of(trial) == LATER) pause_until(trial->begun + trial->delay);
    while (completer_early(trial)) {}
}

/* By a thread, or a stackful process of either runtime. */
static inline void completer_run(struct trial *trial) {
    completer_hold(trial);
    completer_await_open(trial);
    while (!completer_try(trial))
        pause_briefly();
}

static inline void completer_process(void *arg) {
    struct trial *trial = arg;
    weft_shield_begin();
    if (trial->state->pins_completer) run_pinned(completer_run, trial);
    else completer_run(trial);
    weft_shield_end();
}
static inline void completer_spawn(struct trial *trial) { spawn_beside(completer_process, trial, 0); }

static inline void *completer_thread(void *trial) {
    completer_run(trial);
    return NULL;
}
static inline void completer_start_thread(struct trial *trial) {
    trial->has_thread = true;
    EXPECT_EQ(pthread_create(&trial->thread, NULL, completer_thread, trial), 0);
}

static inline void completer_start_other(struct trial *trial) {
    weft_pid pid;
    EXPECT_EQ(weft_start(&(weft_config){.workers = 1, .seed = 1}, &trial->other), 0);
    EXPECT_EQ(weft_spawn_with(completer_process, trial, &(weft_stackful_options){.runtime = trial->other}, &pid), 0);
}

/* ---- a step process ------------------------------------------------------------------------------------------------- */

struct completer_self {
    struct trial *trial;
    bool held, waits_for_timer, sleeps;
};

static inline int completer_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    struct completer_self *step = self;
    (void)context, (void)size;
    memcpy(&step->trial, input, sizeof step->trial);
    step->waits_for_timer = strcmp(method, "timer") == 0;
    return 0;
}
/* Comes again: soon in a race, or else after so long. */
static inline int completer_again(struct completer_self *step, weft_out *out, uint64_t nanoseconds) {
    if (moment_of(step->trial) == RACE && !atom_load_acq(&step->trial->returned)) return weft_out_status(out, WEFT_STEP_CONTINUE), 0;
    if (!step->sleeps) EXPECT_EQ(weft_out_sleep(out, 0, nanoseconds), 0);
    step->sleeps = true;
    weft_out_status(out, WEFT_STEP_BLOCKED);
    return 0;
}
static inline int completer_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct completer_self *step = self;
    struct trial *trial = step->trial;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_COMPLETION) step->sleeps = false;
        if (events[i].type == WEFT_EVENT_MESSAGE) step->waits_for_timer = false;
    }
    if (!step->held) completer_hold(trial);
    step->held = true;
    if (step->waits_for_timer) return 0;
    if (!completer_may(trial)) return completer_again(step, out, 50 * WEFT_MICROSECOND);
    uint64_t early = completer_early(trial);
    if (early) return completer_again(step, out, early);
    if (!completer_try(trial)) return completer_again(step, out, 50 * WEFT_MICROSECOND);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const char *const completer_methods[] = {"step", "timer", NULL};
static const weft_behavior completer_behavior = {.name = "completer",
                                                 .methods = completer_methods,
                                                 .state_size = sizeof(struct completer_self),
                                                 .init = completer_init,
                                                 .step = completer_step};
static inline void completer_spawn_step_of(struct trial *trial, const char *method) {
    weft_spawn_options options = {.runtime = rt.runtime, .method = method, .input = &trial, .input_size = sizeof trial};
    EXPECT_EQ(weft_spawn_step(&completer_behavior, &options, &trial->step), 0);
}
static inline void completer_spawn_step(struct trial *trial) { completer_spawn_step_of(trial, "step"); }

/* A timer sends what a receive waits for; for all else, or to be heard of, it wakes a step process. */
static inline bool completer_is_straight(const struct trial *trial) {
    return trial->call->complete == recv_complete && moment_of(trial) != BEFORE;
}
static inline void completer_spawn_timer(struct trial *trial) {
    if (completer_is_straight(trial)) completer_hold(trial);
    else completer_spawn_step_of(trial, "timer");
}
static inline void completer_arm(struct trial *trial) {
    if (!completer_is_straight(trial)) {
        EXPECT_EQ(weft_after(trial->delay, trial->step, TAG_UNIT, NULL, 0, NULL), 0);
        return;
    }
    atom_store_rel(&trial->completing, 1);
    EXPECT_EQ(weft_after(trial->delay, trial->caller, TAG_UNIT, &trial->delay, sizeof trial->delay, NULL), 0);
    atom_store_rel(&trial->completed, 1);
}

/* The caller itself, right before the call: no process has run in between, and no worker has polled. */
static inline void completer_be(struct trial *trial) {
    while (!completer_try(trial))
        pause_briefly();
}

/* same_worker: born on the caller's worker, behind it, and run there when the caller waits, unless another worker has nothing to do. */
static const struct completer completers[] = {
    {.name = "same_worker", .is_stackful = true, .inside = completer_spawn},
    {.name = "other_worker", .is_stackful = true, .workers = 2, .outside = completer_spawn},
    {.name = "thread", .outside = completer_start_thread},
    {.name = "step", .inside = completer_spawn_step},
    {.name = "timer", .inside = completer_spawn_timer, .opens = completer_arm},
    {.name = "other_runtime", .outside = completer_start_other},
    {.name = "itself", .inside = completer_hold, .opens = completer_be},
    {.name = "nobody"},
};
enum { COMPLETERS = sizeof completers / sizeof completers[0], NOBODY = COMPLETERS - 1, ITSELF = NOBODY - 1 };

#endif
