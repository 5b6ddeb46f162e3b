/* One thread's bed: it sleeps here until somebody hands it a token.
 *
 *   operation        who may call
 *   parker_init      one thread, before the parker is shared
 *   parker_park      the owner, one thread at a time
 *   parker_unpark    any thread, any number of times
 *
 * The word is EMPTY, TOKEN, or ASLEEP (the owner sleeps or is about to).
 *
 * P1  There is at most one token: unparks that come before a park melt into one.
 * P2  A park that returns 0 took the token away, and sees what every unparker did before each unpark that melted into
 *     it.
 * P3  A token put down while the owner is asleep or on its way wakes it: only the owner writes ASLEEP, and the unpark
 *     that replaces ASLEEP wakes the futex. No wake-up is lost.
 * P4  After a park has returned, for either reason, the word is not ASLEEP. */
#ifndef WEFT_QUEUE_PARKER_H
#define WEFT_QUEUE_PARKER_H

#include "base/atom.h"

struct parker {
    atom_u32 word;
};

void parker_init(struct parker *parker);

/* Sleeps until there is a token and takes it: 0. Or until the deadline (sys->now's nanoseconds; SYS_FOREVER is none)
 * has passed and there is still no token: -ETIMEDOUT. Signals do not end it. */
int parker_park(struct parker *parker, uint64_t deadline);

void parker_unpark(struct parker *parker);

#endif
