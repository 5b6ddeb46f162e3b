/* Servers and supervisors. What starts or ends in them takes a permit, which the completer gives. */
#ifndef WEFT_TESTS_CROSS_CALLS_SERVER_H
#define WEFT_TESTS_CROSS_CALLS_SERVER_H

#include "calls_ties.h"

enum { SLOWLY_MS = 60 * 1000 };

static inline bool permit_complete(struct trial *trial) {
    weft_sem_release(&trial->things.sem, 1);
    return true;
}
/* Shielded, only a kill ends the wait; the next calls end the process then. */
static inline void permit_take(struct trial *trial) {
    int error;
    weft_shield_begin();
    while ((error = weft_sem_acquire(&trial->things.sem, 1, patient())) == WEFT_ECANCELED)
        weft_yield();
    EXPECT_EQ(error, 0);
    weft_shield_end();
}
/* What is there before the call has a context of its own: that of the caller may end any time. */
static inline weft_stackful_options beside_options(struct trial *trial) {
    EXPECT_EQ(weft_context_new(NULL, &trial->beside, WEFT_FOREVER), 0);
    return (weft_stackful_options){.runtime = rt.runtime, .context = trial->beside};
}

/* It may have ended with all others; it has permits for whatever it still does. */
static inline void stopped_clean(struct trial *trial, int (*stop)(weft_pid pid, uint64_t deadline)) {
    weft_sem_release(&trial->things.sem, 4);
    int error = trial->things.server == WEFT_NOBODY ? 0 : stop(trial->things.server, patient());
    EXPECT(error == 0 || error == WEFT_ENOPROC);
}
/* 0 for the call that has stopped it, or found it stopped by an earlier one or with all others. */
static inline int stopped_judge(struct trial *trial, int error) {
    if (error == WEFT_ENOPROC && !trial->things.has) error = 0;
    if (!error) trial->things.has = true;
    return error;
}

/* ---- servers -------------------------------------------------------------------------------------------------------- */

static inline int service_init(void *state, void *arg) {
    *(struct trial **)state = arg;
    return 0;
}
static inline int service_init_slowly(void *state, void *arg) {
    permit_take(arg);
    return service_init(state, arg);
}
/* Answered by the completer. */
static inline int service_call(void *state, const weft_incoming *in) {
    struct trial *trial = *(struct trial **)state;
    trial->things.request = in->request;
    atom_store_rel(&trial->things.requested, 1);
    return 0;
}
static inline void service_end_slowly(void *state, int code) {
    EXPECT(code == WEFT_ECANCELED);
    permit_take(*(struct trial **)state);
}
static const weft_server_spec service_slow = {.state_size = sizeof(struct trial *), .init = service_init_slowly};
static const weft_server_spec service_keeps = {
    .state_size = sizeof(struct trial *), .init = service_init, .call = service_call, .terminate = service_end_slowly};

static inline int service_wait_start(struct trial *trial, uint64_t deadline) {
    weft_stackful_options options = {.runtime = rt.runtime};
    return ended_with_all(trial, weft_server_start(&service_slow, trial, &options, &trial->things.server, deadline));
}
/* A server that was not up in time is killed. */
static inline void service_clean_start(struct trial *trial) {
    if (trial->taken) stopped_clean(trial, weft_server_stop);
    while (weft_alive(trial->things.server))
        pause_briefly();
}
static inline void service_make(struct trial *trial) {
    weft_stackful_options options = beside_options(trial);
    weft_shield_begin();
    EXPECT_EQ(weft_server_start(&service_keeps, trial, &options, &trial->things.server, patient()), 0);
    weft_shield_end();
}
static inline void service_clean(struct trial *trial) { stopped_clean(trial, weft_server_stop); }
static inline int service_wait_stop(struct trial *trial, uint64_t deadline) {
    return stopped_judge(trial, weft_server_stop(trial->things.server, deadline));
}

/* ---- supervisors ---------------------------------------------------------------------------------------------------- */

