/* How deep processes use their stacks, by entry function.
 *
 * Measuring costs two system calls, so few are measured: the first STACK_USAGE_FIRST of each worker that get a stack of their own, then one of
 * STACK_USAGE_EVERY. One that is measured begins with a stack that was cleared, and the kernel is asked at its end which pages it has
 * touched. All that a process pays that is not measured is a count when it takes a stack; one that is born on another's
 * stack (F3) pays nothing. */
#ifndef WEFT_FIBER_STACK_USAGE_H
#define WEFT_FIBER_STACK_USAGE_H

#include "fiber/fiber.h"

enum {
    STACK_USAGE_FIRST = 64,
    STACK_USAGE_EVERY = 4096,
    STACK_USAGE_MOST = 1024, /* kinds; what comes later is not kept */
};

/* A process begins on the stack, which is to be measured. */
void stack_usage_begin(struct proc *proc, struct stack *stack);
/* It ends, or its stack has run over: before the stack is given away. */
void stack_usage_end(struct runtime *runtime, struct proc *proc, struct stack *stack, bool overflow);

void stack_usage_destroy(struct runtime *runtime);

#endif
