/* A lock for threads that is dropped by a plain store, for sections that are entered all the time and contended seldom: a worker's timers.
 *
 * Other than queue/lock.h it has no sleepers, so dropping it need not ask for them: one locked instruction for each section instead of two (2.5 ns less).
 * A thread that finds it held spins, and then yields its processor again and again until the holder is done (base/spin.h).
 *
 *   operation                          caller
 *   spinlock_init                      one thread, before the lock is shared
 *   spinlock_take, spinlock_try        any thread that does not hold it
 *   spinlock_drop                      the thread that holds it
 *
 * X1  Only the step from FREE to HELD takes the lock, so there is one holder.
 * X2  What a holder wrote is seen by the next: drop releases, take acquires. */
#ifndef WEFT_QUEUE_SPINLOCK_H
#define WEFT_QUEUE_SPINLOCK_H

#include "base/atom.h"
#include "base/sim_hooks.h"

struct spinlock {
    atom_u32 word;
};

enum { SPINLOCK_FREE, SPINLOCK_HELD };

/* The slow half, spinlock.c. */
void spinlock_take_slow(struct spinlock *lock);

static inline void spinlock_init(struct spinlock *lock) { atom_store_rlx(&lock->word, SPINLOCK_FREE); } /* not shared yet */

/* True when the lock was free and is now the caller's. */
static inline bool spinlock_try(struct spinlock *lock) {
    uint32_t found = SPINLOCK_FREE;
    /* acq: pairs with the store in spinlock_drop (X2). The failing read decides nothing. */
    bool taken = atom_cas_acq_rlx(&lock->word, &found, SPINLOCK_HELD);
    if (taken) sim_lock_taken();
    return taken;
}

static inline void spinlock_take(struct spinlock *lock) {
    if (__builtin_expect(!spinlock_try(lock), 0)) spinlock_take_slow(lock);
}

static inline void spinlock_drop(struct spinlock *lock) {
    atom_store_rel(&lock->word, SPINLOCK_FREE); /* rel: pairs with the acq that takes the lock next (X2) */
    sim_lock_dropped();
}

#endif
