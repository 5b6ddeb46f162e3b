/* Those who wait for something, in the order in which they came. Zeroed memory is an empty list.
 *
 * Plain data, guarded by the lock of the object it belongs to. A waiter lies on the stack of whoever waits, and may stand in the
 * lists of several objects at once as several `struct waiter` of one `struct wait`.
 *
 *   operation                       who may call
 *   waiters_add, waiters_remove     the waiter itself, under the lock
 *   waiters_claim                   a waker, under the lock
 *   waiter_wake, wakes_run          the same waker, once the lock is dropped
 *
 *   L1  `in` tells whether a waiter is in the list, under the lock. Whoever gives up or was claimed elsewhere takes itself out if it
 *       still is, and a waker that meets such a one takes it out too.
 *   L2  Between the claim and the wake-up the waiter's memory is the waker's (wait/wait.h, W3). */
#ifndef WEFT_WAIT_WAITERS_H
#define WEFT_WAIT_WAITERS_H

#include "queue/lock.h"
#include "wait/wait.h"

struct waiter {
    struct waiter *next, *prev;
    struct waiters *in; /* NULL: in none */
    struct wait *wait;
    uint32_t why;     /* what its wait is claimed with: 1 and up */
    struct wake wake; /* since it was claimed */
    /* For the object. */
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

/* True: the waiter is the caller's, out of its list. False: somebody else was faster; it is out of the list all the same. */
static inline bool waiter_claim(struct waiter *waiter) {
    waiters_remove(waiter);
    return wait_claim(waiter->wait, waiter->why, &waiter->wake);
}

/* The first one that still waits, claimed and out of the list; NULL: there is none, and the list is empty. */
static inline struct waiter *waiters_claim(struct waiters *list) {
    while (list->first) {
        struct waiter *waiter = list->first;
        if (waiter_claim(waiter)) return waiter;
    }
    return NULL;
}

static inline void waiter_wake(struct waiter *waiter) { wait_wake(&waiter->wake); }

/* Several, claimed under a lock, to be woken when it is dropped. */
struct wakes {
    struct waiter *first, *last;
};

static inline void wakes_add(struct wakes *wakes, struct waiter *waiter) {
    waiter->next = NULL;
    if (wakes->first) wakes->last->next = waiter;
    else wakes->first = waiter;
    wakes->last = waiter;
}

static inline void wakes_run(const struct wakes *wakes) {
    for (struct waiter *waiter = wakes->first, *next; waiter; waiter = next) {
        next = waiter->next; /* before it is woken: then it is gone */
        waiter_wake(waiter);
    }
}

/* One who waits for one thing: `about` is shown in dumps, `why` is what it is woken with. */
struct turn {
    struct wait wait;
    struct waiter waiter;
};
static inline struct waiter *turn_begin(struct turn *turn, const void *about, uint32_t why) {
    wait_begin(&turn->wait);
    turn->wait.about = about;
    waiter_init(&turn->waiter, &turn->wait, why);
    return &turn->waiter;
}

/* Waits with one waiter in one list, which `lock` guards; the caller holds it and has seen that it has to wait. As wait_for. On
 * return the lock is dropped and the waiter in no list if the answer is 1 or more; else the lock is held again, the waiter out
 * of the list too, and the caller has to set things right and drop it. */
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
