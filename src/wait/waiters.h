/* An object's list of waiters, in order of arrival. Zeroed memory is an empty list.
 *
 * Plain data, guarded by the lock of the object it belongs to. A `struct waiter` lies on the stack of the waiting process or thread,
 * which may be in the lists of several objects at once: one `struct waiter` in each, all with the same `struct wait`.
 *
 *   operation                       caller
 *   waiters_add, waiters_remove     the waiter itself, under the lock
 *   waiters_claim                   a waker, under the lock
 *   waiter_wake, wakes_run          the same waker, once the lock is dropped
 *
 *   L1  `in` tells, under the lock, whether a waiter is in the list. A waiter that gives up or was claimed elsewhere removes itself if
 *       it is still in; a waker that finds such a waiter removes it too.
 *   L2  Between the claim and the wake-up the waiter's memory belongs to the waker (wait/wait.h, W3). */
#ifndef WEFT_WAIT_WAITERS_H
#define WEFT_WAIT_WAITERS_H

#include "queue/lock.h"
#include "wait/wait.h"

struct waiter {
    struct waiter *next, *prev;
    struct waiters *in; /* NULL: in none */
    struct wait *wait;
    uint32_t why;     /* the reason that its wait is claimed with: 1 and up */
    struct wake wake; /* since it was claimed */
    /* For the object's use. */
    void *item;
    uint64_t amount;
};

struct waiters {
    struct waiter *first, *last;
};

static inline void waiter_init(struct waiter *waiter, struct wait *wait, uint32_t why) {
    waiter->in = NULL;
    waiter->wait = wait;
    waiter->why = why;
}

static inline void waiters_add(struct waiters *list, struct waiter *waiter) {
    waiter->in = list;
    waiter->next = NULL;
    waiter->prev = list->last;
    if (list->last) list->last->next = waiter;
    else list->first = waiter;
    list->last = waiter;
}

static inline void waiters_remove(struct waiter *waiter) {
    struct waiters *list = waiter->in;
    if (waiter->prev) waiter->prev->next = waiter->next;
    else list->first = waiter->next;
    if (waiter->next) waiter->next->prev = waiter->prev;
    else list->last = waiter->prev;
    waiter->in = NULL;
}

/* Removes the waiter from its list. True: the caller has claimed it. False: another waker, or the deadline, was first. */
static inline bool waiter_claim(struct waiter *waiter) {
    waiters_remove(waiter);
    return wait_claim(waiter->wait, waiter->why, &waiter->wake);
}

/* The first waiter that could be claimed, out of the list; NULL: there is none, and the list is empty. */
static inline struct waiter *waiters_claim(struct waiters *list) {
    while (list->first) {
        struct waiter *waiter = list->first;
        if (waiter_claim(waiter)) return waiter;
    }
    return NULL;
}

static inline void waiter_wake(struct waiter *waiter) { wait_wake(&waiter->wake); }

/* Waiters that were claimed under a lock, to be woken when it is dropped. */
struct wakes {
    struct waiter *first, *last;
};

static inline void wakes_add(struct wakes *wakes, struct waiter *waiter) {
    waiter->next = NULL;
    if (wakes->first) wakes->last->next = waiter;
    else wakes->first = waiter;
    wakes->last = waiter;
}

/* `wake`: wait_wake or wait_wake_inside. */
static inline void wakes_run(const struct wakes *wakes, void (*wake)(const struct wake *)) {
    for (struct waiter *waiter = wakes->first, *next; waiter; waiter = next) {
        next = waiter->next; /* before the wake-up: afterwards the waiter is gone */
        wake(&waiter->wake);
    }
}

/* A waiter in one list only: `about` is shown in dumps, `why` is what it is woken with. */
struct turn {
    struct wait wait;
    struct waiter waiter;
};
_Static_assert(sizeof(struct turn) <= sizeof(struct pack_room), "a process that may be packed waits there");
static inline struct waiter *turn_begin(struct turn *turn, const void *about, uint32_t why) {
    wait_begin(&turn->wait);
    turn->wait.about = about;
    waiter_init(&turn->waiter, &turn->wait, why);
    return &turn->waiter;
}
/* The same by a process: wait_begin_in. */
static inline struct waiter *turn_begin_in(struct turn *turn, struct worker *worker, const void *about, uint32_t why) {
    wait_begin_in(&turn->wait, worker->runtime, worker->current);
    turn->wait.about = about;
    waiter_init(&turn->waiter, &turn->wait, why);
    return &turn->waiter;
}

/* Waits, as wait_for, with one waiter in one list. The caller holds `lock`, which guards the list, and has seen that it has to wait. On
 * return the waiter is in no list. If the result is 1 or more, the lock is dropped; else it is held again, and the caller cleans up
 * and drops it. */
static inline int waiters_wait(struct waiters *list, struct waiter *waiter, struct lock *lock, uint64_t deadline, const char *call) {
    waiters_add(list, waiter);
    lock_drop(lock);
    int why = wait_for(waiter->wait, deadline, call);
    if (__builtin_expect(why > 0, 1)) return why;
    lock_take(lock);
    if (waiter->in) waiters_remove(waiter);
    return why;
}

#endif
