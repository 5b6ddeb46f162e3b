/* A thread comes back from a call while its worker is taken from it: one of the two has the worker, and sees all that was done with it.
 *
 * `kept` stands for everything that belongs to a worker and is not locked: two that drive it at once show as a race. */
#include "small_runtime.h"

#include "thread/oscall.h"
#include "thread/worker.h"

SHARED unsigned kept;
static atom_u32 taken, lost, drivers;

static void set_up(unsigned refusals) {
    small_begin(POLICY_RING, 1, 2);
    small_has_begun(0);
    small_refuse_threads(refusals);
    atom_store_rlx(&taken, 0);
    atom_store_rlx(&lost, 0);
    atom_store_rlx(&drivers, 0);
    chk_name(&small_worker(0)->call, "call");
    chk_name(&small_worker(0)->undriven, "undriven");
    chk_name(&small->threads.away, "away");
}
static void set_up_threads(void) { set_up(0); }
static void set_up_no_thread(void) { set_up(1); }

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static void drive(void) { kept++; }

/* A call; false: the worker is lost. */
static bool make_call(struct worker *worker, bool is_long) {
    uint32_t number = oscall_enter(worker);
    if (is_long) oscall_hand_over(worker, number);
    bool mine = oscall_leave(worker, number);
    if (mine) drive();
    else atom_add_rlx(&lost, 1);
    return mine;
}
static void calls_once(void) {
    struct worker *worker = small_play(0);
    drive();
    make_call(worker, false);
}
static void calls_twice(void) {
    struct worker *worker = small_play(0);
    drive();
    if (make_call(worker, false)) make_call(worker, false);
}
static void calls_long(void) {
    struct worker *worker = small_play(0);
    drive();
    make_call(worker, true);
}

static void retakes(void) {
    uint32_t number = oscall_seen(small_worker(0));
    if (number == 0 || !oscall_retake(small_worker(0), number)) return;
    atom_add_rlx(&taken, 1);
    drive();
}
/* Sysmon, and the thread that it gives the worker to. */
static void hands_over(void) {
    uint32_t number = oscall_seen(small_worker(0));
    if (number) oscall_hand_over(small_worker(0), number);
}
static void drives_next(void) {
    struct worker *worker = small_wait_to_begin(0);
    (void)worker;
    atom_add_rlx(&drivers, 1);
    drive();
}
static void tries_again(void) {
    struct spin spin = spin_begin();
    while (!atom_load_rlx(&small_worker(0)->undriven))
        spin_wait(&spin);
    bool driven = oscall_drive_again(small_worker(0));
    chk_assert(driven, "there is a thread by now");
}

/* ---- what holds --------------------------------------------------------------------------------------------------- */

static void one_has_it(void) {
    chk_assert(atom_load_rlx(&lost) == atom_load_rlx(&taken), "one of leave and retake succeeds");
    chk_assert(atom_load_rlx(&small->threads.away) == 0, "no thread is away any more");
    small_end();
}
static void driven_again(void) {
    chk_assert(atom_load_rlx(&lost) == 1 && atom_load_rlx(&drivers) == 1, "the worker has another thread");
    chk_assert(kept == 2, "which went on where the first left it");
    chk_assert(atom_load_rlx(&small->threads.away) == 0, "no thread is away any more");
    small_end();
}

SCENARIO(oscall_retake, .about = "a thread comes back from a call || its worker is taken", .setup = set_up_threads,
         .threads = {calls_once, retakes}, .finish = one_has_it)
SCENARIO(call_retake_slow, .about = "a thread makes one call after the other || one that saw the first takes the worker",
         .setup = set_up_threads, .threads = {calls_twice, retakes}, .finish = one_has_it)
SCENARIO(call_retake_two, .about = "a thread comes back from a call || its worker is taken || taken", .setup = set_up_threads,
         .threads = {calls_once, retakes, retakes}, .finish = one_has_it)
/* The first driver must be known to be gone before the next one stands by for the same worker. */
static void set_up_long(void) {
    set_up_threads();
    small_has_ended(small_worker(0));
}
SCENARIO(call_long, .about = "a thread gives its worker away before the call || sysmon tries the same || the next thread",
         .setup = set_up_long, .threads = {calls_long, hands_over, drives_next}, .finish = driven_again)
static void set_up_refused(void) {
    set_up_no_thread();
    small_has_ended(small_worker(0));
}
SCENARIO(call_refused, .about = "no thread is to be had for a worker that was given away || sysmon tries again || the next thread",
         .setup = set_up_refused, .threads = {calls_long, tries_again, drives_next}, .finish = driven_again)

