/* Select: several channels at once.
 *
 * All channels are locked, in the order of their addresses so that two selects cannot wait for each other's locks, each once however
 * often it occurs. If some cases are ready, one of them happens. Otherwise the select waits in all the lists with one wait, which is
 * claimed once (wait.h, W1): that is what makes it exactly one case. */
#include "fiber/ret_jump.h"
#include "sync/chan.h"
#include "sys/sys.h"

/* One for each case, and the channels in the order of their locks. */
struct select_room {
    struct waiter waiter;
    struct chan *locked;
};

struct select {
    weft_case *cases;
    size_t count, channels; /* cases; different channels */
    struct select_room *room;
};

/* ---- locks ----------------------------------------------------------------------------------------------------------- */

/* Shell sort: a few entries most of the time, and no memory of its own. */
static void select_sort(struct select_room *room, size_t count) {
    size_t gap = 1;
    while (gap < count / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (size_t i = gap; i < count; i++) {
            struct chan *chan = room[i].locked;
            size_t at = i;
            for (; at >= gap && (uintptr_t)room[at - gap].locked > (uintptr_t)chan; at -= gap)
                room[at].locked = room[at - gap].locked;
            room[at].locked = chan;
        }
}

static void select_order(struct select *select) {
    size_t count = 0;
    for (size_t i = 0; i < select->count; i++)
        if (select->cases[i].chan) select->room[count++].locked = chan_of(select->cases[i].chan);
    select_sort(select->room, count);
    select->channels = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || select->room[i].locked != select->room[select->channels - 1].locked)
            select->room[select->channels++].locked = select->room[i].locked;
}

static void select_lock(struct select *select) {
    for (size_t i = 0; i < select->channels; i++)
        lock_take(&select->room[i].locked->lock);
}
static void select_unlock(struct select *select) {
    for (size_t i = select->channels; i-- > 0;)
        lock_drop(&select->room[i].locked->lock);
}

/* ---- what is ready --------------------------------------------------------------------------------------------------- */

/* A random number from the worker's own generator, or from the thread's. */
static uint32_t select_below(uint32_t n) {
#if !WEFT_CHECK
    static _Thread_local struct rng mine;
    static atom_u32 streams;
    struct worker *self = worker_here();
    if (self) return rng_below(&self->rng, n);
    if (!(mine.s[0] | mine.s[1] | mine.s[2] | mine.s[3])) rng_seed(&mine, 1, atom_add_rlx(&streams, 1)); /* rlx: a number */
    return rng_below(&mine, n);
#else
    uint32_t select_choose(uint32_t n); /* check/scenarios/small_fiber.c */
    return select_choose(n);
#endif
}

/* Whether the case could happen; claims no waiter. A listed waiter whose wait is over makes it look ready when it is not. */
static bool select_looks_ready(const weft_case *one) {
    struct chan *chan = chan_of(one->chan);
    if (!chan) return false;
    if (chan->closed) return true;
    if (one->kind == WEFT_CASE_SEND) return chan->receivers.first || chan->count < chan->capacity;
    return chan->senders.first || chan->count > 0;
}

static int select_happens(weft_case *one, struct waiter **other) {
    struct chan *chan = chan_of(one->chan);
    if (one->kind == WEFT_CASE_SEND) return chan_send_now(chan, one->element, other);
    return chan_recv_now(chan, one->element, other);
}

/* With all locks held: performs one of the ready cases, each with the same probability; -1: none is ready. */
static int select_now(struct select *select, struct waiter **other) {
    for (;;) {
        uint32_t ready = 0;
        int chosen = -1;
        for (size_t i = 0; i < select->count; i++)
            if (select_looks_ready(&select->cases[i]) && select_below(++ready) == 0) chosen = (int)i;
        if (chosen < 0) return -1;
        int error = select_happens(&select->cases[chosen], other);
        if (error == WEFT_EAGAIN) continue; /* those waits were all over; the waiters are out of the list now, so fewer cases look ready */
        select->cases[chosen].error = error;
        return chosen;
    }
}

/* ---- waiting --------------------------------------------------------------------------------------------------------- */

static void select_join(struct select *select, struct wait *wait) {
    for (size_t i = 0; i < select->count; i++) {
        weft_case *one = &select->cases[i];
        struct waiter *waiter = &select->room[i].waiter;
        waiter_init(waiter, wait, chan_why(i));
        waiter->item = one->element;
        if (!one->chan) continue;
        struct chan *chan = chan_of(one->chan);
        waiters_add(one->kind == WEFT_CASE_SEND ? &chan->senders : &chan->receivers, waiter);
    }
}

/* Leaves all the lists that it is still in. The waiter of the case that happened is out already, and that channel may be freed by now. */
static void select_leave(struct select *select, size_t happened) {
    for (size_t i = 0; i < select->count; i++) {
        if (i == happened || !select->cases[i].chan) continue;
        struct chan *chan = chan_of(select->cases[i].chan);
        struct waiter *waiter = &select->room[i].waiter;
        lock_take(&chan->lock);
        if (waiter->in) waiters_remove(waiter);
        lock_drop(&chan->lock);
    }
}

static int select_wait(struct select *select, uint64_t deadline) {
    struct wait wait;
    wait_begin(&wait);
    select_join(select, &wait);
    select_unlock(select);
    int why = wait_for(&wait, deadline, "weft_select");
    size_t happened = why > 0 ? ((size_t)why >> 1) - 1 : SIZE_MAX;
    select_leave(select, happened);
    /* The waiters in `room` still point to `wait`, but they are in no list any more, and no thread reads them. */
    // NOLINTBEGIN(clang-analyzer-core.StackAddressEscape): as just said
    if (why <= 0) return why;
    select->cases[happened].error = why & CHAN_SHUT ? WEFT_ECLOSED : 0;
    return (int)happened;
    // NOLINTEND(clang-analyzer-core.StackAddressEscape)
}

static inline int select_run(struct select *select, uint64_t deadline) {
    struct waiter *other;
    select_order(select);
    select_lock(select);
    int chosen = select_now(select, &other);
    if (chosen < 0 && deadline != 0) return select_wait(select, deadline);
    select_unlock(select);
    if (chosen < 0) return wait_late();
    if (other) waiter_wake(other);
    return chosen;
}

int weft_select(weft_case *cases, size_t count, uint64_t deadline) {
    fiber_spend(worker_here(), deadline);
    if (count > INT32_MAX / 4) WEFT_MISUSE("weft_select", "too many cases", "fewer than 500 million");
    if (count <= WEFT_SELECT_PLAIN) {
        struct select_room room[WEFT_SELECT_PLAIN];
        return select_run(&(struct select){cases, count, 0, room}, deadline);
    }
    struct select_room *room = sys->alloc(count * sizeof *room);
    if (!room) return WEFT_ENOMEM;
    int result = select_run(&(struct select){cases, count, 0, room}, deadline);
    sys->free(room, count * sizeof *room);
    return result;
}
