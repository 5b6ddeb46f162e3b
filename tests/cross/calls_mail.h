/* Calls that wait for messages, answers, ends of processes, time. */
#ifndef WEFT_TESTS_CROSS_CALLS_MAIL_H
#define WEFT_TESTS_CROSS_CALLS_MAIL_H

#include "trial.h"

/* ---- messages ------------------------------------------------------------------------------------------------------- */

static inline bool recv_complete(struct trial *trial) {
    EXPECT_EQ(weft_send(trial->caller, TAG_UNIT, &trial->delay, sizeof trial->delay), 0);
    return true;
}
static inline int recv_judge(struct trial *trial, weft_msg *message, int error) {
    if (error) return error;
    EXPECT_EQ(weft_msg_tag(message), TAG_UNIT);
    EXPECT_EQ(weft_msg_len(message), sizeof trial->delay);
    EXPECT(memcmp(weft_msg_data(message), &trial->delay, sizeof trial->delay) == 0);
    weft_msg_free(message);
    return 0;
}
static inline int recv_wait_any(struct trial *trial, uint64_t deadline) {
    weft_msg *message;
    int error = weft_recv(&message, deadline);
    return recv_judge(trial, message, error);
}
static inline int recv_wait_tag(struct trial *trial, uint64_t deadline) {
    weft_msg *message;
    int error = weft_recv_tag(TAG_UNIT, &message, deadline);
    return recv_judge(trial, message, error);
}
static inline bool is_unit(const weft_msg *message, void *arg) { return weft_msg_tag(message) == *(uint64_t *)arg; }
static inline int recv_wait_match(struct trial *trial, uint64_t deadline) {
    weft_msg *message;
    uint64_t tag = TAG_UNIT;
    int error = weft_recv_match(is_unit, &tag, &message, deadline);
    return recv_judge(trial, message, error);
}
static inline int recv_wait_into(struct trial *trial, uint64_t deadline) {
    uint64_t value = 0;
    weft_envelope envelope;
    int error = weft_recv_into(&value, sizeof value, &envelope, deadline);
    if (error) return error;
    EXPECT(envelope.request.tag == TAG_UNIT && envelope.size == sizeof value && value == trial->delay);
    return 0;
}

/* ---- request and reply ---------------------------------------------------------------------------------------------- */

/* Keeps the request until it is told to end. Its last word comes with the reason REASON. */
static inline void server(void *arg) {
    struct trial *trial = arg;
    weft_msg *message;
    weft_shield_begin();
    for (bool ends = false; !ends;) {
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        ends = weft_msg_tag(message) == TAG_END;
        if (!ends) {
            trial->things.request = weft_msg_request(message);
            atom_store_rel(&trial->things.requested, 1);
        }
        weft_msg_free(message);
    }
    weft_shield_end();
    weft_exit(REASON);
}
/* It waits for a message, so that a call can hand over to it. */
static inline void server_make(struct trial *trial) {
    trial->things.server = spawn_beside(server, trial, 0);
    for (unsigned i = 0; i < 4; i++)
        pause_briefly();
}
static inline void server_clean(struct trial *trial) {
    int error = weft_send(trial->things.server, TAG_END, NULL, 0);
    EXPECT(error == 0 || error == WEFT_ENOPROC);
}
static inline bool server_answers(struct trial *trial) {
    if (!atom_load_acq(&trial->things.requested)) return false;
    EXPECT_EQ(weft_reply(trial->things.request, &trial->delay, sizeof trial->delay), 0);
    return true;
}
static inline bool server_ends(struct trial *trial) {
    int error = weft_send(trial->things.server, TAG_END, NULL, 0);
    EXPECT(error == 0 || error == WEFT_ENOPROC);
    return !weft_alive(trial->things.server);
}
static inline int reply_judge(struct trial *trial, weft_msg *reply, int error) {
    if (error) return error;
    EXPECT_EQ(weft_msg_len(reply), sizeof trial->delay);
    EXPECT(memcmp(weft_msg_data(reply), &trial->delay, sizeof trial->delay) == 0);
    weft_msg_free(reply);
    return 0;
}
static inline int call_wait(struct trial *trial, uint64_t deadline) {
    weft_msg *reply;
    int error = weft_call(trial->things.server, TAG_UNIT, "?", 1, &reply, deadline);
    return reply_judge(trial, reply, error);
}
static inline void named_make(struct trial *trial) {
    server_make(trial);
    EXPECT_EQ(weft_register("server", trial->things.server), 0);
}
static inline int call_wait_name(struct trial *trial, uint64_t deadline) {
    weft_msg *reply;
    int error = weft_call_name("server", TAG_UNIT, "?", 1, &reply, deadline);
    return reply_judge(trial, reply, error);
}
/* The one asked ends instead. */
static inline int call_wait_end(struct trial *trial, uint64_t deadline) {
    weft_msg *reply;
    int error = weft_call(trial->things.server, TAG_UNIT, "?", 1, &reply, deadline);
    EXPECT(error != 0); /* there is no reply */
    return error == WEFT_ENOPROC ? 0 : error;
}
static inline void ask_make(struct trial *trial) {
    server_make(trial);
    EXPECT_EQ(weft_ask(trial->things.server, TAG_UNIT, "?", 1, &trial->things.reference), 0);
}
static inline int ask_wait_reply(struct trial *trial, uint64_t deadline) {
    weft_msg *reply;
    int error = weft_recv_reply(trial->things.reference, &reply, deadline);
    return reply_judge(trial, reply, error);
}

