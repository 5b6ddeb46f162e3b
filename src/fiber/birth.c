/* Spawning stackful processes: they are spawned like any other, without a stack, and get one when they first run. */
#include "base/sized.h"
#include "fiber/fault.h"
#include "fiber/pack.h"
#include "fiber/snapshot.h"
#include "fiber/stack_usage.h"
#include "life/block.h"
#include "life/spawn.h"
#include "life/ties.h"
#include "sched/atfork.h"
#include "sched/heed.h"
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
        fault_prepare(worker);
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
    uint8_t extras; /* PROC_PREEMPT, PROC_BOUNDED */
    bool stack_now; /* it takes its stack at once, not when it first runs */
    bool packs;     /* pack.h */
    struct runtime *runtime;
    size_t arg_size;  /* 0: not copied */
    const char *name; /* the spawner's: it may be gone when spawning returns */
    void (*discard)(void *arg);
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
    proc->stackful = PROC_UNBORN;
    proc->stack_class = stack_class;
}

/* rlx: dumps check the generation after they have read it (snapshot.c). */
static int fiber_set_name(struct runtime *runtime, struct proc *proc, const char *text) {
    struct fiber_name *name = side_of(&runtime->sides.names, proc_slot(proc), sizeof *name, true);
    char copy[sizeof *name] = {0};
    uint64_t words[sizeof copy / sizeof(uint64_t)];
    if (!name) return WEFT_ENOMEM;
    memcpy(copy, text, strnlen(text, sizeof copy - 1));
    memcpy(words, copy, sizeof words);
    for (unsigned i = 0; i < sizeof copy / sizeof words[0]; i++)
        atom_store_rlx(&name->words[i], words[i]);
    fiber_start_of(proc)->name = name;
    return 0;
}

/* `self` is what the behavior's functions are given. */
static struct proc *fiber_proc(void *self) { return (struct proc *)((unsigned char *)self - offsetof(struct proc, inline_state)); }

/* The argument of a process that was given a copy of one, behind this. */
struct fiber_copy {
    _Alignas(16) size_t size; /* of both */
};
enum { FIBER_COPY_MOST = 1 << 30 };

static int fiber_copy_arg(struct fiber_start *start, size_t size) {
    struct fiber_copy *copy = sys->alloc(sizeof *copy + size);
    if (!copy) return WEFT_ENOMEM;
    copy->size = sizeof *copy + size;
    start->arg = memcpy(copy + 1, start->arg, size);
    return 0;
}

static void fiber_copy_free(void *arg) {
    struct fiber_copy *copy = (struct fiber_copy *)arg - 1;
    sys->free(copy, copy->size);
}

/* What a stackful process has before it first runs. On an error it has nothing. */
static int fiber_equip(struct proc *proc, const struct fiber_input *given) {
    if (given->name && fiber_set_name(given->runtime, proc, given->name)) return WEFT_ENOMEM;
    if (given->arg_size && fiber_copy_arg(fiber_start_of(proc), given->arg_size)) return WEFT_ENOMEM;
    if (!given->stack_now) return 0;
    struct packing *packing = given->packs ? pack_begin(given->runtime, proc) : NULL;
    struct stack *stack = packing || !given->packs ? stack_now(given->runtime, proc->stack_class) : NULL;
    if (stack) fiber_on(proc, stack)->packing = packing;
    else if (given->arg_size) fiber_copy_free(fiber_start_of(proc)->arg);
    return stack ? 0 : WEFT_ENOSTACK;
}

void fiber_discard(struct local *local, struct proc *proc) {
    struct ties *ties = state_has_to_give(&proc->state) ? ties_of(local->runtime, proc_slot(proc), false) : NULL;
    if (!ties || !ties->discard) return;
    local_leave(local); /* it is the program's, and may call weft */
    ties->discard(fiber_start_of(proc)->arg);
    local_begin(local);
}

static int fiber_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    const struct fiber_input *given = input;
    struct proc *proc = fiber_proc(self);
    struct ties *ties = given->discard ? ties_of(given->runtime, proc_slot(proc), true) : NULL;
    if (given->discard && !ties) return WEFT_ENOMEM;
    fiber_set(proc, &given->start, given->stack_class);
    int error = fiber_equip(proc, given);
    if (error) return error;
    proc->extras |= given->extras;
    if (ties) { /* last: ties_end, which forgets it, does not come after an error */
        ties->discard = given->discard;
        state_owns(&proc->state);
    }
    return 0;
}

/* For a process that is left when its runtime is taken down. The runtime then unmaps all stacks at once. */
static void fiber_close(void *self) {
    struct fiber *fiber = ((struct fiber_start *)self)->fiber;
    struct proc *proc = fiber_proc(self);
    if (!fiber || proc->stackful == PROC_STOPPED) return; /* stopped: its thread sleeps on that stack for ever */
    if (proc->stackful == PROC_PACKED) return;            /* pack_abandon */
    if (fiber->proc->extras & PROC_MAILBOX) parts.mailbox_end(&fiber->mailbox.runtime->doors[0], fiber->proc, &fiber->mailbox);
    struct snapshot snapshot;
    fiber_snapshot(NULL, fiber->proc, &snapshot);
    if (!snapshot.in_call) annotate_destroy(&fiber->annotate); /* else a thread is still on that stack: thread_came_back */
}

const weft_behavior fiber_behavior = {
    .name = "process",
    .state_size = sizeof(struct fiber_start),
    .init = fiber_init,
    .step = fiber_step,
    .close = fiber_close,
};

