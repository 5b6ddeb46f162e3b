/* The barrier behind weft/sync.h.
 *
 *   R1  `here` counts the callers that have come in this round and have not given up. The caller that makes it `count` ends the round: it wakes all
 *       others and begins the next.
 *   R2  A waiter that gives up when its round has just ended, too late to be woken, has come: it sees that under the lock by the round's number. */
#include "wait/waiters.h"

#include <weft/sync.h>

struct barrier {
    uint32_t count;
    struct lock lock;
    uint32_t here, round;
    struct waiters waiting;
};
_Static_assert(sizeof(struct barrier) <= sizeof(weft_barrier), "the public struct has room");

static struct barrier *barrier_of(weft_barrier *barrier) { return (struct barrier *)(void *)barrier; }

void weft_barrier_init(weft_barrier *opaque, uint32_t count) {
    *barrier_of(opaque) = (struct barrier){.count = count};
    lock_init(&barrier_of(opaque)->lock);
}

/* Under the lock, which it drops. */
static int barrier_open(struct barrier *barrier) {
    struct wakes wakes = {NULL, NULL};
    barrier->here = 0;
    barrier->round++;
    for (struct waiter *waiter; (waiter = waiters_claim(&barrier->waiting)) != NULL;)
        wakes_add(&wakes, waiter);
    lock_drop(&barrier->lock);
    wakes_run(&wakes, wait_wake);
    return 1;
}

/* Under the lock, which it drops. */
static int barrier_await(struct barrier *barrier, uint64_t deadline) {
    struct turn turn;
    uint32_t round = barrier->round;
    barrier->here++;
    turn_begin(&turn, barrier, 1);
    int why = waiters_wait(&barrier->waiting, &turn.waiter, &barrier->lock, deadline, "weft_barrier_wait");
    if (why > 0) return 0;
    bool opened = barrier->round != round; /* R2 */
    if (!opened) barrier->here--;
    lock_drop(&barrier->lock);
    return opened ? 0 : why;
}

int weft_barrier_wait(weft_barrier *opaque, uint64_t deadline) {
    struct barrier *barrier = barrier_of(opaque);
    if (barrier->count == 0)
        WEFT_REFUSE("weft_barrier_wait", "the barrier's count is 0", "call weft_barrier_init with the number of callers");
    fiber_spend(worker_here(), deadline);
    lock_take(&barrier->lock);
    if (barrier->here + 1 == barrier->count) return barrier_open(barrier);
    if (deadline != 0) return barrier_await(barrier, deadline);
    lock_drop(&barrier->lock);
    return wait_late();
}
