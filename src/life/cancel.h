/* Cancellation: asking one process, or all, to end; and killing. */
#ifndef WEFT_LIFE_CANCEL_H
#define WEFT_LIFE_CANCEL_H

#include "sched/sched.h"

/* weft_cancel and weft_kill, for weft itself: they do not heed. */
int cancel_pid(weft_pid pid);
int kill_pid(weft_pid pid);
/* As weft_kill, or an exit signal of a link: `how` is STATE_KILL or STATE_EXIT. Otherwise as cancel_now. */
void condemn_now(struct runtime *runtime, struct worker *self, struct proc *proc, uint32_t how);
/* As weft_cancel, by a caller that knows which process has the block, and that it cannot end meanwhile. */
void cancel_now(struct runtime *runtime, struct worker *self, struct proc *proc);
/* Calls `visit` for every process that lives now. */
typedef void each_visit(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user);
void each_process(struct runtime *runtime, each_visit *visit, void *user);
/* Whether a process that was condemned lives. Looks at all. */
bool condemned_any(struct runtime *runtime);
/* Cancels every process, or those of a context and below. */
void cancel_all(struct runtime *runtime, struct weft_context *below);

#endif
