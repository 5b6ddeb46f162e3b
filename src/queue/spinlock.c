/* A contended take of queue/spinlock.h. */
#include "queue/spinlock.h"

#include "base/spin.h"

__attribute__((noinline, cold)) void spinlock_take_slow(struct spinlock *lock) {
    struct spin spin = spin_begin();
    /* rlx: a read before asking for the cache line exclusively; spinlock_try decides. */
    while (atom_load_rlx(&lock->word) != SPINLOCK_FREE || !spinlock_try(lock))
        spin_wait(&spin);
}
