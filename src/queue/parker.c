/* Park and unpark: see queue/parker.h. */
#include "queue/parker.h"

#include "sys/sys.h"

#include <errno.h>

/* In this order, so that one subtraction moves the owner either from TOKEN to EMPTY or from EMPTY to ASLEEP. */
#define PARKER_EMPTY UINT32_C(0)
#define PARKER_TOKEN UINT32_C(1)
#define PARKER_ASLEEP UINT32_MAX
#define PARKER_AWAY (UINT32_MAX - 1)

void parker_init(struct parker *parker) { atom_store_rlx(&parker->word, PARKER_EMPTY); } /* not shared yet */

int parker_park(struct parker *parker, uint64_t deadline) {
    /* acq, here and in the two below: pairs with the swap in parker_unpark (P2); without it the woken thread would look
     * for its work and not find it. A read-modify-write each time, never a load and a store: an unpark that came
     * between the two would be erased unseen. */
    if (atom_sub_acq(&parker->word, 1) == PARKER_TOKEN) return 0;
    for (;;) {
        int error = sys->futex_wait(&parker->word, PARKER_ASLEEP, deadline);
        if (error == -ETIMEDOUT) return atom_swap_acq(&parker->word, PARKER_EMPTY) == PARKER_TOKEN ? 0 : -ETIMEDOUT;
        uint32_t found = PARKER_TOKEN;
        if (atom_cas_acq_rlx(&parker->word, &found, PARKER_EMPTY)) return 0;
        /* Still ASLEEP: a signal, or a wake-up for no reason. */
    }
}

bool parker_away(struct parker *parker) {
    uint32_t found = PARKER_EMPTY;
    if (atom_cas_rel_rlx(&parker->word, &found, PARKER_AWAY)) return true; /* rel: pairs with the acq in parker_unpark (P5) */
    return !parker_back(parker);
}

bool parker_back(struct parker *parker) {
    return atom_swap_acq(&parker->word, PARKER_EMPTY) == PARKER_TOKEN; /* acq: as in parker_park (P2) */
}

bool parker_unpark(struct parker *parker) {
    /* rel: pairs with the acq in parker_park and parker_back (P2). acq: with the rel in parker_away (P5). */
    uint32_t before = atom_swap_acqrel(&parker->word, PARKER_TOKEN);
    if (before == PARKER_ASLEEP) sys->futex_wake(&parker->word, 1);
    return before == PARKER_AWAY;
}
