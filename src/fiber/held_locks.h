/* Locks of sync/ that a process holds, counted: should its stack run over, it must not just end and leave them locked (overflow.c).
 *
 * `self` is the worker that runs the caller now: my_worker, or worker_here() for who may have waited in the same function. One who has
 * no stack of its own to run over, a step process or a thread, is not counted. */
#ifndef WEFT_FIBER_HELD_LOCKS_H
#define WEFT_FIBER_HELD_LOCKS_H

#include "fiber/fiber.h"

static inline void held_lock_entered(struct worker *self, const void *gate) {
#if !WEFT_CHECK
    if (__builtin_expect(!self || !self->current || !self->current->stackful, 0)) return;
    struct fiber *fiber = fiber_of(self->current);
    fiber->held_locks++;
    fiber->last_lock = gate;
#else
    (void)self, (void)gate;
#endif
}

/* Somebody else's, by mistake: then there may be none. */
static inline void held_lock_left(struct worker *self) {
#if !WEFT_CHECK
    if (__builtin_expect(!self || !self->current || !self->current->stackful, 0)) return;
    struct fiber *fiber = fiber_of(self->current);
    if (__builtin_expect(fiber->held_locks > 0, 1)) fiber->held_locks--;
#else
    (void)self;
#endif
}

#endif
