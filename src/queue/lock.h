/* A small mutex for threads: one word, no owner, no recursion, for critical sections of some dozen instructions.
 *
 * It spins a little (such a section is over sooner than a system call), then sleeps on the futex.
 *
 *   operation                 caller
 *   lock_init                 one thread, before the lock is shared
 *   lock_take, lock_try       any thread that does not hold it
 *   lock_drop                 the thread that holds it
 *
 * The word is FREE, HELD, or ASLEEP: held, and other threads may sleep.
 *
 * K1  Only the step from FREE to something else takes the lock, so there is one holder.
 * K2  A thread sleeps only while the word is ASLEEP, and the drop that ends ASLEEP wakes one sleeper.
 * K3  A thread that has slept takes the lock as ASLEEP, not as HELD: it cannot know whether it was the only sleeper. At
 *     worst one later wake-up finds no sleeper; a sleeper is never forgotten.
 * K4  What a holder wrote is seen by the next: drop releases, take acquires.
 *
 * K5  A thread that finds the lock held looks again after some tenths of a microsecond, and then after longer pauses: soon beside a sleep, and late beside the section. Each look takes the cache line away
 *     from the holder, who most often wants the lock again at once; so a hundred senders on two workers passed a channel's lock to and fro with each element, and one took 80 ns
 *     instead of 25 (Zen 4).
 *
 * It is not fair: a thread that comes while the word is FREE may take the lock before the sleeper that was woken. */
#ifndef WEFT_QUEUE_LOCK_H
#define WEFT_QUEUE_LOCK_H

#include "base/atom.h"
#include "base/config.h"
#include "base/sim_hooks.h"

struct lock {
    atom_u32 word;
};

enum { LOCK_FREE, LOCK_HELD, LOCK_ASLEEP };

/* Looks before the first sleep: K5. */
#if WEFT_CHECK
enum { LOCK_SPINS = 1 };
#else
enum { LOCK_SPINS = 4 };
#endif

/* The slow halves, lock.c. */
void lock_take_slow(struct lock *lock);
void lock_wake(struct lock *lock);

static inline void lock_init(struct lock *lock) { atom_store_rlx(&lock->word, LOCK_FREE); } /* not shared yet */

/* True when the lock was free and is now the caller's. */
static inline bool lock_try(struct lock *lock) {
    uint32_t found = LOCK_FREE;
    /* acq: pairs with the swap in lock_drop (K4). The failing read decides nothing. */
    bool taken = atom_cas_acq_rlx(&lock->word, &found, LOCK_HELD);
    if (taken) sim_lock_taken();
    return taken;
}

static inline void lock_take(struct lock *lock) {
    if (!lock_try(lock)) lock_take_slow(lock);
}

static inline void lock_drop(struct lock *lock) {
    /* rel: pairs with every acq that takes the lock (K4). */
    if (atom_swap_rel(&lock->word, LOCK_FREE) == LOCK_ASLEEP) lock_wake(lock);
    sim_lock_dropped();
}

#endif
