/* Semaphores, inside (weft/sync.h).
 *
 * The word is the number of permits, doubled, and QUEUE.
 *
 *   Q1  Without QUEUE permits are taken and given in one step. With it, the word changes under the lock only.
 *   Q2  A waiter sets QUEUE and enters the list in one critical section of the lock; while it is there, QUEUE is set. So no caller
 *       overtakes it.
 *   Q3  A release that leaves permits over does not clear QUEUE: the caller that takes them does, under the lock. So a release does not
 *       touch the semaphore after the process that it admitted may have gone on, and that process may free the memory. */
#ifndef WEFT_SYNC_SEM_H
#define WEFT_SYNC_SEM_H

#include "wait/waiters.h"

#include <weft/sync.h>

enum { SEM_QUEUE = 1 };

struct sem {
    atom_u64 word;
    struct lock lock;
    struct waiters waiting;
};
_Static_assert(sizeof(struct sem) <= sizeof(weft_sem), "the public struct has room");

static inline struct sem *sem_of(weft_sem *sem) { return (struct sem *)(void *)sem; }

/* Takes them if there are enough and QUEUE is not set. */
static inline bool sem_try(struct sem *sem, uint64_t permits) {
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint64_t found = atom_load_rlx(&sem->word); /* rlx: the exchange decides */
        if (found & SEM_QUEUE || found >> 1 < permits) return false;
        /* acq: pairs with the rel in sem_release. */
        if (atom_cas_acq_rlx(&sem->word, &found, found - (permits << 1))) return true;
    }
}

/* weft_sem_release, for weft itself: does not heed. */
void sem_release(struct sem *sem, uint32_t permits);
/* Under the lock: whether sem_take might succeed. rlx: a hint, unless QUEUE is set (Q1). */
static inline bool sem_looks_ready(struct sem *sem, uint64_t permits) {
    return !sem->waiting.first && atom_load_rlx(&sem->word) >> 1 >= permits;
}
/* Under the lock: takes them, in spite of QUEUE if the list is empty; else sets QUEUE if `queue` says so. */
bool sem_take(struct sem *sem, uint64_t permits, bool queue);
/* Under the lock: sets QUEUE for a waiter. False: the permits are there, and QUEUE is as it was. */
static inline bool sem_queue(struct sem *sem, uint64_t permits) {
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint64_t found = atom_load_rlx(&sem->word); /* rlx: the exchange decides */
        if (!sem->waiting.first && found >> 1 >= permits) return false;
        /* acq: as in sem_try: a later release may grant these permits too. */
        if (found & SEM_QUEUE || atom_cas_acq_rlx(&sem->word, &found, found | SEM_QUEUE)) return true;
    }
}
/* Under the lock: a waiter has left without its permits. Those behind it may have waited only because it asked for so many. */
void sem_left(struct sem *sem, struct wakes *wakes);

#endif
