/* Cancelling one process, or all processes of a runtime or context. */
#include "life/cancel.h"

#include "life/context.h"
#include "life/interrupt.h"
#include "life/spawn.h"
#include "sched/atfork.h"
#include "sched/door.h"

static int cancel_with(struct local *local, struct worker *self, weft_pid pid) {
    struct runtime *runtime = local->runtime;
    section_enter(&local->section);
    struct proc *proc = proc_find(runtime, pid);
    struct state_next next = {.verdict = STATE_DEAD};
    bool first = proc && state_cancel(&proc->state);
    if (proc) next = first ? state_wake(&proc->state) : (struct state_next){.verdict = STATE_NOTHING};
    section_leave(&local->section);
    if (first) interrupt_cancelled(runtime, proc); /* outside the section: the block stays a control block */
    if (next.verdict == STATE_ENQUEUE) ready_again(runtime, self, proc, next, READY_WOKEN);
    return proc ? 0 : WEFT_ENOPROC;
}

void cancel_now(struct runtime *runtime, struct worker *self, struct proc *proc) {
    if (!state_cancel(&proc->state)) return;
    interrupt_cancelled(runtime, proc);
    proc_wake(runtime, self, proc);
}

int weft_cancel(weft_pid pid) {
    struct worker *self = my_worker;
    if (self && pid_instance(pid) == self->runtime->instance) {
        local_enter(&self->local, "weft_cancel");
        int error = cancel_with(&self->local, self, pid);
        local_leave(&self->local);
        return error;
    }
    unsigned door;
    atfork_check("weft_cancel");
    struct local *local = door_enter(pid_instance(pid), &door);
    if (!local) return WEFT_EFOREIGN;
    int error = cancel_with(local, NULL, pid);
    door_leave(pid_instance(pid), door);
    return error;
}

/* ---- all of them -------------------------------------------------------------------------------------------------- */

void each_process(struct runtime *runtime, each_visit *visit, void *user) {
    for (unsigned c = 0; c < TABLE_CHUNKS; c++) {
        struct table_chunk *chunk = atom_load_acq(&runtime->table.chunks[c]); /* acq: as in table_at */
        if (!chunk) break;
        for (unsigned i = 0; i < TABLE_CHUNK; i++) {
            struct proc *proc = &chunk->blocks[i];
            uint32_t generation = atom_load_rlx(&proc->generation); /* rlx: for a PID, which will be looked up */
            if (generation % 2 == 1 && !mpsc_is_closed(&proc->box))
                visit(runtime, proc, pid_make(runtime->instance, generation, c * TABLE_CHUNK + i), user);
        }
    }
}

static void cancel_visit(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user) {
    (void)proc;
    /* If another process has the slot by now, the PID is no process's, and the new process has seen that its context is over. */
    if (!user || context_is_above(runtime, pid_slot(pid), user)) weft_cancel(pid);
}

void cancel_all(struct runtime *runtime, struct weft_context *below) { each_process(runtime, cancel_visit, below); }
