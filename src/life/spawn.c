/* Birth and end of processes: spawning, init, and what is freed and told at the end. */
#include "life/spawn.h"
#include "base/sized.h"

#include "life/context.h"
#include "life/zombie.h"
#include "sched/door.h"
#include "sched/parts.h"
#include "sched/rt_enter.h"

#include <stdio.h>

static const char *const main_alone[] = {"main", NULL};

/* The behavior's own string for the method, or NULL after printing the methods that there are. */
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

/* Aligned to 64 bytes, as larger ones are. */
static unsigned self_class(size_t size) {
    return size > pool_class_size(POOL_CLASSES - 1) ? (unsigned)POOL_CLASSES : pool_class_of((size + 63) & ~(size_t)63);
}

/* `self` memory: in the block if it fits. */
static void *self_new(struct local *local, struct proc *proc, size_t size) {
    if (size <= PROC_INLINE_STATE) {
        memset(proc->inline_state, 0, sizeof proc->inline_state);
        return proc->inline_state;
    }
    unsigned class = self_class(size);
    void *self = class < POOL_CLASSES ? pool_take(&local->blocks, class) : sys->alloc(size);
    if (self) memset(self, 0, size);
    return self;
}

static void self_free(struct local *local, struct proc *proc) {
    size_t size = atom_load_rlx(&proc->behavior)->state_size;
    if (size <= PROC_INLINE_STATE) return;
    unsigned class = self_class(size);
    if (class < POOL_CLASSES) pool_give(&local->blocks, class, proc->self);
    else sys->free(proc->self, size);
}

/* Reserves room in the global queue for this process, by its slot: then no later push of it can fail for want of memory. Twice as much,
 * because stale entries lie there too for a while. */
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

/* Counts a process where their number is limited: 0 or WEFT_ENOBUFS. rlx: a number, which orders nothing. */
static int spawn_admit(struct runtime *runtime) {
    if (__builtin_expect(!runtime->most, 1) || atom_add_rlx(&runtime->living, 1) < runtime->most) return 0;
    atom_sub_rlx(&runtime->living, 1);
    return WEFT_ENOBUFS;
}
static void spawn_dismiss(struct runtime *runtime) {
    if (__builtin_expect(runtime->most != 0, 0)) atom_sub_rlx(&runtime->living, 1);
}

struct proc *spawn_begin(struct local *local, const weft_behavior *behavior, unsigned flags, int *error) {
    struct runtime *runtime = local->runtime;
    /* rlx: an early exit; the check that counts is behind the fence in spawn_finish. */
    if (__builtin_expect(atom_load_rlx(&runtime->stopping) && !(flags & SPAWN_LATE), 0)) {
        *error = WEFT_ESTOPPING;
        return NULL;
    }
    if ((*error = spawn_admit(runtime)) != 0) return NULL;
    struct proc *proc = magazine_take(&local->magazine, error);
    if (__builtin_expect(proc && (*error = spawn_reserve(runtime, proc->slot)) != 0, 0)) {
        magazine_return(&local->magazine, proc);
        proc = NULL;
    }
    if (__builtin_expect(!proc, 0)) {
        spawn_dismiss(runtime);
        return NULL;
    }
    atom_store_rlx(&proc->behavior, behavior);
    proc->cancel_told = false;
    proc->stackful = PROC_STEPS;
    proc->waits = WEFT_CONTINUE;
    return proc;
}

uint16_t spawn_finish(struct local *local, struct worker *self, struct proc *proc, bool monitored) {
    struct runtime *runtime = local->runtime;
    mpsc_init(&proc->box);
    count(&local->counters.spawned);
    if (monitored) state_monitor_newborn(&proc->state);
    uint16_t ticket = state_revive(&proc->state);
    atom_fence_light(); /* pairs with the heavy ones in stop_wait and weft_context_cancel: they see this process, or this sees their flag */
    bool over = atom_load_rlx(&runtime->stopping) || (proc->member && weft_context_cancelled(context_of(proc))); /* rlx: the fence */
    if (__builtin_expect(over, 0)) state_cancel(&proc->state);
    ready(runtime, self, proc, ticket, READY_SPAWNED);
    return ticket;
}

/* ---- init --------------------------------------------------------------------------------------------------------- */

/* Undoes the preparation of a process that will not be born. */
static void spawn_undo(struct local *local, struct proc *proc, struct monitor *monitor) {
    if (proc->self) self_free(local, proc);
    context_take(local, proc);
    if (monitor) monitor_remove(local, proc->slot, monitor);
    magazine_return(&local->magazine, proc);
    spawn_dismiss(local->runtime);
}

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

