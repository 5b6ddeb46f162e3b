/* Blocking calls of stackful processes: fiber/switch.c knows how one goes on that has lost its worker meanwhile. */
#include "fiber/fiber.h"
#include "sched/call.h"

#include <weft/blocking.h>

static void blocking_enter(bool is_long) {
    struct thread *thread = my_thread;
    struct worker *worker = my_worker;
    if (thread && thread->caller) { /* nested */
        thread->caller->calls++;
        return;
    }
    if (!worker) return; /* not a worker: blocks whom it likes */
    if (!worker->current || !worker->current->stackful)
        WEFT_MISUSE("weft_blocking", "called from a step process, which must not block", "yield a command");
    struct fiber *fiber = fiber_of(worker->current);
    thread->caller = fiber;
    fiber->calls = 1;
    fiber->call_worker = NULL;
    /* Pinned processes are here: the worker must stay with its thread. rlx: they come and go on this very thread. */
    if (atom_load_rlx(&worker->guests) != 0) return;
    fiber->call_worker = worker;
    fiber->call_number = call_enter(worker);
    if (is_long) call_hand_over(worker, fiber->call_number);
}

void weft_blocking_enter(void) { blocking_enter(false); }
void weft_blocking_enter_long(void) { blocking_enter(true); }

void weft_blocking_leave(void) {
    struct thread *thread = my_thread;
    struct fiber *fiber = thread ? thread->caller : NULL;
    if (!fiber) {
        if (my_worker) WEFT_MISUSE("weft_blocking_leave", "there was no weft_blocking_enter", "pair them");
        return;
    }
    if (--fiber->calls > 0) return;
    thread->caller = NULL;
    if (fiber->call_worker && !call_leave(fiber->call_worker, fiber->call_number)) fiber_come_back(thread, fiber);
}

void weft_blocking(void (*fn)(void *arg), void *arg) {
    weft_blocking_enter();
    fn(arg);
    weft_blocking_leave();
}

void weft_blocking_long(void (*fn)(void *arg), void *arg) {
    weft_blocking_enter_long();
    fn(arg);
    weft_blocking_leave();
}
