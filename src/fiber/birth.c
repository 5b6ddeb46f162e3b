/* Spawning stackful processes: they are spawned like any other, without a stack, and get one when they first run. */
#include "base/sized.h"
#include "fiber/overflow.h"
#include "fiber/snapshot.h"
#include "fiber/stack_usage.h"
#include "life/block.h"
#include "life/spawn.h"
#include "sched/atfork.h"
#include "sched/parts.h"
#include "thread/stopped.h"

/* The process begins on a stack that was just taken: fiber.h tells the fields of the stack from those of the process. */
static struct fiber *fiber_on(struct proc *proc, struct stack *stack) {
    struct fiber *fiber = (struct fiber *)(((uintptr_t)stack_top(stack) - sizeof *fiber) & ~(uintptr_t)63);
    fiber->stack = stack;
    fiber->pins = fiber->holds = 0;
    fiber->calls = 0;
    fiber->altstack = NULL;
    fiber->cleanups = NULL;
    fiber->floor = NULL;
    atom_store_rlx(&fiber->waits_in, NULL); /* rlx, both: see fiber.h */
    atom_store_rlx(&fiber->waits_about, NULL);
    mailbox_init(&fiber->mailbox);
    annotate_create(&fiber->annotate, stack->low, fiber);
    ctx_make(&fiber->ctx, fiber, fiber_main);
    fiber_born(fiber, proc);
    return fiber;
}

struct fiber *fiber_new(struct worker *worker, struct proc *proc) {
    struct local *local = &worker->local;
    struct stack *stack = stack_take(&local->stacks, proc->stack_class);
    if (!stack) return NULL;
    if (__builtin_expect(worker->unmeasured-- == 0, 0)) {
        worker->unmeasured = ++worker->measured < STACK_USAGE_FIRST ? 0 : STACK_USAGE_EVERY - 1;
        stack_usage_begin(proc, stack);
        overflow_prepare(worker);
    }
    return fiber_on(proc, stack);
}

void fiber_free(struct local *local, struct fiber *fiber) {
    annotate_destroy(&fiber->annotate);
    if (__builtin_expect(fiber->altstack != NULL, 0)) altstack_free_all(local, fiber);
    stack_give(&local->stacks, fiber->stack);
}

/* ---- the behavior of all stackful processes ------------------------------------------------------------------------- */

struct fiber_input {
    struct fiber_start start;
    uint8_t stack_class;
    bool preempt;
    struct runtime *stack_now; /* where to take a stack from at once; NULL: when it first runs */
};

/* Takes a stack for the spawner, which may be on a worker of the runtime or elsewhere. */
static struct stack *stack_now(struct runtime *runtime, unsigned class) {
    struct worker *self = my_worker;
    if (self && self->runtime == runtime) return stack_take(&self->local.stacks, class);
    struct stack_cache cache;
    stack_cache_init(&cache, &runtime->stacks);
    struct stack *stack = stack_take(&cache, class);
    stack_cache_flush(&cache);
    return stack;
}

/* What a newborn stackful process has: its block. */
static inline void fiber_set(struct proc *proc, const struct fiber_start *start, uint8_t stack_class) {
    *fiber_start_of(proc) = *start;
    proc->stackful = PROC_STACKFUL;
    proc->stack_class = stack_class;
}

static int fiber_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    const struct fiber_input *given = input;
    struct proc *proc = (struct proc *)((unsigned char *)self - offsetof(struct proc, inline_state));
    fiber_set(proc, &given->start, given->stack_class);
    if (given->stack_now) {
        struct stack *stack = stack_now(given->stack_now, proc->stack_class);
        if (!stack) return WEFT_ENOSTACK;
        fiber_on(proc, stack);
    }
    if (__builtin_expect(given->preempt, 0)) proc->extras |= PROC_PREEMPT;
    return 0;
}

/* For a process that is left when its runtime is taken down. The runtime then unmaps all stacks at once. */
static void fiber_close(void *self) {
    struct fiber *fiber = ((struct fiber_start *)self)->fiber;
    if (!fiber || fiber->proc->stackful == PROC_STOPPED) return; /* stopped: its thread sleeps on that stack for ever */
    if (fiber->proc->extras & PROC_MAILBOX) parts.mailbox_end(&fiber->mailbox.runtime->doors[0], fiber->proc, &fiber->mailbox);
    struct snapshot snapshot;
    fiber_snapshot(fiber->proc, &snapshot);
    if (!snapshot.in_call) annotate_destroy(&fiber->annotate); /* else a thread is still on that stack: thread_came_back */
}

