/* Birth and death of processes. */
#include "sched/child.h"
#include "sched/keep.h"

#include <stdio.h>

static const char *const main_alone[] = {"main", NULL};

/* The method's own string, or NULL: then the known ones have been named. */
static __attribute__((noinline)) const char *spawn_method_named(const weft_behavior *behavior, const char *wanted) {
    const char *const *methods = behavior->methods ? behavior->methods : main_alone;
    for (unsigned i = 0; methods[i]; i++)
        if (strcmp(methods[i], wanted) == 0) return methods[i];
    fprintf(stderr, "weft: %s has no method '%s'; it has:", behavior->name, wanted);
    for (unsigned i = 0; methods[i]; i++)
        fprintf(stderr, " %s", methods[i]);
    fputc('\n', stderr);
    return NULL;
}

static inline const char *spawn_method(const weft_behavior *behavior, const char *wanted) {
    if (__builtin_expect(wanted != NULL, 0)) return spawn_method_named(behavior, wanted);
    return behavior->methods ? behavior->methods[0] : "main";
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
    size_t size = atom_load_rlx(&proc->behavior)->state_size;
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
    const weft_behavior *behavior = atom_load_rlx(&proc->behavior);
    int error = 0;
    proc->self = self_new(actor, proc, behavior->state_size);
    if (!proc->self) return WEFT_ENOMEM;
    context_give(actor->runtime, proc, options->context ? options->context : weft_own_context());
    if (behavior->init) error = behavior->init(proc->self, proc->context, method, options->input, options->input_size);
    if (!error) return 0;
    self_free(actor, proc);
    context_take(actor->runtime, proc);
    return error;
}

/* Counts a process where their number is limited: 0 or WEFT_ENOBUFS. rlx: a number, nothing is read on the strength of it. */
static int spawn_admit(struct runtime *runtime) {
    if (__builtin_expect(!runtime->most, 1) || atom_add_rlx(&runtime->living, 1) < runtime->most) return 0;
    atom_sub_rlx(&runtime->living, 1);
    return WEFT_ENOBUFS;
}
static void spawn_dismiss(struct runtime *runtime) {
    if (__builtin_expect(runtime->most != 0, 0)) atom_sub_rlx(&runtime->living, 1);
}

struct proc *spawn_begin(struct actor *actor, const weft_behavior *behavior, unsigned flags, int *error) {
    struct runtime *runtime = actor->runtime;
    /* rlx: saves the trouble; the look that counts is behind the fence. */
    if (__builtin_expect(atom_load_rlx(&runtime->stopping) && !(flags & SPAWN_LATE), 0)) {
        *error = WEFT_ESTOPPING;
        return NULL;
    }
    if ((*error = spawn_admit(runtime)) != 0) return NULL;
    struct proc *proc = shelf_take(&actor->shelf, error);
    if (__builtin_expect(proc && (*error = spawn_reserve(runtime, proc->slot)) != 0, 0)) {
        shelf_return(&actor->shelf, proc);
        proc = NULL;
    }
    if (__builtin_expect(!proc, 0)) {
        spawn_dismiss(runtime);
        return NULL;
    }
    atom_store_rlx(&proc->behavior, behavior);
    proc->cancel_told = false;
    proc->stackful = false;
    proc->waits = WEFT_CONTINUE;
    return proc;
}

uint16_t spawn_finish(struct actor *actor, struct worker *self, struct proc *proc, bool watched) {
    struct runtime *runtime = actor->runtime;
    mpsc_init(&proc->box);
    count(&actor->counters.spawned);
    if (watched) state_watch_newborn(&proc->state);
    uint16_t ticket = state_revive(&proc->state);
    atom_fence_light(); /* pairs with the heavy ones in stop_wait and weft_context_cancel: they see this process, or are seen here */
    bool over = atom_load_rlx(&runtime->stopping) || (proc->context && weft_context_cancelled(proc->context)); /* rlx: the fence */
    if (__builtin_expect(over, 0)) state_cancel(&proc->state);
    ready(runtime, self, proc, ticket, READY_SPAWNED);
    return ticket;
}

static int spawn_with(struct actor *actor, struct worker *self, weft_pid *pid, const weft_behavior *behavior,
                      const weft_spawn_options *options, const char *method, struct watcher *watcher, uint16_t *first_ticket) {
    struct runtime *runtime = actor->runtime;
    int error;
    struct proc *proc = spawn_begin(actor, behavior, options->flags, &error);
    if (!proc) return error;
    error = watcher ? watch_newborn(actor, spawn_pid(runtime, proc), watcher) : 0;
    if (!error && (error = spawn_prepare(actor, proc, options, method)) != 0 && watcher) watch_remove(actor, proc->slot, watcher);
    if (error) {
        shelf_return(&actor->shelf, proc);
        spawn_dismiss(runtime);
        return error;
    }
    *pid = spawn_pid(runtime, proc);
    uint16_t ticket = spawn_finish(actor, self, proc, watcher != NULL);
    if (first_ticket) *first_ticket = ticket;
    return 0;
}

