/* The mutex behind weft/sync.h: a word that says whether it is held, and a list of waiters, guarded by a small lock.
 *
 *   word             meaning
 *   FREE             not held, no waiters
 *   HELD             held, no waiters
 *   HELD | QUEUE     held, and there may be waiters
 *   QUEUE            not held, no waiters: an unlock found the list empty and left the mark for the next locker to clear
 *
 *   M1  FREE -> HELD and HELD -> FREE are single steps that need no lock. With QUEUE the word changes under the lock only.
 *   M2  A waiter sets QUEUE and enters the list in one critical section of the lock. So the holder, which cannot take the short way any
 *       more, finds it there.
 *   M3  A mutex with a claimable waiter is handed over, and never FREE: no process overtakes a waiter.
 *   M4  An unlock does not touch the mutex after the next holder may have it: in the short way because it is one step, with a waiter
 *       because the waiter does not go on before the lock is dropped (wait.h, W3), and otherwise because of QUEUE, with which the next
 *       holder has to take the lock first. So the next holder may free the memory. */
#ifndef WEFT_SYNC_MUTEX_H
#define WEFT_SYNC_MUTEX_H

#include "wait/waiters.h"

#include <weft/sync.h>

enum { MUTEX_FREE = 0, MUTEX_HELD = 1, MUTEX_QUEUE = 2 };

struct mutex {
    atom_u32 word;
    struct lock lock;
    struct waiters waiting;
    ATOM_PTR(const void) owner; /* debug builds only: see mutex_me */
};
_Static_assert(sizeof(struct mutex) <= sizeof(weft_mutex), "the public struct has room");

static inline struct mutex *mutex_of(weft_mutex *mutex) { return (struct mutex *)(void *)mutex; }

/* As weft_mutex_lock without a deadline, but a cancellation does not end it. */
void mutex_lock_anyway(struct mutex *mutex, const char *call);
void mutex_unlock(struct mutex *mutex, const char *call);

#endif
