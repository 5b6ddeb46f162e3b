/* Measures how deep processes use their stacks, by entry function.
 *
 * A measurement costs two system calls, so few processes are measured: on each worker the first STACK_USAGE_FIRST that take a stack, then
 * one of STACK_USAGE_EVERY. A measured process begins with a cleared stack, and at its end the kernel is asked which pages it has touched.
 * A process that is not measured pays for a count when it takes a stack; one that takes over another's stack (fiber.h, F3) pays nothing. */
#ifndef WEFT_FIBER_STACK_USAGE_H
#define WEFT_FIBER_STACK_USAGE_H

#include "fiber/fiber.h"

enum {
    STACK_USAGE_FIRST = 64,
    STACK_USAGE_EVERY = 4096,
    STACK_USAGE_MOST = 1024, /* pairs of entry function and stack size; later ones are not kept */
};

/* A process begins on the stack, which is to be measured. */
void stack_usage_begin(struct proc *proc, struct stack *stack);
/* It ends, or its stack has overflowed: before the stack is given back. */
void stack_usage_end(struct runtime *runtime, struct proc *proc, struct stack *stack, bool overflow);

void stack_usage_destroy(struct runtime *runtime);

#endif
