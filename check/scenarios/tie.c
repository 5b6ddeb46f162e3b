/* Monitors between processes (life/tie.h): the target ends while the owner monitors it, gives the monitor up, ends itself: real tie, ties, monitor,
 * end of a process.
 *
 * Each monitor that was not given up in time has sent one notice, with the reason; a record is freed once, by the thread that the lock has decided
 * for. Records are plain memory: one that is touched by both is a race, one that nobody frees is a leak. */
#include "mortal.h"

#include "life/spawn.h"
#include "life/tie.h"
#include "step/step.h"

enum { OWNERS = 2 };

static weft_pid target, owners[OWNERS];
static struct proc *target_proc, *owner_procs[OWNERS];
SHARED uint64_t references[OWNERS];
SHARED bool given_up[OWNERS];

/* ---- setup --------------------------------------------------------------------------------------------------------------- */

/* The target is worker 0's, the owners those of the workers 1 and 2. All run. */
static void set_up(void) {
    small_begin(POLICY_RING, 3, 4);
    target = small_spawn(&mortal);
    target_proc = policy_pop(small_worker(0));
    for (unsigned i = 0; i < OWNERS; i++) {
        owners[i] = small_spawn(&mortal);
        owner_procs[i] = policy_pop(small_worker(0));
        references[i] = 0;
        given_up[i] = false;
    }
    chk_name(&small->monitor_locks[pid_slot(target) % MONITOR_LOCKS], "slot.lock");
    chk_name(&small->ties_locks[pid_slot(owners[0]) % MONITOR_LOCKS], "owner.lock");
}

static struct worker *play_owner(unsigned i) {
    struct worker *worker = small_play(1 + i);
    worker->current = owner_procs[i];
    return worker;
}
static void monitor(unsigned i) {
    play_owner(i);
    int error = weft_monitor(target, i, &references[i]);
    chk_assert(error == 0 && references[i], "a process that runs, or has run, can be monitored");
}
static void give_up(unsigned i) {
    struct worker *worker = play_owner(i);
    given_up[i] = tie_demonitor(worker, references[i]);
}
static void set_up_monitored(void) {
    set_up();
    monitor(0);
}

static void set_up_monitored_twice(void) {
    set_up_monitored();
    monitor(1);
}

/* ---- threads ---------------------------------------------------------------------------------------------------------------- */

static void target_ends(void) { step_run(small_play(0), target_proc); }
static void monitors_0(void) { monitor(0); }
static void gives_up_0(void) { give_up(0); }
static void gives_up_1(void) { give_up(1); }
static void monitors_and_gives_up_0(void) {
    monitor(0);
    give_up(0);
}
static void owner_ends_0(void) {
    play_owner(0)->current = NULL;
    step_run(small_worker(1), owner_procs[0]);
}

/* ---- finish ------------------------------------------------------------------------------------------------------------------- */

/* How many notices the owner has, each checked; they are freed. */
static unsigned notices(unsigned i) {
    struct worker *worker = small_play(1 + i);
    unsigned found = 0;
    for (struct mpsc_node *node; (node = mpsc_pop(&owner_procs[i]->box)); found++) {
        const weft_notice *notice = weft_msg_notice((const weft_msg *)message_of(node));
        chk_assert(notice && notice->pid == target && notice->reference == references[i] && message_of(node)->tag == i,
                   "the monitor's own notice");
        chk_assert(notice->reason.code == REASON || notice->reason.code == WEFT_ENOPROC, "with the reason, or too late for it");
        message_free(&worker->local.cache, message_of(node));
    }
    return found;
}
static void end_owner(unsigned i) {
    small_play(1 + i)->current = NULL;
    step_run(small_worker(1 + i), owner_procs[i]);
}
static void each_once(void) {
    for (unsigned i = 0; i < OWNERS; i++) {
        chk_assert(notices(i) == (references[i] && !given_up[i]), "one notice of each monitor that was not given up in time");
        chk_assert(!references[i] || !ties_of(small, pid_slot(owners[i]), false)->ties, "no record is left");
        end_owner(i);
    }
    small_end();
}
static void nothing_is_left(void) {
    chk_assert(!ties_of(small, pid_slot(owners[0]), false)->ties, "the owner has no record left");
    chk_assert(!*monitor_list(small, pid_slot(target), true), "nor has the target");
    end_owner(1);
    small_end();
}

SCENARIO(tie_monitor, .about = "a process ends || another monitors it", .setup = set_up, .threads = {target_ends, monitors_0},
         .finish = each_once)
SCENARIO(tie_demonitor, .about = "a monitored process ends || its monitor is given up", .setup = set_up_monitored,
         .threads = {target_ends, gives_up_0}, .finish = each_once)