/* Is up when it has a permit. */
static inline void raised_slowly(void *arg) {
    struct trial *trial = arg;
    atom_store_rel(&trial->things.spawned, 1);
    int error = weft_sem_acquire(&trial->things.sem, 1, patient());
    if (error) atom_store_rel(&trial->completing, 1); /* it was cancelled, and its supervisor has no one to wait for */
    weft_ready(error);
    if (!error) weft_sleep_until(WEFT_FOREVER);
}
/* Ends when it has one. */
static inline void ends_slowly(void *arg) {
    struct trial *trial = arg;
    weft_sleep_until(WEFT_FOREVER);
    permit_take(trial);
}
static inline weft_child_spec child_raised(struct trial *trial) {
    return (weft_child_spec){
        .id = "raised", .entry = raised_slowly, .arg = trial, .restart = WEFT_TEMPORARY, .ready = true, .start_ms = SLOWLY_MS};
}
static inline weft_child_spec child_ending(struct trial *trial) {
    return (weft_child_spec){.id = "ending", .entry = ends_slowly, .arg = trial, .restart = WEFT_TRANSIENT, .stop_ms = SLOWLY_MS};
}
static inline int super_wait_start(struct trial *trial, uint64_t deadline) {
    weft_child_spec child = child_raised(trial);
    weft_super_spec spec = {.name = "cross", .children = &child, .count = 1};
    weft_stackful_options options = {.runtime = rt.runtime};
    return ended_with_all(trial, weft_super_start(&spec, &options, &trial->things.server, deadline));
}
static inline void super_clean(struct trial *trial) { stopped_clean(trial, weft_super_stop); }
static inline void super_clean_start(struct trial *trial) {
    if (trial->taken) super_clean(trial);
}

static inline void super_make_of(struct trial *trial, const weft_child_spec *child) {
    weft_super_spec spec = {.name = "cross", .children = child, .count = child ? 1 : 0};
    weft_stackful_options options = beside_options(trial);
    weft_shield_begin();
    EXPECT_EQ(weft_super_start(&spec, &options, &trial->things.server, patient()), 0);
    weft_shield_end();
}
static inline void super_make(struct trial *trial) { super_make_of(trial, NULL); }
static inline void super_make_ending(struct trial *trial) {
    weft_child_spec child = child_ending(trial);
    super_make_of(trial, &child);
}
static inline int super_wait_add(struct trial *trial, uint64_t deadline) {
    weft_child_spec child = child_raised(trial);
    weft_pid pid;
    int error = weft_super_add(trial->things.server, &child, &pid, deadline);
    if (!error && !trial->state->everybody) EXPECT(weft_alive(pid));
    return ended_with_all(trial, error);
}
static inline int super_wait_stop_child(struct trial *trial, uint64_t deadline) {
    return ended_with_all(trial, weft_super_stop_child(trial->things.server, "ending", deadline));
}
static inline int super_wait_restart_child(struct trial *trial, uint64_t deadline) {
    weft_pid pid;
    return ended_with_all(trial, weft_super_restart_child(trial->things.server, "ending", &pid, deadline));
}
static inline int super_wait_remove(struct trial *trial, uint64_t deadline) {
    return ended_with_all(trial, weft_super_remove(trial->things.server, "ending", deadline));
}
static inline int super_wait_stop(struct trial *trial, uint64_t deadline) {
    return stopped_judge(trial, weft_super_stop(trial->things.server, deadline));
}

/* It starts a child for another process meanwhile. */
static inline void super_occupy(void *arg) {
    struct trial *trial = arg;
    weft_child_spec child = child_raised(trial);
    weft_shield_begin();
    int error = weft_super_add(trial->things.server, &child, NULL, patient());
    EXPECT(error == 0 || trial->state->everybody);
    weft_shield_end();
    atom_store_rel(&trial->things.units, 1);
}
/* A child that is starting when its supervisor is stopped is cancelled, though there is a permit: so the start comes first. */
static inline void super_clean_busy(struct trial *trial) {
    weft_sem_release(&trial->things.sem, 1);
    if (!trial->state->everybody) await(&trial->things.units);
    super_clean(trial);
}
static inline void super_make_busy(struct trial *trial) {
    super_make(trial);
    spawn_beside(super_occupy, trial, 0);
    await(&trial->things.spawned);
}
static inline int super_wait_children(struct trial *trial, uint64_t deadline) {
    weft_child_info children[2];
    ssize_t count = weft_super_children(trial->things.server, children, 2, deadline);
    if (count < 0) return ended_with_all(trial, (int)count);
    if (!trial->state->everybody) EXPECT(count == 1 && weft_alive(children[0].pid));
    return 0;
}

