/* Messages: sending, from anywhere; receiving, in a stackful process (a step process is given them as events: weft/process.h); requests
 * and replies. */
#ifndef WEFT_MESSAGE_H
#define WEFT_MESSAGE_H

#include <weft/runtime.h>

#include <stdbool.h>
#include <stdlib.h>

WEFT_BEGIN

typedef struct weft_msg weft_msg;

/* ---- sending ---- */

/* From anywhere: processes and threads of the program's own. Here and in all headers that does not include signal handlers, which have
 * weft_signal_send (weft/signal.h). The data is copied. 0 when the receiver has it in its mailbox, or WEFT_ENOPROC (ended or never was),
 * WEFT_EFOREIGN (no such runtime), WEFT_ENOMEM, WEFT_ENOBUFS (weft_config.max_mail_bytes). Messages from one sender to one receiver arrive in order. If the receiver's mailbox is
 * bounded, and full, it decides what happens: below. */
WEFT_API int weft_send(weft_pid to, uint64_t tag, const void *data, size_t size);
/* The same; where weft_send waits for room, until the deadline: WEFT_ETIMEDOUT. */
WEFT_API int weft_send_until(weft_pid to, uint64_t tag, const void *data, size_t size, uint64_t deadline);

/* Releases a buffer that was moved: `size` and `user` are what weft_send_move was given. On any thread. Must not wait. */
typedef void (*weft_release)(void *buffer, size_t size, void *user);
/* A large payload, moved and not copied: the receiver sees the buffer itself, and when it is done with the message, or ends without
 * having read it, release(buffer, size, user) is called, once. NULL: nothing is called, the buffer lives on; weft_release_free: it is
 * from malloc. On an error the buffer is still the caller's. Errors as weft_send. */
WEFT_API int weft_send_move(weft_pid to, uint64_t tag, void *buffer, size_t size, weft_release release, void *user);
static inline void weft_release_free(void *buffer, size_t size, void *user) {
    (void)size, (void)user;
    free(buffer);
}

/* A request: the process that waits for an answer, and to what. May be kept, and answered later or by another process; an answer that the
 * asking process does not wait for any more, because it has given up or has ended, is dropped. */
typedef struct weft_request {
    weft_pid from;
    uint64_t tag;
    uint64_t reference; /* 0: it was no request */
} weft_request;
/* From anywhere. The data is copied. 0, also if the answer was dropped; WEFT_EINVAL if it is no request, WEFT_ENOMEM, WEFT_ENOBUFS. */
WEFT_API int weft_reply(weft_request request, const void *data, size_t size);
/* The same with a buffer that is moved, as by weft_send_move: the asking process sees the buffer itself (weft_msg_data, weft_msg_take). If it does not wait
 * for the answer any more, the buffer is released. On an error it is still the caller's. */
WEFT_API int weft_reply_move(weft_request request, void *buffer, size_t size, weft_release release, void *user);

/* ---- bounded mailboxes ---- */

/* What becomes of a message that does not fit. */
enum weft_full {
    /* Its sender waits for room, in order of arrival. A stackful process or a thread of the program's own waits: WEFT_ECANCELED,
     * WEFT_ENOPROC when the receiver has ended. A step process, and code that must not wait (a predicate, release, close), gets
     * WEFT_EAGAIN; a step process then asks to be told: weft_out_await_room. To one's own full mailbox: WEFT_EDEADLK. */
    WEFT_FULL_BLOCK,
    WEFT_FULL_FAIL,         /* its sender gets WEFT_ENOBUFS */
    WEFT_FULL_DROP_OLDEST,  /* the oldest that the receiver has not looked at are dropped for it; if there are none, it is */
    WEFT_FULL_DROP_NEWEST,  /* it is dropped; its sender gets 0 */
    WEFT_FULL_END_RECEIVER, /* the receiver is ended, as by a link, with the reason WEFT_ENOBUFS; its sender gets WEFT_ENOBUFS */
};

/* The bounds of a process's mailbox, for the `mailbox` of its spawn options; copied. A message counts until the receiver has it: weft_recv
 * has returned it, or a step was given it; one that a selective receive has left for later counts. Its bytes are those of its data. One that
 * is longer than `bytes` is refused: WEFT_EMSGSIZE. A process without bounds takes whatever is sent.
 *
 * Always let in: replies, completions, and notices of weft, which do not count; urgent messages, messages of weft_after, and those of
 * signals, which do. A tick of weft_every is dropped where a sender would wait or get an error. A request (weft_call, weft_ask) is never
 * dropped: its sender gets WEFT_ENOBUFS. Dropped messages are counted; a buffer that was moved is released. docs/mailboxes.md */
typedef struct weft_mailbox {
    size_t messages, bytes; /* 0: no limit */
    enum weft_full when_full;
    size_t reserved[2]; /* 0 */
} weft_mailbox;

