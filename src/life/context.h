/* The contexts of processes: deadlines and values that go from parent to child. */
#ifndef WEFT_LIFE_CONTEXT_H
#define WEFT_LIFE_CONTEXT_H

#include "sched/sched.h"

struct locals;

/* A process that is spawned gets this context, or its spawner's (`context` is NULL), and the process-local values that it inherits; all are given up
 * when it ends. At the context's deadline the process is cancelled. 0 or WEFT_ENOMEM. `self` is the calling thread's worker if it is one of this
 * runtime's. The section of `local` may be left meanwhile. */
int context_inherit_some(struct local *local, struct worker *self, struct proc *proc, struct weft_context *context);
static inline int context_inherit(struct local *local, struct worker *self, struct proc *proc, struct weft_context *context) {
    struct worker *here = my_worker;
    bool none = !context && !(here && here->current && here->current->member);
    return __builtin_expect(none, 1) ? 0 : context_inherit_some(local, self, proc, context);
}
/* Where the process-local values of a process are that the caller owns; NULL: it has no such place, nor memory for one if `local` is given, to make it. */
struct locals **context_locals(struct local *local, struct proc *proc);
void context_take(struct local *local, struct proc *proc);
/* As context_take where there is no struct local: the block is left until the pool is destroyed. */
void context_leave(struct runtime *runtime, struct proc *proc);
/* The context of a process that the caller owns; NULL: it has none. */
struct weft_context *context_of(const struct proc *proc);
/* Whether `above` is the context of the process that has the slot now, or an ancestor of it; by any thread. */
bool context_is_above(struct runtime *runtime, uint32_t slot, const struct weft_context *above);

#endif
