/* Spawning, from the bottom up: making a process ready, setting one up, and the ways in: a worker, a door, joinable, monitored. */
#include "life/init.h"

#include "base/sized.h"
#include "life/block.h"
#include "life/newborn_ties.h"
#include "life/zombie.h"
#include "sched/door.h"
#include "sched/heed.h"

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

static inline const char *spawn_first_method(const weft_behavior *behavior) { return behavior->methods ? behavior->methods[0] : "main"; }

/* The runtime is stopping, or the context was cancelled. The process may have run and ended already, if a hand-off has claimed it: then its PID is not its block's. */
static __attribute__((noinline, cold)) void spawn_cancel(struct local *local, struct proc *proc, weft_pid pid) {
    section_enter(&local->section);
    /* rlx: either the end that changed the PID is seen, because of the section's fence and the heavy one in magazine_note, or the block is not used again before this section is left. */
    if (atom_load_rlx(&proc->pid) == pid) state_cancel(&proc->state);
    section_leave(&local->section);
}

/* The process's box is open. `context`: the spawner's, or given by its caller. */
static inline uint16_t spawn_open(struct local *local, struct worker *self, struct proc *proc, const weft_context *context,
                                  bool monitored) {
    struct runtime *runtime = local->runtime;
    count(&local->counters.spawned);
    if (monitored) state_monitor_newborn(&proc->state);
    sim_note("spawn", proc_pid(proc));
    weft_pid pid = proc_pid(proc);
    uint16_t ticket = state_revive(&proc->state); /* from here on a hand-off may run it, to its end */
    atom_fence_light(); /* pairs with the heavy ones in stop_wait and weft_context_cancel: they see this process, or this sees their flag */
    bool over = atom_load_rlx(&runtime->stopping) || (context && weft_context_cancelled(context)); /* rlx: the fence */
    if (__builtin_expect(over, 0)) spawn_cancel(local, proc, pid);
    ready(runtime, self, proc, ticket, READY_SPAWNED);
    return ticket;
}

struct proc *spawn_plain_begin(struct worker *self, const weft_behavior *behavior, int *error) {
    heed(self);
    local_enter(&self->local, "weft_spawn");
    struct proc *proc = block_take(&self->local, behavior, 0, error);
    if (__builtin_expect(!proc, 0)) {
        local_leave(&self->local);
        return NULL;
    }
    block_born_of(proc, self->current);
    proc->self = proc->inline_state;
    return proc;
}

weft_pid spawn_plain_end(struct worker *self, struct proc *proc) {
    weft_pid pid = proc_pid(proc); /* before it may run, and end */
    mpsc_init(&proc->box);
    spawn_open(&self->local, self, proc, NULL, false);
    local_leave(&self->local);
    return pid;
}

/* `self`, context and init: all but making it ready. */
static inline int spawn_set_up(struct rt_entry *by, struct proc *proc, const weft_spawn_options *options, const char *method,
                               struct monitor *monitor) {
    const weft_behavior *behavior = atom_load_rlx(&proc->behavior);
    proc->self = self_new(by->local, proc, behavior->state_size);
    if (!proc->self) return WEFT_ENOMEM;
    int error = 0;
    if (__builtin_expect(options->mailbox != NULL, 0))
        error = parts.bounds_begin(&by->local->runtime->bounded, proc, proc_pid(proc), options->mailbox);
    if (error) return error;
    error = context_inherit(by->local, by->self, proc, options->context);
    if (error || !behavior->init) return error;
    if (!method) method = spawn_first_method(behavior);
    if (__builtin_expect(init_cannot_wait(by, behavior, options->flags), 1)) {
        local_leave(by->local);
        error = behavior->init(proc->self, context_of(proc), method, options->input, options->input_size);
        local_begin(by->local);
        return error;
    }
    struct rt_entry back = *by;
    error = init_call_waiting(&back, proc, options, method, monitor);
    *by = back;
    return error;
}

/* Takes a block, sets it up and makes the process ready: between local_enter and local_leave. `monitor`: NULL, or told of the end. `tied`:
 * NULL, or what ties the spawner to it. */
