/* Relief workers (thread/stopped.h, A6): all others sleep at a lock of a process that was stopped, and it goes on all the same.
 *
 * The real thread/stopped.c and thread/worker.c. The broken twin uses the real parts, put together wrongly. */
#include "stopped.h"

#include "step/step.h"
#include "thread/worker.h"

/* One worker is wanted and its thread sleeps at a lock of the process that was stopped. A fresh process waits for a worker, and would fall
 * asleep at the same lock. The relief worker has the second place. */
static atom_u32 unlocked, fresh_runs;
static int wants_the_lock(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    struct spin spin = spin_begin();
    while (atom_load_acq(&unlocked) == 0)
        spin_wait(&spin);
    atom_add_rlx(&fresh_runs, 1);
    return 0;
}
static const weft_behavior fresh = {.name = "fresh", .step = wants_the_lock};

static void set_up_locked(void) {
    set_up();
    atom_store_rlx(&small->wanted, 1);
    small_has_ended(small_worker(1));
    atom_store_rlx(&small_worker(1)->driven, false);
    small->extra_most = 0;
    atom_store_rlx(&unlocked, 0);
    atom_store_rlx(&fresh_runs, 0);
    own = 1;
    sleeper.stopped = proc;
    small_worker(0)->stopped = &sleeper;
    *keeper(proc) = &sleeper;
    chk_assert(stopped_list(&sleeper), "there is room");
    stopped_took(small_worker(0), 2);
    small_spawn(&fresh);
    chk_name(&small->preempt.relief, "relief");
    chk_name(&small_worker(1)->relief, "is relief");
    chk_name(&unlocked, "unlocked");
}
/* Sysmon. */
static void sees_a_hog(void) { workers_relieve(small, 1); }
/* It goes on with the relief worker, has had its time once more, and comes to its end with whatever worker it is resumed with. */
static void is_resumed_and_stopped(void) {
    parker_park(&sleeper.parker, SYS_FOREVER);
    struct worker *worker = my_worker = sleeper.given;
    stopped_took(worker, 1);
    drive(worker);
    chk_assert(!stopped_list(&sleeper), "a relief worker counts as a stopped one, and there is room for one");
    small->preempt.most = 2;
    chk_assert(stopped_list(&sleeper), "now there is room");
    goes_on(stopped_sleep(worker, &sleeper, &heir));
    atom_store_rel(&unlocked, 1);
    worker = my_worker;
    worker->current = NULL;
    worker_main(worker);
}
static void takes_over_relief(void) {
    struct worker *worker = wakes_up();
    stopped_took(worker, 2);
    worker_main(worker);
}
static void wakes_at_the_lock(void) {
    struct worker *worker = small_play(0);
    struct spin spin = spin_begin();
    while (atom_load_acq(&unlocked) == 0)
        spin_wait(&spin);
    drive(worker);
    small_run_own(worker);
}
static void all_went_on(void) {
    chk_assert(atom_load_rlx(&fresh_runs) == 1, "the fresh one has run, on the worker that is for all");
    chk_assert(atom_load_rlx(&small->preempt.relief) == 0 && !atom_load_rlx(&small_worker(1)->driven), "the relief worker has left");
    went_on();
}
SCENARIO(
    preempt_relief,
    .about =
        "all sleep at a lock of a stopped process: a relief worker comes for it || it is stopped again || and resumed || a fresh one waits",
    .setup = set_up_locked, .threads = {sees_a_hog, is_resumed_and_stopped, takes_over_relief, wakes_at_the_lock}, .finish = all_went_on)

