/* The read-write lock behind weft/sync.h.
 *
 * The word is WRITER, QUEUE, and the number of readers above.
 *
 *   R1  Without QUEUE the word changes in one step, by any caller. With it, under the lock only.
 *   R2  A waiter sets QUEUE and enters the list in one critical section of the lock; while it is there, QUEUE is set. So no caller
 *       overtakes it.
 *   R3  An unlock that admits no waiter leaves QUEUE set for the next caller to clear, under the lock. So this unlock does not touch the rwlock
 *       after another caller may have entered, left and freed the memory. */
#include "fiber/held_locks.h"
#include "fiber/ret_jump.h"
#include "wait/waiters.h"

#include <weft/sync.h>

enum { RW_WRITER = 1, RW_QUEUE = 2, RW_READER = 4 };

struct rwlock {
    atom_u32 word;
    struct lock lock;
    struct waiters waiting; /* `amount` is added to the word when the waiter is admitted */
};
_Static_assert(sizeof(struct rwlock) <= sizeof(weft_rwlock), "the public struct has room");

static inline struct rwlock *rwlock_of(weft_rwlock *rwlock) { return (struct rwlock *)(void *)rwlock; }

/* Whether a caller that adds `amount` may enter, QUEUE apart. */
static inline bool rwlock_admits(uint32_t word, uint32_t amount) {
    return amount == RW_WRITER ? (word & ~(uint32_t)RW_QUEUE) == 0 : !(word & RW_WRITER);
}

static inline bool rwlock_try(struct rwlock *rwlock, uint32_t amount) {
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint32_t found = atom_load_rlx(&rwlock->word); /* rlx: the exchange decides */
        if (found & RW_QUEUE || !rwlock_admits(found, amount)) return false;
        /* acq: pairs with the rel in rwlock_end and rwlock_grant. */
        if (atom_cas_acq_rlx(&rwlock->word, &found, found + amount)) return true;
    }
}

/* Under the lock: enters, in spite of QUEUE if the list is empty; else sets QUEUE if `queue` says so. */
static bool rwlock_take(struct rwlock *rwlock, uint32_t amount, bool queue) {
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint32_t found = atom_load_rlx(&rwlock->word); /* rlx: the exchange decides */
        bool in = !rwlock->waiting.first && rwlock_admits(found, amount);
        if (!in && (!queue || found & RW_QUEUE)) return false;
        uint32_t without = found & ~(uint32_t)RW_QUEUE;
        /* acq: as in rwlock_try. */
        if (atom_cas_acq_rlx(&rwlock->word, &found, in ? without + amount : found | RW_QUEUE)) return in;
    }
}

/* Under the lock, with QUEUE set: `word` is its present value without QUEUE. Admits waiters in order, as far as the lock allows. */
static void rwlock_grant(struct rwlock *rwlock, uint32_t word, struct wakes *wakes) {
    while (rwlock->waiting.first && rwlock_admits(word, (uint32_t)rwlock->waiting.first->amount)) {
        struct waiter *waiter = rwlock->waiting.first;
        uint32_t amount = (uint32_t)waiter->amount;
        if (!waiter_claim(waiter)) continue;
        word += amount;
        wakes_add(wakes, waiter);
    }
    bool queue = rwlock->waiting.first || !wakes->first; /* R3 */
    /* rel: pairs with the acq in rwlock_try and rwlock_take. */
    atom_store_rel(&rwlock->word, word | (queue ? RW_QUEUE : 0));
}

FIBER_SLOW int rwlock_slow(struct rwlock *rwlock, uint32_t amount, uint64_t deadline);
FIBER_RET_JUMP(rwlock_jump, rwlock_slow);
/* With the lock held and QUEUE set. */
FIBER_SLOW int rwlock_slow(struct rwlock *rwlock, uint32_t amount, uint64_t deadline) {
    struct turn turn;
    struct wakes wakes = {NULL, NULL};
    turn_begin(&turn, rwlock, 1)->amount = amount;
    int why = waiters_wait(&rwlock->waiting, &turn.waiter, &rwlock->lock, deadline,
                           amount == RW_WRITER ? "weft_rwlock_write" : "weft_rwlock_read");
    if (__builtin_expect(why > 0, 1)) {
        held_lock_entered(worker_here(), rwlock);
        return 0;
    }
    /* Readers behind a writer that has given up may enter now. rlx: with QUEUE only the lock's holder writes it; without it there are
     * no waiters. */
    uint32_t found = atom_load_rlx(&rwlock->word);
    if (found & RW_QUEUE) rwlock_grant(rwlock, found & ~(uint32_t)RW_QUEUE, &wakes);
    lock_drop(&rwlock->lock);
    wakes_run(&wakes, wait_wake);
    return why;
}

static int rwlock_lock(struct rwlock *rwlock, uint32_t amount, uint64_t deadline) {
    fiber_spend(my_worker, deadline);
    bool in = rwlock_try(rwlock, amount);
    if (__builtin_expect(!in, 0)) {
        lock_take(&rwlock->lock);
        in = rwlock_take(rwlock, amount, deadline != 0);
        if (!in && deadline != 0) return rwlock_jump(rwlock, amount, deadline);
        lock_drop(&rwlock->lock);
    }
    if (in) held_lock_entered(my_worker, rwlock);
    return in ? 0 : wait_late();
}

/* False: QUEUE was cleared meanwhile. */
static __attribute__((noinline)) bool rwlock_end_slow(struct rwlock *rwlock, uint32_t amount) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&rwlock->lock);
    /* rlx: with QUEUE it was last written under the lock (R1), and the waiter that set QUEUE has seen what was done before. */
    uint32_t found = atom_load_rlx(&rwlock->word);
    bool queue = found & RW_QUEUE; /* recheck, without: bool queue = true; */
    if (queue) rwlock_grant(rwlock, (found & ~(uint32_t)RW_QUEUE) - amount, &wakes);
    lock_drop(&rwlock->lock);
    wakes_run(&wakes, wait_wake);
    return queue;
}

static inline void rwlock_end(struct rwlock *rwlock, uint32_t amount, const char *call) {
    held_lock_left(my_worker);
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint32_t found = atom_load_rlx(&rwlock->word); /* rlx: the exchange decides */
        if (__builtin_expect(amount == RW_WRITER ? !(found & RW_WRITER) : found < RW_READER, 0))
            WEFT_MISUSE(call, "it is not locked in this way", "end once what was begun, with the same half of the name");
        /* rel: pairs with the acq in rwlock_try and rwlock_take. */
        if (found & RW_QUEUE ? rwlock_end_slow(rwlock, amount) : atom_cas_rel_rlx(&rwlock->word, &found, found - amount)) return;
    }
}

int weft_rwlock_read(weft_rwlock *rwlock, uint64_t deadline) { return rwlock_lock(rwlock_of(rwlock), RW_READER, deadline); }
int weft_rwlock_write(weft_rwlock *rwlock, uint64_t deadline) { return rwlock_lock(rwlock_of(rwlock), RW_WRITER, deadline); }
void weft_rwlock_read_end(weft_rwlock *rwlock) { rwlock_end(rwlock_of(rwlock), RW_READER, "weft_rwlock_read_end"); }
void weft_rwlock_write_end(weft_rwlock *rwlock) { rwlock_end(rwlock_of(rwlock), RW_WRITER, "weft_rwlock_write_end"); }
