/* Cancelling a process that waits in a call of the operating system, on its thread: it is told to give the call up.
 *
 *     the process                                  the canceller
 *     1  interrupt_begin: into the list            1  state_cancel: CANCEL set
 *     2  INTERRUPTIBLE set. CANCEL? then not       2  interrupt_cancelled: INTERRUPTIBLE? then under the lock:
 *     3  the call                                     the process's entry in the list is poked
 *     4  interrupt_end: out of the list
 *
 *   I1  Both marks are in one word and set by read-modify-writes: one of the two sees the other's.
 *   I2  Poking and leaving the list are under the same lock: after interrupt_end no thread is about to poke.
 *   I3  The block may have another process by now: one that was not cancelled is not poked. Its CANCEL was cleared before it came to the
 *       list. */
#ifndef WEFT_LIFE_INTERRUPT_H
#define WEFT_LIFE_INTERRUPT_H

#include "sched/sched.h"

/* Embedded in whatever waits. */
struct interrupt {
    struct interrupt *next, *prev;
    struct proc *proc;
    /* Makes the call return, now or as soon as it is made. Under the lock, on any thread: short, must not fail. */
    void (*poke)(struct interrupt *interrupt);
};

/* By the process itself. False: it was cancelled already, and is not in the list. */
bool interrupt_begin(struct runtime *runtime, struct proc *proc, struct interrupt *interrupt);
void interrupt_end(struct runtime *runtime, struct interrupt *interrupt);

void interrupt_poke(struct runtime *runtime, struct proc *proc);
/* By the thread that has just cancelled the process: if the process waits in a call, it is told to give it up. */
static inline void interrupt_cancelled(struct runtime *runtime, struct proc *proc) {
    if (__builtin_expect(state_is_interruptible(&proc->state), 0)) interrupt_poke(runtime, proc);
}

#endif
