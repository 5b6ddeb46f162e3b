/* Handles of timers: see time/handle.h. */
#include "time/handle.h"

#include "base/spin.h"

/* The timer is in `in`, whose lock is held. */
static inline bool handle_take_out(struct handle *any, struct timers *in, struct timer *timer, uint64_t serial) {
    /* rlx: changes under this lock as long as the timer is armed (G4). The memory may have been used again before we had the lock. */
    bool mine = atom_load_rlx(&any->word) == serial; /* recheck */
    if (__builtin_expect(mine, 1)) {
        timers_remove(in, timer);
        atom_store_rlx(&any->word, 0); /* rlx: the caller's from here on */
    }
    spinlock_drop(&in->lock);
    return mine;
}

/* One round. HANDLE_AGAIN: something changed meanwhile, or the timer is rung just now. */
enum { HANDLE_AGAIN = HANDLE_RUNNERS + 1 };
static inline __attribute__((always_inline)) unsigned handle_try_cancel(struct handle *any, struct timer *timer, uint64_t serial) {
    uint64_t word = atom_load_acq(&any->word); /* acq: pairs with the rel in handle_end (G2) */
    if (__builtin_expect(word != serial, 0)) return (word & ~HANDLE_BUSY) == serial ? HANDLE_AGAIN : HANDLE_GONE;
    struct timers *in = timers_hold(timer);
    if (__builtin_expect(TIMER_IS_IN(in), 1)) return handle_take_out(any, in, timer, serial) ? HANDLE_MINE : HANDLE_AGAIN;
    if (in != TIMER_TAKEN && in != TIMER_NEVER) return HANDLE_AGAIN;
    /* rlx: it only decides who is first. If the runner has armed a periodic timer again between our two looks, the timer stays armed once more, and
     * its next runner ends it. */
    if (!atom_cas_rlx_rlx(&any->word, &word, in == TIMER_TAKEN ? serial | HANDLE_CANCELLED : 0)) return HANDLE_AGAIN;
    return in == TIMER_TAKEN ? HANDLE_RUNNERS : HANDLE_MINE;
}

static __attribute__((noinline, cold)) enum handle_cancelled handle_cancel_slow(struct handle *any, struct timer *timer, uint64_t serial) {
    struct spin spin = spin_begin();
    unsigned how;
    while ((how = handle_try_cancel(any, timer, serial)) == HANDLE_AGAIN)
        spin_wait(&spin);
    return how;
}

/* flatten: a cancel of what is armed is one function, 30 instructions less. */
__attribute__((flatten)) enum handle_cancelled handle_cancel(struct handle *any, struct timer *timer, uint64_t serial) {
    unsigned how = handle_try_cancel(any, timer, serial);
    return __builtin_expect(how == HANDLE_AGAIN, 0) ? handle_cancel_slow(any, timer, serial) : how;
}

bool handle_ring(struct handle *own) {
    for (struct spin spin = spin_begin();; spin_wait(&spin)) {
        uint64_t word = atom_load_rlx(&own->word); /* rlx: the exchange decides; the timers' lock has brought all else */
        if (word & HANDLE_CANCELLED) return false;
        if (word & HANDLE_BUSY) continue; /* another runner has armed it again and is about to say so */
        if (atom_cas_rlx_rlx(&own->word, &word, word | HANDLE_BUSY)) return true; /* rlx: as in handle_try_cancel */
    }
}
