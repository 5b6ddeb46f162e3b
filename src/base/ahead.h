/* Fetching the blocks of a list before they are needed.
 *
 * A list gives the processor no address but the next one. So a walk waits at each block: 20 ns for the far end of its own caches, 30 to 170 ns for the cache of
 * another core. The thread that puts blocks into lists can say more: it has a trail of the last ones, and gives each block a hint, which is how far from it the
 * one lies that went before it by AHEAD_FAR. A walk through the list, the newest block first, fetches what the hints lead to.
 *
 * A hint may be wrong: the two may be in different lists, and the earlier one may have been freed. That costs a fetch; a prefetch never faults.
 *
 *   ahead_hint, ahead_first   the thread that the trail belongs to
 *   ahead_fetch               any */
#ifndef WEFT_BASE_AHEAD_H
#define WEFT_BASE_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

/* With 16 in place of 8 a receiver of short lists gains less, and one of long lists nothing. */
enum { AHEAD_FAR = WEFT_CHECK ? 1 : 8 };
enum { AHEAD_LINE = 64 }; /* bytes */

/* All 0 at first. */
struct ahead_trail {
    uint32_t count; /* of blocks since the list was last empty */
    const void *recent[AHEAD_FAR];
};

/* The hint of a block that is put into a list: in cache lines. 0: there is none, or it lies too far away. */
static inline int16_t ahead_hint(struct ahead_trail *trail, const void *block) {
    uint32_t at = trail->count % AHEAD_FAR;
    int64_t lines = ((intptr_t)trail->recent[at] - (intptr_t)block) >> __builtin_ctz(AHEAD_LINE);
    bool none = trail->count++ < AHEAD_FAR || lines != (int16_t)lines;
    trail->recent[at] = block;
    return none ? 0 : (int16_t)lines;
}

/* The block is put into an empty list. Those before it have been taken out, and may be in use again: to fetch them would take them from their user. */
static inline void ahead_first(struct ahead_trail *trail, const void *block) {
    trail->count = 1;
    trail->recent[0] = block;
}

static inline void ahead_fetch(const void *block, int16_t hint) {
    (void)block, (void)hint;
#if !WEFT_CHECK
    __builtin_prefetch((const void *)((intptr_t)block + (intptr_t)hint * AHEAD_LINE), 1);
#endif
}

#endif