static inline int spawn_entered(struct rt_entry *by, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                                const char *method, struct monitor *monitor, struct newborn_ties *tied, uint16_t *first_ticket) {
    struct runtime *runtime = by->local->runtime;
    int error;
    struct proc *proc = block_take(by->local, behavior, options->flags, &error);
    if (!proc) return error;
    error = 0;
    block_born_of(proc, by->self ? by->self->current : NULL);
    if (tied && newborn_ties_any(tied) && (error = link_reserve(runtime, proc_slot(proc))) != 0) {
        block_return(by->local, proc);
        return error;
    }
    if (monitor && (error = monitor_newborn(by->local, proc_pid(proc), monitor)) != 0) {
        block_return(by->local, proc);
        return error;
    }
    if (__builtin_expect(options->register_as != NULL, 0))
        error = parts.registry_newborn(by->local, proc, proc_pid(proc), options->register_as);
    if (!error) error = spawn_set_up(by, proc, options, method, monitor);
    if (__builtin_expect(error, 0)) {
        if (by->local) block_undo(by->local, proc, monitor);
        return error;
    }
    *pid = proc_pid(proc);
    if (tied) newborn_ties_attach(by->local, proc, tied);
    if (__builtin_expect(!options->mailbox, 1)) mpsc_init(&proc->box); /* else it has been diverted: spawn_set_up */
    uint16_t ticket =
        spawn_open(by->local, by->self, proc, proc->member ? context_of(proc) : NULL, monitor || (tied && newborn_ties_any(tied)));
    if (first_ticket) *first_ticket = ticket;
    return 0;
}

/* The same between the two. `by` is how the spawner is inside the runtime, before and after: without a struct local, if the runtime has
 * gone meanwhile. */
static inline int spawn_process(struct rt_entry *by, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                                const char *method, struct monitor *monitor, struct newborn_ties *tied, uint16_t *first_ticket) {
    local_enter(by->local, "weft_spawn");
    int error = spawn_entered(by, pid, behavior, options, method, monitor, tied, first_ticket);
    if (__builtin_expect(by->local != NULL, 1)) local_leave(by->local);
    return error;
}

/* Spawns a process whose result is kept until it is joined. Its owner is the process that spawns it, if any. */
static int spawn_joinable(struct rt_entry *by, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                          const char *method, struct newborn_ties *tied) {
    struct zombie *zombie = zombie_new(by->local, by->self ? by->self->current : NULL);
    if (!zombie) return WEFT_ENOMEM;
    int error = spawn_process(by, pid, behavior, options, method, &zombie->monitor, tied, NULL);
    if (error && by->local) zombie_undo(by->local, zombie);
    return error;
}

static int spawn_maybe_joinable(struct rt_entry *by, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                                const char *method, struct newborn_ties *tied) {
    return options->flags & WEFT_SPAWN_JOINABLE ? spawn_joinable(by, pid, behavior, options, method, tied)
                                                : spawn_process(by, pid, behavior, options, method, NULL, tied, NULL);
}

/* Spawns a process that is tied to its spawner, which may end in init. */
static int spawn_tied(struct rt_entry *by, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                      const char *method) {
    struct newborn_ties tied;
    struct guard guard;
    struct proc *spawner = guard_process(my_worker);
    int error = newborn_ties_prepare(&tied, options);
    if (error) return error;
    parts.guard_begin(&guard, spawner, newborn_ties_drop, &tied);
    error = spawn_maybe_joinable(by, pid, behavior, options, method, &tied);
    parts.guard_end(&guard, spawner);
    if (error) newborn_ties_drop(&tied);
    return error;
}

static int spawn_by_flags(struct rt_entry *by, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                          const char *method) {
    return options->flags & SPAWN_TOLD ? spawn_tied(by, pid, behavior, options, method)
                                       : spawn_maybe_joinable(by, pid, behavior, options, method, NULL);
}