/* ---- room in another's mailbox ---------------------------------------------------------------------------------------- */

/* Its mailbox has one message, and no room for another. When it is told so, urgently, it receives the message. */
static inline bool is_for_keeper(const weft_msg *message, void *unused) { return (void)unused, weft_msg_tag(message) != TAG_MAIL; }
static inline void keeper(void *arg) {
    struct trial *trial = arg;
    weft_msg *message;
    weft_shield_begin();
    for (bool ends = false; !ends;) {
        EXPECT_EQ(weft_recv_match(is_for_keeper, NULL, &message, WEFT_FOREVER), 0);
        ends = weft_msg_tag(message) == TAG_END;
        weft_msg_free(message);
        if (ends) break;
        EXPECT_EQ(weft_recv_tag(TAG_MAIL, &message, WEFT_FOREVER), 0);
        weft_msg_free(message);
        atom_store_rel(&trial->things.requested, 1);
    }
    weft_shield_end();
}
static inline void keeper_make(struct trial *trial) {
    weft_mailbox mailbox = {.messages = 1};
    weft_stackful_options options = {.runtime = rt.runtime, .mailbox = &mailbox};
    EXPECT_EQ(weft_spawn_with(keeper, trial, &options, &trial->things.server), 0);
    EXPECT_EQ(weft_send(trial->things.server, TAG_MAIL, NULL, 0), 0);
}
static inline void keeper_clean(struct trial *trial) { EXPECT_EQ(weft_send_urgent(trial->things.server, TAG_END, NULL, 0), 0); }
static inline bool keeper_makes_room(struct trial *trial) {
    if (!atom_swap_acqrel(&trial->things.spawned, 1)) EXPECT_EQ(weft_send_urgent(trial->things.server, TAG_UNIT, NULL, 0), 0);
    return atom_load_acq(&trial->things.requested) != 0;
}
static inline int send_wait_room(struct trial *trial, uint64_t deadline) {
    return weft_send_until(trial->things.server, TAG_MAIL, &deadline, sizeof deadline, deadline);
}

/* ---- ends of processes ---------------------------------------------------------------------------------------------- */

static inline void join_make(struct trial *trial) { trial->things.server = spawn_beside(server, trial, WEFT_SPAWN_JOINABLE); }
static inline int join_wait(struct trial *trial, uint64_t deadline) {
    int reason = 0, error = weft_join(trial->things.server, &reason, deadline);
    if (!error) EXPECT_EQ(reason, REASON);
    return error;
}

