/* Channels: elements of one size go from senders to receivers, in order, each to one receiver.
 *
 *     weft_chan *jobs;
 *     weft_chan_new(sizeof(struct job), 16, &jobs);     room for 16; 0: a sender waits until a receiver takes the element
 *
 *     while (weft_chan_recv(jobs, &job, WEFT_FOREVER) == 0)      until it is closed and empty
 *         ...;
 *
 * For processes, and for threads that are not workers. A caller that has to wait parks; callers are served in the order in which they came.
 * Deadlines as everywhere: a moment of the monotonic clock, WEFT_FOREVER for none, 0 for "only if it can happen at once", which step
 * processes may use too. */
#ifndef WEFT_CHANNEL_H
#define WEFT_CHANNEL_H

#include <weft/time.h>

WEFT_BEGIN

typedef struct weft_chan weft_chan;

/* Elements of so many bytes (0 is fine: then only their number counts), so many of which fit into the channel. 0 and *chan, or
 * WEFT_ENOMEM. */
WEFT_API int weft_chan_new(size_t element_size, size_t capacity, weft_chan **chan);
/* When no process or thread will use the channel any more; aborts if one waits at it. Elements that are in it are forgotten. The receiver
 * of the last element may free it at once: it need not wait for the sender's call to return. */
WEFT_API void weft_chan_free(weft_chan *chan);

/* 0: the element was copied into the channel, or to a receiver. Or WEFT_ECLOSED, WEFT_ETIMEDOUT, WEFT_ECANCELED: it was not. */
WEFT_API int weft_chan_send(weft_chan *chan, const void *element, uint64_t deadline);
/* 0 and an element (`element` may be NULL: then it is dropped). Or WEFT_ECLOSED: closed and empty; WEFT_ETIMEDOUT, WEFT_ECANCELED. */
WEFT_API int weft_chan_recv(weft_chan *chan, void *element, uint64_t deadline);

/* Nothing is sent any more; what is in the channel can still be received. All waiters are woken, with WEFT_ECLOSED. 0, or WEFT_ECLOSED
 * if it was closed before. */
WEFT_API int weft_chan_close(weft_chan *chan);

/* How many elements are in it this moment, and how many fit. */
WEFT_API size_t weft_chan_len(const weft_chan *chan);
WEFT_API size_t weft_chan_cap(const weft_chan *chan);

/* ---- select ------------------------------------------------------------------------------------------------------- */

enum weft_case_kind { WEFT_CASE_SEND, WEFT_CASE_RECV };

typedef struct weft_case {
    weft_chan *chan; /* NULL: never ready */
    enum weft_case_kind kind;
    int error;     /* of the case that happened: 0, or WEFT_ECLOSED */
    void *element; /* where the element is read from, or written to */
} weft_case;

static inline weft_case weft_case_send(weft_chan *chan, const void *element) {
    weft_case one = {chan, WEFT_CASE_SEND, 0, (void *)(uintptr_t)element};
    return one;
}
static inline weft_case weft_case_recv(weft_chan *chan, void *element) {
    weft_case one = {chan, WEFT_CASE_RECV, 0, element};
    return one;
}

/* Exactly one of the cases happens: the number of that case, with its `error` set. A closed channel is always ready, with WEFT_ECLOSED. Of
 * several ready cases one is chosen at random, each with the same probability. A channel may occur several times, for sending and receiving
 * too; a select does not send to itself. When none is ready the call waits. Or WEFT_ETIMEDOUT, WEFT_ECANCELED (no case has happened),
 * WEFT_ENOMEM (only with more than WEFT_SELECT_PLAIN cases). The deadline 0 is the "default" of other languages. */
#define WEFT_SELECT_PLAIN 16
WEFT_API int weft_select(weft_case *cases, size_t count, uint64_t deadline);

WEFT_END

#endif
