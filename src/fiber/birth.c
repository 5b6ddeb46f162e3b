/* Stackful processes are born as any other, without a stack; they get one when they first run. */
#include "fiber/fiber.h"

static struct fiber *fiber_on(struct proc *proc, struct stack *stack) {
    struct fiber *fiber = (struct fiber *)(((uintptr_t)stack_top(stack) - sizeof *fiber) & ~(uintptr_t)63);
    fiber->proc = proc;
    fiber->stack = stack;
    fiber->shields = 0;
    annotate_create(&fiber->annotate, stack->low, fiber);
    ctx_make(&fiber->ctx, fiber, fiber_main);
    fiber_start_of(proc)->fiber = fiber;
    return fiber;
}

struct fiber *fiber_new(struct actor *actor, struct proc *proc) {
    struct stack *stack = stack_take(&actor->stacks, proc->stack_class);
    return stack ? fiber_on(proc, stack) : NULL;
}

void fiber_free(struct actor *actor, struct fiber *fiber) {
    annotate_destroy(&fiber->annotate);
    stack_give(&actor->stacks, fiber->stack);
}

/* ---- the behavior of all stackful processes ------------------------------------------------------------------------- */

struct fiber_input {
    struct fiber_start start;
    uint8_t stack_class;
    struct runtime *stack_now; /* where to take a stack from at once; NULL: when it first runs */
};

/* From wherever the spawner is. */
static struct stack *stack_now(struct runtime *runtime, unsigned class) {
    struct worker *self = my_worker;
    if (self && self->runtime == runtime) return stack_take(&self->actor.stacks, class);
    struct stack_cache cache;
    stack_cache_init(&cache, &runtime->stacks);
    struct stack *stack = stack_take(&cache, class);
    stack_cache_flush(&cache);
    return stack;
}

static int fiber_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    const struct fiber_input *given = input;
    struct proc *proc = (struct proc *)((unsigned char *)self - offsetof(struct proc, inline_state));
    memcpy(self, &given->start, sizeof given->start);
    proc->stackful = true;
    proc->stack_class = given->stack_class;
    if (!given->stack_now) return 0;
    struct stack *stack = stack_now(given->stack_now, proc->stack_class);
    if (!stack) return WEFT_ENOSTACK;
    fiber_on(proc, stack);
    return 0;
}

/* A runtime that is taken down with processes left unmaps all stacks at once. */
static void fiber_close(void *self) {
    struct fiber *fiber = ((struct fiber_start *)self)->fiber;
    if (fiber) annotate_destroy(&fiber->annotate);
}

static const weft_behavior fiber_behavior = {
    .name = "process",
    .state_size = sizeof(struct fiber_start),
    .init = fiber_init,
    .step = fiber_step,
    .close = fiber_close,
};

static const weft_stackful_options spawn_defaults;

int weft_spawn_with(weft_pid *pid, weft_entry entry, void *arg, const weft_stackful_options *options) {
    struct worker *self = my_worker;
    if (!options) options = &spawn_defaults;
    struct runtime *runtime = options->runtime ? (struct runtime *)options->runtime : self ? self->runtime : NULL;
    if (!pid || !entry) WEFT_MISUSE("weft_spawn", "no place for the PID, or no entry function", "give both");
    if (!runtime) return WEFT_ENOTINSIDE;
    struct fiber_input input = {
        .start = {.entry = entry, .arg = arg, .name = options->name},
        .stack_now = options->flags & WEFT_STACK_NOW ? runtime : NULL,
    };
    size_t size = options->stack_size ? options->stack_size : runtime->stack_size;
    input.stack_class = (uint8_t)stack_class_of(size);
    if (__builtin_expect(input.stack_class == STACK_CLASSES, 0)) return WEFT_EINVAL;
    weft_spawn_options step = {
        .runtime = (weft_runtime *)runtime,
        .input = &input,
        .input_size = sizeof input,
        .context = options->context,
    };
    return weft_spawn_step(pid, &fiber_behavior, &step);
}

weft_pid weft_spawn(weft_entry entry, void *arg) {
    weft_pid pid;
    return weft_spawn_with(&pid, entry, arg, NULL) == 0 ? pid : WEFT_NOBODY;
}
