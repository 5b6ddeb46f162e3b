/* The table of states that a caller may be in. */
#ifndef WEFT_TESTS_CROSS_STATES_H
#define WEFT_TESTS_CROSS_STATES_H

#include "states_packed.h"

#include "sched/limits.h"

/* ---- mail ----------------------------------------------------------------------------------------------------------- */

static inline void mail_send(unsigned number) { EXPECT_EQ(weft_send(weft_self(), TAG_MAIL + number, &number, sizeof number), 0); }
static inline void mail_enter_unread(struct trial *trial) {
    (void)trial;
    for (unsigned i = 0; i < MAIL; i++)
        mail_send(i);
}
/* All but the last have been looked at, by a receive for something else. */
static inline void mail_enter_saved(struct trial *trial) {
    weft_msg *none;
    (void)trial;
    for (unsigned i = 0; i < MAIL - 1; i++)
        mail_send(i);
    EXPECT_EQ(weft_recv_tag(TAG_MAIL + MAIL, &none, 0), WEFT_ETIMEDOUT);
    mail_send(MAIL - 1);
}
/* All of it, in order, and nothing more. */
static inline void mail_leave(struct trial *trial) {
    weft_msg *message;
    (void)trial;
    for (unsigned i = 0; i < MAIL; i++) {
        unsigned number;
        EXPECT_EQ(weft_recv(&message, patient()), 0);
        EXPECT_EQ(weft_msg_tag(message), TAG_MAIL + i);
        memcpy(&number, weft_msg_data(message), sizeof number);
        EXPECT_EQ(number, i);
        weft_msg_free(message);
    }
}

