#include "queue/lock.h"

#include "base/spin.h"
#include "sys/sys.h"

void lock_take_slow(struct lock *lock) {
    for (unsigned round = 0; round < LOCK_SPINS; round++) {
        /* rlx: looks before it asks for the cache line; lock_try decides. */
        if (atom_load_rlx(&lock->word) == LOCK_FREE && lock_try(lock)) return;
        spin_pause();
    }
    for (;;) {
        uint32_t found = LOCK_FREE;
        /* acq: pairs with the swap in lock_drop (K4). ASLEEP because others may sleep too (K3). */
        if (atom_cas_acq_rlx(&lock->word, &found, LOCK_ASLEEP)) return;
        /* rlx: only announces the sleeper (K2); the kernel compares the word again before it lets us sleep. When the
         * word was FREE after all, the next round takes it. */
        if (found == LOCK_HELD && !atom_cas_rlx_rlx(&lock->word, &found, LOCK_ASLEEP) && found == LOCK_FREE) continue;
        sys->futex_wait(&lock->word, LOCK_ASLEEP, SYS_FOREVER); /* whatever it says, the word is looked at again */
    }
}

void lock_wake(struct lock *lock) { sys->futex_wake(&lock->word, 1); }