static const weft_behavior fiber_behavior = {
    .name = "process",
    .state_size = sizeof(struct fiber_start),
    .init = fiber_init,
    .step = fiber_step,
    .close = fiber_close,
};

/* Returns 0, or WEFT_EINVAL: there are no stacks of that size. */
static inline int fiber_input(struct fiber_input *input, struct runtime *runtime, weft_entry entry, void *arg,
                              const weft_stackful_options *options) {
    *input = (struct fiber_input){
        .start = {.entry = entry, .arg = arg, .name = options->name},
        .stack_now = options->flags & WEFT_SPAWN_STACK_NOW ? runtime : NULL,
    };
    if (__builtin_expect(options->flags & WEFT_SPAWN_PREEMPT, 0))
        input->preempt = preempt_is_on(runtime) ||
                         parts.preempt_begin(runtime, false) == 0; /* if that fails, a line was written, and it runs like any other */
    size_t size = options->stack_size ? options->stack_size : runtime->stack_size;
    input->stack_class = (uint8_t)stack_class_of(size);
    return __builtin_expect(input->stack_class == STACK_CLASSES, 0) ? WEFT_EINVAL : 0;
}

int weft_spawn_with_sized(weft_entry entry, void *arg, const weft_stackful_options *options, size_t options_size, weft_pid *pid) {
    struct worker *self = my_worker;
    weft_stackful_options mine;
    options = sized_read(options, options_size, &mine, sizeof mine);
    if (!options) return WEFT_EINVAL;
    struct runtime *runtime = options->runtime ? (struct runtime *)options->runtime : self ? self->runtime : NULL;
    if (!pid || !entry) WEFT_MISUSE("weft_spawn", "no place for the PID, or no entry function", "give both");
    if (!runtime) {
        atfork_check("weft_spawn");
        return WEFT_ENOTINSIDE;
    }
    struct fiber_input input;
    int error = fiber_input(&input, runtime, entry, arg, options);
    if (error) return error;
    weft_spawn_options step = {
        .runtime = (weft_runtime *)runtime,
        .input = &input,
        .input_size = sizeof input,
        .context = options->context,
        .flags = options->flags | SPAWN_INIT_NEVER_WAITS,
    };
    return weft_spawn_step(&fiber_behavior, &step, pid);
}

int fiber_spawn_monitored(struct worker *self, weft_pid *pid, weft_entry entry, void *arg, const weft_stackful_options *options,
                          struct monitor *monitor, uint16_t *ticket) {
    struct fiber_input input;
    int error = fiber_input(&input, self->runtime, entry, arg, options);
    if (error) return error;
    weft_spawn_options step = {.input = &input, .input_size = sizeof input, .context = options->context, .flags = SPAWN_INIT_NEVER_WAITS};
    return spawn_monitored(self, pid, &fiber_behavior, &step, monitor, ticket);
}

/* The PID is the result, so errno has the error. */
static __attribute__((noinline)) weft_pid fiber_spawn_slow(weft_entry entry, void *arg, const weft_stackful_options *options) {
    weft_pid pid;
    int error = weft_spawn_with(entry, arg, options, &pid);
    if (error) errno = -error;
    return error ? WEFT_NOBODY : pid;
}

/* The fast path: the same without the checks whose results are known here. */
__attribute__((flatten)) weft_pid weft_spawn(weft_entry entry, void *arg) {
    struct worker *self = my_worker;
    if (__builtin_expect(!self || !entry || !self->current || self->current->member, 0)) return fiber_spawn_slow(entry, arg, NULL);
    int error;
    local_enter(&self->local, "weft_spawn");
    struct proc *proc = block_take(&self->local, &fiber_behavior, 0, &error);
    if (__builtin_expect(!proc, 0)) {
        local_leave(&self->local);
        errno = -error;
        return WEFT_NOBODY;
    }
    proc->self = proc->inline_state;
    fiber_set(proc, &(struct fiber_start){.entry = entry, .arg = arg}, self->runtime->stack_class);
    weft_pid pid = spawn_pid(self->runtime, proc);
    spawn_make_ready(&self->local, self, proc, false);
    local_leave(&self->local);
    return pid;
}

weft_pid weft_spawn_joinable(weft_entry entry, void *arg) {
    static const weft_stackful_options joinable = {.flags = WEFT_SPAWN_JOINABLE};
    return fiber_spawn_slow(entry, arg, &joinable);
}
