/* Running a process on another stack than its own (not that of sigaltstack(2)): for a call that needs a bigger one (bigstack.c), or to end after its own stack has
 * overflowed (overflow.c) or a fault has abandoned it (contain.c). It stays the same process, with the same mailbox and struct fiber, which stays at the top of its own stack.
 *
 * Altstacks nest: the process runs on the innermost. A process that ends on one gives all of them back (fiber_free). */
#ifndef WEFT_FIBER_ALTSTACK_H
#define WEFT_FIBER_ALTSTACK_H

#include "fiber/fiber.h"
#include "thread/thread.h"

/* At the top of an altstack. */
struct altstack {
    struct altstack *outer;
    struct stack *stack;
    struct annotate before; /* the annotations of the stack that was in use before */
    bool is_last;           /* the frames on the stacks before are abandoned: the process ends on this one */
};

/* The process runs on `stack` from now on; its frames begin below the result. */
static inline struct altstack *altstack_push(struct fiber *fiber, struct stack *stack) {
    struct altstack *second = (struct altstack *)(((uintptr_t)stack_top(stack) - sizeof *second) & ~(uintptr_t)63);
    second->outer = fiber->altstack;
    second->stack = stack;
    second->before = fiber->annotate;
    second->is_last = false;
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

/* The stack of the process that this thread runs, also while the process is in a blocking call; NULL: it runs none. For signal handlers. */
static inline struct stack *altstack_here(struct worker *worker) {
    struct proc *proc = worker ? worker->current : NULL;
    if (proc && proc->stackful == PROC_PACKED) return NULL; /* `fiber` is packed with it: pack.h, G4 */
    struct fiber *fiber = proc && proc->stackful ? fiber_of(proc) : !worker && my_thread ? my_thread->caller : NULL;
    return fiber ? altstack_stack(fiber) : NULL;
}

/* Tell the address sanitizer, before and after each switch to or from an altstack. */
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
