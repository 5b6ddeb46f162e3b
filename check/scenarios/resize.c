/* The number of workers changes while work comes: what is ready is run, and no worker is counted that has left.
 *
 * The real workers_set, worker_main and find_work; threads of the scenario stand by for those that the runtime starts. Where processes are
 * `last one out`, the last that runs sends every worker away, so one that is never run shows as a worker that waits for
 * ever. Elsewhere a worker takes one process and is busy with it for ever, so it ends here (as in find.c).
 *
 * The broken twins use the real parts, put together wrongly. */
#include "small_poll.h"

#include "mail/send.h"
#include "sched/door.h"
#include "sched/timer_event.h"
#include "step/step.h"
#include "thread/thread.h"
#include "thread/worker.h"

static weft_pid pid;
SHARED struct message letter;
static atom_u32 runs;
static unsigned processes, workers;

static int last_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    atom_add_rlx(&runs, 1);
    for (unsigned i = 0; i < workers; i++)
        worker_dismiss(small, small_worker(i));
    return 0;
}
static const weft_behavior last_one_out = {.name = "last one out", .step = last_step};

static int count_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    atom_add_rlx(&runs, 1);
    return 0;
}
static const weft_behavior counts = {.name = "counts", .step = count_step};

/* ---- setup -------------------------------------------------------------------------------------------------------- */

/* A process, asleep, unless there is to be none. */
static void set_up(enum policy_name policy, unsigned crew, const weft_behavior *behavior) {
    small_begin(policy, crew, 4);
    atom_store_rlx(&runs, 0);
    chk_name(&runs, "runs");
    processes = behavior != NULL;
    workers = crew;
    for (unsigned i = 0; i < crew; i++)
        small_has_begun(i);
    if (!behavior) return;
    pid = small_spawn(behavior);
    struct proc *proc = policy_pop(small_worker(0));
    chk_assert(proc == small_proc(pid), "claimed");
    state_park(&proc->state, STATE_IDLE);
    small_message(&letter, 0);
}
static void falls_asleep(unsigned index) { idle_enter(&small->idle, index, false); }