/* The process is born, or will not be. */
static void birth_over(struct runtime *runtime) {
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
    spawn_undo(birth->by.local, birth->proc, birth->monitor);
    if (birth->monitor && birth->monitor->is_zombie) zombie_undo(birth->by.local, (struct zombie *)birth->monitor);
    if (birth->by.self) return;
    birth_over(birth->runtime);
    door_leave(birth->by.instance, birth->by.door);
}

static __attribute__((noinline)) int birth_init(struct rt_entry *by, struct proc *proc, const weft_spawn_options *options,
                                                const char *method, struct monitor *monitor) {
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

/* Whether init can be called without a struct birth: there is none, or it cannot wait. */
static inline bool spawn_is_plain(const struct rt_entry *by, const weft_behavior *behavior, unsigned flags) {
    const struct proc *spawner = by->self ? by->self->current : NULL;
    return !behavior->init || flags & SPAWN_PLAIN || (by->self && !(spawner && spawner->stackful));
}

/* Prepares a new process, all but making it ready. */
static inline int spawn_prepare(struct rt_entry *by, struct proc *proc, const weft_spawn_options *options, const char *method,
                                struct monitor *monitor) {
    const weft_behavior *behavior = atom_load_rlx(&proc->behavior);
    proc->self = self_new(by->local, proc, behavior->state_size);
    if (!proc->self) return WEFT_ENOMEM;
    int error = context_give(by->local, by->self, proc, options->context ? options->context : weft_own_context());
    if (error || !behavior->init) return error;
    if (__builtin_expect(spawn_is_plain(by, behavior, options->flags), 1)) {
        local_leave(by->local);
        error = behavior->init(proc->self, context_of(proc), method, options->input, options->input_size);
        local_begin(by->local);
        return error;
    }
    struct rt_entry back = *by;
    error = birth_init(&back, proc, options, method, monitor);
    *by = back;
    return error;
}

/* Between local_enter and local_leave. */
static inline int spawn_inside(struct rt_entry *by, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                               const char *method, struct monitor *monitor, uint16_t *first_ticket) {
    struct runtime *runtime = by->local->runtime;
    int error;
    struct proc *proc = spawn_begin(by->local, behavior, options->flags, &error);
    if (!proc) return error;
    if (monitor && (error = monitor_newborn(by->local, spawn_pid(runtime, proc), monitor)) != 0) {
        magazine_return(&by->local->magazine, proc);
        spawn_dismiss(runtime);
        return error;
    }
    error = spawn_prepare(by, proc, options, method, monitor);
    if (__builtin_expect(error, 0)) {
        if (by->local) spawn_undo(by->local, proc, monitor);
        return error;
    }
    *pid = spawn_pid(runtime, proc);
    uint16_t ticket = spawn_finish(by->local, by->self, proc, monitor != NULL);
    if (first_ticket) *first_ticket = ticket;
    return 0;
}

/* `by` is how the spawner is inside the runtime, before and after: without a struct local, if the runtime has gone meanwhile. */
static inline int spawn_with(struct rt_entry *by, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                             const char *method, struct monitor *monitor, uint16_t *first_ticket) {
    local_enter(by->local, "weft_spawn");
    int error = spawn_inside(by, pid, behavior, options, method, monitor, first_ticket);
    if (__builtin_expect(by->local != NULL, 1)) local_leave(by->local);
    return error;
}

/* Spawns a process whose result may have to be kept. Its owner is the process that spawns it, if any. */
static int spawn_maybe_joinable(struct rt_entry *by, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                                const char *method) {
    if (!(options->flags & WEFT_JOINABLE)) return spawn_with(by, pid, behavior, options, method, NULL, NULL);
    struct zombie *zombie = zombie_new(by->local, by->self ? by->self->current : NULL);
    if (!zombie) return WEFT_ENOMEM;
    int error = spawn_with(by, pid, behavior, options, method, &zombie->monitor, NULL);
    if (error && by->local) zombie_undo(by->local, zombie);
    return error;
}

/* From a thread that is not a worker of that runtime. */
static int spawn_by_door(weft_pid *pid, struct runtime *runtime, const weft_behavior *behavior, const weft_spawn_options *options,
                         const char *method) {
    struct rt_entry by = {.instance = runtime->instance};
    by.local = door_enter(by.instance, &by.door);
    if (!by.local) return WEFT_ESTOPPING;
    bool plain = spawn_is_plain(&by, behavior, options->flags);
    if (!plain) atom_add_rlx(&runtime->births, 1); /* rlx: behind the door, and the stopping thread passes all doors before it looks */
    int error = spawn_maybe_joinable(&by, pid, behavior, options, method);
    if (!by.local) return error;
    if (!plain) birth_over(runtime);
    door_leave(by.instance, by.door);
    return error;
}

/* Such a spawn, or one with a result that is kept. */
static __attribute__((noinline)) int spawn_otherwise(weft_pid *pid, struct runtime *runtime, const weft_behavior *behavior,
                                                     const weft_spawn_options *options, const char *method) {
    struct worker *self = my_worker;
    if (self && (!runtime || runtime == self->runtime))
        return spawn_maybe_joinable(&(struct rt_entry){.local = &self->local, .self = self}, pid, behavior, options, method);
    atfork_check("weft_spawn");
    return runtime ? spawn_by_door(pid, runtime, behavior, options, method) : WEFT_ENOTINSIDE;
}

__attribute__((flatten)) int weft_spawn_step_sized(const weft_behavior *behavior, const weft_spawn_options *options, size_t options_size,
                                                   weft_pid *pid) {
    static const weft_spawn_options none;
    struct worker *self = my_worker;
    weft_spawn_options mine;
    options = options ? sized_read(options, options_size, &mine, sizeof mine) : &none; /* the common case, without a copy */
    if (__builtin_expect(!options, 0)) return WEFT_EINVAL;
    if (!pid || !behavior || !behavior->step) WEFT_MISUSE("weft_spawn_step", "no place for the PID, or no step", "give both");
    const char *method = spawn_method(behavior, options->method);
    if (!method) return WEFT_ENOENT;
    struct runtime *runtime = (struct runtime *)options->runtime;
    if (__builtin_expect(self && (!runtime || runtime == self->runtime) && !(options->flags & WEFT_JOINABLE), 1))
        return spawn_with(&(struct rt_entry){.local = &self->local, .self = self}, pid, behavior, options, method, NULL, NULL);
    return spawn_otherwise(pid, runtime, behavior, options, method);
}

int spawn_monitored(struct worker *self, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                    struct monitor *monitor, uint16_t *ticket) {
    struct rt_entry by = {.local = &self->local, .self = self};
    return spawn_with(&by, pid, behavior, options, spawn_method(behavior, NULL), monitor, ticket);
}

/* ---- death -------------------------------------------------------------------------------------------------------- */

/* The rest of the end of a process that is monitored or owns zombies; its state is COMPLETE. */
static __attribute__((noinline)) void proc_leave(struct local *local, struct proc *proc, uint32_t left, int reason) {
    if (left & STATE_OWNS) zombie_forget_all(local, proc->slot);
    if (!(left & STATE_MONITORED) || !monitor_tell(local, my_worker, proc->slot, reason)) magazine_retire(&local->magazine, proc);
}

void proc_end(struct local *local, struct proc *proc, int reason) {
    struct runtime *runtime = local->runtime;
    const weft_behavior *behavior = atom_load_rlx(&proc->behavior);
    if (behavior->close) {
        local_leave(local); /* it is the program's, and may call weft */
        behavior->close(proc->self);
        local_begin(local);
    }
    self_free(local, proc);
    context_take(local, proc);
    spawn_dismiss(runtime);
    /* rel: pairs with the acq in proc_find. From here on its PID is no process's. */
    atom_store_rel(&proc->generation, atom_load_rlx(&proc->generation) + 1);
    for (struct mpsc_node *node = mpsc_close(&proc->box), *next; node; node = next) {
        next = node->next;
        message_free(&local->cache, message_of(node));
    }
    uint32_t left = state_complete(&proc->state);
    if (__builtin_expect(left == 0, 1)) magazine_retire(&local->magazine, proc);
    else proc_leave(local, proc, left, reason);
    /* rel: pairs with the acq in living: a thread that sees the end sees the birth. One writer. */
    atom_store_rel(&local->counters.ended, atom_load_rlx(&local->counters.ended) + 1);
    atom_fence_light(); /* pairs with the heavy one in stop_wait */
    /* rlx: behind the fence. The process that ends last while the stopper waits wakes it. */
    if (__builtin_expect(atom_load_rlx(&runtime->stopping), 0)) parker_unpark(&runtime->stopper);
}

bool weft_alive(weft_pid pid) {
    struct worker *self = my_worker;
    unsigned door, instance = pid_instance(pid);
    bool inside = self && instance == self->runtime->instance;
    struct local *local = inside ? &self->local : door_enter(instance, &door);
    if (!local) return false;
    struct proc *proc = table_at(&local->runtime->table, pid_slot(pid));
    /* acq: as in proc_find. */
    bool alive =
        proc && atom_load_acq(&proc->generation) == pid_generation(pid) && pid_generation(pid) % 2 == 1 && !mpsc_is_closed(&proc->box);
    if (!inside) door_leave(instance, door);
    return alive;
}

weft_pid weft_self(void) {
    struct worker *self = my_worker;
    return self ? worker_pid(self) : WEFT_NOBODY;
}
