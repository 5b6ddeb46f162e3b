/* Entering and leaving calls of the operating system that may block, and retaking the worker. `call` is odd while the thread is in one. */
#include "thread/oscall.h"

#include "thread/stopped.h"
#include "thread/sysmon.h"

uint32_t oscall_enter(struct worker *own) {
    uint32_t number = atom_load_rlx(&own->call) + 1; /* rlx: only its own thread makes it odd */
    /* The processes queued here were not worth waking a worker for as long as this worker was about to run them. */
    if (!policy_is_empty(own)) {
        atom_store_rlx(&own->brisk, false); /* rlx: the fence in ready_wake (sched/brisk.h, B3) */
        ready_wake(own->runtime, own);
    }
    stopped_no_alarm(my_thread, own);
    my_worker = NULL;
#if !WEFT_CHECK
    struct runtime *runtime = own->runtime;
    bool timers = timers_next(&own->timers) != SYS_FOREVER;
#endif
    atom_store_rel(&own->call, number); /* rel: pairs with the acq in oscall_seen; all that was done with the worker */
#if !WEFT_CHECK
    /* Meanwhile sysmon has to look after this worker's timers and, if no worker sleeps, after everything. rlx: if it has just begun to
     * nap, it wakes up soon enough. */
    if (__builtin_expect(atom_load_rlx(&runtime->sysmon.drowsy), 0) && (timers || idle_sleepers(&runtime->idle) == 0))
        sysmon_hurry(runtime);
#endif
    return number;
}

bool oscall_leave(struct worker *worker, uint32_t number) {
    struct runtime *runtime = worker->runtime;
    uint32_t expected = number;
    if (atom_cas_rlx_rlx(&worker->call, &expected, number + 1)) { /* rlx: no other thread had it */
        my_worker = worker;
        return true;
    }
    oscall_back(runtime);
    return false;
}

void oscall_back(struct runtime *runtime) { atom_sub_rlx(&runtime->threads.away, 1); } /* rlx: a count */

uint32_t oscall_seen(struct worker *worker) {
    uint32_t number = atom_load_acq(
        &worker->call); /* acq: pairs with the rel in oscall_enter, for oscall_stays and oscall_retake, where the swap decides */
    return number % 2 ? number : 0;
}

bool oscall_stays(struct worker *worker) { return atom_load_rlx(&worker->pinned_count) & ~PINNED_CLOSED; } /* rlx: E4 */

bool oscall_retake(struct worker *worker, uint32_t number) {
    struct threads *threads = &worker->runtime->threads;
    uint32_t expected = number;
    atom_add_rlx(&threads->away, 1); /* before: the thread may come back at once */
    if (atom_cas_rlx_rlx(&worker->call, &expected, number + 1))
        return true; /* rlx: a caller that has the number has seen the call, or is in it */
    atom_sub_rlx(&threads->away, 1);
    return false;
}

bool oscall_hand_over(struct worker *worker, uint32_t number) {
    if (!oscall_retake(worker, number)) return false;
    if (thread_give(worker->runtime, worker) == 0) return true;
    atom_store_rel(&worker->undriven, true); /* rel: pairs with the acq in oscall_drive_again */
    return false;
}

bool oscall_drive_again(struct worker *worker) {
    if (!atom_load_acq(&worker->undriven)) return false; /* acq: pairs with the rel in oscall_hand_over */
    atom_store_rlx(&worker->undriven, false);            /* rlx: the worker is the caller's, until it is given away */
    if (thread_give(worker->runtime, worker) == 0) return true;
    atom_store_rlx(&worker->undriven, true);
    return false;
}
