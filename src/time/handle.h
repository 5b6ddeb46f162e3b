/* Handles: cancelling a timer that may have fired, and whose memory may be another timer's by now.
 *
 * The timer lies in memory that is used again and again, but always for such a timer (type-stable). Each use has a serial number, never given twice, which is in
 * `word` from the arming to the end; a handle is the memory's address and that number. So a stale handle finds another number and nothing else.
 *
 *   operation       caller
 *   handle_begin    the thread that owns the memory, before it arms the timer
 *   handle_cancel   any thread with a serial number, several at a time
 *   handle_ring     the runner of the timer (time/timers.h), which is TAKEN: may it do what the timer is for?
 *   handle_again    that runner, after it has armed the timer again
 *   handle_end      that runner otherwise, when it has done it or may not
 *
 *   word                     who may do what
 *   0                        not in use
 *   the serial number S      armed, or TAKEN and not yet rung: the thread that changes the word next decides
 *   S | HANDLE_BUSY          rung: its runner does what the timer is for. Cancels wait, and find it ended or armed again
 *   S | HANDLE_CANCELLED     cancelled when it was TAKEN: its runner only ends it
 *
 *   G1  A cancel that returned HANDLE_MINE or HANDLE_RUNNERS comes before any later ring: what the timer is for is not done any more.
 *   G2  A cancel that returned HANDLE_GONE because it was rung sees what the runner did.
 *   G3  Exactly one thread gets the memory: the canceller with HANDLE_MINE, or else the runner.
 *   G4  An armed timer's word changes under the lock of the timers that it is in. So an arming and a cancel take that lock and nothing else: one locked
 *       instruction each (with a lock in the memory itself, and lists of free memory under another, it was six). */
#ifndef WEFT_TIME_HANDLE_H
#define WEFT_TIME_HANDLE_H

#include "time/timers.h"

#define HANDLE_BUSY (UINT64_C(1) << 55)
#define HANDLE_CANCELLED (UINT64_C(1) << 54)
#define HANDLE_FLAGS (HANDLE_BUSY | HANDLE_CANCELLED) /* not in serial numbers */

struct handle {
    atom_u64 word;
};

enum handle_cancelled {
    HANDLE_GONE,    /* it has been rung or cancelled before */
    HANDLE_MINE,    /* cancelled, and the memory is the caller's */
    HANDLE_RUNNERS, /* cancelled, and the memory is the runner's */
};

static inline void handle_begin(struct handle *own, uint64_t serial) {
    atom_store_rlx(&own->word, serial); /* rlx: a thread that knows the number has it from the caller; others find it is not theirs */
}

enum handle_cancelled handle_cancel(struct handle *any, struct timer *timer, uint64_t serial);
/* False: it was cancelled. */
bool handle_ring(struct handle *own);
static inline void handle_again(struct handle *own) {
    /* rlx, both: only the caller changes it while it is BUSY; a cancel gets the memory by the place that the arming has published. */
    atom_store_rlx(&own->word, atom_load_rlx(&own->word) & ~HANDLE_FLAGS);
}
static inline void handle_end(struct handle *own) { atom_store_rel(&own->word, 0); /* rel: pairs with the acq in handle_try_cancel (G2) */ }

#endif
