/* synch2: mutual exclusion between two fixed parties, role 0 and role 1, from loads and stores alone.
 *
 *     static weft_synch2 door;                    zeroed memory is ready for use; weft_synch2_init does the same
 *
 *     weft_synch2_enter(&door, 0);                the one party; the other passes 1
 *     ...                                         never both at once
 *     weft_synch2_leave(&door, 0);
 *
 * A party that enters waits for at most one turn of the other, however often the other comes back. No operation of
 * the protocol is a read-modify-write: entering without contention costs one full fence, leaving costs none. A
 * thread that waits spins, then yields, then sleeps; a process parks, and never its thread.
 *
 * A role belongs to one process, or thread, at a time, which takes only one role; the two roles may be one of each. A
 * step process, or a task of weft/fork.h, must not wait: it may try, and leave. Entering twice, leaving without having
 * entered and roles other than 0 and 1 abort with a message. What one party did inside is seen by the other once it
 * is inside. There is nothing to destroy; the memory may be freed when both have returned from weft_synch2_leave.
 * docs/synch2.md has the protocol and the proofs. */
#ifndef WEFT_SYNCH2_H
#define WEFT_SYNCH2_H

#include <weft/api.h>
#include <weft/errors.h>

#include <stdint.h>

WEFT_BEGIN

/* No deadline. */
#define WEFT_SYNCH2_FOREVER UINT64_MAX

/* Private to the library. Memory from malloc is not aligned enough: use aligned_alloc(64, ...). */
typedef struct weft_synch2 {
    uint64_t opaque[40];
} __attribute__((aligned(64))) weft_synch2;

/* Before its first use. Aborts if the memory is not aligned. */
WEFT_API void weft_synch2_init(weft_synch2 *synch2);

/* Waits until this party is alone inside. */
WEFT_API void weft_synch2_enter(weft_synch2 *synch2, unsigned role);

/* The same, but gives up when the deadline (nanoseconds of the monotonic clock) has passed: WEFT_ETIMEDOUT. With a
 * deadline in the past it enters if it can at once. 0: inside. A process that is cancelled gives up too:
 * WEFT_ECANCELED. weft_synch2_enter and weft_synch2_leave do not. */
WEFT_API int weft_synch2_enter_until(weft_synch2 *synch2, unsigned role, uint64_t deadline);

/* 0: inside. WEFT_EBUSY: the other party is inside, waits, or was just trying. Never waits. */
WEFT_API int weft_synch2_try(weft_synch2 *synch2, unsigned role);

/* Leaves. If the other party waits, it may take a moment until that party has answered. */
WEFT_API void weft_synch2_leave(weft_synch2 *synch2, unsigned role);

WEFT_END

#endif
