/* Handles of timers: see time/handle.h. */
#include "time/handle.h"

#include "base/spin.h"

/* The timer is in `in`, whose lock is held. */
static bool handle_take_out(struct handle *any, struct timers *in, struct timer *timer, uint64_t serial) {
    /* rlx: changes under this lock as long as the timer is armed (G4). The memory may have been used again before we had the lock. */
    bool mine = atom_load_rlx(&any->word) == serial; /* recheck */
    if (mine) {
        timers_remove(in, timer);
        atom_store_rlx(&any->word, 0); /* rlx: the caller's from here on */
    }
    spinlock_drop(&in->lock);
    return mine;
}

enum handle_cancelled handle_cancel(struct handle *any, struct timer *timer, uint64_t serial) {
    for (struct spin spin = spin_begin();; spin_wait(&spin)) {
        uint64_t word = atom_load_acq(&any->word); /* acq: pairs with the rel in handle_end and handle_again (G2) */
        if ((word & ~HANDLE_BUSY) != serial) return HANDLE_GONE;
        if (word != serial) continue;
        struct timers *in = timers_hold(timer);
        if (TIMER_IS_IN(in)) {
            if (handle_take_out(any, in, timer, serial)) return HANDLE_MINE;
        } else if (in == TIMER_TAKEN || in == TIMER_NEVER) {
            /* rlx: it only decides who is first. If the runner has armed a periodic timer again between our two looks, the timer stays armed once more, and
             * its next runner ends it. */
            if (atom_cas_rlx_rlx(&any->word, &word, in == TIMER_TAKEN ? serial | HANDLE_CANCELLED : 0))
                return in == TIMER_TAKEN ? HANDLE_RUNNERS : HANDLE_MINE;
        }
    }
}

bool handle_ring(struct handle *own) {
    for (struct spin spin = spin_begin();; spin_wait(&spin)) {
        uint64_t word = atom_load_rlx(&own->word); /* rlx: the exchange decides; the timers' lock has brought all else */
        if (word & HANDLE_CANCELLED) return false;
        if (word & HANDLE_BUSY) continue; /* another runner has armed it again and is about to say so */
        if (atom_cas_rlx_rlx(&own->word, &word, word | HANDLE_BUSY)) return true; /* rlx: as in handle_cancel */
    }
}
