/* A process on another stack than its own: for a call that needs a bigger one (bigstack.c), or to end after its own has run over
 * (overflow.c). It stays the same flow of control: registers, mailbox, struct fiber, which is on top of its own stack.
 *
 * They nest: the innermost is the one that it runs on. A process that ends on one gives all of them back (fiber_free). */
#ifndef WEFT_FIBER_ALTSTACK_H
#define WEFT_FIBER_ALTSTACK_H

#include "fiber/fiber.h"
#include "thread/thread.h"

/* At the top of such a stack. */
struct altstack {
    struct altstack *outer;
    struct stack *stack;
    struct annotate before; /* of the stack below it */
};

/* The process runs on `stack` from now on: from where the result points downwards. */
static inline struct altstack *altstack_push(struct fiber *fiber, struct stack *stack) {
    struct altstack *second = (struct altstack *)(((uintptr_t)stack_top(stack) - sizeof *second) & ~(uintptr_t)63);
    second->outer = fiber->altstack;
    second->stack = stack;
    second->before = fiber->annotate;
    fiber->altstack = second;
#if ANNOTATE_ADDRESS
    fiber->annotate.fake = NULL;
    fiber->annotate.low = stack->low;
    fiber->annotate.size = (size_t)((unsigned char *)second - stack->low);
    __asan_unpoison_memory_region(stack->low, fiber->annotate.size);
#endif
    return second;
}

/* The stack that the process runs on. */
static inline struct stack *altstack_stack(const struct fiber *fiber) { return fiber->altstack ? fiber->altstack->stack : fiber->stack; }

/* The stack of the process whose code this thread runs, in a blocking call too; NULL: of none. For signal handlers. */
static inline struct stack *altstack_here(struct worker *worker) {
    struct proc *proc = worker ? worker->current : NULL;
    struct fiber *fiber = proc && proc->stackful ? fiber_of(proc) : !worker && my_thread ? my_thread->caller : NULL;
    return fiber ? altstack_stack(fiber) : NULL;
}

/* The address sanitizer is told, on either side of going over and of coming back. */
static inline __attribute__((always_inline)) void altstack_going(struct annotate *keep, const struct annotate *to) {
    (void)keep, (void)to;
#if ANNOTATE_ADDRESS
    __sanitizer_start_switch_fiber(keep ? &keep->fake : NULL, to->low, to->size);
#endif
}
static inline __attribute__((always_inline)) void altstack_gone(struct annotate *kept) {
    (void)kept;
#if ANNOTATE_ADDRESS
    __sanitizer_finish_switch_fiber(kept ? kept->fake : NULL, NULL, NULL);
#endif
}

#endif
