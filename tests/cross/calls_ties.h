/* Links, groups, names, tickers, rate limiters. */
#ifndef WEFT_TESTS_CROSS_CALLS_TIES_H
#define WEFT_TESTS_CROSS_CALLS_TIES_H

#include "calls_mail.h"

/* What ends with all others, in a state that cancels everybody, was cancelled. */
static inline int ended_with_all(const struct trial *trial, int error) {
    bool ended = error == WEFT_ESTOPPING || error == WEFT_ECLOSED || error == WEFT_ENOPROC;
    return ended && trial->state->everybody ? WEFT_ECANCELED : error;
}

/* ---- links ---------------------------------------------------------------------------------------------------------- */

/* Takes the link back; or its notice, if the other one has ended by now. */
static inline void link_undo(struct trial *trial) {
    weft_msg *message;
    if (weft_unlink(trial->things.server) == 0) return;
    weft_shield_begin();
    EXPECT_EQ(weft_recv_tag(TAG_UNIT, &message, patient()), 0);
    weft_shield_end();
    weft_msg_free(message);
}
/* The notice of a link that was made just before, to a process that traps exits. */
static inline int link_wait_notice(struct trial *trial, uint64_t deadline) {
    weft_msg *message;
    EXPECT_EQ(weft_trap_exit(true, TAG_UNIT), 0);
    int error = weft_link(trial->things.server);
    if (error == WEFT_ENOPROC) return weft_trap_exit(false, 0);
    EXPECT_EQ(error, 0);
    trial->things.has = true;
    error = weft_recv_tag(TAG_UNIT, &message, deadline);
    if (!error) {
        const weft_notice *notice = weft_msg_notice(message);
        EXPECT(notice && notice->kind == WEFT_NOTICE_EXIT && notice->pid == trial->things.server && notice->reason.code == REASON);
        weft_msg_free(message);
        trial->took = true;
    } else link_undo(trial);
    EXPECT_EQ(weft_trap_exit(false, 0), 0);
    return error;
}

static inline void link_abandon(struct trial *trial) {
    if (trial->things.has && !trial->took) link_undo(trial);
    EXPECT_EQ(weft_trap_exit(false, 0), 0);
}

/* One that is linked to the server and traps no exits: it ends because of it, with its reason. */
static inline void linked_main(void *arg) {
    struct trial *trial = arg;
    EXPECT_EQ(weft_link(trial->things.server), 0);
    atom_store_rel(&trial->things.spawned, 1);
    while (weft_sleep_until(WEFT_FOREVER)) /* it may be cancelled: the link ends it all the same */
        pause_briefly();
}
static inline void linked_make(struct trial *trial) {
    server_make(trial);
    trial->things.children[0] = spawn_beside(linked_main, trial, WEFT_SPAWN_JOINABLE);
    await(&trial->things.spawned);
}
/* Its PID is no process's from the beginning of its end on; a join finds the end of that at once, and until then a cancelled one answers so. */
static inline bool linked_ends(struct trial *trial) {
    if (!server_ends(trial) || weft_alive(trial->things.children[0])) return false;
    rt_pause(5 * RT_MS);
    return true;
}
static inline int linked_wait(struct trial *trial, uint64_t deadline) {
    int reason = 0, error = weft_join(trial->things.children[0], &reason, deadline);
    if (!error) EXPECT_EQ(reason, REASON);
    return error;
}

/* ---- groups and names ----------------------------------------------------------------------------------------------- */

static inline void member_make(struct trial *trial) {
    (void)trial;
    EXPECT_EQ(weft_group_join("cross"), 0);
    EXPECT_EQ(weft_group_join("cross"), 0); /* one member all the same */
}
static inline bool member_complete(struct trial *trial) {
    EXPECT_EQ(weft_group_send_in(rt.runtime, "cross", TAG_UNIT, &trial->delay, sizeof trial->delay), 1);
    return true;
}
static inline bool member_complete_any(struct trial *trial) {
    EXPECT_EQ(weft_group_send_any_in(rt.runtime, "cross", TAG_UNIT, &trial->delay, sizeof trial->delay), 0);
    return true;
}
static inline void member_clean(struct trial *trial) {
    weft_pid member = WEFT_NOBODY;
    (void)trial;
    EXPECT_EQ(weft_group_leave("cross"), 0);
    EXPECT(weft_group_members("cross", &member, 1) == 1 && member == weft_self());
    EXPECT_EQ(weft_group_leave("cross"), 0);
    EXPECT_EQ(weft_group_leave("cross"), WEFT_ENOENT);
    EXPECT_EQ(weft_group_members("cross", &member, 1), 0);
}
/* Nothing of these has to wait, whatever becomes of the caller. */
static inline int group_wait_nothing(struct trial *trial, uint64_t deadline) {
    (void)deadline;
    member_make(trial);
    member_clean(trial);
    EXPECT_EQ(weft_group_send("cross", TAG_UNIT, NULL, 0), 0);
    EXPECT_EQ(weft_group_send_any("cross", TAG_UNIT, NULL, 0), WEFT_ENOPROC);
    return 0;
}
static inline int names_wait_nothing(struct trial *trial, uint64_t deadline) {
    (void)deadline;
    EXPECT_EQ(weft_register("cross", trial->caller), 0);
    EXPECT_EQ(weft_register("cross", trial->caller), WEFT_EEXIST);
    EXPECT_EQ(weft_whereis_in(rt.runtime, "cross"), trial->caller);
    EXPECT_EQ(weft_names(rt.runtime, NULL, NULL), 1);
    EXPECT_EQ(weft_unregister(rt.runtime, "cross"), 0);
    EXPECT_EQ(weft_unregister(rt.runtime, "cross"), WEFT_ENOENT);
    EXPECT_EQ(weft_whereis_in(rt.runtime, "cross"), WEFT_NOBODY);
    return 0;
}

