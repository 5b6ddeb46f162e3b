/* Select: each kind of case beside another that never happens. The other is there all the same when the call has returned. */
#ifndef WEFT_TESTS_CROSS_CALLS_SELECT_H
#define WEFT_TESTS_CROSS_CALLS_SELECT_H

#include "calls_fd.h"
#include "calls_mail.h"
#include "calls_sync.h"

#define TAG_NEVER UINT64_C(0x5000)

/* 0: the case with this number has happened, and succeeded. */
static inline int case_judge(int which, int wanted, const weft_case *cases) {
    if (which < 0) return which;
    EXPECT_EQ(which, wanted);
    return cases[which].error;
}
/* Of two, the second never happens. */
static inline int pair_wait(weft_case wanted, weft_case other, uint64_t deadline) {
    weft_case cases[] = {other, wanted};
    return case_judge(weft_select(cases, 2, deadline), 1, cases);
}
static inline weft_case pair_permit(struct trial *trial) { return weft_case_acquire(&trial->things.sem, PERMITS + 1); }
static inline weft_case pair_element(struct trial *trial, uint64_t *element) { return weft_case_recv(trial->things.spare, element); }

static inline void spare_make(struct trial *trial) { EXPECT_EQ(weft_chan_new(sizeof trial->delay, 1, &trial->things.spare), 0); }
static inline void spare_clean(struct trial *trial) {
    EXPECT_EQ(weft_chan_len(trial->things.spare), 0);
    weft_chan_free(trial->things.spare);
}

/* ---- messages ------------------------------------------------------------------------------------------------------- */

static inline int pair_wait_message_chan(struct trial *trial, uint64_t deadline) {
    weft_msg *message = NULL;
    uint64_t element;
    int error = pair_wait(weft_case_message(&message), pair_element(trial, &element), deadline);
    return recv_judge(trial, message, error);
}
static inline int pair_wait_message_sem(struct trial *trial, uint64_t deadline) {
    weft_msg *message = NULL;
    int error = pair_wait(weft_case_message(&message), pair_permit(trial), deadline);
    return recv_judge(trial, message, error);
}
static inline int pair_wait_message_end(struct trial *trial, uint64_t deadline) {
    weft_msg *message = NULL;
    int error = pair_wait(weft_case_message(&message), weft_case_end(trial->things.server, NULL), deadline);
    return recv_judge(trial, message, error);
}
static inline int pair_wait_message_fd(struct trial *trial, uint64_t deadline) {
    weft_msg *message = NULL;
    int error = pair_wait(weft_case_message(&message), weft_case_readable(trial->things.fd[0]), deadline);
    return recv_judge(trial, message, error);
}
static inline void pipe_make(struct trial *trial) { EXPECT_EQ(weft_pipe(trial->things.fd), 0); }
static inline int pair_wait_tag(struct trial *trial, uint64_t deadline) {
    weft_msg *message = NULL;
    int error = pair_wait(weft_case_tag(TAG_UNIT, &message), pair_permit(trial), deadline);
    return recv_judge(trial, message, error);
}
/* Two cases of the mailbox. */
static inline int pair_wait_tags(struct trial *trial, uint64_t deadline) {
    weft_msg *message = NULL, *other = NULL;
    int error = pair_wait(weft_case_tag(TAG_UNIT, &message), weft_case_tag(TAG_NEVER, &other), deadline);
    EXPECT(other == NULL);
    return recv_judge(trial, message, error);
}
static inline int pair_wait_reply(struct trial *trial, uint64_t deadline) {
    weft_msg *reply = NULL;
    int error = pair_wait(weft_case_reply(trial->things.reference, &reply), pair_permit(trial), deadline);
    return reply_judge(trial, reply, error);
}

/* ---- permits, moments, ends ----------------------------------------------------------------------------------------- */

