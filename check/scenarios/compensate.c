/* An extra worker beside a hog: it comes, it goes when the hog returns, and it is wanted again before it has gone.
 *
 * The real workers_compensate, worker_main and find_work. The first thread is sysmon, which sees a hog or does not; whether it is right is
 * of no importance to what must hold: what is ready is run, by the workers that are there, and a worker has one thread at a time (thread.h,
 * D1: what two threads do with a worker at once shows as a race). Threads of the scenario stand by for those that the runtime starts.
 *
 * The broken twins use the real parts, put together wrongly. */
#include "small_runtime.h"

#include "mail/send.h"
#include "sched/door.h"
#include "step/step.h"
#include "thread/thread.h"
#include "thread/worker.h"

static weft_pid pid;
SHARED struct message letter;
static atom_u32 runs, over;
static bool last_sends_0_away;

static int last_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    atom_add_rlx(&runs, 1);
    if (last_sends_0_away) worker_dismiss(small, small_worker(0));
    return 0;
}
static const weft_behavior last_one_out = {.name = "last one out", .step = last_step};

/* ---- setup -------------------------------------------------------------------------------------------------------- */

/* So many workers beside the hog's, and a process that sleeps. */
static void set_up(enum policy_name policy, unsigned extra) {
    small_begin(policy, 1 + extra, 4);
    atom_store_rlx(&small->wanted, 1);
    atom_store_rlx(&small->extra, extra);
    atom_store_rlx(&runs, 0);
    atom_store_rlx(&over, 0);
    chk_name(&runs, "runs");
    chk_name(&over, "over");
    for (unsigned i = 0; i <= extra; i++)
        small_has_begun(i);
    pid = small_spawn(&last_one_out);
    struct proc *proc = policy_pop(small_worker(0));
    chk_assert(proc == small_proc(pid), "claimed");
    state_park(&proc->state, STATE_IDLE);
    small_message(&letter, 0);
}

static void send_by(struct worker *worker) {
    my_worker = worker;
    chk_assert(send_message(&worker->local, worker, pid, &letter) == 0, "it lives");
}
static void sends(void) {
    unsigned door;
    struct local *local = door_enter(small->instance, &door);
    chk_assert(send_message(local, NULL, pid, &letter) == 0, "it lives");
    door_leave(small->instance, door);
}

static void ran(void) {
    chk_assert(atom_load_rlx(&runs) == 1, "it has run once");
    chk_assert(idle_searchers(&small->idle) == 0 && idle_sleepers(&small->idle) == 0, "no worker is counted that is not there");
    chk_assert(!atom_load_rlx(&small_worker(1)->driven), "the extra worker has gone");
    chk_assert(atom_load_rlx(&small->extra) == 0, "nor is it counted");
    small_end();
}

/* ---- the hog returns ---------------------------------------------------------------------------------------------- */

/* In its slot is a process of which no worker has been told; or it leaves one there at the last moment. */
static void hog_with_a_slot(enum policy_name policy) {
    set_up(policy, 0);
    last_sends_0_away = false;
    send_by(small_worker(0));
}
static void hog_ring(void) { hog_with_a_slot(POLICY_RING); }
static void hog_deque(void) { hog_with_a_slot(POLICY_DEQUE); }
static void hog_line(void) { hog_with_a_slot(POLICY_LINE); }
static void returns(void) { small_run_own(small_wait_to_begin(0)); } /* and sleeps, if it was taken: compensate_leaves_a_slot */
static void extra_works(void) { worker_main(small_wait_to_begin(1)); }
static void sees_a_hog_and_no_more(void) {
    workers_compensate(small, 1);
    workers_compensate(small, 0);
}
SCENARIO(compensate_return, .about = "an extra worker comes and goes || the hog returns to what lies in its slot", .setup = hog_ring,
         .threads = {sees_a_hog_and_no_more, returns, extra_works}, .finish = ran)
SCENARIO(compensate_return_deque, .about = "the same, policy deque", .setup = hog_deque,
         .threads = {sees_a_hog_and_no_more, returns, extra_works}, .finish = ran)
SCENARIO(compensate_return_line, .about = "the same, policy line", .setup = hog_line,
         .threads = {sees_a_hog_and_no_more, returns, extra_works}, .finish = ran, .deep_in = CHK_ALL)

/* The hog stays, so what lies in its slot is for the extra worker, which does not wait to be told. */
static void sees_a_hog_until_it_has_run(void) {
    workers_compensate(small, 1);
    struct spin spin = spin_begin();
    while (atom_load_rlx(&runs) == 0)
        spin_wait(&spin);
    workers_compensate(small, 0);
}
SCENARIO(compensate_slot, .about = "a hog that stays has a process in its slot: an extra worker comes, and goes afterwards",
         .setup = hog_ring, .threads = {sees_a_hog_until_it_has_run, extra_works}, .finish = ran)

/* ---- sent away, and wanted again ---------------------------------------------------------------------------------- */

