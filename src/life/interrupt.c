/* The list of processes that wait in calls of the operating system and can be told to give them up. */
#include "life/interrupt.h"

bool interrupt_begin(struct runtime *runtime, struct proc *proc, struct interrupt *interrupt) {
    interrupt->proc = proc;
    interrupt->prev = NULL;
    lock_take(&runtime->interrupts.lock);
    interrupt->next = runtime->interrupts.first;
    if (interrupt->next) interrupt->next->prev = interrupt;
    runtime->interrupts.first = interrupt;
    lock_drop(&runtime->interrupts.lock);
    if (state_interruptible(&proc->state)) return true;
    interrupt_end(runtime, interrupt);
    return false;
}

void interrupt_end(struct runtime *runtime, struct interrupt *interrupt) {
    state_uninterruptible(&interrupt->proc->state);
    lock_take(&runtime->interrupts.lock);
    if (interrupt->prev) interrupt->prev->next = interrupt->next;
    else runtime->interrupts.first = interrupt->next;
    if (interrupt->next) interrupt->next->prev = interrupt->prev;
    lock_drop(&runtime->interrupts.lock);
}

void interrupt_poke(struct runtime *runtime, struct proc *proc) {
    lock_take(&runtime->interrupts.lock);
    for (struct interrupt *each = runtime->interrupts.first; each; each = each->next)
        if (each->proc == proc && state_is_cancelled(&proc->state)) each->poke(each); /* I3 */
    lock_drop(&runtime->interrupts.lock);
}
