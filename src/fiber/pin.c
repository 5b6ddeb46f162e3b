/* Pinning a process to its worker and thread.
 *
 * A pinned process has its worker's number in its state word (state.h, S7): a waker puts it into that worker's pinned queue and wakes that
 * worker; only that worker's thread takes it from there. A worker with pinned processes does not leave: the thread that lowers the number
 * of workers must close the worker for new pinned processes first, and cannot while there are any. */
#include "fiber/fiber.h"
#include "thread/worker.h"

#include <weft/stack.h>

enum { PIN_MOST = 0xffff };

void weft_pin_begin(void) {
    struct worker *worker = fiber_caller("weft_pin_begin");
    struct proc *proc = worker->current;
    struct fiber *fiber = fiber_of(proc);
    if (fiber->pins == PIN_MOST) WEFT_REFUSE("weft_pin_begin", "nested 65,535 times", "pair it with weft_pin_end");
    if (fiber->pins++ > 0) return;
    while (!worker_pin(worker)) /* this worker is to leave: go on at another one */
        worker = fiber_leave(worker, WEFT_STEP_CONTINUE);
    state_pin(&proc->state, worker->index + 1);
    proc->extras |= PROC_PINNED;
}

void pin_drop(struct worker *worker, struct proc *proc) {
    proc->extras &= (uint8_t)~PROC_PINNED;
    state_unpin(&proc->state);
    worker_unpin(worker);
}

void weft_pin_end(void) {
    struct worker *worker = fiber_worker("weft_pin_end");
    struct fiber *fiber = fiber_of(worker->current);
    if (fiber->pins == 0) WEFT_REFUSE("weft_pin_end", "there was no weft_pin_begin", "pair them");
    if (--fiber->pins == 0) pin_drop(worker, worker->current);
}
