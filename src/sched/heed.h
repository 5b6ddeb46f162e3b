/* A process that was condemned (weft_kill, a link, a mailbox that ends its receiver) ends at its next call of weft.
 *
 * Calls that may wait look for that where they wait, and each 64th time at the latest (fair.h, `calls`). All other public calls that a process
 * could make for ever look here, in one of two places:
 *
 *   heed         at the beginning of a call, which then does nothing
 *   heed_after   at the end of a call that gives something back: it is done first
 *
 *   H1  A call that heeds has nothing in hand that its process's end would leave behind. So what weft calls itself, in the middle of another
 *       call, is not the public function, but one that does not heed.
 *   H2  Only calls that read a value, or set one, need not heed: weft/life.h has the list. */
#ifndef WEFT_SCHED_HEED_H
#define WEFT_SCHED_HEED_H

#include "sched/parts.h"

/* Whether the process, which calls, was condemned. The checker has no such calls: it plays the parts behind them. */
static inline bool heed_must_proc(struct proc *proc) { return !WEFT_CHECK && __builtin_expect(state_is_condemned(&proc->state), 0); }
/* The same of the process that runs on the worker, if one does. `self` may be NULL. */
static inline bool heed_must(const struct worker *self) { return self && self->current && heed_must_proc(self->current); }
static inline void heed(struct worker *self) {
    if (__builtin_expect(heed_must(self), 0)) parts.heed(self, false);
}
static inline void heed_after(struct worker *self) {
    if (__builtin_expect(heed_must(self), 0)) parts.heed(self, true);
}

#endif