/* ---- pinned processes (E4) ---------------------------------------------------------------------------------------- */

/* A call, and then another one for which the worker stays: a process has been pinned to the thread in between. */
static void calls_and_is_pinned(void) {
    struct worker *worker = small_play(0);
    drive();
    if (!make_call(worker, false)) return;
    chk_assert(worker_pin(worker), "it is open");
    chk_assert(make_call(worker, false), "the thread of a pinned process keeps its worker");
    worker_unpin(worker);
}
static void retake(uint32_t number) {
    if (!oscall_retake(small_worker(0), number)) return;
    atom_add_rlx(&taken, 1);
    drive();
}
static void retakes_unless_it_stays(void) {
    uint32_t number = oscall_seen(small_worker(0));
    if (number && !oscall_stays(small_worker(0))) retake(number);
}
static void none_was_left(void) {
    chk_assert(atom_load_rlx(&small_worker(0)->pinned_count) == 0, "no process is pinned any more");
    one_has_it();
}
SCENARIO(call_pinned, .about = "a call, and one for which the worker stays || its worker is taken, if it does not stay",
         .setup = set_up_threads, .threads = {calls_and_is_pinned, retakes_unless_it_stays}, .finish = none_was_left)
SCENARIO(call_pinned_two, .about = "the same || taken by another one", .setup = set_up_threads,
         .threads = {calls_and_is_pinned, retakes_unless_it_stays, retakes_unless_it_stays}, .finish = none_was_left)

/* ---- broken twins ------------------------------------------------------------------------------------------------- */

/* E1: without its number, whether it is in a call is all that is known of it, and of two that come one takes what is not there. */
static void retakes_unnumbered(void) {
    struct worker *worker = small_worker(0);
    if (!oscall_seen(worker)) return;
    atom_store_rlx(&worker->call, atom_load_rlx(&worker->call) + 1);
    atom_add_rlx(&small->threads.away, 1);
    atom_add_rlx(&taken, 1);
    drive();
}
SCENARIO(call_retake_unnumbered, .about = "broken: the worker of a thread that seems to be in a call is taken without a swap",
         .setup = set_up_threads, .threads = {calls_once, retakes_unnumbered}, .finish = one_has_it, .flawed_in = CHK_ALL)

/* E2: the last look at the queue after the call has begun. */
static void touches_late(void) {
    struct worker *worker = small_play(0);
    uint32_t number = oscall_enter(worker);
    drive();
    if (!oscall_leave(worker, number)) atom_add_rlx(&lost, 1);
}
SCENARIO(call_touches_late, .about = "broken: a thread uses its worker during a call", .setup = set_up_threads,
         .threads = {touches_late, retakes}, .finish = one_has_it, .flawed_in = CHK_ALL, .flaw = CHK_RACE)

/* E3: counted afterwards, `away` is below zero for threads that look in between. */
static void retakes_counted_late(void) {
    struct worker *worker = small_worker(0);
    uint32_t number = oscall_seen(worker), expected = number;
    if (number == 0 || !atom_cas_acq_rlx(&worker->call, &expected, number + 1)) return;
    atom_add_rlx(&taken, 1);
    atom_add_rlx(&small->threads.away, 1);
}
static void looks_at_away(void) { chk_assert(atom_load_rlx(&small->threads.away) < 8, "a number of threads"); }
SCENARIO(call_away, .about = "a thread comes back || its worker is taken || how many are away", .setup = set_up_threads,
         .threads = {calls_once, retakes, looks_at_away}, .finish = one_has_it)
SCENARIO(call_away_late, .about = "broken: it is counted as away once its worker is taken", .setup = set_up_threads,
         .threads = {calls_once, retakes_counted_late, looks_at_away}, .finish = one_has_it, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* E4: whether it stays is asked of a call that has not begun. */
static void asks_too_early(void) {
    bool stays = oscall_stays(small_worker(0));
    uint32_t number = oscall_seen(small_worker(0));
    if (number && !stays) retake(number);
}
SCENARIO(call_pinned_early, .about = "broken: whether the worker stays is asked before the call is seen", .setup = set_up_threads,
         .threads = {calls_and_is_pinned, asks_too_early}, .finish = none_was_left, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* E4: the call is seen without what was done before it. */
static void sees_too_little(void) {
    uint32_t number = atom_load_rlx(&small_worker(0)->call);
    if (number % 2 && !oscall_stays(small_worker(0))) retake(number);
}
SCENARIO(call_pinned_relaxed, .about = "broken: the call is seen by a relaxed load", .setup = set_up_threads,
         .threads = {calls_and_is_pinned, sees_too_little}, .finish = none_was_left, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