/* One whose result may have to be kept. Its owner is the process that runs on `self`, if any. */
static int spawn_maybe_kept(struct actor *actor, struct worker *self, weft_pid *pid, const weft_behavior *behavior,
                            const weft_spawn_options *options, const char *method) {
    if (!(options->flags & WEFT_JOINABLE)) return spawn_with(actor, self, pid, behavior, options, method, NULL, NULL);
    struct kept *kept = keep_new(actor, self ? self->current : NULL);
    if (!kept) return WEFT_ENOMEM;
    int error = spawn_with(actor, self, pid, behavior, options, method, &kept->watcher, NULL);
    if (error) keep_undo(actor, kept);
    return error;
}

/* From a thread that is not a worker of that runtime, or with a result that is kept. */
static __attribute__((noinline)) int spawn_otherwise(weft_pid *pid, struct runtime *runtime, const weft_behavior *behavior,
                                                     const weft_spawn_options *options, const char *method) {
    struct worker *self = my_worker;
    if (self && (!runtime || runtime == self->runtime)) return spawn_maybe_kept(&self->actor, self, pid, behavior, options, method);
    child_check("weft_spawn");
    if (!runtime) return WEFT_ENOTINSIDE;
    unsigned door;
    struct actor *actor = foreign_enter(runtime->instance, &door);
    if (!actor) return WEFT_ESTOPPING;
    int error = spawn_maybe_kept(actor, NULL, pid, behavior, options, method);
    foreign_leave(runtime->instance, door);
    return error;
}

__attribute__((flatten)) int weft_spawn_step(weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options) {
    static const weft_spawn_options none;
    struct worker *self = my_worker;
    if (!options) options = &none;
    if (!pid || !behavior || !behavior->step) WEFT_MISUSE("weft_spawn_step", "no place for the PID, or no step", "give both");
    const char *method = spawn_method(behavior, options->method);
    if (!method) return WEFT_ENOENT;
    struct runtime *runtime = (struct runtime *)options->runtime;
    if (__builtin_expect(self && (!runtime || runtime == self->runtime) && !(options->flags & WEFT_JOINABLE), 1))
        return spawn_with(&self->actor, self, pid, behavior, options, method, NULL, NULL);
    return spawn_otherwise(pid, runtime, behavior, options, method);
}

int spawn_watched(struct worker *self, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                  struct watcher *watcher, uint16_t *ticket) {
    return spawn_with(&self->actor, self, pid, behavior, options, spawn_method(behavior, NULL), watcher, ticket);
}

/* ---- death -------------------------------------------------------------------------------------------------------- */

/* What is left to do for a process that others know, or that has others: it is COMPLETE. */
static __attribute__((noinline)) void proc_leave(struct actor *actor, struct proc *proc, uint32_t left, int reason) {
    if (left & STATE_OWNS) keep_forget_all(actor, proc->slot);
    if (!(left & STATE_WATCHED) || !watch_tell(actor, my_worker, proc->slot, reason)) shelf_retire(&actor->shelf, proc);
}

void proc_end(struct actor *actor, struct proc *proc, int reason) {
    struct runtime *runtime = actor->runtime;
    const weft_behavior *behavior = atom_load_rlx(&proc->behavior);
    if (behavior->close) behavior->close(proc->self);
    self_free(actor, proc);
    context_take(runtime, proc);
    spawn_dismiss(runtime);
    /* rel: pairs with the acq in send_message. From here on its PID means nobody. */
    atom_store_rel(&proc->generation, atom_load_rlx(&proc->generation) + 1);
    for (struct mpsc_node *node = mpsc_close(&proc->box), *next; node; node = next) {
        next = node->next;
        message_free(&actor->cache, message_of(node));
    }
    uint32_t left = state_complete(&proc->state);
    if (__builtin_expect(left == 0, 1)) shelf_retire(&actor->shelf, proc);
    else proc_leave(actor, proc, left, reason);
    /* rel: pairs with the acq in living: who sees the end sees the birth. One writer. */
    atom_store_rel(&actor->counters.ended, atom_load_rlx(&actor->counters.ended) + 1);
    atom_fence_light(); /* pairs with the heavy one in weft_stop */
    /* rlx: behind the fence. Who ends last while the stopper waits tells it. */
    if (__builtin_expect(atom_load_rlx(&runtime->stopping), 0)) parker_unpark(&runtime->stopper);
}

bool weft_alive(weft_pid pid) {
    struct worker *self = my_worker;
    unsigned door, instance = pid_instance(pid);
    bool inside = self && instance == self->runtime->instance;
    struct actor *actor = inside ? &self->actor : foreign_enter(instance, &door);
    if (!actor) return false;
    struct proc *proc = table_at(&actor->runtime->table, pid_slot(pid));
    /* acq: as in send_message. */
    bool alive = proc && atom_load_acq(&proc->generation) == pid_generation(pid) && pid_generation(pid) % 2 == 1 &&
                 !mpsc_is_closed(&proc->box);
    if (!inside) foreign_leave(instance, door);
    return alive;
}
