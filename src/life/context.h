/* The contexts of processes: deadlines and values that go from parent to child. */
#ifndef WEFT_LIFE_CONTEXT_H
#define WEFT_LIFE_CONTEXT_H

#include "sched/sched.h"

/* A process gets a context (NULL: none) when it is spawned and loses it when it ends. At the context's deadline the process is
 * cancelled. 0 or WEFT_ENOMEM. `self` is the calling thread's worker if it is one of this runtime's. */
int context_give(struct local *local, struct worker *self, struct proc *proc, struct weft_context *context);
void context_take(struct local *local, struct proc *proc);
/* As context_take where there is no struct local: the block is left until the pool is destroyed. */
void context_leave(struct runtime *runtime, struct proc *proc);
/* The context of a process that the caller owns; NULL: it has none. */
struct weft_context *context_of(const struct proc *proc);
/* Whether `above` is the context of the process that has the slot now, or an ancestor of it; by any thread. */
bool context_is_above(struct runtime *runtime, uint32_t slot, const struct weft_context *above);

#endif
