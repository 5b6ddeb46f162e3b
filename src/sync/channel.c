/* The calls of weft/channel.h but for weft_select; the protocol is in chan.h. */
#include "fiber/ret_jump.h"
#include "sched/heed.h"
#include "sync/chan.h"
#include "sys/sys.h"

/* ---- elements of a size of their own ------------------------------------------------------------------------------------ */

/* A place in the ring of a channel of bytes. It is never as small as a word (chan_copy). */
struct chan_place {
    size_t size;
    unsigned char bytes[];
};
static size_t chan_most(const struct chan *chan) { return chan->element_size - sizeof(struct chan_place); }

/* To the receiver: as much as it has room for. */
static void chan_give_bytes(weft_bytes *to, const void *bytes, size_t size) {
    size_t fits = size < to->size ? size : to->size;
    if (fits > 0) memcpy(to->data, bytes, fits);
    to->size = size;
}

static void chan_copy_bytes(const struct chan *chan, void *to, const void *from, enum chan_way way) {
    if (way == CHAN_OUT) {
        chan_give_bytes(to, ((const struct chan_place *)from)->bytes, ((const struct chan_place *)from)->size);
        return;
    }
    const weft_bytes *given = from;
    struct chan_place *place = to;
    if (given->size > chan_most(chan))
        WEFT_MISUSE("weft_chan_send", "more bytes than an element of the channel may have",
                    "call weft_chan_send_bytes, which answers WEFT_EMSGSIZE");
    if (way == CHAN_ACROSS) {
        chan_give_bytes(to, given->data, given->size);
        return;
    }
    place->size = given->size;
    if (given->size > 0) memcpy(place->bytes, given->data, given->size);
}

void chan_copy_other(const struct chan *chan, void *to, const void *from, enum chan_way way) {
    if (__builtin_expect(chan->of_bytes, 0)) chan_copy_bytes(chan, to, from, way);
    else if (chan->element_size > 0) memcpy(to, from, chan->element_size);
}

int weft_chan_new_bytes(size_t most, size_t capacity, weft_chan **made) {
    size_t place = sizeof(struct chan_place) + (most + sizeof(size_t) - 1) / sizeof(size_t) * sizeof(size_t);
    if (most > SIZE_MAX / 4) return WEFT_ENOMEM;
    int error = weft_chan_new(most ? place : place + sizeof(size_t), capacity, made);
    if (!error) chan_of(*made)->of_bytes = true;
    return error;
}

int weft_chan_send_bytes(weft_chan *chan, const void *data, size_t size, uint64_t deadline) {
    if (!chan_of(chan)->of_bytes) WEFT_REFUSE("weft_chan_send_bytes", "the channel's elements have one size", "call weft_chan_send");
    if (size > chan_most(chan_of(chan))) return WEFT_EMSGSIZE;
    return weft_chan_send(chan, &(weft_bytes){(void *)(uintptr_t)data, size}, deadline);
}

int weft_chan_recv_bytes(weft_chan *chan, void *data, size_t room, size_t *size, uint64_t deadline) {
    weft_bytes bytes = {data, room};
    if (!chan_of(chan)->of_bytes) WEFT_REFUSE("weft_chan_recv_bytes", "the channel's elements have one size", "call weft_chan_recv");
    int error = weft_chan_recv(chan, &bytes, deadline);
    if (!error && size) *size = bytes.size;
    return error;
}

/* ---- channels ------------------------------------------------------------------------------------------------------------- */

int weft_chan_new(size_t element_size, size_t capacity, weft_chan **made) {
    size_t bytes;
    struct chan *chan = NULL;
    heed(my_worker);
    if (!made) WEFT_REFUSE("weft_chan_new", "no place for the channel", "give one");
    if (!__builtin_mul_overflow(element_size, capacity, &bytes) && bytes < SIZE_MAX / 2) chan = sys->alloc(sizeof *chan + bytes);
    if (!chan) return WEFT_ENOMEM;
    lock_init(&chan->lock);
    chan->closed = chan->of_bytes = false;
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
    if (waited_at) WEFT_REFUSE("weft_chan_free", "a process or thread waits at the channel", "close it and wait until all have left");
    sys->free(chan, sizeof *chan + chan->capacity * chan->element_size);
}

static void chan_discard(struct chan *chan, size_t place, void (*discard)(void *element, void *user), void *user) {
    struct chan_place *bytes = (struct chan_place *)chan_at(chan, place);
    if (chan->of_bytes) discard(&(weft_bytes){bytes->bytes, bytes->size}, user);
    else discard(bytes, user);
}

void weft_chan_free_with(weft_chan *opaque, void (*discard)(void *element, void *user), void *user) {
    struct chan *chan = chan_of(opaque);
    for (size_t i = 0; chan && i < chan->count; i++)
        chan_discard(chan, chan->head + i, discard, user);
    weft_chan_free(opaque);
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

/* A receiver whose budget is used up goes on while there are more elements, as one with more messages does (budget_renew). Else it would take some elements out of a
 * full channel, and each would let a sender go on that waits again with its next: with a hundred senders every element was a wait and a wake. */
static bool chan_goes_on(struct chan *chan, struct worker *worker) {
    struct proc *proc = worker->current;
    if (!proc || state_is_cancelled(&proc->state) || worker_shall_give_way(worker)) return false;
    lock_take(&chan->lock);
    bool more = chan->count > 0;
    lock_drop(&chan->lock);
    return more && budget_renew_for_elements(worker);
}
static __attribute__((noinline, cold)) void chan_take_turns(struct chan *chan, struct worker *worker, uint64_t deadline) {
    if (!chan_goes_on(chan, worker)) fiber_take_turns_slow(worker, deadline);
}

int weft_chan_recv(weft_chan *opaque, void *element, uint64_t deadline) {
    struct chan *chan = chan_of(opaque);
    struct waiter *other;
    struct worker *worker = worker_here();
    if (fiber_spends_last(worker)) chan_take_turns(chan, worker, deadline);
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
    heed(my_worker);
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
