/* Birth and death of processes. */
#include "sched/sched.h"

#include <stdio.h>

static const char *const main_alone[] = {"main", NULL};

/* The method's own string, or NULL: then the known ones have been named. */
static const char *spawn_method(const weft_behavior *behavior, const char *wanted) {
    const char *const *methods = behavior->methods ? behavior->methods : main_alone;
    if (!wanted) return methods[0];
    for (unsigned i = 0; methods[i]; i++)
        if (strcmp(methods[i], wanted) == 0) return methods[i];
    fprintf(stderr, "weft: %s has no method '%s'; it has:", behavior->name, wanted);
    for (unsigned i = 0; methods[i]; i++)
        fprintf(stderr, " %s", methods[i]);
    fputc('\n', stderr);
    return NULL;
}

/* `self` memory: in the block if it fits. */
static void *self_new(struct actor *actor, struct proc *proc, size_t size) {
    if (size <= PROC_INLINE_STATE) {
        memset(proc->inline_state, 0, sizeof proc->inline_state);
        return proc->inline_state;
    }
    unsigned class = pool_class_of(size);
    void *self = class < POOL_CLASSES ? pool_take(&actor->cache, class) : sys->alloc(size);
    if (self) memset(self, 0, size);
    return self;
}

static void self_free(struct actor *actor, struct proc *proc) {
    size_t size = proc->behavior->state_size;
    if (size <= PROC_INLINE_STATE) return;
    unsigned class = pool_class_of(size);
    if (class < POOL_CLASSES)
        pool_give(&actor->cache, class, proc->self);
    else
        sys->free(proc->self, size);
}

/* Room in the global queue for this process, whatever its slot: then no later push of it can fail for want of memory. Twice as much,
 * because entries that have gone stale lie there too for a while. */
static int spawn_reserve(struct runtime *runtime, uint32_t slot) {
    if (__builtin_expect(slot < atom_load_rlx(&runtime->reserved), 1)) return 0; /* rlx: only grows, after the fact */
    uint32_t wanted = slot < RESERVE_LEAST / 2 ? RESERVE_LEAST : slot * 2;
    int error = inject_reserve(&runtime->inject, (size_t)wanted * 2);
    if (error) return WEFT_ENOMEM;
    lock_take(&runtime->lock);
    if (wanted > atom_load_rlx(&runtime->reserved)) atom_store_rlx(&runtime->reserved, wanted);
    lock_drop(&runtime->lock);
    return 0;
}

/* Everything of a new process but its being ready. */
static int spawn_prepare(struct actor *actor, struct proc *proc, const weft_spawn_options *options, const char *method) {
    const weft_behavior *behavior = proc->behavior;
    int error = spawn_reserve(actor->runtime, proc->slot);
    if (error) return error;
    proc->self = self_new(actor, proc, behavior->state_size);
    if (!proc->self) return WEFT_ENOMEM;
    proc->context = options->context ? options->context : weft_own_context();
    if (proc->context) weft_context_hold(proc->context);
    if (behavior->init) error = behavior->init(proc->self, proc->context, method, options->input, options->input_size);
    if (!error) return 0;
    self_free(actor, proc);
    if (proc->context) weft_context_drop(proc->context);
    return error;
}

static int spawn_with(struct actor *actor, struct worker *self, weft_pid *pid, const weft_behavior *behavior,
                      const weft_spawn_options *options, const char *method) {
    struct runtime *runtime = actor->runtime;
    int error = 0;
    /* acq: pairs with the rel in weft_stop. */
    if (atom_load_acq(&runtime->stopping)) return WEFT_ESTOPPING;
    struct proc *proc = shelf_take(&actor->shelf, &error);
    if (!proc) return error;
    proc->behavior = behavior;
    proc->reason = 0;
    proc->cancel_told = false;
    error = spawn_prepare(actor, proc, options, method);
    if (error) {
        shelf_return(&actor->shelf, proc);
        return error;
    }
    *pid = pid_make(runtime->instance, atom_load_rlx(&proc->generation), proc->slot); /* rlx: the spawner's own, still */
    mpsc_init(&proc->box);
    count(&actor->counters.spawned);
    ready(runtime, self, proc, state_revive(&proc->state), READY_SPAWNED);
    return 0;
}

int weft_spawn_step(weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options) {
    static const weft_spawn_options none;
    struct worker *self = my_worker;
    if (!options) options = &none;
    if (!pid || !behavior || !behavior->step) WEFT_MISUSE("weft_spawn_step", "no place for the PID, or no step", "give both");
    const char *method = spawn_method(behavior, options->method);
    if (!method) return WEFT_ENOENT;
    struct runtime *runtime = (struct runtime *)options->runtime;
    if (self && (!runtime || runtime == self->runtime)) return spawn_with(&self->actor, self, pid, behavior, options, method);
    if (!runtime) return WEFT_ENOTINSIDE;
    unsigned door;
    struct actor *actor = foreign_enter(runtime->instance, &door);
    if (!actor) return WEFT_ESTOPPING;
    int error = spawn_with(actor, NULL, pid, behavior, options, method);
    foreign_leave(runtime->instance, door);
    return error;
}

/* ---- death -------------------------------------------------------------------------------------------------------- */

void proc_end(struct actor *actor, struct proc *proc, int reason) {
    struct runtime *runtime = actor->runtime;
    proc->reason = reason;
    if (proc->behavior->close) proc->behavior->close(proc->self);
    self_free(actor, proc);
    if (proc->context) weft_context_drop(proc->context);
    /* rel: pairs with the acq in send_message. From here on its PID means nobody. */
    atom_store_rel(&proc->generation, atom_load_rlx(&proc->generation) + 1);
    for (struct mpsc_node *node = mpsc_close(&proc->box), *next; node; node = next) {
        next = node->next;
        message_free(&actor->cache, message_of(node));
    }
    state_complete(&proc->state);
    shelf_retire(&actor->shelf, proc);
    count(&actor->counters.ended);
    /* acq: pairs with the rel in weft_stop: who ends last while it waits tells it. */
    if (__builtin_expect(atom_load_acq(&runtime->stopping), 0)) parker_unpark(&runtime->stopper);
}

bool weft_alive(weft_pid pid) {
    struct worker *self = my_worker;
    unsigned door, instance = pid_instance(pid);
    bool inside = self && instance == self->runtime->instance;
    struct actor *actor = inside ? &self->actor : foreign_enter(instance, &door);
    if (!actor) return false;
    struct proc *proc = table_at(&actor->runtime->table, pid_slot(pid));
    /* acq: as in send_message. */
    bool alive = proc && atom_load_acq(&proc->generation) == pid_generation(pid) && !mpsc_is_closed(&proc->box);
    if (!inside) foreign_leave(instance, door);
    return alive;
}
