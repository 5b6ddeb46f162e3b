/* The condition variable behind weft/sync.h. A waiter is in the list before it unlocks the mutex, so a process that locks the mutex
 * afterwards finds it there. */
#include "sync/mutex.h"

#include "sched/heed.h"

struct cond {
    struct lock lock;
    atom_u32 waits; /* whether the list has a waiter; written under the lock */
    struct waiters waiting;
};
_Static_assert(sizeof(struct cond) <= sizeof(weft_cond), "the public struct has room");

static inline struct cond *cond_of(weft_cond *cond) { return (struct cond *)(void *)cond; }

/* rlx: under the lock; a signaller that reads it without the lock is ordered by the mutex, or is owed no order. */
static void cond_count(struct cond *cond) { atom_store_rlx(&cond->waits, cond->waiting.first != NULL); }

/* Costs budget: the deadline may have passed. The caller is in the list, and has given the mutex up, so it must not end here: the wait looks whether it shall. */
static void cond_spend(uint64_t deadline) {
    if (WEFT_CHECK) return; /* as in fiber_spend */
    struct worker *worker = worker_here();
    struct proc *proc = worker && worker->current && worker->current->stackful ? worker->current : NULL;
    fiber_keep(proc, true);
    fiber_spend(worker, deadline);
    fiber_keep(proc, false);
}

int weft_cond_wait(weft_cond *opaque, weft_mutex *mutex, uint64_t deadline) {
    struct cond *cond = cond_of(opaque);
    struct turn turn;
    if (deadline == 0) return wait_late(); /* an earlier signal is not kept */
    turn_begin(&turn, cond, 1);
    lock_take(&cond->lock);
    waiters_add(&cond->waiting, &turn.waiter);
    cond_count(cond);
    lock_drop(&cond->lock);
    mutex_unlock(mutex_of(mutex), "weft_cond_wait");
    cond_spend(deadline);
    int why = wait_for(&turn.wait, deadline, "weft_cond_wait");
    if (why <= 0) {
        lock_take(&cond->lock);
        if (turn.waiter.in) waiters_remove(&turn.waiter);
        cond_count(cond);
        lock_drop(&cond->lock);
    }
    mutex_lock_anyway(mutex_of(mutex), "weft_cond_wait");
    return why > 0 ? 0 : why;
}

static void cond_wake(struct cond *cond, bool all) {
    if (!atom_load_rlx(&cond->waits)) return; /* rlx: see cond_count */
    struct wakes wakes = {NULL, NULL};
    lock_take(&cond->lock);
    for (struct waiter *waiter; (waiter = waiters_claim(&cond->waiting)) != NULL;) {
        wakes_add(&wakes, waiter);
        if (!all) break;
    }
    cond_count(cond);
    lock_drop(&cond->lock);
    wakes_run(&wakes, wait_wake);
}

void weft_cond_signal(weft_cond *cond) {
    cond_wake(cond_of(cond), false);
    heed_after(my_worker);
}
void weft_cond_broadcast(weft_cond *cond) {
    cond_wake(cond_of(cond), true);
    heed_after(my_worker);
}
