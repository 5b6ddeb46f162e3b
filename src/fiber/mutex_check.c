/* Debugging aid: counts the C library's mutexes that a process holds. A process that waits, yields or ends with one aborts, by name.
 *
 * Not every leave checks the count, which would cost every process. Instead the process that locks makes its next leave go through the
 * worker's loop, where the count is checked (mutex_check): it marks its worker's tick and hand-offs as used up (sched/fair.h). */
#include "fiber/held_locks.h"
#include "fiber/snapshot.h"

#include <stdio.h>
#include <weft/stack.h>

static struct worker *hold_worker(void) {
    struct worker *worker = worker_here();
    return worker && worker->current && worker->current->stackful ? worker : NULL;
}

/* The worker of a step process that runs, or NULL: what it holds is counted for containment, and not checked. */
static struct worker *hold_step(void) {
    struct worker *worker = worker_here();
    return worker && worker->current && !worker->current->stackful ? worker : NULL;
}

static void mutex_check_taken(pthread_mutex_t *mutex, const void *place) {
    struct worker *worker = hold_worker(), *step = hold_step();
    if (step) held_lock_step_entered(step, mutex);
    if (!worker) return;
    struct fiber *fiber = fiber_of(worker->current);
    fiber->holds++;
    fiber->held = mutex;
    fiber->held_by = place;
    worker->current->extras |= PROC_HOLDS;
    if (!worker->runtime->check_mutexes) return;
    tick_begin(worker, 1);
    worker->fair.handoffs = HANDOFFS_MAX;
}

int weft_debug_mutex_lock(pthread_mutex_t *mutex) {
    int error = pthread_mutex_lock(mutex);
    if (error == 0) mutex_check_taken(mutex, __builtin_return_address(0));
    return error;
}

int weft_debug_mutex_trylock(pthread_mutex_t *mutex) {
    int error = pthread_mutex_trylock(mutex);
    if (error == 0) mutex_check_taken(mutex, __builtin_return_address(0));
    return error;
}

int weft_debug_mutex_unlock(pthread_mutex_t *mutex) {
    struct worker *worker = hold_worker(), *step = hold_step();
    int error = pthread_mutex_unlock(mutex);
    if (step && !error) held_lock_step_left(step);
    if (!worker || error) return error;
    struct fiber *fiber = fiber_of(worker->current);
    if (fiber->holds == 0)
        WEFT_MISUSE("weft_debug_mutex_unlock", "the process holds none that was locked by weft_debug_mutex_lock", "pair them");
    if (--fiber->holds == 0) worker->current->extras &= (uint8_t)~PROC_HOLDS;
    return 0;
}

void mutex_check_left(struct fiber *fiber, struct proc *proc) {
    char entry[160];
    struct fiber_start *start = fiber_start_of(proc);
    fiber_symbol((const void *)(uintptr_t)start->entry, entry, sizeof entry);
    fprintf(stderr, "weft: process %016lx (%s, %s) has ended and left %u of weft's locks locked, the one it took last is %p\n",
            (unsigned long)proc_pid(proc), fiber_name_text(start), entry, fiber->held_locks, fiber->last_lock);
}

void mutex_check(struct worker *worker, struct fiber *fiber, struct proc *proc) {
    if (fiber->holds == 0 || !worker->runtime->check_mutexes) return;
    char locker[64], text[320];
    struct fiber_start *start = fiber_start_of(proc);
    fiber_symbol(fiber->held_by, locker, sizeof locker);
    snprintf(text, sizeof text, "process %016lx (%s) waits, yields or ends and holds %u mutexes, the last one %p, locked at %s",
             (unsigned long)proc_pid(proc), fiber_name_text(start), fiber->holds, (void *)fiber->held, locker);
    WEFT_MISUSE("weft_debug_mutex_lock", text, "unlock it first, or use a weft_mutex");
}