/* From a thread that is not a worker of that runtime. */
static int spawn_by_door(weft_pid *pid, struct runtime *runtime, const weft_behavior *behavior, const weft_spawn_options *options,
                         const char *method) {
    struct rt_entry by = {.instance = runtime->instance};
    by.local = door_enter(by.instance, &by.door);
    if (!by.local) return WEFT_ESTOPPING;
    bool waits = !init_cannot_wait(&by, behavior, options->flags);
    if (waits) atom_add_rlx(&runtime->births, 1); /* rlx: behind the door, and the stopping thread passes all doors before it looks */
    int error = spawn_by_flags(&by, pid, behavior, options, method);
    if (!by.local) return error;
    if (waits) birth_over(runtime);
    door_leave(by.instance, by.door);
    return error;
}

/* From any thread, into any runtime, joinable or not. */
static __attribute__((noinline)) int spawn_anywhere(weft_pid *pid, struct runtime *runtime, const weft_behavior *behavior,
                                                    const weft_spawn_options *options, const char *method) {
    struct worker *self = my_worker;
    if (self && (!runtime || runtime == self->runtime))
        return spawn_by_flags(&(struct rt_entry){.local = &self->local, .self = self}, pid, behavior, options, method);
    atfork_check("weft_spawn");
    return runtime ? spawn_by_door(pid, runtime, behavior, options, method) : WEFT_ENOTINSIDE;
}

static __attribute__((noinline, flatten)) int spawn_step_slow(const weft_behavior *behavior, const weft_spawn_options *options,
                                                              size_t options_size, weft_pid *pid) {
    static const weft_spawn_options none;
    struct worker *self = my_worker;
    weft_spawn_options mine;
    options = options ? sized_read(options, options_size, &mine, sizeof mine) : &none; /* the common case, without a copy */
    if (__builtin_expect(!options, 0)) return WEFT_EINVAL;
    if (!pid || !behavior || !behavior->step) WEFT_REFUSE("weft_spawn_step", "no place for the PID, or no step", "give both");
    const char *method = NULL; /* the first */
    if (__builtin_expect(options->method != NULL, 0) && !(method = spawn_method_named(behavior, options->method))) return WEFT_ENOENT;
    struct runtime *runtime = (struct runtime *)options->runtime;
    if (__builtin_expect(heed_must(self), 0) && !(options->flags & SPAWN_INIT_NEVER_WAITS)) heed(self); /* else fiber/birth.c has */
    bool plain = !(options->flags & (WEFT_SPAWN_JOINABLE | SPAWN_TOLD)) && !options->mailbox;
    if (__builtin_expect(self && (!runtime || runtime == self->runtime) && plain, 1))
        return spawn_process(&(struct rt_entry){.local = &self->local, .self = self}, pid, behavior, options, method, NULL, NULL, NULL);
    return spawn_anywhere(pid, runtime, behavior, options, method);
}

/* Whether nothing has to be done for the process but zeroing its state, which is in its block. */
static inline bool spawn_is_plain(const weft_behavior *behavior) {
    return behavior && behavior->step && !behavior->init && behavior->state_size <= PROC_INLINE_STATE;
}

/* The fast path: the same without the checks whose results are known here. */
__attribute__((flatten)) int weft_spawn_step_sized(const weft_behavior *behavior, const weft_spawn_options *options, size_t options_size,
                                                   weft_pid *pid) {
    struct worker *self = my_worker;
    if (__builtin_expect(options || !pid || !spawner_is_plain(self) || !spawn_is_plain(behavior), 0))
        return spawn_step_slow(behavior, options, options_size, pid);
    int error;
    struct proc *proc = spawn_plain_begin(self, behavior, &error);
    if (__builtin_expect(!proc, 0)) return error;
    memset(proc->inline_state, 0, sizeof proc->inline_state);
    *pid = spawn_plain_end(self, proc);
    return 0;
}

int spawn_monitored(struct worker *self, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                    struct monitor *monitor, uint16_t *ticket) {
    struct rt_entry by = {.local = &self->local, .self = self};
    struct newborn_ties told = newborn_announced(options);
    return spawn_process(&by, pid, behavior, options, NULL, monitor, told.announcement.tell ? &told : NULL, ticket);
}
