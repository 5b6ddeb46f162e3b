/* The table through which lower rooms call upward, and what the checker has nothing of: stacks, signals, reports. */
#include "chk.h"

#include "command/command.h"
#include "fiber/cleanup.h"
#include "fiber/exceptions.h"
#include "fiber/fault.h"
#include "fiber/snapshot.h"
#include "fiber/stack_usage.h"
#include "forkjoin/thief.h"
#include "life/cancel.h"
#include "mail/mailbox.h"
#include "mail/post.h"
#include "net/desc.h"
#include "os/signal.h"
#include "preempt/preempt.h"
#include "registry/registry.h"
#include "runtime/info.h"
#include "runtime/quit.h"
#include "sched/parts.h"
#include "step/step.h"
#include "thread/stopped.h"

/* ---- no stacks ---------------------------------------------------------------------------------------------------- */

void exceptions_begin(void) {}
void fault_begin(void) {}
void fault_finish(void) {}
void stack_usage_destroy(struct runtime *runtime) { (void)runtime; }
void fiber_snapshot(struct runtime *runtime, struct proc *proc, struct snapshot *snapshot) {
    (void)runtime, (void)proc, *snapshot = (struct snapshot){.entry = NULL};
}
void fiber_symbol(const void *address, char *text, size_t size) { (void)address, (void)size, *text = '\0'; }
void guard_begin(struct guard *guard, struct proc *proc, void (*undo)(void *arg), void *arg) {
    (void)guard, (void)proc, (void)undo, (void)arg;
}
void guard_end(struct guard *guard, struct proc *proc) { (void)guard, (void)proc; }
static void no_keep(struct proc *proc, bool on) { (void)proc, (void)on; }

/* ---- no tasks, no signals ----------------------------------------------------------------------------------------- */

void forkjoin_destroy_all(struct runtime *runtime) { (void)runtime; }
static struct proc *no_task(struct worker *worker) { return (void)worker, NULL; }
static bool not_any_task(struct worker *worker) { return (void)worker, false; }
int preempt_begin(struct runtime *runtime, bool all) { return (void)runtime, (void)all, 0; }
void fiber_discard(struct local *local, struct proc *proc) { (void)local, (void)proc; }
void held_locks_destroy(struct runtime *runtime) { (void)runtime; }
void pack_abandon(struct local *local, struct proc *proc) { (void)local, (void)proc; }
void pack_destroy_all(struct runtime *runtime) { (void)runtime; }
void preempt_finish(struct runtime *runtime) { (void)runtime; }
void quit_begin(struct runtime *runtime) { (void)runtime; }
void quit_finish(struct runtime *runtime) { (void)runtime; }
void signal_forsake(struct runtime *runtime) { (void)runtime; }
void post_open(struct runtime *runtime) { (void)runtime; }
void post_close(struct runtime *runtime) { (void)runtime; }

/* ---- no reports --------------------------------------------------------------------------------------------------- */

enum state_name info_read(struct runtime *runtime, struct proc *proc, weft_process_info *info) {
    (void)runtime, (void)proc, *info = (weft_process_info){.pid = WEFT_NOBODY};
    return STATE_COMPLETE;
}
uint64_t info_step_since(struct worker *worker) { return (void)worker, 0; }
bool info_is_stackful(struct proc *proc) { return (void)proc, false; }

const struct parts parts = {
    .run = step_run,
    .begin_command = command_begin,
    .guard_begin = guard_begin,
    .guard_end = guard_end,
    .keep = no_keep,
    .condemned_any = condemned_any,
    .registry_newborn = registry_newborn,
    .registry_end = registry_end,
    .bounds_begin = bounds_begin,
    .take_stopped = stopped_take,
    .steal_task = no_task,
    .take_task = no_task,
    .any_task = not_any_task,
    .deliver = net_deliver,
};