static inline int join_reason_wait(struct trial *trial, uint64_t deadline) {
    weft_reason reason = {.code = 0};
    int error = weft_join_reason(trial->things.server, &reason, deadline);
    if (!error) EXPECT_EQ(reason.code, REASON);
    if (!error) weft_reason_free(&reason);
    return error;
}

/* Cancels it, which it does not heed, and waits for its end. */
static inline int end_wait(struct trial *trial, uint64_t deadline) {
    int reason = 0, error = weft_end(trial->things.server, &reason);
    (void)deadline;
    if (!error) EXPECT_EQ(reason, REASON);
    return error;
}

static inline void notice_abandon(struct trial *trial) { weft_demonitor(trial->things.reference, true); }
/* The notice of a monitor that was made just before. */
static inline int notice_wait(struct trial *trial, uint64_t deadline) {
    uint64_t *reference = &trial->things.reference;
    weft_msg *message;
    int error = weft_monitor(trial->things.server, TAG_UNIT, reference);
    if (error) return error;
    error = weft_recv_tag(TAG_UNIT, &message, deadline);
    if (error) {
        notice_abandon(trial);
        return error;
    }
    EXPECT(weft_msg_notice(message) && weft_msg_notice(message)->reference == *reference);
    int code = weft_msg_notice(message)->reason.code;
    weft_msg_free(message);
    EXPECT(code == REASON || code == WEFT_ENOPROC);
    return 0;
}

static inline void scope_child(void *arg) {
    struct trial *trial = arg;
    weft_msg *message;
    trial->things.children[atom_add_rlx(&trial->things.helped, 1)] = weft_self();
    atom_add_rel(&trial->things.spawned, 1);
    if (weft_recv_tag(TAG_END, &message, WEFT_FOREVER) == 0) weft_msg_free(message);
    atom_add_rel(&trial->things.fn_ended, 1);
}
static inline bool scope_complete(struct trial *trial) {
    bool lives = false;
    if (atom_load_acq(&trial->things.spawned) < 2) return false;
    for (unsigned i = 0; i < 2; i++)
        lives |= weft_send(trial->things.children[i], TAG_END, NULL, 0) == 0; /* it may have been cancelled, and ended */
    return !lives;
}
static inline void scope_make(struct trial *trial) {
    weft_scope_begin(&trial->things.scope, WEFT_FOREVER);
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(weft_scope_spawn(&trial->things.scope, scope_child, trial), 0);
}
/* All children have ended, whatever happened. Those of an owner that ends are killed, and that may be the scope's result. */
static inline void scope_abandon(struct trial *trial) {
    for (unsigned i = 0; i < 2; i++)
        EXPECT(!weft_alive(trial->things.children[i]));
}
static inline int scope_judge(struct trial *trial, unsigned children, int result) {
    scope_abandon(trial);
    if (trial->state->ends) return result == WEFT_EKILLED || result == trial->state->reason ? WEFT_ECANCELED : result;
    EXPECT_EQ(atom_load_acq(&trial->things.fn_ended), children);
    return result;
}
static inline int scope_wait(struct trial *trial, uint64_t deadline) {
    (void)deadline;
    return scope_judge(trial, 2, weft_scope_end(&trial->things.scope));
}
/* With a deadline, which a scope is given at its beginning. */
static inline int scope_wait_until(struct trial *trial, uint64_t deadline) {
    unsigned children = 0;
    weft_scope_begin(&trial->things.scope, deadline);
    int error = 0;
    for (unsigned i = 0; i < 2 && !error; i++)
        if (!(error = weft_scope_spawn(&trial->things.scope, scope_child, trial))) children++;
    if (deadline <= trial->begun) EXPECT_EQ(children, 0); /* it was over before it began */
    int result = scope_judge(trial, children, weft_scope_end(&trial->things.scope));
    return result ? result : error;
}

/* All in one. */
static inline void many_child(void *arg) {
    struct trial **trial = arg;
    scope_child(*trial);
}
static inline int many_wait(struct trial *trial, uint64_t deadline) {
    struct trial *children[2] = {trial, trial};
    (void)deadline;
    return scope_judge(trial, 2, weft_spawn_many(2, many_child, children, sizeof children[0]));
}

