/* Starting a supervisor, and waiting until its children are up; stopping it; weft_ready. */
#include "base/sized.h"
#include "life/cancel.h"
#include "sched/parts.h"
#include "super/super.h"
#include "wait/wait.h"

/* What the starter has in hand: given up when it is done, or ends meanwhile. */
struct beginning {
    struct plan *plan;
    struct super *super;
    struct starter *starter;
    weft_pid pid; /* WEFT_NOBODY: not spawned yet */
    bool up;
};

static void beginning_over(void *opaque) {
    struct beginning *begun = opaque;
    bool spawned = begun->pid != WEFT_NOBODY;
    if (spawned && !begun->up) cancel_pid(begun->pid);
    starter_let_go(begun->starter, spawned);
    super_let_go(begun->super, spawned);
    plan_drop(begun->plan);
}

static int beginning(struct beginning *begun, const weft_stackful_options *options, uint64_t deadline) {
    begun->starter = starter_new();
    begun->super = begun->starter ? super_new(begun->plan, begun->starter, options) : NULL;
    if (!begun->super) return WEFT_ENOMEM;
    weft_pid pid;
    int error = fiber_spawn(super_main, begun->super, options, &pid);
    if (error) return error;
    begun->pid = pid;
    error = starter_wait(begun->starter, pid, deadline, "weft_super_start");
    begun->up = !error;
    return error;
}

int weft_super_start_sized(const weft_super_spec *spec, const weft_stackful_options *options, size_t options_size, weft_pid *pid,
                           uint64_t deadline) {
    weft_stackful_options mine;
    struct beginning begun = {.pid = WEFT_NOBODY};
    struct proc *process = guard_process(worker_here());
    struct guard guard;
    wait_check("weft_super_start");
    if (!spec || !pid) WEFT_MISUSE("weft_super_start", "no specification, or no place for the PID", "give both");
    options = sized_read(options, options_size, &mine, sizeof mine);
    if (!options) return WEFT_EINVAL;
    weft_stackful_options with = *options;
    with.flags |= WEFT_SPAWN_STACK_NOW; /* so that the caller learns of it if there is none */
    with.discard = super_discard;
    int error = plan_copy(spec, &begun.plan);
    if (error) return error;
    if (!with.name) with.name = begun.plan->name;
    parts.guard_begin(&guard, process, beginning_over, &begun);
    error = beginning(&begun, &with, deadline);
    parts.guard_end(&guard, process);
    beginning_over(&begun);
    *pid = begun.pid;
    return error;
}

int weft_super_stop(weft_pid super, uint64_t deadline) { return cancel_and_wait(super, deadline, "weft_super_stop"); }

int weft_ready(int error) {
    weft_context *context = weft_own_context();
    weft_pid super = context ? (weft_pid)(uintptr_t)weft_context_value(context, &super_key) : WEFT_NOBODY;
    return super ? weft_send(super, SUPER_READY, &error, sizeof error) : WEFT_ENOENT;
}
