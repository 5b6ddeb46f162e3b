/* What is to be done when a process ends, however it ends: by returning, by weft_exit, or because its stack has run over.
 *
 *   cleanup_push, _pop     the process itself
 *   cleanup_run            the process itself, on its own stack or (after an overflow) on another that stands in for it
 *
 *   C1  The list is last in, first out. A cleanup is taken off before it is called, so that one that ends the process by weft_exit
 *       is not called again, and the rest are.
 *   C2  They run shielded: a cancellation does not keep them from waiting.
 *   C3  They run when a runtime that stops ends a process by force (fiber_heed). They do not run when it takes down processes that would not end
 *       even so. */
#ifndef WEFT_FIBER_CLEANUP_H
#define WEFT_FIBER_CLEANUP_H

#include "sched/parts.h"

#include <stdbool.h>
#include <stdint.h>

struct fiber;
struct proc;

struct cleanup {
    struct cleanup *next;
    void (*run)(void *arg);
    void *arg;
    const char *pair; /* not NULL: it lies in a frame of the process's, and this call must come before that returns */
};

void cleanup_push(struct proc *proc, struct cleanup *cleanup);
/* `cleanup` is the newest. */
void cleanup_pop(struct proc *proc, struct cleanup *cleanup);

/* Wherever it is in the list, if it is there: its frame is being left by an exception, and what was deferred later stays. */
void cleanup_remove(struct proc *proc, struct cleanup *cleanup);
/* Frames between the two addresses are being left because the process ends: calls those that lie there, and with them all that are newer. */
void cleanup_run_within(struct proc *proc, uintptr_t low, uintptr_t high);

/* Calls all of the calling process's; it may go on on another worker afterwards. `returned`: its frames are gone. */
void cleanup_run(struct proc *proc, bool returned);

void guard_begin(struct guard *guard, struct proc *proc, void (*undo)(void *arg), void *arg);
void guard_end(struct guard *guard, struct proc *proc);

#endif
