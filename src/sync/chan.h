/* Channels, inside: one lock, a ring of elements, a list of waiting senders and a list of waiting receivers.
 *
 *   operation                       caller
 *   chan_send_now, chan_recv_now    the holder of the lock; it wakes *other after it has dropped the lock
 *
 *   C1  Receivers wait only while the channel is empty, senders only while it is full, and neither when it is closed (a waiter whose wait
 *       is over but that is still in a list does not count).
 *   C2  If the other side waits, the element is copied straight between sender and receiver: the waker copies it between the claim and
 *       the wake-up, while the waiter's memory is the waker's (wait.h, W3). So a woken waiter has nothing left to do.
 *   C3  A receiver that gets an element has held the lock, or was claimed under it, after the sender's part was done. So the receiver of
 *       the last element may free the channel. */
#ifndef WEFT_SYNC_CHAN_H
#define WEFT_SYNC_CHAN_H

#include "wait/waiters.h"

#include <weft/channel.h>

#include <string.h>

struct chan {
    struct lock lock;
    bool closed;
    bool of_bytes;                 /* set once: elements are weft_bytes, and a place in the ring is a size with the bytes behind it */
    size_t element_size, capacity; /* set once. Of a place in the ring; how many there are */
    size_t head, count;            /* of the ring: the oldest element, how many there are */
    struct waiters senders, receivers;
    _Alignas(16) unsigned char ring[];
};

static inline struct chan *chan_of(weft_chan *chan) { return (struct chan *)(void *)chan; }

/* The reason that a claim carries: the number of the case plus 1, doubled, and CHAN_SHUT if the channel was closed instead. */
enum { CHAN_SHUT = 1 };
static inline uint32_t chan_why(size_t number) { return (uint32_t)(number + 1) << 1; }

/* Which way an element is copied: into a place of the ring, out of one, or from the sender to the receiver. */
enum chan_way { CHAN_IN, CHAN_OUT, CHAN_ACROSS };
/* channel.c: elements of any size but that of a word, and those of channels of bytes. */
void chan_copy_other(const struct chan *chan, void *to, const void *from, enum chan_way way);
static inline void chan_copy(const struct chan *chan, void *to, const void *from, enum chan_way way) {
    typedef uint64_t __attribute__((may_alias, aligned(1))) word;
    if (chan->element_size == sizeof(word)) *(word *)to = *(const word *)from;
    else chan_copy_other(chan, to, from, way);
}

static inline unsigned char *chan_at(struct chan *chan, size_t place) {
    return chan->ring + (place < chan->capacity ? place : place - chan->capacity) * chan->element_size;
}

static inline void chan_push(struct chan *chan, const void *element) {
    chan_copy(chan, chan_at(chan, chan->head + chan->count), element, CHAN_IN);
    chan->count++;
}

static inline void chan_pop(struct chan *chan, void *element) {
    if (element) chan_copy(chan, element, chan_at(chan, chan->head), CHAN_OUT);
    chan->head = chan->head + 1 < chan->capacity ? chan->head + 1 : 0;
    chan->count--;
}

/* Straight from the sender's memory to the receiver's. */
static inline void chan_pass(struct chan *chan, void *to, const void *from) {
    if (to) chan_copy(chan, to, from, CHAN_ACROSS);
}

/* Sends if possible without waiting: 0 or WEFT_ECLOSED; WEFT_EAGAIN: it would have to wait. The caller wakes *other, if not NULL. */
static inline int chan_send_now(struct chan *chan, const void *element, struct waiter **other) {
    *other = NULL;
    if (__builtin_expect(chan->closed, 0)) return WEFT_ECLOSED;
    if (chan->receivers.first && (*other = waiters_claim(&chan->receivers)) != NULL) {
        chan_pass(chan, (*other)->item, element);
        return 0;
    }
    if (chan->count == chan->capacity) return WEFT_EAGAIN;
    chan_push(chan, element);
    return 0;
}

/* The same for receiving. */
static inline int chan_recv_now(struct chan *chan, void *element, struct waiter **other) {
    *other = NULL;
    if (chan->count > 0) {
        chan_pop(chan, element);
        /* The first waiting sender's element takes the free place. */
        if (chan->senders.first && (*other = waiters_claim(&chan->senders)) != NULL) chan_push(chan, (*other)->item);
        return 0;
    }
    if (chan->senders.first && (*other = waiters_claim(&chan->senders)) != NULL) {
        chan_pass(chan, element, (*other)->item);
        return 0;
    }
    return chan->closed ? WEFT_ECLOSED : WEFT_EAGAIN;
}

#endif
