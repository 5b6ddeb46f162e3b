/* Counts the locks of sync/ that a process holds: after a fault or a stack overflow the process must not just end and leave them locked (fault.h).
 *
 * `self` is the worker that runs the caller now: my_worker, or worker_here() in a function that may have waited before. A stackful process is
 * counted in its struct fiber, a step process beside its block (held_locks.c). Threads of the program's own are not counted. */
#ifndef WEFT_FIBER_HELD_LOCKS_H
#define WEFT_FIBER_HELD_LOCKS_H

#include "fiber/fiber.h"

/* The same of a step process, if one runs on `self`; else nothing. */
void held_lock_step_entered(struct worker *self, const void *lock) __attribute__((noinline, cold));
void held_lock_step_left(struct worker *self) __attribute__((noinline, cold));
/* How many it holds, and the one it took last; 1 and NULL if that is not known, because there was no memory. In signal handlers too. */
unsigned held_lock_step_count(struct runtime *runtime, struct proc *proc, const void **last);
void held_locks_destroy(struct runtime *runtime);

static inline void held_lock_entered(struct worker *self, const void *lock) {
#if !WEFT_CHECK
    if (__builtin_expect(!self || !self->current || !self->current->stackful, 0)) {
        held_lock_step_entered(self, lock);
        return;
    }
    struct fiber *fiber = fiber_of(self->current);
    fiber->held_locks++;
    fiber->last_lock = lock;
#else
    (void)self, (void)lock;
#endif
}

/* False: no stackful process runs there, and nothing was done. The count may be 0: the process has, by mistake, unlocked a lock that
 * another has taken. */
static inline bool held_lock_left_stackful(struct worker *self) {
#if !WEFT_CHECK
    if (__builtin_expect(!self || !self->current || !self->current->stackful, 0)) return false;
    struct fiber *fiber = fiber_of(self->current);
    if (__builtin_expect(fiber->held_locks > 0, 1)) fiber->held_locks--;
#else
    (void)self;
#endif
    return true;
}
static inline void held_lock_left(struct worker *self) {
    if (!held_lock_left_stackful(self)) held_lock_step_left(self);
}

#endif