static inline int sleep_wait(struct trial *trial, uint64_t deadline) {
    (void)trial;
    int error = weft_sleep_until(deadline);
    if (!error) EXPECT(weft_now() >= deadline);
    return error ? error : WEFT_ETIMEDOUT;
}

#define CALLS_MAIL(CALL)                                                                                                                   \
    CALL(recv, .is = CALL_ANY_MAIL | CALL_MAIL | CALL_PACKS, .wait = recv_wait_any, .complete = recv_complete)                             \
    CALL(recv_tag, .is = CALL_MAIL | CALL_PACKS, .wait = recv_wait_tag, .complete = recv_complete)                                         \
    CALL(recv_match, .is = CALL_MAIL | CALL_PACKS, .wait = recv_wait_match, .complete = recv_complete)                                     \
    CALL(recv_into, .is = CALL_ANY_MAIL | CALL_MAIL | CALL_PACKS, .wait = recv_wait_into, .complete = recv_complete)                       \
    CALL(call, .is = CALL_ONCE | CALL_NOT_BEFORE | CALL_REFUSES, .make = server_make, .wait = call_wait, .complete = server_answers,       \
         .clean = server_clean)                                                                                                            \
    CALL(call_name, .is = CALL_ONCE | CALL_NOT_BEFORE | CALL_REFUSES, .make = named_make, .wait = call_wait_name,                          \
         .complete = server_answers, .clean = server_clean)                                                                                \
    CALL(call_end, .is = CALL_ONCE | CALL_REFUSES, .make = server_make, .wait = call_wait_end, .complete = server_ends,                    \
         .clean = server_clean)                                                                                                            \
    CALL(recv_reply, .gone = WEFT_ENOENT, .make = ask_make, .wait = ask_wait_reply, .complete = server_answers, .clean = server_clean)     \
    CALL(send_full, .is = CALL_ANYWHERE, .make = keeper_make, .wait = send_wait_room, .complete = keeper_makes_room,                       \
         .clean = keeper_clean)                                                                                                            \
    CALL(join, .is = CALL_ANYWHERE, .gone = WEFT_ENOPROC, .make = join_make, .wait = join_wait, .complete = server_ends)                   \
    CALL(join_reason, .is = CALL_ANYWHERE, .gone = WEFT_ENOPROC, .make = join_make, .wait = join_reason_wait, .complete = server_ends)     \
    CALL(end, .is = CALL_ANYWHERE | CALL_NO_DEADLINE | CALL_TO_ITS_END | CALL_NOT_TOLD | CALL_ENDS, .gone = WEFT_ENOPROC,                  \
         .make = join_make, .wait = end_wait, .complete = server_ends)                                                                     \
    CALL(notice, .is = CALL_ONCE | CALL_PACKS, .make = server_make, .wait = notice_wait, .abandon = notice_abandon,                        \
         .complete = server_ends, .clean = server_clean)                                                                                   \
    CALL(scope_end, .is = CALL_ONCE | CALL_NO_DEADLINE | CALL_CHILDREN, .make = scope_make, .wait = scope_wait, .abandon = scope_abandon,  \
         .complete = scope_complete)                                                                                                       \
    CALL(scope_until, .is = CALL_ONCE | CALL_NOT_BEFORE | CALL_CHILDREN, .wait = scope_wait_until, .abandon = scope_abandon,               \
         .complete = scope_complete)                                                                                                       \
    CALL(spawn_many, .is = CALL_ONCE | CALL_NO_DEADLINE | CALL_NOT_BEFORE | CALL_CHILDREN, .wait = many_wait, .abandon = scope_abandon,    \
         .complete = scope_complete)                                                                                                       \
    CALL(sleep, .is = CALL_TIMES_OUT | CALL_ONCE | CALL_ANYWHERE | CALL_PACKS, .wait = sleep_wait)

#endif
