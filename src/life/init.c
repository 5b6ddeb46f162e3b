/* Calling a new process's `init` function for a spawner that may park in there: it comes back on another worker, or not at all. */
#include "life/init.h"

#include "life/block.h"
#include "life/zombie.h"
#include "sched/door.h"
#include "sched/parts.h"

/* A birth whose init is called by a spawner that may wait in there: a stackful process, or a thread at a door.
 *
 *   B1  Nothing of the spawner's worker or door is used across init: the spawner may come back on another thread.
 *   B2  A door is left meanwhile, and `births` counts instead: the runtime is not taken down under a birth. */
struct birth {
    struct guard guard;
    struct rt_entry by;
    struct runtime *runtime;
    struct proc *proc;
    struct monitor *monitor;
};

/* Back from init. False: the runtime has been stopped meanwhile, and has not waited for this birth. Its memory is there (B2), its doors
 * are closed. */
static bool birth_resume(struct birth *birth) {
    struct rt_entry *by = &birth->by;
    if (by->self) {
        by->self = worker_here();
        if (!by->self)
            WEFT_MISUSE("weft_spawn_step", "init returned inside of a blocking call",
                        "pair weft_blocking_enter with a weft_blocking_leave");
        by->local = &by->self->local;
        return true;
    }
    by->local = door_enter(by->instance, &by->door);
    if (by->local && by->local->runtime == birth->runtime) return true;
    if (by->local) door_leave(by->instance, by->door); /* another runtime has the instance by now */
    by->local = NULL;
    return false;
}

void birth_over(struct runtime *runtime) {
    atom_sub_rel(&runtime->births, 1); /* rel: pairs with the acq in living; a thread that sees it sees the birth counted */
    parker_unpark(&runtime->stopper);
}

/* The process will not be born, and there is no struct local that could take its blocks back. */
static void birth_too_late(struct birth *birth, bool opened) {
    struct proc *proc = birth->proc;
    const weft_behavior *behavior = atom_load_rlx(&proc->behavior);
    if (opened && behavior->close) behavior->close(proc->self);
    if (behavior->state_size > PROC_INLINE_STATE && pool_class_of(behavior->state_size) == POOL_CLASSES)
        sys->free(proc->self, behavior->state_size);
    context_leave(birth->runtime, proc);
}

/* The spawner ends inside init. */
static void birth_abandoned(void *argument) {
    struct birth *birth = argument;
    if (!birth_resume(birth)) {
        birth_too_late(birth, false);
        return;
    }
    block_undo(birth->by.local, birth->proc, birth->monitor);
    if (birth->monitor && birth->monitor->is_zombie) zombie_undo(birth->by.local, (struct zombie *)birth->monitor);
    if (birth->by.self) return;
    birth_over(birth->runtime);
    door_leave(birth->by.instance, birth->by.door);
}

int init_call_waiting(struct rt_entry *by, struct proc *proc, const weft_spawn_options *options, const char *method,
                      struct monitor *monitor) {
    struct birth birth; /* the guard is written by guard_begin */
    struct proc *spawner = guard_process(my_worker);
    birth.by = *by, birth.runtime = by->local->runtime, birth.proc = proc, birth.monitor = monitor;
    local_leave(by->local);
    if (!by->self) door_leave(by->instance, by->door);
    parts.guard_begin(&birth.guard, spawner, birth_abandoned, &birth);
    int error = atom_load_rlx(&proc->behavior)->init(proc->self, context_of(proc), method, options->input, options->input_size);
    parts.guard_end(&birth.guard, spawner);
    bool there = birth_resume(&birth);
    if (there) local_begin(birth.by.local);
    else birth_too_late(&birth, error == 0);
    *by = birth.by;
    return there ? error : WEFT_ESTOPPING;
}