/* More workers are wanted while a relief worker leaves: it stays as any other, or its place gets another thread. */
static void set_up_relief(void) {
    set_up_locked();
    workers_relieve(small, 1);
    struct worker *worker = small_worker(1);
    chk_assert(atom_load_rlx(&worker->relief), "it has come");
    worker->current = NULL;
    own = 2;
    atom_store_rlx(&resumed, 1);
    atom_store_rlx(&unlocked, 1);
}
static void relief_leaves(void) { worker_main(small_play(1)); }
static void wants_two_then_none(void) {
    workers_set(small, 2);
    struct spin spin = spin_begin();
    while (atom_load_rlx(&fresh_runs) == 0)
        spin_wait(&spin);
    worker_dismiss(small, small_worker(1));
}
static void second_for_relief(void) {
    struct spin spin = spin_begin();
    while (small_given(1) < 2 && atom_load_acq(&fresh_runs) == 0)
        spin_wait(&spin);
    if (small_given(1) >= 2) worker_main(small_play(1));
}
SCENARIO(preempt_relief_wanted,
         .about = "a relief worker leaves || one worker more is wanted: it stays, and runs what is fresh || or another thread does",
         .setup = set_up_relief, .threads = {relief_leaves, wants_two_then_none, second_for_relief}, .finish = all_went_on,
         .deep_in = CHK_C11)

/* The same, and the relief worker is not there yet. */
static void wants_two(void) { workers_set(small, 2); }
static void one_thread_each(void) {
    unsigned relieved = sleeper.given == small_worker(1);
    chk_assert(small_given(1) - 1 + relieved == 1, "the second place has one thread more than the one that has left");
    chk_assert(atom_load_rlx(&small->preempt.relief) == (sleeper.given && !relieved), "it is a worker for all");
    small_end();
}
SCENARIO(preempt_relief_beside, .about = "a relief worker comes || one worker more is wanted", .setup = set_up_locked,
         .threads = {sees_a_hog, wants_two}, .finish = one_thread_each)

/* A relief worker was told to leave, but one is needed again: it stays, or leaves and is begun anew, with the thread of the stopped
 * process. */
static void set_up_leaving(struct worker *worker) {
    small->preempt.most = 2;
    stopped_relieve(small, 1);
    atom_or_rlx(&worker->pinned_count, PINNED_CLOSED); /* as worker_relieves does */
    tick_begin(worker, 1);
    atom_store_rlx(&worker->relief, true);
    atom_store_rlx(&worker->leave, true);
    atom_store_rlx(&worker->driven, true);
}
static void set_up_leaving_1(void) {
    set_up_locked();
    set_up_leaving(small_worker(1));
}
static void resumed_after_all(void) {
    chk_assert(atom_load_rlx(&small_worker(1)->relief) == (sleeper.given != NULL), "a relief worker, while it has a thread");
    chk_assert(atom_load_rlx(&small->preempt.relief) == (sleeper.given != NULL), "it is counted once");
    if (!sleeper.given) workers_relieve(small, 1);
    chk_assert(sleeper.given == small_worker(1), "it comes");
    atom_store_rlx(&unlocked, 1);
    goes_on(sleeper.given);
    my_worker->current = NULL;
    worker_main(my_worker);
    small_run_own(small_play(0));
    all_went_on();
}
SCENARIO(preempt_relief_again, .about = "a relief worker leaves || it is needed again", .setup = set_up_leaving_1,
         .threads = {relief_leaves, sees_a_hog}, .finish = resumed_after_all)

/* It has the third place, and the second is free. */
static void set_up_leaving_2(void) {
    set_up_locked();
    chk_assert(worker_new(small, 2) != NULL, "made before");
    set_up_leaving(small_worker(2));
}
static void relief_2_leaves(void) { worker_main(small_play(2)); }
SCENARIO(preempt_relief_two, .about = "a relief worker leaves || another comes", .setup = set_up_leaving_2,
         .threads = {relief_2_leaves, sees_a_hog}, .finish = resumed_after_all, .deep_in = CHK_SC | CHK_TSO)

/* ---- broken twin -------------------------------------------------------------------------------------------------- */

/* stopped.h, A6: a worker beyond the caps that takes whatever there is. */
static void takes_over_for_all(void) {
    struct worker *worker = wakes_up();
    stopped_took(worker, 2);
    struct proc *next = policy_steal(worker, small_worker(0), true, &(bool){false});
    if (next && !step_run(worker, next)) return;
    resumes_with(worker);
}
SCENARIO(preempt_twin_relief_for_all, .about = "as preempt_relief, but the relief worker runs fresh processes too", .setup = set_up_locked,
         .threads = {sees_a_hog, is_resumed_and_stopped, takes_over_for_all, wakes_at_the_lock}, .finish = all_went_on,
         .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