static inline int pair_wait_sem_chan(struct trial *trial, uint64_t deadline) {
    uint64_t element;
    return pair_wait(weft_case_acquire(&trial->things.sem, PERMITS), pair_element(trial, &element), deadline);
}
static inline int pair_wait_sem_mail(struct trial *trial, uint64_t deadline) {
    weft_msg *message;
    return pair_wait(weft_case_acquire(&trial->things.sem, PERMITS), weft_case_tag(TAG_NEVER, &message), deadline);
}
static inline void pair_clean_sem(struct trial *trial) {
    sem_clean(trial);
    spare_clean(trial);
}

/* The deadline as a case. One that has passed would be ready beside the unit. */
static inline int pair_wait_moment(struct trial *trial, weft_case wanted, uint64_t deadline) {
    (void)trial;
    if (deadline == WEFT_FOREVER || deadline <= weft_now()) return pair_wait(wanted, weft_case_never(), deadline);
    weft_case cases[] = {wanted, weft_case_moment(deadline)};
    int which = weft_select(cases, 2, WEFT_FOREVER);
    return which == 1 ? WEFT_ETIMEDOUT : case_judge(which, 0, cases);
}
static inline int pair_wait_chan_moment(struct trial *trial, uint64_t deadline) {
    uint64_t value = 0;
    int error = pair_wait_moment(trial, weft_case_recv(trial->things.chan, &value), deadline);
    return chan_judge(trial, value, error);
}
static inline int pair_wait_message_moment(struct trial *trial, uint64_t deadline) {
    weft_msg *message = NULL;
    int error = pair_wait_moment(trial, weft_case_message(&message), deadline);
    return recv_judge(trial, message, error);
}
/* One that has no call with a deadline: the long way of a moment. */
static inline int pair_wait_end_moment(struct trial *trial, uint64_t deadline) {
    int reason = 0, error = pair_wait_moment(trial, weft_case_end(trial->things.server, &reason), deadline);
    if (!error) EXPECT_EQ(reason, REASON);
    return error;
}

static inline int pair_wait_end(struct trial *trial, uint64_t deadline) {
    int reason = 0, error = pair_wait(weft_case_end(trial->things.server, &reason), pair_permit(trial), deadline);
    if (!error) EXPECT_EQ(reason, REASON);
    return error;
}
static inline int pair_wait_end_mail(struct trial *trial, uint64_t deadline) {
    weft_msg *message;
    int reason = 0, error = pair_wait(weft_case_end(trial->things.server, &reason), weft_case_tag(TAG_NEVER, &message), deadline);
    if (!error) EXPECT_EQ(reason, REASON);
    return error;
}

/* ---- descriptors ---------------------------------------------------------------------------------------------------- */

static inline int pair_wait_readable(struct trial *trial, uint64_t deadline) {
    int error = pair_wait(weft_case_readable(trial->things.fd[0]), pair_permit(trial), deadline);
    if (!error) EXPECT_EQ(read_wait(trial, 0), 0);
    return error;
}
static inline int pair_wait_readable_mail(struct trial *trial, uint64_t deadline) {
    weft_msg *message;
    int error = pair_wait(weft_case_readable(trial->things.fd[0]), weft_case_tag(TAG_NEVER, &message), deadline);
    if (!error) EXPECT_EQ(read_wait(trial, 0), 0);
    return error;
}
static inline int pair_wait_writable(struct trial *trial, uint64_t deadline) {
    int error = pair_wait(weft_case_writable(trial->things.fd[1]), pair_permit(trial), deadline);
    return error ? error : write_wait(trial, 0);
}

/* ---- all at once ---------------------------------------------------------------------------------------------------- */

/* Of every kind one, of which the channel is ready some time. */
static inline void every_make(struct trial *trial) {
    chan_make_empty(trial);
    pipe_make(trial);
    join_make(trial);
}
static inline int every_wait(struct trial *trial, uint64_t deadline) {
    uint64_t value = 0, other;
    weft_msg *message;
    weft_case cases[] = {
        weft_case_tag(TAG_NEVER, &message),
        weft_case_readable(trial->things.fd[0]),
        pair_permit(trial),
        weft_case_moment(WEFT_FOREVER),
        weft_case_end(trial->things.server, NULL),
        pair_element(trial, &other),
        weft_case_never(),
        weft_case_recv(trial->things.chan, &value),
    };
    int error = case_judge(weft_select_with(cases, 8, WEFT_SELECT_IN_ORDER, deadline), 7, cases);
    return chan_judge(trial, value, error);
}
/* Nothing has happened to the process that was waited for too. */
static inline void end_unjoined(struct trial *trial) {
    int reason = 0;
    server_clean(trial);
    EXPECT_EQ(weft_join(trial->things.server, &reason, patient()), 0);
    EXPECT_EQ(reason, REASON);
}
static inline void every_clean(struct trial *trial) {
    end_unjoined(trial);
    fd_clean(trial);
    chan_clean_empty(trial);
}