static void ran(void) {
    chk_assert(atom_load_rlx(&runs) == processes, "each has run once");
    small_end();
}
static void all_ran(void) {
    chk_assert(idle_searchers(&small->idle) == 0 && idle_sleepers(&small->idle) == 0, "no worker is counted that is not there");
    ran();
}
/* Worker 0 has slept all the time, or was woken and has not looked yet. */
static void ran_or_told(void) {
    chk_assert(idle_sleepers(&small->idle) == 0, "a sleeper is told of what is left, and that it is over otherwise");
    struct worker *worker = small_play(0);
    parker_park(&worker->parker, SYS_FOREVER);
    worker->searching = true;
    worker_main(worker);
    all_ran();
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

/* A worker's thread, until it is sent away. */
static void work(struct worker *worker) {
    worker_main(worker);
    small_has_ended(worker);
}
static void works_1(void) { work(small_wait_to_begin(1)); }
/* The same, asleep already. */
static void wakes_up(struct worker *worker) {
    parker_park(&worker->parker, SYS_FOREVER);
    worker->searching = true;
}
static void wakes_up_and_works(unsigned index) {
    struct worker *worker = small_wait_to_begin(index);
    wakes_up(worker);
    work(worker);
}
static void sleeps_0(void) { wakes_up_and_works(0); }
static void sleeps_1(void) { wakes_up_and_works(1); }
/* Takes one process and is busy with it for ever. */
static void work_once(unsigned index) {
    struct worker *worker = small_wait_to_begin(index);
    step_run(worker, find_work(worker));
}
static void works_once_1(void) { work_once(1); }
static void works_once_2(void) { work_once(2); }

static void sends(void) {
    unsigned door;
    struct local *local = door_enter(small->instance, &door);
    chk_assert(send_message(local, NULL, pid, &letter) == 0, "it lives");
    door_leave(small->instance, door);
}

static void resize(unsigned count) {
    int error = workers_set(small, count);
    chk_assert(error == 0, "that many can be had");
}
static void to_one(void) { resize(1); }
static void to_two(void) { resize(2); }
static void to_three(void) { resize(3); }
static void to_two_and_one(void) {
    resize(2);
    resize(1);
}

/* ---- one worker less ------------------------------------------------------------------------------------------------ */

static void two_and_nothing(void) { set_up(POLICY_RING, 2, NULL); }
SCENARIO(resize_down_idle, .about = "a worker looks for work and goes to sleep || it is sent away", .setup = two_and_nothing,
         .threads = {to_one, works_1}, .finish = all_ran)

/* Another arms a timer beside a worker that leaves: it is not left behind there. */
enum { LATER = 9 };
static struct timer_event later;
static void rings(struct local *local, struct worker *self, struct timer_event *own) { (void)local, (void)self, (void)own; }
static void two_and_an_alarm(void) {
    two_and_nothing();
    timer_event_init(&later, rings);
    atom_store_rlx(&small_worker(1)->leave, true); /* it has been sent away, and does not sleep until the timer is due */
}
static void arms_at_1(void) { timer_event_arm_at(small, NULL, small_worker(1), &later, LATER); }
static void not_left_behind(void) {
    chk_assert(timers_next(&small_worker(1)->timers) == SYS_FOREVER, "a worker without a thread has no timers");
    chk_assert(timers_next(&small_worker(0)->timers) == LATER, "the first has them");
    chk_assert(timer_event_cancel(&later), "it has not rung");
    all_ran();
}
SCENARIO(resize_down_timer, .about = "a worker is sent away || a timer is armed there from outside", .setup = two_and_an_alarm,
         .threads = {works_1, arms_at_1}, .finish = not_left_behind)
static void arms_and_forgets(void) { timers_arm(&small_worker(1)->timers, &later.timer, LATER); }
SCENARIO(resize_twin_timer, .about = "the same, but the thread that arms it does not look whether the worker has left",
         .setup = two_and_an_alarm, .threads = {works_1, arms_and_forgets}, .finish = not_left_behind, .flawed_in = CHK_ALL,
         .flaw = CHK_ASSERT)

static void two_asleep(enum policy_name policy) {
    set_up(policy, 2, &last_one_out);
    falls_asleep(0);
}
static void two_asleep_ring(void) { two_asleep(POLICY_RING); }
static void two_asleep_deque(void) { two_asleep(POLICY_DEQUE); }
SCENARIO(resize_down, .about = "a worker looks for work and is sent away || another sleeps || a process is woken from outside",
         .setup = two_asleep_ring, .threads = {to_one, works_1, sends}, .finish = ran_or_told, .models = CHK_SC | CHK_TSO,
         .deep_in = CHK_ALL)
/* In C11 that one has millions of executions; this one goes the same ways but for the queue. */
SCENARIO(resize_down_deque, .about = "the same, policy deque", .setup = two_asleep_deque, .threads = {to_one, works_1, sends},
         .finish = ran_or_told, .deep_in = CHK_C11)

static void both_asleep(void) {
    set_up(POLICY_RING, 2, &last_one_out);
    falls_asleep(0);
    falls_asleep(1);
}
SCENARIO(resize_down_asleep, .about = "two sleep || one is sent away || a process is woken from outside", .setup = both_asleep,
         .threads = {to_one, sleeps_1, sends}, .finish = ran_or_told)

/* The process is in the slot of a worker that will look at its orders before it comes to it. No worker was woken for it. */
static void slot_set_up(void) {
    two_asleep(POLICY_RING);
    struct worker *worker = small_play(1);
    tick_begin(worker, 1);
    chk_assert(send_message(&worker->local, worker, pid, &letter) == 0, "it lives");
    chk_assert(idle_sleepers(&small->idle) == 1, "alone in the slot it wakes no worker");
}
SCENARIO(resize_down_slot, .about = "a worker is sent away with a process in its slot || another sleeps", .setup = slot_set_up,
         .threads = {to_one, works_1, sleeps_0}, .finish = all_ran, .deep_in = CHK_SC | CHK_TSO)

/* The one that a submission wakes is sent away: it passes on what it was woken for. */
static void dismiss_0(void) { worker_dismiss(small, small_worker(0)); }
static void both_asleep_tick(void) {
    both_asleep();
    tick_begin(small_worker(0), 1);
}
SCENARIO(resize_down_searching, .about = "two sleep || a submission wakes the first || that one is sent away", .setup = both_asleep_tick,
         .threads = {sleeps_0, sleeps_1, dismiss_0, sends}, .finish = all_ran, .models = CHK_SC, .deep_in = CHK_ALL)
/* In C11 that one has millions of executions; this one goes fewer ways: the submission finds the first on its way out. */
static void dismisses_0_then_sends(void) {
    dismiss_0();
    sends();
}
SCENARIO(resize_down_then_woken, .about = "two sleep || the first is sent away, then a submission comes", .setup = both_asleep_tick,
         .threads = {sleeps_0, sleeps_1, dismisses_0_then_sends}, .finish = all_ran, .deep_in = CHK_C11)

/* The one that sleeps in the poll is sent away: another has to listen there from then on (sched/netpoll.h, B3). */
static void wakes_it(void) {
    struct worker *self = my_worker;
    chk_assert(send_message(self ? &self->local : &small->doors[0], self, pid, &letter) == 0, "it lives");
}
static void one_polls(void) {
    two_asleep(POLICY_RING);
    small_poll(wakes_it);
    chk_assert(netpoll_join(small, small_worker(0)) == 0, "a descriptor");
}
SCENARIO(resize_down_poll, .about = "a worker goes to sleep in the poll and is sent away || another sleeps || a descriptor becomes ready",
         .setup = one_polls, .threads = {to_one, works_1, small_poll_event}, .finish = ran_or_told)

/* ---- one worker more ------------------------------------------------------------------------------------------------ */

/* The processes that are there are busy for ever. */
static void one_busy(enum policy_name policy) { set_up(policy, 1, &counts); }
static void one_busy_ring(void) { one_busy(POLICY_RING); }
static void one_busy_deque(void) { one_busy(POLICY_DEQUE); }
static void one_busy_line(void) { one_busy(POLICY_LINE); }
static void two_busy(void) { set_up(POLICY_RING, 2, &counts); }
SCENARIO(resize_up, .about = "a worker is added, looks for work, goes to sleep || a process is woken from outside", .setup = one_busy_ring,
         .threads = {to_two, works_once_1, sends}, .finish = all_ran)
SCENARIO(resize_up_deque, .about = "the same, policy deque", .setup = one_busy_deque, .threads = {to_two, works_once_1, sends},
         .finish = all_ran)
SCENARIO(resize_up_line, .about = "the same, policy line", .setup = one_busy_line, .threads = {to_two, works_once_1, sends},
         .finish = all_ran)
SCENARIO(resize_up_word, .about = "the same, the new worker's bit is in another word", .setup = two_busy,
         .threads = {to_three, works_once_2, sends}, .finish = all_ran)

/* What the busy one has in its queue is for the new one to find. */
static void one_queued(void) {
    set_up(POLICY_RING, 1, &counts);
    ready(small, small_worker(0), small_proc(pid), state_wake(&small_proc(pid)->state).ticket, READY_YIELDED);
}
SCENARIO(resize_up_steal, .about = "a worker is added and finds what lies in another's queue", .setup = one_queued,
         .threads = {to_two, works_once_1}, .finish = all_ran)

static void one_asleep(void) {
    set_up(POLICY_DEQUE, 1, &last_one_out); /* the policy with the fewest executions */
    falls_asleep(0);
    chk_assert(worker_new(small, 1) != NULL, "made before");
    workers = 2;
}
SCENARIO(resize_up_down, .about = "a worker is added and sent away || another sleeps || a process is woken from outside",
         .setup = one_asleep, .threads = {to_two_and_one, works_1, sends}, .finish = ran_or_told, .deep_in = CHK_ALL)

/* Two change the number at once, the second perhaps for sysmon: no place gets two threads. */
static void one_and_nothing(void) {
    set_up(POLICY_RING, 1, NULL);
    small->extra_most = 1;
}
static void one_more_for_a_hog(void) { workers_compensate(small, 1); }
static void one_thread_each(void) {
    chk_assert(atom_load_rlx(&small->wanted) == 2, "that many are wanted");
    chk_assert(small_given(1) == 1 && small_given(2) == atom_load_rlx(&small->extra), "one thread for each");
    small_end();
}
SCENARIO(resize_up_twice, .about = "a worker is added || by two at once", .setup = one_and_nothing, .threads = {to_two, to_two},
         .finish = one_thread_each)
SCENARIO(resize_up_extra, .about = "a worker is added || an extra one too", .setup = one_and_nothing,
         .threads = {to_two, one_more_for_a_hog}, .finish = one_thread_each)

/* ---- broken twins ------------------------------------------------------------------------------------------------------ */

/* worker_main, but that no worker is told of what it leaves behind. */
static void work_and_leave_quietly(struct worker *worker) {
    for (struct proc *proc; (proc = find_work(worker)) != NULL;)
        step_run(worker, proc);
    if (!worker->searching) return;
    worker->searching = false;
    int next = idle_found(&small->idle);
    if (next != IDLE_NOBODY) parker_unpark(&small_worker(next)->parker);
}

static void dismiss_1(void) { worker_dismiss(small, small_worker(1)); }
static void leaves_quietly_1(void) { work_and_leave_quietly(small_wait_to_begin(1)); }
SCENARIO(resize_twin_no_rouse, .about = "as resize_down_slot, but no worker is told of what the worker leaves behind", .setup = slot_set_up,
         .threads = {dismiss_1, leaves_quietly_1, sleeps_0}, .finish = all_ran, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

SCENARIO(resize_twin_poll, .about = "as resize_down_poll, but it leaves the poll and tells no worker", .setup = one_polls,
         .threads = {dismiss_1, leaves_quietly_1, sleeps_0, small_poll_event}, .finish = all_ran, .flawed_in = CHK_ALL,
         .flaw = CHK_LOST_WAKEUP)

/* It fills its slot, then looks at its orders. */
static struct worker *fill_the_slot(void) {
    struct worker *worker = small_wait_to_begin(1);
    tick_begin(worker, 1);
    chk_assert(send_message(&worker->local, worker, pid, &letter) == 0, "it lives");
    return worker;
}
static void fills_its_slot(void) { work(fill_the_slot()); }
static void fills_its_slot_and_leaves_quietly(void) { work_and_leave_quietly(fill_the_slot()); }
static void rouses_before_it_has_left(void) {
    worker_dismiss(small, small_worker(1));
    ready_wake(small, NULL);
}
SCENARIO(resize_twin_rouse, .about = "a worker fills its slot and is sent away || another sleeps", .setup = two_asleep_ring,
         .threads = {dismiss_1, fills_its_slot, sleeps_0}, .finish = all_ran)
SCENARIO(resize_twin_early_rouse, .about = "the same, but others are told before the worker has gone", .setup = two_asleep_ring,
         .threads = {rouses_before_it_has_left, fills_its_slot_and_leaves_quietly, sleeps_0}, .finish = all_ran, .flawed_in = CHK_ALL,
         .flaw = CHK_LOST_WAKEUP)

/* worker_main without its last words. */
static void leaves_silently(void) {
    struct worker *worker = small_wait_to_begin(0);
    wakes_up(worker);
    for (struct proc *proc; (proc = find_work(worker)) != NULL;)
        step_run(worker, proc);
}
SCENARIO(resize_twin_silent_searcher, .about = "as resize_down_searching, but it leaves and is still counted as searching",
         .setup = both_asleep_tick, .threads = {leaves_silently, sleeps_1, dismiss_0, sends}, .finish = ran, .flawed_in = CHK_ALL,
         .flaw = CHK_LOST_WAKEUP)

static void dismisses_without_waking(void) { atom_store_rel(&small_worker(1)->leave, true); }
SCENARIO(resize_twin_not_woken, .about = "as resize_down_idle, but a worker that sleeps is not woken to leave", .setup = two_and_nothing,
         .threads = {dismisses_without_waking, works_1}, .finish = all_ran, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

static void wakes_before_it_says_why(void) {
    if (idle_wake_one(&small->idle, 1)) parker_unpark(&small_worker(1)->parker);
    atom_store_rel(&small_worker(1)->leave, true);
}
SCENARIO(resize_twin_woken_first, .about = "the same, it is woken before it is told why", .setup = two_and_nothing,
         .threads = {wakes_before_it_says_why, works_1}, .finish = all_ran, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

static void starts_before_it_counts(void) {
    struct worker *worker = worker_new(small, 2);
    thread_give(small, worker);
    idle_resize(&small->idle, 3);
}
SCENARIO(resize_twin_late_word, .about = "as resize_up_word, but the new worker may sleep before any thread looks at its word",
         .setup = two_busy, .threads = {starts_before_it_counts, works_once_2, sends}, .finish = all_ran, .flawed_in = CHK_ALL,
         .flaw = CHK_LOST_WAKEUP)
