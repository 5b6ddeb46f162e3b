/* What cancels a caller, and its deadlines. */
#ifndef WEFT_TESTS_CROSS_STATES_CANCELLED_H
#define WEFT_TESTS_CROSS_STATES_CANCELLED_H

#include "trial.h"

/* ---- cancellations -------------------------------------------------------------------------------------------------- */

static inline void cancel_enter(struct trial *trial) {
    (void)trial;
    EXPECT_EQ(weft_cancel(weft_self()), 0);
    EXPECT(weft_cancelled());
}
static inline void cancel_during(struct trial *trial) { EXPECT_EQ(weft_cancel(trial->caller), 0); }
static inline void shield_enter(struct trial *trial) {
    cancel_enter(trial);
    weft_shield_begin();
}
static inline void shield_enter_alone(struct trial *trial) {
    (void)trial;
    weft_shield_begin();
}
/* Told from then on. */
static inline void cancelled_leave(struct trial *trial) {
    weft_msg *message;
    (void)trial;
    weft_shield_end();
    while (!weft_cancelled())
        weft_yield();
    EXPECT_EQ(weft_recv_tag(TAG_MAIL, &message, WEFT_FOREVER), WEFT_ECANCELED);
    EXPECT_EQ(weft_recv_tag(TAG_MAIL, &message, 0), WEFT_ECANCELED);
    EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), WEFT_ECANCELED);
    EXPECT_EQ(weft_sleep_until(0), WEFT_ECANCELED);
    weft_shield_begin();
}
static inline void shield_leave(struct trial *trial) {
    weft_shield_end();
    cancelled_leave(trial);
}

static inline void sibling_main(void *arg) {
    weft_msg *message;
    (void)arg;
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    weft_exit(SCOPE_REASON);
}
static inline void sibling_during(struct trial *trial) { EXPECT_EQ(weft_send(trial->sibling, TAG_END, NULL, 0), 0); }

static inline void context_during(struct trial *trial) { weft_context_cancel(trial->context, rt.runtime); }

static weft_stop_report stop_report;
static int stop_result;
static inline void *stop_main(void *unused) {
    stop_result = weft_stop(rt.runtime, &stop_report, WEFT_FOREVER);
    return unused;
}
static inline void stop_during(struct trial *trial) {
    trial->has_stopper = true;
    EXPECT_EQ(pthread_create(&trial->stopper, NULL, stop_main, NULL), 0);
}

/* ---- deadlines ------------------------------------------------------------------------------------------------------ */

static inline uint64_t deadline_none(struct trial *trial) { return (void)trial, 0; }
static inline uint64_t deadline_past(struct trial *trial) { return trial->begun - 1; }
static inline uint64_t deadline_same(struct trial *trial) { return trial->begun + trial->delay; }

#endif
