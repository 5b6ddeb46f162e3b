/* The threads of a scenario all run in one OS thread, each on a stack of its own; this is the switch between them. */
#ifndef CHECK_FIBER_H
#define CHECK_FIBER_H

#include <stddef.h>

/* Saves the caller's registers on its stack, its stack pointer in *save, and continues where `to` was saved. */
void fiber_switch(void **save, void *to);

/* A stack pointer from which fiber_switch starts entry(), which must not return. */
void *fiber_prepare(void *stack, size_t size, void (*entry)(void));

#endif
