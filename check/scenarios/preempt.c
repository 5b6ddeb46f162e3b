/* A process is stopped with its thread, its worker goes on with another one, and a worker resumes it: on that thread, with whatever worker.
 *
 * The real thread/stopped.c, from the moment that the handler has decided; what decides, and the signal, is preempt/preempt.c. The broken
 * twins use the real parts, put together wrongly. */
#include "stopped.h"

#include "step/step.h"
#include "thread/worker.h"

/* And the second worker sleeps. */
static void set_up_asleep(void) {
    set_up();
    idle_enter(&small->idle, 1, false);
}

/* As preempt_stop in preempt/preempt.c. */
static void is_stopped(void) {
    struct worker *worker = small_play(0);
    drive(worker);
    own++;
    sleeper.stopped = proc;
    chk_assert(stopped_list(&sleeper), "there is room");
    *keeper(proc) = &sleeper;
    goes_on(stopped_sleep(worker, &sleeper, &heir));
}

/* And has another process to run, for ever. */
static void takes_over(void) {
    struct worker *worker = wakes_up();
    stopped_took(worker, 2);
    drive(worker);
}
static void takes_over_and_resumes(void) {
    struct worker *worker = wakes_up();
    stopped_took(worker, 2);
    resumes_with(worker);
}

static void resumes(void) { resumes_with(small_play(1)); }
/* A hand-off: it wants this very process. */
static void hands_over(void) {
    struct worker *worker = small_play(1);
    if (policy_wake_to_run(small, proc).verdict != STATE_RUN) return;
    drive(worker);
    stopped_hand_back(worker, *keeper(proc));
}
/* By the real find_work. */
static void works(struct worker *worker) {
    struct proc *next = find_work(worker);
    chk_assert(next == proc, "nothing else is there");
    drive(worker);
    chk_assert(!step_run(worker, next), "the worker is given away");
}
static void looks_round(void) { works(small_play(1)); }
static struct worker *is_woken(void) {
    struct worker *worker = small_play(1);
    parker_park(&worker->parker, SYS_FOREVER);
    worker->searching = true;
    return worker;
}
static void sleeps(void) { works(is_woken()); }

/* ---- what holds --------------------------------------------------------------------------------------------------- */

SCENARIO(preempt_two_resume, .about = "a process is stopped || its worker's next thread resumes it || another worker does", .setup = set_up,
         .threads = {is_stopped, takes_over_and_resumes, resumes}, .finish = went_on, .deep_in = CHK_C11)
SCENARIO(preempt_handoff, .about = "a process is stopped || its worker's next thread resumes it || it is handed over to", .setup = set_up,
         .threads = {is_stopped, takes_over_and_resumes, hands_over}, .finish = went_on)
SCENARIO(preempt_sleeper, .about = "a process is stopped || its worker has others to run || a worker that sleeps is woken for it",
         .setup = set_up_asleep, .threads = {is_stopped, takes_over, sleeps}, .finish = went_on)
SCENARIO(preempt_falls_asleep, .about = "the same || a worker looks round, finds nothing and goes to sleep", .setup = set_up,
         .threads = {is_stopped, takes_over, looks_round}, .finish = went_on)

/* Where no thread is at rest, the process that is to be stopped next gives its worker to the one that was stopped first (stopped.h, A5),
 * which resumes it in turn. The first has been stopped in setup. */
SHARED struct thread second;
SHARED unsigned others;
static struct proc *other;
static void set_up_stopped(void) {
    set_up();
    struct worker *worker = small_play(0);
    small->preempt.most = 2;
    own = 1;
    sleeper.stopped = proc;
    worker->stopped = &sleeper;
    *keeper(proc) = &sleeper;
    chk_assert(stopped_list(&sleeper), "there is room");
    stopped_took(worker, 2);
    weft_pid pid = small_spawn(&computes);
    other = policy_pop(worker);
    chk_assert(other == small_proc(pid), "it runs, on the other worker");
    second.runtime = small;
    parker_init(&second.parker);
    chk_name(&second.parker.word, "second's parker");
}
static void is_resumed_and_resumes(void) {
    parker_park(&sleeper.parker, SYS_FOREVER);
    goes_on(sleeper.given);
    resumes_with(my_worker);
}
static void gives_way_to_the_first(void) {
    struct worker *worker = small_play(1);
    drive(worker);
    others++;
    second.stopped = other;
    chk_assert(stopped_list(&second), "there is room");
    struct thread *first = stopped_next(worker);
    chk_assert(first == &sleeper, "not itself, which cannot be resumed yet");
    *keeper(other) = &second;
    worker = stopped_sleep(worker, &second, first);
    my_worker = worker;
    stopped_took(worker, 3);
    drive(worker);
    others++;
}
static void both_went_on(void) {
    chk_assert(others == 2, "the second goes on, too");
    went_on();
}
SCENARIO(preempt_no_thread, .about = "a stopped process gives its worker to another || which goes on, and resumes it",
         .setup = set_up_stopped, .threads = {is_resumed_and_resumes, gives_way_to_the_first}, .finish = both_went_on)

