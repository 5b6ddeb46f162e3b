/* Select: one wait for several things, of which exactly one happens.
 *
 *     weft_case cases[] = {
 *         weft_case_message(&message),
 *         weft_case_readable(socket),
 *         weft_case_moment(next_tick),
 *     };
 *     switch (weft_select(cases, 3, WEFT_FOREVER)) {
 *     case 0: handle(message); weft_msg_free(message); break;
 *     case 1: weft_fd_read(socket, ...); break;
 *     case 2: next_tick += WEFT_SECOND; break;
 *     }
 *
 * A case that was not chosen has no effect: the message stays in the mailbox, the element in the channel, the permits in the semaphore, the
 * result of a process with the process. docs/select.md */
#ifndef WEFT_SELECT_H
#define WEFT_SELECT_H

#include <weft/sync.h>

WEFT_BEGIN

typedef struct weft_chan weft_chan; /* weft/channel.h */
typedef int64_t weft_fd;            /* weft/net.h */

enum weft_case_kind {
    WEFT_CASE_SEND,
    WEFT_CASE_RECV,
    WEFT_CASE_MESSAGE,
    WEFT_CASE_TAG,
    WEFT_CASE_REPLY,
    WEFT_CASE_READABLE,
    WEFT_CASE_WRITABLE,
    WEFT_CASE_ACQUIRE,
    WEFT_CASE_MOMENT,
    WEFT_CASE_END,
};

/* Made by one of the functions below. It may be used again, and changed: its object set to NULL, or 0, makes a case that is never ready. */
typedef struct weft_case {
    union {
        weft_chan *chan;
        weft_sem *sem;
        weft_fd fd;
        weft_pid pid;
        uint64_t moment;    /* WEFT_FOREVER: never ready */
        uint64_t tag;       /* any number is one */
        uint64_t reference; /* likewise */
    };
    enum weft_case_kind kind;
    int error; /* of the case that happened; 0: it has succeeded */
    union {
        void *element; /* where the element is read from, or written to */
        weft_msg **message;
        int *reason;
        uint64_t permits;
    };
} weft_case;

static inline weft_case weft_case_of(enum weft_case_kind kind, uint64_t object, void *place) {
    weft_case one;
    one.tag = object;
    one.kind = kind;
    one.error = 0;
    one.element = place;
    return one;
}

/* An element is sent, as weft_chan_send, or received, as weft_chan_recv. `error`: WEFT_ECLOSED; a closed channel is always ready. */
static inline weft_case weft_case_send(weft_chan *chan, const void *element) {
    return weft_case_of(WEFT_CASE_SEND, (uintptr_t)chan, (void *)(uintptr_t)element);
}
static inline weft_case weft_case_recv(weft_chan *chan, void *element) { return weft_case_of(WEFT_CASE_RECV, (uintptr_t)chan, element); }
/* The oldest message of the calling process, as weft_recv; the oldest with this tag, as weft_recv_tag. It is the caller's then. In stackful
 * processes. */
static inline weft_case weft_case_message(weft_msg **message) { return weft_case_of(WEFT_CASE_MESSAGE, 0, (void *)message); }
static inline weft_case weft_case_tag(uint64_t tag, weft_msg **message) { return weft_case_of(WEFT_CASE_TAG, tag, (void *)message); }
/* The answer to a request of weft_ask, as weft_recv_reply. `error`: WEFT_ENOPROC, WEFT_ENOENT. In stackful processes. */
static inline weft_case weft_case_reply(uint64_t reference, weft_msg **reply) {
    return weft_case_of(WEFT_CASE_REPLY, reference, (void *)reply);
}
/* The descriptor can be read from, or written to, without waiting, or has ended or failed, as weft_fd_wait: nothing is read or written.
 * `error`: WEFT_EBADF, WEFT_ECLOSED. */
static inline weft_case weft_case_readable(weft_fd fd) { return weft_case_of(WEFT_CASE_READABLE, (uint64_t)fd, NULL); }
static inline weft_case weft_case_writable(weft_fd fd) { return weft_case_of(WEFT_CASE_WRITABLE, (uint64_t)fd, NULL); }
/* Permits are taken, as weft_sem_acquire. */
static inline weft_case weft_case_acquire(weft_sem *sem, uint32_t permits) {
    weft_case one = weft_case_of(WEFT_CASE_ACQUIRE, (uintptr_t)sem, NULL);
    one.permits = permits;
    return one;
}
/* The moment has come. */
static inline weft_case weft_case_moment(uint64_t moment) { return weft_case_of(WEFT_CASE_MOMENT, moment, NULL); }
/* The process has ended, as weft_join: *reason (may be NULL) is why. `error`: WEFT_ENOPROC when its result was not kept, or was taken by
 * another call; WEFT_ENOMEM. */
static inline weft_case weft_case_end(weft_pid pid, int *reason) { return weft_case_of(WEFT_CASE_END, pid, reason); }
/* Never ready: a place to keep free. */
static inline weft_case weft_case_never(void) { return weft_case_of(WEFT_CASE_RECV, 0, NULL); }

/* Exactly one of the cases happens: the number of that case, with its `error` set. Of several ready ones one is chosen at random, each with
 * the same probability. When none is ready the call waits. Or WEFT_ETIMEDOUT, WEFT_ECANCELED (no case has happened), WEFT_ENOMEM (only with
 * more than WEFT_SELECT_PLAIN cases). The deadline 0 is the "default" of other languages; a step process may call it with that. An object may
 * occur several times; a select does not send to itself. Threads that are not workers may call it too, for all but messages and replies. */
#define WEFT_SELECT_PLAIN 16
WEFT_API int weft_select(weft_case *cases, size_t count, uint64_t deadline);

enum weft_select_flags { WEFT_SELECT_IN_ORDER = 1 /* of several ready ones the first is chosen */ };
/* The same with flags; WEFT_EINVAL if one is unknown. */
WEFT_API int weft_select_with(weft_case *cases, size_t count, unsigned flags, uint64_t deadline);

WEFT_END

#endif
