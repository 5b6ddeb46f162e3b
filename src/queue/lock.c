/* The slow paths of queue/lock.h: a contended take, and waking a sleeper. */
#include "queue/lock.h"

#include "base/handler.h"
#include "base/spin.h"
#include "sys/sys.h"

#include <errno.h>

#if WEFT_CHECK
#define LOCK_LONG SYS_FOREVER
#else
#define LOCK_LONG (sys->now() + UINT64_C(500000000))
#endif

void lock_take_slow(struct lock *lock) {
    for (unsigned round = 0; round < LOCK_SPINS; round++) {
        for (unsigned i = 0; i <= round; i++)
            spin_pause_long(); /* lock.h, K5 */
        /* rlx: a read before asking for the cache line exclusively; lock_try decides. */
        if (atom_load_rlx(&lock->word) == LOCK_FREE && lock_try(lock)) return;
    }
    for (;;) {
        uint32_t found = LOCK_FREE;
        /* acq: pairs with the swap in lock_drop (K4). ASLEEP because other threads may sleep too (K3). */
        if (atom_cas_acq_rlx(&lock->word, &found, LOCK_ASLEEP)) {
            sim_lock_taken();
            return;
        }
        /* rlx: only announces the sleeper (K2); the kernel compares the word again before it lets us sleep. When the
         * word was FREE after all, the next round takes it. */
        if (found == LOCK_HELD && !atom_cas_rlx_rlx(&lock->word, &found, LOCK_ASLEEP) && found == LOCK_FREE) continue;
        /* Whatever it returns, the word is read again. After LOCK_LONG the holder may be this very thread, now in a signal handler. */
        if (sys->futex_wait(&lock->word, LOCK_ASLEEP, LOCK_LONG) == -ETIMEDOUT) handler_refuse("a weft call");
    }
}

void lock_wake(struct lock *lock) { sys->futex_wake(&lock->word, 1); }
