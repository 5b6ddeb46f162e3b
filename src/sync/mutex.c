/* Locking and unlocking of the mutex; the protocol is in mutex.h. */
#include "sync/mutex.h"

#include "fiber/held_locks.h"
#include "fiber/ret_jump.h"

/* ---- the owner, in debug builds -------------------------------------------------------------------------------------- */

#define MUTEX_OWNERS (WEFT_DEBUG && !WEFT_CHECK)
#if MUTEX_OWNERS
/* An address that no other process or thread has at the same time. */
static const void *mutex_me(void) {
    static _Thread_local char here;
    struct worker *self = worker_here();
    return self && self->current ? (const void *)self->current : &here;
}
/* rlx, all of them: a caller only compares with its own address, which it alone writes. */
static void mutex_owned(struct mutex *mutex, const void *by) { atom_store_rlx(&mutex->owner, by); }
static bool mutex_is_mine(struct mutex *mutex) { return atom_load_rlx(&mutex->owner) == mutex_me(); }
#else
static inline const void *mutex_me(void) { return NULL; }
static inline void mutex_owned(struct mutex *mutex, const void *by) { (void)mutex, (void)by; }
#endif

static __attribute__((noinline, cold)) void mutex_misuse(struct mutex *mutex, const char *call) {
    if (!(atom_load_rlx(&mutex->word) & MUTEX_HELD)) /* rlx: only for the message */
        WEFT_MISUSE(call, "the mutex is not locked", "unlock once, after a lock that returned 0");
    WEFT_MISUSE(call, "another process or thread has locked the mutex", "unlock in the process, or thread, that locked it");
}

/* ---- locking --------------------------------------------------------------------------------------------------------- */

static inline bool mutex_try(struct mutex *mutex) {
    uint32_t found = MUTEX_FREE;
    /* acq: pairs with the rel in mutex_release: what was done under it before. */
    if (!atom_cas_acq_rlx(&mutex->word, &found, MUTEX_HELD)) return false;
    mutex_owned(mutex, mutex_me());
    return true;
}

/* Under the lock: takes it if it is free; else, with `queue`, makes sure that QUEUE is set. */
static bool mutex_take(struct mutex *mutex, bool queue) {
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint32_t found = atom_load_rlx(&mutex->word); /* rlx: the exchange decides */
        bool held = found & MUTEX_HELD;
        if (held && (!queue || found & MUTEX_QUEUE)) return false;
        /* acq: as in mutex_try. Taking it clears QUEUE: there are no waiters, else it would have been handed over (M3). */
        if (atom_cas_acq_rlx(&mutex->word, &found, held ? MUTEX_HELD | MUTEX_QUEUE : MUTEX_HELD)) return !held;
    }
}

/* Under the lock, by a waiter that has given up: clears QUEUE if the list is empty. */
static void mutex_unqueue(struct mutex *mutex) {
    if (mutex->waiting.first) return;
    /* rlx, both: with QUEUE only the lock's holder writes it (M1); this waiter never held the mutex and publishes nothing. */
    if (atom_load_rlx(&mutex->word) == (MUTEX_HELD | MUTEX_QUEUE)) atom_store_rlx(&mutex->word, MUTEX_HELD);
}

FIBER_SLOW int mutex_lock_slow(struct mutex *mutex, uint64_t deadline, const char *call);
FIBER_RET_JUMP(mutex_lock_jump, mutex_lock_slow);
/* With the lock held and QUEUE set. */
FIBER_SLOW int mutex_lock_slow(struct mutex *mutex, uint64_t deadline, const char *call) {
    struct turn turn;
    turn_begin(&turn, mutex, 1)->item = (void *)(uintptr_t)mutex_me();
    int why = waiters_wait(&mutex->waiting, &turn.waiter, &mutex->lock, deadline, call);
    if (__builtin_expect(why > 0, 1)) {
        held_lock_entered(worker_here(), mutex);
        return 0;
    }
    mutex_unqueue(mutex);
    lock_drop(&mutex->lock);
    return why;
}

/* The short way has failed. */
static int mutex_lock_other(struct mutex *mutex, uint64_t deadline, const char *call) {
#if MUTEX_OWNERS
    if (mutex_is_mine(mutex) && atom_load_rlx(&mutex->word) & MUTEX_HELD)
        WEFT_MISUSE(call, "the caller has locked the mutex already", "lock it once");
#endif
    lock_take(&mutex->lock);
    if (mutex_take(mutex, deadline != 0)) {
        mutex_owned(mutex, mutex_me());
        lock_drop(&mutex->lock);
        held_lock_entered(worker_here(), mutex);
        return 0;
    }
    if (deadline != 0) return mutex_lock_jump(mutex, deadline, call);
    lock_drop(&mutex->lock);
    return wait_late();
}

int weft_mutex_lock(weft_mutex *opaque, uint64_t deadline) {
    struct mutex *mutex = mutex_of(opaque);
    fiber_spend(my_worker, deadline);
    if (__builtin_expect(!mutex_try(mutex), 0)) return mutex_lock_other(mutex, deadline, "weft_mutex_lock");
    held_lock_entered(my_worker, mutex);
    return 0;
}

void mutex_lock_anyway(struct mutex *mutex, const char *call) {
    struct worker *self = worker_here();
    struct fiber *fiber = self && self->current && self->current->stackful ? fiber_of(self->current) : NULL;
    if (fiber) fiber->shields += FIBER_KEPT;
    int error = 0;
    if (mutex_try(mutex)) held_lock_entered(self, mutex);
    else error = mutex_lock_other(mutex, WEFT_FOREVER, call);
    if (fiber) fiber->shields -= FIBER_KEPT;
    WEFT_ENSURE(error == 0, "a wait without a deadline, shielded, was ended: %d", error);
}

/* ---- unlocking ------------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void mutex_unlock_slow(struct mutex *mutex, const char *call) {
    if (!(atom_load_rlx(&mutex->word) & MUTEX_HELD)) mutex_misuse(mutex, call); /* rlx: the caller should have it */
    lock_take(&mutex->lock);
    struct waiter *next = waiters_claim(&mutex->waiting);
    mutex_owned(mutex, next ? next->item : NULL);
    if (!next) {
        /* Not FREE: M4. rlx: the next locker has to take the lock first. */
        atom_store_rlx(&mutex->word, MUTEX_QUEUE);
    } else if (!mutex->waiting.first) {
        atom_store_rlx(&mutex->word, MUTEX_HELD); /* rlx: the next holder is ordered by its wake-up, others by the lock */
    }
    lock_drop(&mutex->lock);
    if (next) waiter_wake(next);
}

static inline void mutex_release(struct mutex *mutex, const char *call) {
#if MUTEX_OWNERS
    if (!mutex_is_mine(mutex)) mutex_misuse(mutex, call);
    mutex_owned(mutex, NULL);
#endif
    uint32_t found = MUTEX_HELD;
    /* rel: pairs with the acq in mutex_try and mutex_take. */
    if (__builtin_expect(atom_cas_rel_rlx(&mutex->word, &found, MUTEX_FREE), 1)) return;
    mutex_unlock_slow(mutex, call);
}

void mutex_unlock(struct mutex *mutex, const char *call) {
    held_lock_left(worker_here());
    mutex_release(mutex, call);
}

void weft_mutex_unlock(weft_mutex *mutex) {
    if (__builtin_expect(held_lock_left_stackful(my_worker), 1)) mutex_release(mutex_of(mutex), "weft_mutex_unlock");
    else mutex_unlock(mutex_of(mutex), "weft_mutex_unlock"); /* the rest of held_lock_left, kept out of the short path */
}