/* Two on the list at once. */
static void set_up_two(void) {
    set_up();
    small->preempt.most = 2;
    second.runtime = small;
}
static void come_and_go(struct thread *thread) {
    chk_assert(stopped_list(thread), "there is room");
    stopped_unlist(thread);
}
static void one_comes_and_goes(void) { come_and_go(&sleeper); }
static void another_comes_and_goes(void) { come_and_go(&second); }
static void none_there(void) {
    chk_assert(atom_load_rlx(&small->preempt.stopped) == 0 && !small->preempt.first && !small->preempt.last, "the list is empty");
    chk_assert(atom_load_rlx(&small->threads.away) == 0, "no thread is away");
    small_end();
}
SCENARIO(stopped_list, .about = "two threads enter the list of stopped threads and leave it", .setup = set_up_two,
         .threads = {one_comes_and_goes, another_comes_and_goes}, .finish = none_there)

/* The second worker is an extra one, and is sent away meanwhile: it leaves, or goes with the process that is resumed and leaves after
 * that. */
static void is_stopped_and_leaves(void) {
    is_stopped();
    if (my_worker == small_worker(1)) worker_main(my_worker);
}
static void takes_over_and_sends_away(void) {
    struct worker *worker = wakes_up();
    stopped_took(worker, 2);
    worker_dismiss(small, small_worker(1));
    resumes_with(worker);
}
static void extra_sleeps(void) { worker_main(is_woken()); }
static void extra_left(void) {
    chk_assert(!atom_load_rlx(&small_worker(1)->driven), "the extra worker has no thread any more");
    chk_assert(idle_sleepers(&small->idle) == 0, "nor sleeps");
    went_on();
}
SCENARIO(preempt_retire,
         .about = "a process is stopped || resumed by its worker's next thread || or by an extra worker, which is sent away",
         .setup = set_up_asleep, .threads = {is_stopped_and_leaves, takes_over_and_sends_away, extra_sleeps}, .finish = extra_left,
         .deep_in = CHK_SC | CHK_TSO)

/* stopped.h, A7: it is handed over to by a worker that has pinned processes, and must keep its thread. The other worker resumes it. */
static atom_u32 handed_over;
static void set_up_pinned(void) {
    set_up();
    atom_store_rlx(&handed_over, 0);
    chk_name(&handed_over, "handed over");
    chk_assert(worker_pin(small_worker(1)), "it is open");
}
/* It cannot be had while the other has claimed it: then later. */
static void takes_over_and_tries_twice(void) {
    struct worker *worker = wakes_up();
    stopped_took(worker, 2);
    struct proc *next = stopped_take(worker);
    struct spin spin = spin_begin();
    while (!next && atom_load_acq(&handed_over) == 0)
        spin_wait(&spin);
    if (!next) next = stopped_take(worker);
    chk_assert(next == proc, "it can be resumed");
    drive(worker);
    stopped_hand_back(worker, *keeper(next));
}
static void hands_over_and_keeps(void) {
    struct worker *worker = small_play(1);
    if (policy_wake_to_run(small, proc).verdict == STATE_RUN) chk_assert(step_run(worker, proc), "it keeps its thread");
    chk_assert(stopped_take(worker) == NULL, "nor does it take a process");
    drive(worker);
    worker_unpin(worker);
    atom_store_rel(&handed_over, 1);
}
SCENARIO(preempt_handoff_pinned,
         .about = "a process is stopped || its worker's next thread resumes it || it is handed over to where others are pinned",
         .setup = set_up_pinned, .threads = {is_stopped, takes_over_and_tries_twice, hands_over_and_keeps}, .finish = went_on)

/* ---- broken twins ------------------------------------------------------------------------------------------------- */

static void queue_silently(void) {
    lock_take(&small->preempt.lock);
    sleeper.waits = true;
    atom_store_rlx(&small->preempt.waiting, 1);
    state_yield(&proc->state);
    lock_drop(&small->preempt.lock);
}
/* stopped_took, but no worker is told. */
static void takes_over_silently(void) {
    struct worker *worker = wakes_up();
    worker->stopped = NULL;
    queue_silently();
    drive(worker);
}
SCENARIO(preempt_twin_silent, .about = "as preempt_sleeper, but no worker is told that one can be resumed", .setup = set_up_asleep,
         .threads = {is_stopped, takes_over_silently, sleeps}, .finish = went_on, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* stopped.h, A3: it is queued by its own thread, which has not let go of it yet. */
static void queues_itself(void) {
    struct worker *worker = small_play(0);
    drive(worker);
    own++;
    sleeper.stopped = proc;
    chk_assert(stopped_list(&sleeper), "there is room");
    queue_silently();
    *keeper(proc) = &sleeper;
    thread_wake(&heir, worker);
    parker_park(&sleeper.parker, SYS_FOREVER);
    goes_on(sleeper.given);
}
SCENARIO(preempt_twin_too_early, .about = "as preempt_two_resume, but the process is queued by the thread that it is on", .setup = set_up,
         .threads = {queues_itself, takes_over_and_resumes, resumes}, .finish = went_on, .flawed_in = CHK_ALL, .flaw = CHK_RACE)

/* Found in the list, and not claimed. */
static void resumes_unclaimed(void) {
    struct worker *worker = small_play(1);
    lock_take(&small->preempt.lock);
    struct thread *thread = small->preempt.first;
    bool waits = thread && thread->waits;
    lock_drop(&small->preempt.lock);
    if (waits) stopped_hand_back(worker, thread);
}
SCENARIO(preempt_twin_unclaimed, .about = "as preempt_two_resume, but one of the two does not claim it", .setup = set_up,
         .threads = {is_stopped, takes_over_and_resumes, resumes_unclaimed}, .finish = went_on, .flawed_in = CHK_ALL)
