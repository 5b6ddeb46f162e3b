/* Workers that look for work and go to sleep, with the real find_work: nothing that is ready waits while a worker sleeps that could run
 * it.
 *
 * A worker takes one process and is busy with it for ever, so it ends here; there are as many processes as workers. One that is
 * not found means a worker asleep for ever, which the checker reports. */
#include "sleepers.h"

#include "mail/send.h"
#include "sched/door.h"
#include "step/step.h"

static unsigned processes;

/* ---- setup -------------------------------------------------------------------------------------------------------- */

/* `count` processes, asleep. */
static void set_up(enum policy_name policy, unsigned workers, unsigned count) {
    small_begin(policy, workers, 4);
    sleepers_begin(count);
    processes = count;
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static void works_once(void) {
    struct worker *worker = small_play(chk_self());
    struct proc *proc = find_work(worker);
    step_run(worker, proc);
}
static void sends_0(void) { send_from_outside(0); }

static void all_ran(void) {
    for (unsigned i = 0; i < processes; i++)
        chk_assert(runs[i] == 1, "each has run once");
    chk_assert(idle_searchers(&small->idle) == 0 && idle_sleepers(&small->idle) == 0, "no worker is counted that is not there");
    small_end();
}

/* One worker. */
static void one_line(void) { set_up(POLICY_LINE, 1, 1); }
static void one_ring(void) { set_up(POLICY_RING, 1, 1); }
SCENARIO(find_one, .about = "a worker looks and goes to sleep || a send from outside", .setup = one_ring, .threads = {works_once, sends_0},
         .finish = all_ran)
SCENARIO(find_one_line, .about = "the same, policy line", .setup = one_line, .threads = {works_once, sends_0}, .finish = all_ran)

/* Two are in the global queue: the worker that comes first may take both, and the other may have looked just then. */
static void two_global(enum policy_name policy) {
    set_up(policy, 2, 2);
    send_from_outside(0);
    send_from_outside(1);
}
static void two_global_ring(void) { two_global(POLICY_RING); }
static void two_global_line(void) { two_global(POLICY_LINE); }
static void two_global_deque(void) { two_global(POLICY_DEQUE); }
SCENARIO(find_batch, .about = "two workers look, two processes are in the global queue", .setup = two_global_ring,
         .threads = {works_once, works_once}, .finish = all_ran)
SCENARIO(find_batch_line, .about = "the same, policy line", .setup = two_global_line, .threads = {works_once, works_once},
         .finish = all_ran)
SCENARIO(find_batch_deque, .about = "the same, policy deque", .setup = two_global_deque, .threads = {works_once, works_once},
         .finish = all_ran)

static void two_ring(void) { set_up(POLICY_RING, 2, 2); }

/* A worker makes two processes ready, in its own queue, and goes on with one of them; the other is for a worker that sleeps. */
static void send_inside(struct worker *worker, unsigned i) {
    chk_assert(send_message(&worker->local, worker, pid[i], &letters[i]) == 0, "it lives");
}
static void sends_two_and_works(void) {
    struct worker *worker = small_play(0);
    send_inside(worker, 0);
    send_inside(worker, 1);
    step_run(worker, find_work(worker));
}
SCENARIO(find_own, .about = "a worker makes two processes ready and runs one || another goes to sleep", .setup = two_ring,
         .threads = {sends_two_and_works, works_once}, .finish = all_ran)

/* A worker makes one ready and stays busy. (With the ring it would be in the slot, which is for the worker itself.) */
static void one_of_two_line(void) { set_up(POLICY_LINE, 2, 1); }
static void one_of_two_deque(void) { set_up(POLICY_DEQUE, 2, 1); }
static void works_as_second(void) {
    struct worker *worker = small_play(1);
    step_run(worker, find_work(worker));
}
static void sends_and_is_busy(void) { send_inside(small_play(0), 0); }
SCENARIO(find_own_line, .about = "a worker makes a process ready and is busy || another goes to sleep, policy line",
         .setup = one_of_two_line, .threads = {works_as_second, sends_and_is_busy}, .finish = all_ran)
SCENARIO(find_own_deque, .about = "the same, policy deque: by the global queue", .setup = one_of_two_deque,
         .threads = {works_as_second, sends_and_is_busy}, .finish = all_ran)

/* A searcher takes both from the global queue and keeps one: its own work, which it must announce. */
static void two_global_searcher(enum policy_name policy) {
    two_global(policy);
    chk_assert(idle_search(&small->idle), "worker 0 searches");
    small_worker(0)->searching = true;
}
static void two_global_searcher_ring(void) { two_global_searcher(POLICY_RING); }
static void two_global_searcher_deque(void) { two_global_searcher(POLICY_DEQUE); }
SCENARIO(find_batch_search, .about = "as find_batch, one of them searching", .setup = two_global_searcher_ring,
         .threads = {works_once, works_once}, .finish = all_ran)
SCENARIO(find_batch_search_deque, .about = "the same, policy deque", .setup = two_global_searcher_deque,
         .threads = {works_once, works_once}, .finish = all_ran)

/* Three in one worker's queue. A thief takes two; the one that it keeps is in no queue for a moment. */
static void three_queued(void) {
    set_up(POLICY_RING, 3, 3);
    for (unsigned i = 0; i < 3; i++) {
        struct proc *proc = small_proc(pid[i]);
        ready(small, small_worker(0), proc, state_wake(&proc->state).ticket, READY_YIELDED);
    }
}
SCENARIO(find_steal, .about = "three processes in one worker's queue, three workers look (C11: too many)", .setup = three_queued,
         .threads = {works_once, works_once, works_once}, .finish = all_ran, .models = CHK_SC | CHK_TSO, .deep_in = CHK_ALL)

/* ---- timers at a busy worker ------------------------------------------------------------------------------------------ */

/* Two timers fire at a worker that looks round. It runs one of their processes; the other is for a worker that searches, or is woken for it. */
static void two_fire(struct worker *worker) {
    worker->fair.firing = true;
    send_inside(worker, 0);
    send_inside(worker, 1);
    worker->fair.firing = false;
}
static void fires_and_works(void) {
    struct worker *worker = small_play(0);
    two_fire(worker);
    struct proc *proc = policy_pop_due(worker);
    find_tell_of_due(worker);
    step_run(worker, proc ? proc : find_work(worker)); /* NULL: a thief was faster */
}
static void two_line(void) { set_up(POLICY_LINE, 2, 2); }
static void two_deque(void) { set_up(POLICY_DEQUE, 2, 2); }
SCENARIO(find_due, .about = "two timers fire at a worker that runs one's process || another goes to sleep", .setup = two_ring,
         .threads = {fires_and_works, works_once}, .finish = all_ran)
SCENARIO(find_due_line, .about = "the same, policy line", .setup = two_line, .threads = {fires_and_works, works_once}, .finish = all_ran)
SCENARIO(find_due_deque, .about = "the same, policy deque", .setup = two_deque, .threads = {fires_and_works, works_once}, .finish = all_ran)

static void fires_silently(void) {
    struct worker *worker = small_play(0);
    two_fire(worker);
    struct proc *proc = policy_pop_due(worker);
    step_run(worker, proc ? proc : find_work(worker));
}
SCENARIO(find_twin_due_silent, .about = "the same, but it tells no other worker", .setup = two_ring,
         .threads = {fires_silently, works_once}, .finish = all_ran, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
