/* The table through which lower rooms call upward, and what the checker has nothing of: stacks, signals, reports. */
#include "chk.h"

#include "command/command.h"
#include "fiber/cleanup.h"
#include "fiber/exceptions.h"
#include "fiber/overflow.h"
#include "fiber/snapshot.h"
#include "fiber/stack_usage.h"
#include "forkjoin/thief.h"
#include "mail/post.h"
#include "net/desc.h"
#include "os/signal.h"
#include "preempt/preempt.h"
#include "sched/parts.h"
#include "step/step.h"
#include "thread/stopped.h"

/* ---- no stacks ---------------------------------------------------------------------------------------------------- */

void exceptions_begin(void) {}
void overflow_begin(void) {}
void overflow_finish(void) {}
void stack_usage_destroy(struct runtime *runtime) { (void)runtime; }
void fiber_snapshot(struct proc *proc, struct snapshot *snapshot) { (void)proc, *snapshot = (struct snapshot){.entry = NULL}; }
void fiber_symbol(const void *address, char *text, size_t size) { (void)address, (void)size, *text = '\0'; }
void guard_begin(struct guard *guard, struct proc *proc, void (*undo)(void *arg), void *arg) {
    (void)guard, (void)proc, (void)undo, (void)arg;
}
void guard_end(struct guard *guard, struct proc *proc) { (void)guard, (void)proc; }

/* ---- no tasks, no signals ----------------------------------------------------------------------------------------- */

void forkjoin_destroy_all(struct runtime *runtime) { (void)runtime; }
static struct proc *no_task(struct worker *worker) { return (void)worker, NULL; }
static bool not_any_task(struct worker *worker) { return (void)worker, false; }
int preempt_begin(struct runtime *runtime, bool all) { return (void)runtime, (void)all, 0; }
void preempt_finish(struct runtime *runtime) { (void)runtime; }
void signal_forsake(struct runtime *runtime) { (void)runtime; }
void post_open(struct runtime *runtime) { (void)runtime; }
void post_close(struct runtime *runtime) { (void)runtime; }

const struct parts parts = {
    .run = step_run,
    .dispatch = command_dispatch,
    .guard_begin = guard_begin,
    .guard_end = guard_end,
    .take_stopped = stopped_take,
    .steal_task = no_task,
    .take_task = no_task,
    .any_task = not_any_task,
    .deliver = net_deliver,
};
