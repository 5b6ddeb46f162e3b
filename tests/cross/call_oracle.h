/* What a call may answer, and what must hold afterwards. */
#ifndef WEFT_TESTS_CROSS_CALL_ORACLE_H
#define WEFT_TESTS_CROSS_CALL_ORACLE_H

#include "combinations.h"

enum { TAKES = 1, LATE = 2, TOLD = 4 };

static inline unsigned oracle_cancelled_early(const struct view *view, bool ready, bool comes) {
    if (view->call->is & CALL_REFUSES) return TOLD;
    return ready ? TAKES : comes ? TAKES | TOLD : TOLD; /* what comes while it looks it may have */
}

/* Whether the deadline may come. Otherwise the unit or a cancellation ends the call long before, or it has been lost. */
static inline bool oracle_is_limited(const struct trial *trial) {
    struct view view = view_of(&trial->combination);
    return trial->deadline != WEFT_FOREVER && (view.state->deadline || (view.nobody && !view_is_told(&view)));
}

/* 0, WEFT_ETIMEDOUT, WEFT_ECANCELED: which of them. */
static inline unsigned oracle_allows(const struct trial *trial) {
    struct view view = view_of(&trial->combination);
    unsigned is = view.call->is;
    bool told = view_is_told(&view), early = view.state->cancelled == EARLY;
    bool ready = is & CALL_INSTANT || (view.moment == BEFORE && !view.nobody);
    if (is & CALL_CHILDREN && trial->deadline <= trial->begun) return LATE; /* it has failed by that, whatever becomes of its owner */
    if (is & CALL_TO_ITS_END) return (is & CALL_NOT_TOLD && !view.state->ends) || !told ? TAKES : early ? TOLD : TAKES | TOLD;
    if (told && early) return oracle_cancelled_early(&view, ready, !view.nobody);
    unsigned allowed = ready || !view.nobody ? TAKES : 0;
    if (told && (!ready || is & CALL_REFUSES)) allowed |= TOLD;
    if (oracle_is_limited(trial) && !ready) allowed |= LATE;
    return allowed;
}

static inline unsigned oracle_answer(int code) {
    return code == 0 ? TAKES : code == WEFT_ETIMEDOUT ? LATE : code == WEFT_ECANCELED ? TOLD : 0;
}

static inline void oracle_judge_answer(struct trial *trial) {
    unsigned allowed = oracle_allows(trial);
    if (!(oracle_answer(trial->code) & allowed))
        test_fail(__FILE__, __LINE__, "the call answered %s, which is none of:%s%s%s", weft_errname(trial->code),
                  allowed & TAKES ? " 0" : "", allowed & LATE ? " WEFT_ETIMEDOUT" : "", allowed & TOLD ? " WEFT_ECANCELED" : "");
    if (!oracle_is_limited(trial)) EXPECT(weft_now() < trial->deadline);
    if (trial->code == WEFT_ETIMEDOUT) EXPECT(weft_now() >= trial->deadline); /* never early */
    trial->taken = trial->code == 0 || (trial->call->is & CALL_TO_ITS_END && !trial->state->ends);
}

/* Right after the call, or the end of its process in it. */
static inline void oracle_judge(struct trial *trial) {
    trial->taken = trial->took;
    if (atom_load_acq(&trial->came_back)) oracle_judge_answer(trial);
    if (trial->taken && !(trial->call->is & CALL_INSTANT)) EXPECT(atom_load_acq(&trial->completing)); /* not before there was a unit */
}

/* The unit is there if the call has not taken it; and once. */
static inline void oracle_settle(struct trial *trial) {
    const struct call *call = trial->call;
    bool again = !(call->is & (CALL_ONCE | CALL_INSTANT));
    if (again && !trial->taken) EXPECT_EQ(call->wait(trial, patient()), 0);
    await(&trial->completed);
    if (again && !(call->is & CALL_LEVEL)) EXPECT_EQ(call->wait(trial, 0), call->gone ? call->gone : WEFT_ETIMEDOUT);
}

#endif
