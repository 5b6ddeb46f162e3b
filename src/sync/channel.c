/* The calls of weft/channel.h but for weft_select; the protocol is in chan.h. */
#include "fiber/ret_jump.h"
#include "sync/chan.h"
#include "sys/sys.h"

int weft_chan_new(size_t element_size, size_t capacity, weft_chan **made) {
    size_t bytes;
    struct chan *chan = NULL;
    if (!made) WEFT_MISUSE("weft_chan_new", "no place for the channel", "give one");
    if (!__builtin_mul_overflow(element_size, capacity, &bytes) && bytes < SIZE_MAX / 2) chan = sys->alloc(sizeof *chan + bytes);
    if (!chan) return WEFT_ENOMEM;
    lock_init(&chan->lock);
    chan->closed = false;
    chan->element_size = element_size;
    chan->capacity = capacity;
    chan->head = chan->count = 0;
    chan->senders = chan->receivers = (struct waiters){NULL, NULL};
    *made = (weft_chan *)chan;
    return 0;
}

void weft_chan_free(weft_chan *opaque) {
    struct chan *chan = chan_of(opaque);
    if (!chan) return;
    lock_take(&chan->lock);
    bool waited_at = chan->senders.first || chan->receivers.first;
    lock_drop(&chan->lock);
    if (waited_at) WEFT_MISUSE("weft_chan_free", "a process or thread waits at the channel", "close it and wait until all have left");
    sys->free(chan, sizeof *chan + chan->capacity * chan->element_size);
}

/* With the lock held: waits in one of the channel's lists. */
static inline int chan_wait(struct chan *chan, struct waiters *list, void *element, uint64_t deadline, const char *call) {
    struct turn turn;
    turn_begin(&turn, chan, chan_why(0))->item = element;
    int why = waiters_wait(list, &turn.waiter, &chan->lock, deadline, call);
    if (__builtin_expect(why > 0, 1)) return __builtin_expect(why & CHAN_SHUT, 0) ? WEFT_ECLOSED : 0;
    lock_drop(&chan->lock);
    return why;
}

FIBER_SLOW int chan_send_slow(struct chan *chan, const void *element, uint64_t deadline);
FIBER_RET_JUMP(chan_send_jump, chan_send_slow);
FIBER_SLOW int chan_send_slow(struct chan *chan, const void *element, uint64_t deadline) {
    return chan_wait(chan, &chan->senders, (void *)(uintptr_t)element, deadline, "weft_chan_send");
}

FIBER_SLOW int chan_recv_slow(struct chan *chan, void *element, uint64_t deadline);
FIBER_RET_JUMP(chan_recv_jump, chan_recv_slow);
FIBER_SLOW int chan_recv_slow(struct chan *chan, void *element, uint64_t deadline) {
    return chan_wait(chan, &chan->receivers, element, deadline, "weft_chan_recv");
}

int weft_chan_send(weft_chan *opaque, const void *element, uint64_t deadline) {
    struct chan *chan = chan_of(opaque);
    struct waiter *other;
    fiber_spend(worker_here(), deadline); /* a sender that never has to wait still yields when its budget is used up */
    lock_take(&chan->lock);
    int error = chan_send_now(chan, element, &other);
    if (error == WEFT_EAGAIN && deadline != 0) return chan_send_jump(chan, element, deadline);
    lock_drop(&chan->lock);
    if (other) waiter_wake(other);
    return error == WEFT_EAGAIN ? wait_late() : error;
}

int weft_chan_recv(weft_chan *opaque, void *element, uint64_t deadline) {
    struct chan *chan = chan_of(opaque);
    struct waiter *other;
    fiber_spend(worker_here(), deadline);
    lock_take(&chan->lock);
    int error = chan_recv_now(chan, element, &other);
    if (error == WEFT_EAGAIN && deadline != 0) return chan_recv_jump(chan, element, deadline);
    lock_drop(&chan->lock);
    if (other) waiter_wake(other);
    return error == WEFT_EAGAIN ? wait_late() : error;
}

static void chan_shut(struct waiters *list, struct wakes *wakes) {
    while (list->first) {
        struct waiter *waiter = list->first;
        waiter->why |= CHAN_SHUT;
        if (waiter_claim(waiter)) wakes_add(wakes, waiter);
    }
}

int weft_chan_close(weft_chan *opaque) {
    struct chan *chan = chan_of(opaque);
    struct wakes wakes = {NULL, NULL};
    if (!chan) return 0;
    lock_take(&chan->lock);
    bool was = chan->closed;
    chan->closed = true;
    chan_shut(&chan->receivers, &wakes);
    chan_shut(&chan->senders, &wakes);
    lock_drop(&chan->lock);
    wakes_run(&wakes, wait_wake);
    return was ? WEFT_ECLOSED : 0;
}

size_t weft_chan_len(const weft_chan *opaque) {
    struct chan *chan = chan_of((weft_chan *)(uintptr_t)opaque); /* the lock is written, the elements are not */
    lock_take(&chan->lock);
    size_t count = chan->count;
    lock_drop(&chan->lock);
    return count;
}

size_t weft_chan_cap(const weft_chan *chan) { return ((const struct chan *)chan)->capacity; }
