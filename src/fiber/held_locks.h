/* Counts the locks of sync/ that a process holds: if its stack overflows, the process must not just end and leave them locked (overflow.c).
 *
 * `self` is the worker that runs the caller now: my_worker, or worker_here() in a function that may have waited before. Step processes and
 * threads have no stack of weft's to overflow, and are not counted. */
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

/* The count may be 0: the process has, by mistake, unlocked a lock that another has taken. */
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
