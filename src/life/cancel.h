/* Cancellation: asking one process, or all, to end. */
#ifndef WEFT_LIFE_CANCEL_H
#define WEFT_LIFE_CANCEL_H

#include "sched/sched.h"

/* As weft_cancel, by a caller that knows which process has the block, and that it cannot end meanwhile. */
void cancel_now(struct runtime *runtime, struct worker *self, struct proc *proc);
/* Calls `visit` for every process that lives now. */
typedef void each_visit(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user);
void each_process(struct runtime *runtime, each_visit *visit, void *user);
/* Cancels every process, or those of a context and below. */
void cancel_all(struct runtime *runtime, struct weft_context *below);

#endif
