/* Cancelling one process, or all processes of a runtime or context; killing one. */
#include "life/cancel.h"

#include "life/context.h"
#include "life/interrupt.h"
#include "life/spawn.h"
#include "sched/atfork.h"
#include "sched/door.h"
#include "sched/heed.h"

#include <weft/life.h>

/* A condemned process that runs looks at its next call that may wait whether it is to end: its budget is over. If it makes none, and may be
 * interrupted, sysmon sees to it, for as long as it lives. rlx, all: requests. */
static void condemned_press(struct runtime *runtime, struct proc *proc) {
    /* One that was interrupted does not run now, and will go on where it is. */
    if (preempt_is_on(runtime)) atom_store_rlx(&runtime->preempt.condemned, sys->now() + CONDEMNED_LOOKS);
    if (state_of(atom_load_rlx(&proc->state.word)) != STATE_RUNNING) return;
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++)
        budget_end(atom_load_rlx(&runtime->workers[i]));
}

void condemn_now(struct runtime *runtime, struct worker *self, struct proc *proc, uint32_t how) {
    if (!state_condemn(&proc->state, how)) return;
    interrupt_cancelled(runtime, proc);
    condemned_press(runtime, proc);
    proc_wake(runtime, self, proc);
}

/* `how`: STATE_CANCEL or STATE_KILL. */
static int cancel_with(struct local *local, struct worker *self, weft_pid pid, uint32_t how) {
    struct runtime *runtime = local->runtime;
    section_enter(&local->section);
    struct proc *proc = proc_find(runtime, pid);
    struct state_next next = {.verdict = STATE_DEAD};
    bool first = proc && (how == STATE_KILL ? state_condemn(&proc->state, how) : state_cancel(&proc->state));
    if (proc) next = first ? state_wake(&proc->state) : (struct state_next){.verdict = STATE_NOTHING};
    section_leave(&local->section);
    if (first) interrupt_cancelled(runtime, proc); /* outside the section: the block stays a control block */
    if (first && how == STATE_KILL) condemned_press(runtime, proc);
    if (next.verdict == STATE_ENQUEUE) ready_again(runtime, self, proc, next, READY_WOKEN);
    return proc ? 0 : WEFT_ENOPROC;
}

void cancel_now(struct runtime *runtime, struct worker *self, struct proc *proc) {
    if (!state_cancel(&proc->state)) return;
    interrupt_cancelled(runtime, proc);
    proc_wake(runtime, self, proc);
}

static int cancel_by_pid(weft_pid pid, uint32_t how, const char *call) {
    struct worker *self = my_worker;
    if (self && pid_instance(pid) == self->runtime->instance) {
        local_enter(&self->local, call);
        int error = cancel_with(&self->local, self, pid, how);
        local_leave(&self->local);
        return error;
    }
    unsigned door;
    atfork_check(call);
    struct local *local = door_enter(pid_instance(pid), &door);
    if (!local) return WEFT_EFOREIGN;
    int error = cancel_with(local, NULL, pid, how);
    door_leave(pid_instance(pid), door);
    return error;
}

int cancel_pid(weft_pid pid) { return cancel_by_pid(pid, STATE_CANCEL, "weft_cancel"); }
int kill_pid(weft_pid pid) { return cancel_by_pid(pid, STATE_KILL, "weft_kill"); }

int weft_cancel(weft_pid pid) {
    heed(my_worker);
    return cancel_pid(pid);
}
int weft_kill(weft_pid pid) {
    heed(my_worker);
    return kill_pid(pid);
}

/* ---- all of them -------------------------------------------------------------------------------------------------- */

void each_process(struct runtime *runtime, each_visit *visit, void *user) {
    for (unsigned c = 0; c < TABLE_CHUNKS; c++) {
        struct table_chunk *chunk = atom_load_acq(&runtime->table.chunks[c]); /* acq: as in table_at */
        if (!chunk) break;
        for (unsigned i = 0; i < TABLE_CHUNK; i++) {
            struct proc *proc = &chunk->blocks[i];
            weft_pid pid = proc_pid(proc); /* it will be looked up */
            if (pid_generation(pid) % 2 == 1 && !mpsc_is_closed(&proc->box)) visit(runtime, proc, pid, user);
        }
    }
}

static void cancel_visit(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user) {
    (void)proc;
    /* If another process has the slot by now, the PID is no process's, and the new process has seen that its context is over. */
    if (!user || context_is_above(runtime, pid_slot(pid), user)) cancel_pid(pid);
}

void cancel_all(struct runtime *runtime, struct weft_context *below) { each_process(runtime, cancel_visit, below); }

static void condemned_visit(struct runtime *runtime, struct proc *proc, weft_pid pid, void *any) {
    (void)runtime, (void)pid;
    if (state_condemned(&proc->state)) *(bool *)any = true;
}

bool condemned_any(struct runtime *runtime) {
    bool any = false;
    each_process(runtime, condemned_visit, &any);
    return any;
}