/* Before all ordinary messages of the mailbox, behind other urgent ones. It never waits. Otherwise as weft_send; or WEFT_ENOTSUP if the receiver
 * was spawned without a `mailbox`. */
WEFT_API int weft_send_urgent(weft_pid to, uint64_t tag, const void *data, size_t size);

typedef struct weft_mailbox_use {
    size_t messages, bytes; /* that count now */
    uint64_t dropped;       /* since the process began */
    size_t waiting;         /* senders */
} weft_mailbox_use;
/* From anywhere, in a few nanoseconds. 0, or WEFT_ENOPROC, WEFT_EFOREIGN, WEFT_ENOTSUP without a `mailbox`. */
WEFT_API int weft_mailbox_usage_sized(weft_pid pid, weft_mailbox_use *use, size_t use_size);
static inline int weft_mailbox_usage(weft_pid pid, weft_mailbox_use *use) { return weft_mailbox_usage_sized(pid, use, sizeof *use); }

/* ---- receiving ---- */

/* The oldest message of the calling process; waits for one. It is the caller's then, to be freed once. 0, or WEFT_ETIMEDOUT,
 * WEFT_ECANCELED. A deadline that has passed (0, say) means: only a message that is there already; if there is none, a cancelled process
 * gets WEFT_ECANCELED (weft/stackful.h). */
WEFT_API int weft_recv(weft_msg **message, uint64_t deadline);

/* The oldest with this tag, or the oldest for which `wants` returns true. The others stay, in order, for later. `wants` must not wait (nor
 * receive). Receiving one tag repeatedly does not examine the same messages again. Otherwise as weft_recv. */
WEFT_API int weft_recv_tag(uint64_t tag, weft_msg **message, uint64_t deadline);
WEFT_API int weft_recv_match(bool (*wants)(const weft_msg *message, void *arg), void *arg, weft_msg **message, uint64_t deadline);

/* As weft_recv, into memory of the caller's: the payload is copied there and the message freed. A payload longer than `size` is cut off;
 * envelope->size (the envelope may be NULL) is how long it was. */
typedef struct weft_envelope {
    weft_request request; /* from, tag; and if it was a request, for weft_reply */
    size_t size;
} weft_envelope;
WEFT_API int weft_recv_into_sized(void *data, size_t size, weft_envelope *envelope, size_t envelope_size, uint64_t deadline);
static inline int weft_recv_into(void *data, size_t size, weft_envelope *envelope, uint64_t deadline) {
    return weft_recv_into_sized(data, size, envelope, sizeof *envelope, deadline);
}

/* Request and reply. Sends, runs the receiver at once on this worker if that is possible, and waits for its answer, which is the
 * caller's to free. Meanwhile other messages stay for later. The receiver sees a request (weft_msg_request, weft_event_request).
 * 0, or WEFT_ENOPROC when the receiver has ended or ends without having answered, WEFT_ETIMEDOUT, WEFT_ECANCELED (a later answer is
 * dropped), WEFT_EFOREIGN, WEFT_ENOMEM. To ask itself is a process's mistake: the program aborts and says so. */
WEFT_API int weft_call(weft_pid to, uint64_t tag, const void *data, size_t size, weft_msg **reply, uint64_t deadline);

/* The same in two parts: several processes may be asked before the first has answered. 0 and *reference, or as weft_send. */
WEFT_API int weft_ask(weft_pid to, uint64_t tag, const void *data, size_t size, uint64_t *reference);
/* The answer. After WEFT_ETIMEDOUT and WEFT_ECANCELED it may be waited for again; any other result ends the request. WEFT_ENOENT: there
 * is no such request. */
WEFT_API int weft_recv_reply(uint64_t reference, weft_msg **reply, uint64_t deadline);
/* Gives a request up: its answer will be dropped. */
WEFT_API void weft_forget(uint64_t reference);

/* The request that a message is, for weft_reply; its reference is 0 if it is none. */
WEFT_API weft_request weft_msg_request(const weft_msg *message);

WEFT_API weft_pid weft_msg_from(const weft_msg *message);
WEFT_API uint64_t weft_msg_tag(const weft_msg *message);
WEFT_API void *weft_msg_data(const weft_msg *message); /* its bytes, the receiver's to read and to change */
WEFT_API size_t weft_msg_len(const weft_msg *message);
/* The buffer that was moved here (weft_send_move): it is the caller's from now on, and the message does not refer to it any more. NULL:
 * there is none. */
WEFT_API void *weft_msg_take(weft_msg *message);
/* By any process or thread, of any runtime or none: a received message is the program's, and stays as it is when the runtime has stopped. A
 * buffer that was moved is released. NULL: nothing happens. */
WEFT_API void weft_msg_free(weft_msg *message);

WEFT_END

#endif