/* Fails when it is told so; the one in its place tells the caller. There is none if the runtime stops before. */
static inline void failing_main(void *arg) {
    struct trial *trial = arg;
    weft_msg *message;
    if (atom_add_rlx(&trial->things.spawned, 1) == 0) {
        trial->things.children[0] = weft_self();
        weft_ready(0);
        int error = weft_recv_tag(TAG_END, &message, WEFT_FOREVER);
        if (!error) weft_msg_free(message);
        weft_exit(error ? error : REASON);
    }
    weft_ready(0);
    EXPECT_EQ(recv_complete(trial), true);
    atom_add_rel(&trial->things.units, 1);
    weft_sleep_until(WEFT_FOREVER);
}
static inline void failing_make(struct trial *trial) {
    weft_child_spec child = {.id = "failing", .entry = failing_main, .arg = trial, .restart = WEFT_TRANSIENT, .ready = true};
    super_make_of(trial, &child);
}
static inline bool failing_complete(struct trial *trial) {
    if (!atom_swap_acqrel(&trial->things.requested, 1))
        weft_send(trial->things.children[0], TAG_END, NULL, 0); /* it may have ended with all */
    return atom_load_acq(&trial->things.units) > 0;
}
/* Once, unless all ended before. */
static inline void failing_clean(struct trial *trial) {
    weft_msg *message;
    if (!trial->state->everybody) await(&trial->things.units);
    super_clean(trial);
    uint64_t told = trial->taken;
    while (weft_recv_tag(TAG_UNIT, &message, 0) == 0) {
        weft_msg_free(message);
        told++;
    }
    EXPECT_EQ(told, atom_load_acq(&trial->things.units));
    EXPECT(told <= 1);
}

#define ASKS CALL_ONCE | CALL_NOT_BEFORE | CALL_REFUSES
#define CALLS_SERVER(CALL)                                                                                                                 \
    CALL(server_start, .is = CALL_ONCE | CALL_NOT_BEFORE | CALL_ANYWHERE, .wait = service_wait_start, .complete = permit_complete,         \
         .clean = service_clean_start)                                                                                                     \
    CALL(server_call, .is = ASKS, .make = service_make, .wait = call_wait, .complete = server_answers, .clean = service_clean)             \
    CALL(server_stop, .is = CALL_NOT_BEFORE | CALL_ANYWHERE, .gone = WEFT_ENOPROC, .make = service_make, .wait = service_wait_stop,        \
         .complete = permit_complete)                                                                                                      \
    CALL(super_start, .is = CALL_ONCE | CALL_NOT_BEFORE | CALL_ANYWHERE, .wait = super_wait_start, .complete = permit_complete,            \
         .clean = super_clean_start)                                                                                                       \
    CALL(super_stop, .is = CALL_NOT_BEFORE | CALL_ANYWHERE, .gone = WEFT_ENOPROC, .make = super_make_ending, .wait = super_wait_stop,      \
         .complete = permit_complete)                                                                                                      \
    CALL(super_add, .is = ASKS, .make = super_make, .wait = super_wait_add, .complete = permit_complete, .clean = super_clean)             \
    CALL(super_stop_child, .is = ASKS, .make = super_make_ending, .wait = super_wait_stop_child, .complete = permit_complete,              \
         .clean = super_clean)                                                                                                             \
    CALL(super_restart_child, .is = ASKS, .make = super_make_ending, .wait = super_wait_restart_child, .complete = permit_complete,        \
         .clean = super_clean)                                                                                                             \
    CALL(super_remove, .is = ASKS, .make = super_make_ending, .wait = super_wait_remove, .complete = permit_complete,                      \
         .clean = super_clean)                                                                                                             \
    CALL(super_children, .is = ASKS, .make = super_make_busy, .wait = super_wait_children, .complete = permit_complete,                    \
         .clean = super_clean_busy)                                                                                                        \
    CALL(super_restarts, .is = CALL_ONCE | CALL_NOT_BEFORE | CALL_MAIL | CALL_PACKS, .make = failing_make, .wait = recv_wait_tag,          \
         .complete = failing_complete, .clean = failing_clean)

#endif