#define CALLS_SELECT(CALL)                                                                                                                 \
    CALL(select_message, .is = CALL_ANY_MAIL | CALL_MAIL, .make = spare_make, .wait = pair_wait_message_chan, .complete = recv_complete,   \
         .clean = spare_clean)                                                                                                             \
    CALL(select_message_sem, .is = CALL_ANY_MAIL | CALL_MAIL, .wait = pair_wait_message_sem, .complete = recv_complete,                    \
         .clean = sem_clean)                                                                                                               \
    CALL(select_message_end, .is = CALL_ANY_MAIL | CALL_MAIL, .make = join_make, .wait = pair_wait_message_end, .complete = recv_complete, \
         .clean = end_unjoined)                                                                                                            \
    CALL(select_message_fd_read, .is = CALL_ANY_MAIL | CALL_MAIL, .make = pipe_make, .wait = pair_wait_message_fd,                         \
         .complete = recv_complete, .clean = fd_clean)                                                                                     \
    CALL(select_message_moment, .is = CALL_ANY_MAIL | CALL_MAIL | CALL_MAY_PACK, .wait = pair_wait_message_moment,                         \
         .complete = recv_complete)                                                                                                        \
    CALL(select_tag, .is = CALL_MAIL, .wait = pair_wait_tag, .complete = recv_complete, .clean = sem_clean)                                \
    CALL(select_tags, .is = CALL_MAIL, .wait = pair_wait_tags, .complete = recv_complete)                                                  \
    CALL(select_reply, .gone = WEFT_ENOENT, .make = ask_make, .wait = pair_wait_reply, .complete = server_answers, .clean = server_clean)  \
    CALL(select_sem, .is = CALL_ANYWHERE, .make = spare_make, .wait = pair_wait_sem_chan, .complete = sem_complete,                        \
         .clean = pair_clean_sem)                                                                                                          \
    CALL(select_sem_mail, .wait = pair_wait_sem_mail, .complete = sem_complete, .clean = sem_clean)                                        \
    CALL(select_moment, .is = CALL_ANYWHERE, .make = chan_make_empty, .wait = pair_wait_chan_moment, .complete = chan_put,                 \
         .clean = chan_clean_empty)                                                                                                        \
    CALL(select_end, .is = CALL_ANYWHERE, .gone = WEFT_ENOPROC, .make = join_make, .wait = pair_wait_end, .complete = server_ends,         \
         .clean = sem_clean)                                                                                                               \
    CALL(select_end_mail, .gone = WEFT_ENOPROC, .make = join_make, .wait = pair_wait_end_mail, .complete = server_ends)                    \
    CALL(select_end_moment, .is = CALL_ANYWHERE, .gone = WEFT_ENOPROC, .make = join_make, .wait = pair_wait_end_moment,                    \
         .complete = server_ends)                                                                                                          \
    CALL(select_fd_readable, READS(pipe, 0), .wait = pair_wait_readable)                                                                   \
    CALL(select_fd_tcp, .is = CALL_ANYWHERE, .make = tcp_make, .complete = tcp_complete, .clean = fd_clean, .wait = pair_wait_readable)    \
    CALL(select_fd_mail, .make = read_make_pair, .complete = read_complete, .clean = fd_clean, .wait = pair_wait_readable_mail)            \
    CALL(select_fd_writable, WRITES(pipe, 0), .wait = pair_wait_writable)                                                                  \
    CALL(select_fd_every, .make = every_make, .wait = every_wait, .complete = chan_put, .clean = every_clean)

#endif
