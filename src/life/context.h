/* Contexts of processes: deadlines and values that go from parent to child. */
#ifndef WEFT_LIFE_CONTEXT_H
#define WEFT_LIFE_CONTEXT_H

#include "sched/sched.h"

/* A process gets a context (NULL: none) when it is born and loses it when it ends. When the context's deadline comes, it is cancelled. 0 or
 * WEFT_ENOMEM. `self` is the calling thread's worker if it is one of this runtime's. */
int context_give(struct local *local, struct worker *self, struct proc *proc, struct weft_context *context);
void context_take(struct local *local, struct proc *proc);
/* The same where there is no struct local: its block is left to the pool's end. */
void context_leave(struct runtime *runtime, struct proc *proc);
/* Of a process that is the caller's; NULL: it has none. */
struct weft_context *context_of(const struct proc *proc);
/* Whether `above` is the context of the slot's present tenant or an ancestor of that; asked by anyone. */
bool context_is_above(struct runtime *runtime, uint32_t slot, const struct weft_context *above);

#endif
