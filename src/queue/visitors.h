/* Counts the users of a resource that many threads use for a moment and its owner takes away: the owner closes it and waits until
 * the last visitor has left. Visitors never wait, so signal handlers may be visitors.
 *
 *   operation           caller
 *   visitors_open       the owner, while it is closed
 *   visitors_enter      any thread, any signal handler. True: visitors_leave is to follow, soon
 *   visitors_close      the owner, while it is open; not in a signal handler, which may have interrupted a visitor
 *
 *   W1  A visitor that was let in sees what the owner did before it opened.
 *   W2  When visitors_close returns, all visitors have left and the owner sees what they did; later ones are refused. */
#ifndef WEFT_QUEUE_VISITORS_H
#define WEFT_QUEUE_VISITORS_H

#include "base/atom.h"
#include "base/spin.h"

struct visitors {
    atom_u32 word; /* VISITORS_OPEN, and VISITORS_ONE for each visitor that is inside or just being refused */
};
enum { VISITORS_OPEN = 1, VISITORS_ONE = 2 };

static inline void visitors_open(struct visitors *visitors) {
    atom_add_rel(&visitors->word, VISITORS_OPEN); /* rel: pairs with the acq in visitors_enter (W1) */
}

static inline bool visitors_enter(struct visitors *visitors) {
    if (atom_add_acq(&visitors->word, VISITORS_ONE) & VISITORS_OPEN) return true; /* acq: W1 */
    atom_sub_rlx(&visitors->word, VISITORS_ONE);                                  /* rlx: it has touched nothing */
    return false;
}

static inline void visitors_leave(struct visitors *visitors) {
    atom_sub_rel(&visitors->word, VISITORS_ONE); /* rel: pairs with the acq in visitors_close (W2) */
}

static inline void visitors_close(struct visitors *visitors) {
    atom_sub_rlx(&visitors->word, VISITORS_OPEN); /* rlx: the loop orders */
    struct spin spin = spin_begin();
    while (atom_load_acq(&visitors->word) != 0) /* acq: pairs with the rel in visitors_leave (W2) */
        spin_wait(&spin);
}

#endif