/* ---- tickers and rate limiters -------------------------------------------------------------------------------------- */

/* Nanoseconds until the deadline; WEFT_FOREVER for one that has passed, which the call itself is given then. */
static inline uint64_t time_until(uint64_t deadline) {
    uint64_t now = weft_now();
    return deadline > now && deadline != WEFT_FOREVER ? deadline - now : WEFT_FOREVER;
}

static inline void ticker_free(struct trial *trial) {
    if (trial->things.ticker) weft_ticker_free(trial->things.ticker);
    trial->things.ticker = NULL;
}
/* The deadline is the tick's. */
static inline int ticker_wait(struct trial *trial, uint64_t deadline) {
    uint64_t moment = 0, first = time_until(deadline);
    int error = weft_ticker_new(rt.runtime, first, 0, &trial->things.ticker);
    if (error) return ended_with_all(trial, error);
    error = weft_chan_recv(weft_ticker_chan(trial->things.ticker), &moment, first == WEFT_FOREVER ? deadline : WEFT_FOREVER);
    ticker_free(trial);
    if (!error) EXPECT(moment >= deadline && moment <= weft_now());
    return error ? ended_with_all(trial, error) : WEFT_ETIMEDOUT;
}

/* Of two permits one is there; the other comes at the deadline. */
static inline int limiter_wait(struct trial *trial, uint64_t deadline) {
    weft_limiter *limiter = &trial->things.limiter;
    uint64_t period = time_until(deadline);
    weft_limiter_init(limiter, 1, period == WEFT_FOREVER ? 100 * WEFT_SECOND : period, 2);
    EXPECT_EQ(weft_limiter_take(limiter, 1, 0), 0);
    int error = weft_limiter_take(limiter, 2, period == WEFT_FOREVER ? deadline : WEFT_FOREVER);
    trial->things.has = error == 0;
    return error ? error : WEFT_ETIMEDOUT;
}
/* What gave up has taken none: the one is there. */
static inline void limiter_clean(struct trial *trial) {
    if (trial->things.has) return;
    EXPECT_EQ(weft_limiter_take(&trial->things.limiter, 1, 0), 0);
    EXPECT_EQ(weft_limiter_take(&trial->things.limiter, 1, 0), WEFT_ETIMEDOUT);
}
/* That the permits will not have come is known at once. */
static inline int limiter_wait_late(struct trial *trial, uint64_t deadline) {
    weft_limiter *limiter = &trial->things.limiter;
    (void)deadline;
    weft_limiter_init(limiter, 1, 100 * WEFT_SECOND, 1);
    EXPECT_EQ(weft_limiter_take(limiter, 1, 0), 0);
    uint64_t late = weft_in(50 * WEFT_SECOND);
    int error = weft_limiter_take(limiter, 1, late);
    EXPECT(error && weft_now() < late);
    return error == WEFT_ETIMEDOUT ? 0 : error;
}

#define NEVER_WAITS CALL_INSTANT | CALL_NO_DEADLINE | CALL_LEVEL
#define CALLS_TIES(CALL)                                                                                                                   \
    CALL(link_notice, .is = CALL_ONCE | CALL_TRAPS | CALL_PACKS, .make = server_make, .wait = link_wait_notice, .abandon = link_abandon,   \
         .complete = server_ends, .clean = server_clean)                                                                                   \
    CALL(join_linked, .is = CALL_ANYWHERE, .gone = WEFT_ENOPROC, .make = linked_make, .wait = linked_wait, .complete = linked_ends)        \
    CALL(group_recv, .is = CALL_MAIL | CALL_PACKS, .make = member_make, .wait = recv_wait_tag, .complete = member_complete,                \
         .clean = member_clean)                                                                                                            \
    CALL(group_recv_any, .is = CALL_MAIL | CALL_PACKS, .make = member_make, .wait = recv_wait_tag, .complete = member_complete_any,        \
         .clean = member_clean)                                                                                                            \
    CALL(group_calls, .is = NEVER_WAITS | CALL_IN_STEPS, .wait = group_wait_nothing)                                                       \
    CALL(name_calls, .is = NEVER_WAITS | CALL_ANYWHERE | CALL_IN_STEPS, .wait = names_wait_nothing)                                        \
    CALL(ticker, .is = CALL_TIMES_OUT | CALL_ONCE | CALL_ANYWHERE, .wait = ticker_wait, .abandon = ticker_free)                            \
    CALL(limiter, .is = CALL_TIMES_OUT | CALL_ONCE | CALL_ANYWHERE, .wait = limiter_wait, .clean = limiter_clean)                          \
    CALL(limiter_late, .is = NEVER_WAITS | CALL_REFUSES | CALL_ANYWHERE, .wait = limiter_wait_late)

#endif
