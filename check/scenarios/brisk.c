/* A brisk worker, whose short queue is left alone (sched/brisk.h): when it is brisk no more, what waits there is run by a worker that sleeps. As in find.c a worker takes one
 * process and is busy with it for ever. */
#include "sleepers.h"

#include "step/step.h"
#include "thread/oscall.h"

/* ---- setup -------------------------------------------------------------------------------------------------------- */

/* Two processes; worker 0 is brisk. */
static void two_workers(void) {
    small_begin(POLICY_RING, 2, 4);
    sleepers_begin(2);
    small_brisk(0);
}

/* Both are queued at worker 0. */
static void two_queued(void) {
    two_workers();
    for (unsigned i = 0; i < 2; i++) {
        struct proc *proc = small_proc(pid[i]);
        ready(small, small_worker(0), proc, state_wake(&proc->state).ticket, READY_YIELDED);
    }
}

/* And worker 1 sleeps. */
static void asleep(void) {
    two_workers();
    idle_enter(&small->idle, 1, false);
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static void make_ready(struct worker *worker, unsigned i) {
    struct proc *proc = small_proc(pid[i]);
    ready(small, worker, proc, state_wake(&proc->state).ticket, READY_YIELDED);
}
static void queues_two_and_works(void) {
    struct worker *worker = small_play(0);
    make_ready(worker, 0);
    make_ready(worker, 1);
    step_run(worker, find_work(worker));
}
static void works_as_first(void) {
    struct worker *worker = small_play(0);
    step_run(worker, find_work(worker));
}
static void looks_as_second(void) {
    struct worker *worker = small_play(1);
    step_run(worker, find_work(worker));
}
static void wakes_as_second(void) {
    struct worker *worker = small_play(1);
    parker_park(&worker->parker, SYS_FOREVER);
    worker->searching = true;
    step_run(worker, find_work(worker));
}
static void not_brisk(void) { ready_not_brisk(small_worker(0)); }

static void all_ran(void) {
    for (unsigned i = 0; i < 2; i++)
        chk_assert(runs[i] == 1, "each has run once");
    chk_assert(idle_searchers(&small->idle) == 0 && idle_sleepers(&small->idle) == 0, "no worker is counted that is not there");
    small_end();
}

SCENARIO(brisk_push, .about = "a brisk worker queues two processes and runs one || it is brisk no more || another sleeps", .setup = asleep,
         .threads = {queues_two_and_works, not_brisk, wakes_as_second}, .finish = all_ran)
SCENARIO(brisk_sleep, .about = "two processes at a brisk worker, which runs one || it is brisk no more || another looks and goes to sleep",
         .setup = two_queued, .threads = {works_as_first, not_brisk, looks_as_second}, .finish = all_ran)

/* It enters a call and does not come back: the process that is queued there is for the other worker. */
static void one_queued(void) {
    two_workers();
    make_ready(small_worker(0), 0);
}
static void enters_call(void) { oscall_enter(small_play(0)); }
static void first_ran(void) {
    chk_assert(runs[0] == 1, "it has run");
    small_end();
}
SCENARIO(brisk_call, .about = "a brisk worker with a process enters a call || another looks and goes to sleep", .setup = one_queued,
         .threads = {enters_call, looks_as_second}, .finish = first_ran)

/* ---- broken twins ------------------------------------------------------------------------------------------------- */

static void looks_first(void) {
    bool empty = policy_is_empty(small_worker(0));
    atom_store_rlx(&small_worker(0)->brisk, false);
    sys_fence_heavy();
    if (!empty) ready_wake(small, NULL);
}
SCENARIO(brisk_twin_looks_first, .about = "broken: the queue is looked at before the worker is brisk no more", .setup = asleep,
         .threads = {queues_two_and_works, looks_first, wakes_as_second}, .finish = all_ran, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

static void says_nothing(void) { atom_store_rlx(&small_worker(0)->brisk, false); }
SCENARIO(brisk_twin_silent, .about = "broken: no worker is woken for what is queued", .setup = two_queued,
         .threads = {works_as_first, says_nothing, looks_as_second}, .finish = all_ran, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

static void enters_call_briskly(void) {
    struct worker *worker = small_play(0);
    if (!policy_is_empty(worker)) ready_wake(small, worker);
}
SCENARIO(brisk_twin_call, .about = "broken: a worker that enters a call is still brisk", .setup = one_queued,
         .threads = {enters_call_briskly, looks_as_second}, .finish = first_ran, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
