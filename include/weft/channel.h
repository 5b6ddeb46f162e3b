/* Channels: elements of one size go from senders to receivers, in order, each to one receiver.
 *
 *     weft_chan *jobs;
 *     weft_chan_new(sizeof(struct job), 16, &jobs);     room for 16; 0: a sender waits until a receiver takes the element
 *
 *     while (weft_chan_recv(jobs, &job, WEFT_FOREVER) == 0)      until it is closed and empty
 *         ...;
 *
 * For processes, and for threads that are not workers. A caller that has to wait parks; those that wait are served in the order in which they came.
 * Deadlines as everywhere: a moment of the monotonic clock, WEFT_FOREVER for none, 0 for "only if it can happen at once", which step
 * processes may use too. Several at once, and other things beside them: weft/select.h. */
#ifndef WEFT_CHANNEL_H
#define WEFT_CHANNEL_H

#include <weft/select.h>
#include <weft/time.h>

WEFT_BEGIN

typedef struct weft_chan weft_chan;

/* Elements of so many bytes (0 is fine: then only their number counts), so many of which fit into the channel. 0 and *chan, or
 * WEFT_ENOMEM. */
WEFT_API int weft_chan_new(size_t element_size, size_t capacity, weft_chan **chan);

/* A channel whose elements have each a size of their own, of at most `most` bytes, rounded up to a multiple of 8. Its elements are weft_bytes: weft_chan_send and weft_select copy the
 * bytes that one points to (too many: they abort); weft_chan_recv and weft_select copy them to where one points, as many as its `size` says there is room for, and
 * set `size` to how many the element has. 0 and *chan, or WEFT_ENOMEM. */
typedef struct weft_bytes {
    void *data;
    size_t size;
} weft_bytes;
WEFT_API int weft_chan_new_bytes(size_t most, size_t capacity, weft_chan **chan);
/* The same without a weft_bytes. As weft_chan_send, and WEFT_EMSGSIZE: more than `most`. */
WEFT_API int weft_chan_send_bytes(weft_chan *chan, const void *data, size_t size, uint64_t deadline);
/* *size (may be NULL) is how many bytes the element has; what is beyond `room` is lost. As weft_chan_recv. */
WEFT_API int weft_chan_recv_bytes(weft_chan *chan, void *data, size_t room, size_t *size, uint64_t deadline);

/* When no process or thread will use the channel any more; aborts if one waits at it. Elements that are in it are forgotten. The receiver
 * of the last element may free it at once: it need not wait for the sender's call to return. */
WEFT_API void weft_chan_free(weft_chan *chan);
/* The same, and discard(element, user) is called before for each element that is in it, the oldest first: for elements that own something. Of a channel of bytes
 * the element is a weft_bytes. */
WEFT_API void weft_chan_free_with(weft_chan *chan, void (*discard)(void *element, void *user), void *user);

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

WEFT_END

#endif