SCENARIO(tie_monitor_demonitor, .about = "a process ends || is monitored, and no more", .setup = set_up,
         .threads = {target_ends, monitors_and_gives_up_0}, .finish = each_once)
SCENARIO(tie_demonitor_two, .about = "a process that is monitored twice ends || one is given up || the other is",
         .setup = set_up_monitored_twice, .threads = {target_ends, gives_up_0, gives_up_1}, .finish = each_once, .deep_in = CHK_ALL)
SCENARIO(tie_owner_ends, .about = "a monitored process ends || the process that monitors it ends", .setup = set_up_monitored,
         .threads = {target_ends, owner_ends_0}, .finish = nothing_is_left)

/* Another record of the same owner: its list changes on both sides. */
SHARED uint64_t another;
static void monitors_another(void) {
    play_owner(0);
    chk_assert(weft_monitor(owners[1], 7, &another) == 0, "it lives");
}
static void another_is_left(void) {
    struct tie *tie = ties_of(small, pid_slot(owners[0]), false)->ties;
    chk_assert(tie && !tie->next && tie->reference == another, "the owner has the new monitor alone");
    chk_assert(tie_demonitor(play_owner(0), another), "and can give it up");
    each_once();
}
SCENARIO(tie_another, .about = "a monitored process ends || the process that monitors it monitors another", .setup = set_up_monitored,
         .threads = {target_ends, monitors_another}, .finish = another_is_left)

/* With flush: the notice is not in the mailbox afterwards, whichever was first; that of another monitor of the same process is. */
static void monitors_twice(void) {
    set_up_monitored();
    play_owner(0);
    chk_assert(weft_monitor(target, 7, &another) == 0, "it lives");
}
static void demonitor(bool flush) {
    play_owner(0);
    int error = weft_demonitor(references[0], flush);
    chk_assert(error == 0 || error == WEFT_ENOENT, "given up, or told already");
    given_up[0] = true;
}
static void flushes_0(void) { demonitor(true); }
static void the_other_is_told(void) {
    struct worker *worker = small_play(1);
    struct mpsc_node *node = mpsc_pop(&owner_procs[0]->box);
    chk_assert(node && weft_msg_notice((const weft_msg *)message_of(node))->reference == another, "the other monitor is told");
    message_free(&worker->local.cache, message_of(node));
    each_once();
}
SCENARIO(tie_flush, .about = "a monitored process ends || its monitor is given up by weft_demonitor, with flush", .setup = set_up_monitored,
         .threads = {target_ends, flushes_0}, .finish = each_once)
SCENARIO(tie_flush_one, .about = "a process that is monitored twice by another ends || one of the two is given up, with flush",
         .setup = monitors_twice, .threads = {target_ends, flushes_0}, .finish = the_other_is_told)

/* ---- twins that are wrong ----------------------------------------------------------------------------------------------------- */

static void ends_well(void) { small_end(); }

/* Takes its monitor out of both lists without asking, under its own lock, whether it has been told. */
static void gives_up_without_deciding(void) {
    struct worker *worker = play_owner(0);
    struct tie *tie = ties_of(small, pid_slot(owners[0]), false)->ties;
    if (!tie) return;
    monitor_remove(&worker->local, target, &tie->monitor);
    tie_disown(tie);
    tie_free(&worker->local, tie);
}
SCENARIO(tie_twin_undecided, .about = "broken: the owner frees a monitor that may be told", .setup = set_up_monitored,
         .threads = {target_ends, gives_up_without_deciding}, .finish = ends_well, .flawed_in = CHK_ALL, .flaw = CHK_RACE)

/* Gives up what it owns without looking under the lock. */
static void owner_ends_unlocked(void) {
    struct worker *worker = small_play(1);
    struct tie *tie = ties_of(small, pid_slot(owners[0]), false)->ties;
    if (tie) chk_assert(monitor_remove(&worker->local, target, &tie->monitor), "the tie was in the list, so it was not told");
}
SCENARIO(tie_twin_unlocked, .about = "broken: the owner looks at its list without its lock", .setup = set_up_monitored,
         .threads = {target_ends, owner_ends_unlocked}, .finish = ends_well, .flawed_in = CHK_ALL, .flaw = CHK_RACE)

/* Relies on weft_demonitor without flush to leave no notice. */
static void does_not_flush_0(void) { demonitor(false); }
SCENARIO(tie_twin_unflushed, .about = "broken: no notice is expected after weft_demonitor without flush", .setup = set_up_monitored,
         .threads = {target_ends, does_not_flush_0}, .finish = each_once, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