static void one_extra_queued(void) {
    set_up(POLICY_DEQUE, 1); /* the policy with the fewest executions */
    last_sends_0_away = false;
    tick_begin(small_worker(1), 1); /* it looks at its orders first */
    sends();
}
static void one_extra_sent_away(void) {
    one_extra_queued();
    workers_compensate(small, 0);
}
static void is_over(void) {
    struct spin spin = spin_begin();
    while (atom_load_rlx(&runs) == 0)
        spin_wait(&spin);
    workers_compensate(small, 0);
    atom_store_rel(&over, 1);
}
static void wants_it_again(void) {
    workers_compensate(small, 1);
    is_over();
}
static void changes_its_mind(void) {
    workers_compensate(small, 0);
    wants_it_again();
}
/* The thread that the worker is given to if the first has left. */
static void second_thread(void) {
    struct spin spin = spin_begin();
    while (small_given(1) < 2 && atom_load_acq(&over) == 0)
        spin_wait(&spin);
    if (small_given(1) >= 2) worker_main(small_play(1));
}
SCENARIO(compensate_again_late, .about = "an extra worker that was sent away is wanted again || it leaves; a process waits",
         .setup = one_extra_sent_away, .threads = {wants_it_again, extra_works, second_thread}, .finish = ran)
SCENARIO(compensate_again, .about = "the extra worker is sent away and wanted again || it leaves; a process waits",
         .setup = one_extra_queued, .threads = {changes_its_mind, extra_works, second_thread}, .finish = ran, .deep_in = CHK_ALL)

/* ---- broken twins ------------------------------------------------------------------------------------------------- */

/* worker_begin, but that it does not ask whether the thread that was sent away is still there. */
static void gives_it_away_twice(void) {
    struct worker *worker = small_worker(1);
    workers_compensate(small, 0);
    lock_take(&small->resizing);
    lock_take(&small->moving);
    atom_store_rlx(&worker->leave, false);
    atom_store_rlx(&worker->driven, true);
    lock_drop(&small->moving);
    thread_give(small, worker);
    atom_store_rlx(&small->extra, 1);
    lock_drop(&small->resizing);
    is_over();
}
SCENARIO(compensate_twin_two_threads, .about = "as compensate_again, but the worker is given away while it has a thread",
         .setup = one_extra_queued, .threads = {gives_it_away_twice, extra_works, second_thread}, .finish = ran, .flawed_in = CHK_ALL,
         .flaw = CHK_RACE)

/* worker_main, but it does not ask again under the lock whether it is to leave. */
static void leaves_unasked(void) {
    struct worker *worker = small_wait_to_begin(1);
    for (struct proc *proc; (proc = find_work(worker)) != NULL;)
        step_run(worker, proc);
    lock_take(&small->moving);
    if (worker->searching) find_success(worker);
    my_worker = NULL;
    atom_store_rlx(&worker->driven, false);
    lock_drop(&small->moving);
}
SCENARIO(compensate_twin_no_second_look, .about = "as compensate_again, but the worker leaves though it is wanted again",
         .setup = one_extra_queued, .threads = {changes_its_mind, leaves_unasked, second_thread}, .finish = ran, .flawed_in = CHK_ALL,
         .flaw = CHK_DEADLOCK)

/* worker_begin, but that `leave` stays as it was. */
static void forgets_that_it_was_to_leave(void) {
    struct worker *worker = small_worker(1);
    workers_compensate(small, 0);
    lock_take(&small->resizing);
    lock_take(&small->moving);
    bool there = atom_load_rlx(&worker->driven);
    atom_store_rlx(&worker->driven, true);
    lock_drop(&small->moving);
    if (!there) thread_give(small, worker);
    atom_store_rlx(&small->extra, 1);
    lock_drop(&small->resizing);
    is_over();
}
SCENARIO(compensate_twin_leaves_at_once, .about = "as compensate_again, but the worker is still told to leave", .setup = one_extra_queued,
         .threads = {forgets_that_it_was_to_leave, extra_works, second_thread}, .finish = ran, .flawed_in = CHK_ALL, .flaw = CHK_DEADLOCK)

/* The extra worker leaves without a word about what is in its queue; the hog has returned and sleeps. */
static void extra_has_a_slot(void) {
    set_up(POLICY_RING, 1);
    last_sends_0_away = true;
    idle_enter(&small->idle, 0, false);
    send_by(small_worker(1));
    tick_begin(small_worker(1), 1);
}
static void sleeps_0(void) {
    struct worker *worker = small_wait_to_begin(0);
    parker_park(&worker->parker, SYS_FOREVER);
    worker->searching = true;
    worker_main(worker);
}
static void sees_no_more(void) { workers_compensate(small, 0); }
static void extra_sent_away(void) {
    extra_has_a_slot();
    workers_compensate(small, 0);
}
SCENARIO(compensate_left_a_slot, .about = "the extra worker, sent away, goes with a process in its slot || the hog has returned and sleeps",
         .setup = extra_sent_away, .threads = {extra_works, sleeps_0}, .finish = ran)
SCENARIO(compensate_leaves_a_slot, .about = "the extra worker goes with a process in its slot || the hog has returned and sleeps",
         .setup = extra_has_a_slot, .threads = {sees_no_more, extra_works, sleeps_0}, .finish = ran, .deep_in = CHK_ALL)
SCENARIO(compensate_twin_no_rouse, .about = "the same, but no worker is told of what it leaves behind", .setup = extra_has_a_slot,
         .threads = {sees_no_more, leaves_unasked, sleeps_0}, .finish = ran, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
