/* Where one thread parks: it sleeps here until another thread hands it a token (unpark).
 *
 *   operation        caller
 *   parker_init      one thread, before the parker is shared
 *   parker_park      the owner, one thread at a time
 *   parker_away      the owner, instead of parker_park; then parker_back, if it was true
 *   parker_unpark    any thread, any number of times
 *
 * The word is EMPTY, TOKEN, ASLEEP (the owner sleeps here or is about to), or AWAY (it sleeps elsewhere).
 *
 * P1  There is at most one token: several unparks before a park leave one token.
 * P2  A park that returns 0 took the token, and sees what every unparker did before each unpark that the token stands
 *     for.
 * P3  A token set while the owner is asleep or about to sleep wakes it: only the owner writes ASLEEP, and the unpark
 *     that replaces ASLEEP wakes the futex. No wake-up is lost.
 * P4  After a park has returned, for either reason, the word is not ASLEEP.
 * P5  An owner that will sleep in another call, one that other threads can end, first sets AWAY. The thread whose unpark
 *     replaces AWAY must end that call; it sees what the owner did before, so it finds what it needs to end the call.
 *     The unpark sets the token before that, and the owner takes it when it comes back: none is lost. */
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

/* Before sleeping elsewhere. False: there was a token, and it is taken; do not sleep. */
bool parker_away(struct parker *parker);
/* After sleeping elsewhere. True: there was a token, and it is taken. */
bool parker_back(struct parker *parker);

/* True: the owner is away, and the caller must end its sleep there (P5). */
bool parker_unpark(struct parker *parker);

#endif