/* Keeps a request, and answers it when it is told so. */
static inline void friend_main(void *arg) {
    weft_msg *message, *request = NULL;
    (void)arg;
    weft_shield_begin();
    for (bool over = false; !over;) {
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        over = weft_msg_tag(message) == TAG_END;
        if (over) weft_msg_free(message);
        else request = message;
    }
    EXPECT_EQ(weft_reply(weft_msg_request(request), "later", 5), 0);
    weft_msg_free(request);
    weft_shield_end();
}
static inline void asked_enter(struct trial *trial) {
    trial->friend = spawn_beside(friend_main, trial, 0);
    EXPECT_EQ(weft_ask(trial->friend, TAG_MAIL, NULL, 0, &trial->friend_reference), 0);
}
static inline void asked_leave(struct trial *trial) {
    weft_msg *reply;
    EXPECT_EQ(weft_send(trial->friend, TAG_END, NULL, 0), 0);
    EXPECT_EQ(weft_recv_reply(trial->friend_reference, &reply, patient()), 0);
    EXPECT_EQ(weft_msg_len(reply), 5);
    weft_msg_free(reply);
}
/* An answer that no process waits for any more lies in the mailbox. */
static inline void late_enter(struct trial *trial) {
    weft_msg *reply;
    trial->friend = spawn_beside(friend_main, trial, 0);
    EXPECT_EQ(weft_call(trial->friend, TAG_MAIL, NULL, 0, &reply, weft_in(100 * WEFT_MICROSECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_send(trial->friend, TAG_END, NULL, 0), 0);
    while (weft_alive(trial->friend))
        pause_briefly();
}

/* ---- where the caller runs ------------------------------------------------------------------------------------------ */

/* On one thread from the beginning to the end, whatever it waits for. */
static inline void run_pinned(void (*run)(struct trial *trial), struct trial *trial) {
    weft_pin_begin();
    pid_t thread = gettid();
    run(trial);
    EXPECT_EQ(gettid(), thread);
    weft_pin_end();
}
/* Its next call that may wait lets others run first. */
static inline void budget_enter(struct trial *trial) {
    for (unsigned i = 0; i < 2 * BUDGET_CALLS; i++) {
        EXPECT_EQ(weft_mutex_lock(&trial->mutex, 0), 0);
        weft_mutex_unlock(&trial->mutex);
    }
}
static inline void around_pinned(struct trial *trial) { run_pinned(trial->body, trial); }
static inline void around_nopreempt(struct trial *trial) {
    weft_nopreempt_begin();
    trial->body(trial);
    weft_nopreempt_end();
}
static inline void caller_body_of(void *arg) {
    struct trial *trial = arg;
    trial->body(trial);
}
static inline void around_big(struct trial *trial) { EXPECT_EQ(weft_call_big(caller_body_of, trial, 512 << 10), 0); }
/* After the end, so to speak; of one that was cancelled. */
static inline void around_deferred(struct trial *trial) {
    EXPECT_EQ(weft_defer(caller_body_of, trial), 0);
    cancel_enter(trial);
}
/* Of one that was killed. */
static inline void around_killed(struct trial *trial) {
    EXPECT_EQ(weft_defer(caller_body_of, trial), 0);
    EXPECT_EQ(weft_kill(weft_self()), 0);
    for (;;)
        weft_yield();
}
WEFT_VOID_TASK(cross_around, struct trial *, trial) {
    WEFT_TASK_WAIT_BEGIN();
    trial->body(trial);
    WEFT_TASK_WAIT_END();
}
static inline void around_task(struct trial *trial) { WEFT_RUN(cross_around, trial); }
static inline void around_lock(struct trial *trial) {
    EXPECT_EQ(weft_mutex_lock(&trial->mutex, 0), 0);
    trial->body(trial);
    weft_mutex_unlock(&trial->mutex);
}

enum { SOON = 1500 * 1000 };
static const struct caller_state states[] = {
    {.name = "plain"},
    {.name = "unread", .has_mail = true, .enter = mail_enter_unread, .leave = mail_leave},
    {.name = "saved", .has_mail = true, .enter = mail_enter_saved, .leave = mail_leave},
    {.name = "bounded", .has_mail = true, .bound = 100, .enter = mail_enter_saved, .leave = mail_leave},
    {.name = "full_mailbox", .has_mail = true, .bound = MAIL, .enter = mail_enter_unread, .leave = mail_leave},
    {.name = "asked", .enter = asked_enter, .leave = asked_leave},
    {.name = "late_answer", .enter = late_enter},
    {.name = "cancelled_before", .cancelled = EARLY, .enter = cancel_enter, .leave = cancelled_leave},
    {.name = "cancelled_during", .cancelled = DURING, .during = cancel_during, .leave = cancelled_leave},
    {.name = "cancelled_after", .after = cancel_during, .leave = cancelled_leave},
    {.name = "shielded", .cancelled = EARLY, .shielded = true, .enter = shield_enter, .leave = shield_leave},
    {.name = "shielded_during",
     .cancelled = DURING,
     .shielded = true,
     .enter = shield_enter_alone,
     .during = cancel_during,
     .leave = shield_leave},
    {.name = "no_deadline_left", .deadline = deadline_none},
    {.name = "past_deadline", .deadline = deadline_past},
    {.name = "same_deadline", .deadline = deadline_same},
    {.name = "cancelled_no_deadline_left", .cancelled = EARLY, .deadline = deadline_none, .enter = cancel_enter, .leave = cancelled_leave},
    {.name = "pinned", .around = around_pinned},
    {.name = "beside_pinned", .pins_completer = true},
    {.name = "preemptible", .flags = WEFT_SPAWN_PREEMPT},
    {.name = "nopreempt", .flags = WEFT_SPAWN_PREEMPT, .around = around_nopreempt},
    {.name = "deferred", .cancelled = EARLY, .shielded = true, .around = around_deferred},
    {.name = "killed", .reason = WEFT_EKILLED, .around = around_killed},
    {.name = "budget_over", .enter = budget_enter},
    {.name = "dying_scope",
     .cancelled = DURING,
     .scope = WEFT_FOREVER,
     .scope_result = SCOPE_REASON,
     .during = sibling_during,
     .leave = cancelled_leave},
    {.name = "scope_deadline", .cancelled = DURING, .scope = SOON, .scope_result = WEFT_ETIMEDOUT, .leave = cancelled_leave},
    {.name = "context_cancelled",
     .cancelled = DURING,
     .everybody = true,
     .context = WEFT_FOREVER,
     .during = context_during,
     .leave = cancelled_leave},
    {.name = "context_deadline", .cancelled = DURING, .everybody = true, .context = SOON, .leave = cancelled_leave},
    {.name = "stopping", .cancelled = DURING, .everybody = true, .stops = true, .during = stop_during, .leave = cancelled_leave},
    {.name = "big_stack", .around = around_big},
    {.name = "in_task", .around = around_task},
    {.name = "with_mutex", .around = around_lock},
    {.name = "as_thread", .is_thread = true},
    {.name = "as_step", .is_step = true},
    STATES_ENDED,
    STATES_PACKED,
};
enum { STATES = sizeof states / sizeof states[0] };

#endif
