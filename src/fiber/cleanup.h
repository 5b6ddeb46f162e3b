/* Cleanups: functions to be called when a process ends, whether by returning, by weft_exit, or because of a fault or a stack overflow.
 *
 *   cleanup_push, _pop     the process itself
 *   cleanup_run            the process itself, on its own stack or, after a fault, on an altstack
 *
 *   C1  The list is last in, first out. A cleanup is taken off before it is called: if it ends the process by weft_exit, it is not
 *       called again, and the remaining cleanups are.
 *   C2  Cleanups run shielded: a cancelled process can still wait in them.
 *   C3  Cleanups run when a stopping runtime ends a process by force (fiber_heed). They do not run for a process that does not end even
 *       then and is taken down with the runtime. */
#ifndef WEFT_FIBER_CLEANUP_H
#define WEFT_FIBER_CLEANUP_H

#include "sched/parts.h"

#include <stdbool.h>
#include <stdint.h>

struct fiber;
struct proc;
struct worker;

struct cleanup {
    struct cleanup *next;
    void (*run)(void *arg);
    void *arg;
    const char *pair; /* not NULL: it lies in a frame of the process, which must make this call before the frame returns */
};

void cleanup_push(struct proc *proc, struct cleanup *cleanup);
/* `cleanup` is the newest. */
void cleanup_pop(struct proc *proc, struct cleanup *cleanup);

/* Removes it from any place in the list, if it is there: an exception leaves its frame. Newer cleanups stay. */
void cleanup_remove(struct proc *proc, struct cleanup *cleanup);
/* The process ends and leaves the frames between the two addresses: calls the cleanups that lie there, and all newer ones. */
void cleanup_run_within(struct proc *proc, uintptr_t low, uintptr_t high);

/* Calls all cleanups of the calling process, which may be on another worker afterwards. `returned`: its entry function has returned. */
void cleanup_run(struct proc *proc, bool returned);

/* Takes the cleanup off and calls it now, as if the process ended with this code: nothing interrupts it, a kill neither. */
void cleanup_call(struct proc *proc, struct cleanup *cleanup, int code);
/* In a cleanup: the reason with which the process ends. */
int cleanup_reason(struct worker *worker);

void guard_begin(struct guard *guard, struct proc *proc, void (*undo)(void *arg), void *arg);
void guard_end(struct guard *guard, struct proc *proc);

#endif