/* The same for a process with a copied argument: so one without pays nothing. */
static void fiber_close_copy(void *self) {
    fiber_close(self);
    fiber_copy_free(((struct fiber_start *)self)->arg);
}

static const weft_behavior fiber_behavior_copy = {
    .name = "process",
    .state_size = sizeof(struct fiber_start),
    .init = fiber_init,
    .step = fiber_step,
    .close = fiber_close_copy,
};
static const weft_behavior *fiber_behavior_of(const struct fiber_input *input) {
    return input->arg_size ? &fiber_behavior_copy : &fiber_behavior;
}

/* Returns 0, or WEFT_EINVAL: there are no stacks of that size. */
static inline int fiber_input(struct fiber_input *input, struct runtime *runtime, weft_entry entry, void *arg,
                              const weft_stackful_options *options) {
    *input = (struct fiber_input){
        .start = {.entry = entry, .arg = arg},
        .stack_now = options->flags & (WEFT_SPAWN_STACK_NOW | WEFT_SPAWN_PACK),
        .packs = options->flags & WEFT_SPAWN_PACK,
        .runtime = runtime,
        .arg_size = options->arg_size,
        .name = options->name,
        .discard = options->discard,
        .extras = options->mailbox ? PROC_BOUNDED : 0,
    };
    if (__builtin_expect(options->flags & WEFT_SPAWN_PREEMPT && runtime->exclusive, 0)) return WEFT_EINVAL;
    /* If preemption cannot begin, a line was written, and the process runs like any other. */
    if (__builtin_expect(options->flags & WEFT_SPAWN_PREEMPT, 0) && (preempt_is_on(runtime) || parts.preempt_begin(runtime, false) == 0))
        input->extras |= PROC_PREEMPT;
    size_t size = options->stack_size ? options->stack_size : runtime->stack_size;
    input->stack_class = (uint8_t)stack_class_of(size);
    return __builtin_expect(input->stack_class == STACK_CLASSES || input->arg_size > FIBER_COPY_MOST, 0) ? WEFT_EINVAL : 0;
}

int fiber_spawn(weft_entry entry, void *arg, const weft_stackful_options *options, weft_pid *pid) {
    struct worker *self = my_worker;
    struct runtime *runtime = options->runtime ? (struct runtime *)options->runtime : self ? self->runtime : NULL;
    if (!pid || !entry) WEFT_REFUSE("weft_spawn", "no place for the PID, or no entry function", "give both");
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
        .monitor = options->monitor,
        .register_as = options->register_as,
        .mailbox = options->mailbox,
        .announcement = options->announcement,
    };
    return weft_spawn_step(fiber_behavior_of(&input), &step, pid);
}

int weft_spawn_with_sized(weft_entry entry, void *arg, const weft_stackful_options *options, size_t options_size, weft_pid *pid) {
    weft_stackful_options mine;
    heed(my_worker);
    options = sized_read(options, options_size, &mine, sizeof mine);
    return options ? fiber_spawn(entry, arg, options, pid) : WEFT_EINVAL;
}

int fiber_spawn_monitored(struct worker *self, weft_pid *pid, weft_entry entry, void *arg, const weft_stackful_options *options,
                          struct monitor *monitor, uint16_t *ticket) {
    struct fiber_input input;
    int error = fiber_input(&input, self->runtime, entry, arg, options);
    if (error) return error;
    weft_spawn_options step = {
        .input = &input,
        .input_size = sizeof input,
        .context = options->context,
        .flags = SPAWN_INIT_NEVER_WAITS | (options->flags & WEFT_SPAWN_ANNOUNCE),
        .register_as = options->register_as,
        .mailbox = options->mailbox,
        .announcement = options->announcement,
    };
    return spawn_monitored(self, pid, fiber_behavior_of(&input), &step, monitor, ticket);
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
    if (__builtin_expect(!spawner_is_plain(self) || !entry, 0)) return fiber_spawn_slow(entry, arg, NULL);
    int error;
    struct proc *proc = spawn_plain_begin(self, &fiber_behavior, &error);
    if (__builtin_expect(!proc, 0)) {
        errno = -error;
        return WEFT_NOBODY;
    }
    fiber_set(proc, &(struct fiber_start){.entry = entry, .arg = arg}, self->runtime->stack_class);
    return spawn_plain_end(self, proc);
}

weft_pid weft_spawn_copy(weft_entry entry, const void *arg, size_t size) {
    return fiber_spawn_slow(entry, size ? (void *)(uintptr_t)arg : NULL,
                            &(weft_stackful_options){.arg_size = size}); /* never the original */
}

weft_pid weft_spawn_joinable(weft_entry entry, void *arg) {
    static const weft_stackful_options joinable = {.flags = WEFT_SPAWN_JOINABLE};
    return fiber_spawn_slow(entry, arg, &joinable);
}

weft_pid weft_spawn_link(weft_entry entry, void *arg) {
    static const weft_stackful_options linked = {.flags = WEFT_SPAWN_LINK};
    return fiber_spawn_slow(entry, arg, &linked);
}

weft_pid weft_spawn_monitor(weft_entry entry, void *arg, uint64_t tag, uint64_t *reference) {
    return fiber_spawn_slow(entry, arg, &(weft_stackful_options){.flags = WEFT_SPAWN_MONITOR, .monitor = {tag, reference}});
}
