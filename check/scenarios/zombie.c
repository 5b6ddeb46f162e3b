/* A process whose result is kept ends while it is joined, detached, and while its owner ends: real watch, keep, spawn, end of a process.
 *
 * A process that joins gets the reason, at least one of them unless it was detached; the record is freed once, and the block comes to one
 * magazine, once. What a record is made of is plain memory: taking it out without the lock, or reading it afterwards, is a race. */
#include "mortal.h"

#include "life/zombie.h"
#include "step/step.h"

enum { JOINERS = 2, NOT_ASKED = 77 };

struct joiner {
    struct listener ear; /* first */
    int result;
};
SHARED struct joiner joiners[JOINERS];
SHARED int detached;
static weft_pid owner, child;
static struct proc *owner_proc, *child_proc;

static bool hear_and_take(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *reason) {
    hear(local, self, monitor, reason);
    return true;
}

/* ---- setup ------------------------------------------------------------------------------------------------------------------- */

/* The owner is worker 2's, the child worker 0's; both run. */
static void set_up(void) {
    small_begin(POLICY_RING, 3, 4);
    for (unsigned i = 0; i < JOINERS; i++)
        joiners[i] = (struct joiner){.ear.monitor.tell = hear_and_take, .result = NOT_ASKED};
    detached = NOT_ASKED;
    owner = small_spawn(&mortal);
    owner_proc = policy_pop(small_worker(0));
    struct worker *worker = small_play(2);
    worker->current = owner_proc;
    int error = weft_spawn_step(&mortal, &(weft_spawn_options){.flags = WEFT_SPAWN_JOINABLE}, &child);
    chk_assert(error == 0, "spawned in setup");
    child_proc = policy_pop(worker);
    chk_assert(child_proc == small_proc(child), "it can be claimed");
    worker->current = NULL;
    chk_name(&small->monitor_locks[pid_slot(child) % MONITOR_LOCKS], "watch.lock");
    chk_name(&small->ties_locks[pid_slot(owner) % MONITOR_LOCKS], "keep.lock");
}
static void set_up_ended(void) {
    set_up();
    step_run(small_play(0), child_proc);
}

/* ---- threads ------------------------------------------------------------------------------------------------------------------ */

static void ends(void) { step_run(small_play(0), child_proc); }
static void owner_ends(void) { step_run(small_play(2), owner_proc); }
static void join(unsigned worker, unsigned i) {
    struct joiner *joiner = &joiners[i];
    struct reason reason = {0, NULL};
    joiner->result = monitor_join(&small_play(worker)->local, child, &joiner->ear.monitor, &reason);
    if (joiner->result == MONITOR_ENDED) chk_assert(reason.code == REASON, "the reason, later");
}
static void joins_0(void) { join(1, 0); }
static void joins_1(void) { join(2, 1); }
static void detaches(void) { detached = zombie_forget(&small_play(2)->local, child); }

/* ---- finish ------------------------------------------------------------------------------------------------------------------- */

static unsigned in_list(struct proc *list, struct proc *wanted) {
    unsigned found = 0;
    for (struct line_node *node = list ? &list->node : NULL; node; node = node->next)
        found += node == &wanted->node;
    return found;
}
static unsigned on_shelves(struct proc *wanted) {
    unsigned found = in_list(small->table.depot, wanted);
    for (unsigned w = 0; w < 3; w++) {
        struct magazine *magazine = &small_worker(w)->local.magazine;
        found += in_list(magazine->free, wanted) + in_list(magazine->ready, wanted);
        found += in_list(magazine->filling, wanted) + in_list(magazine->waiting, wanted);
    }
    return found;
}

/* How many got the result; each either waits to be told, and is, or has it, or was too late. */
static unsigned successes(void) {
    unsigned found = 0;
    for (unsigned i = 0; i < JOINERS; i++) {
        struct joiner *joiner = &joiners[i];
        if (joiner->result == NOT_ASKED) continue;
        chk_assert(joiner->ear.told == (joiner->result == 0), "told once if it was to wait, else not");
        chk_assert(joiner->result != 0 || joiner->ear.reason == REASON, "with the reason");
        found += joiner->result >= 0;
    }
    return found;
}
static void joined(void) {
    chk_assert(successes() >= 1, "one of them gets the result");
    chk_assert(on_shelves(child_proc) == 1, "the block is given back once");
    chk_assert(ties_of(small, pid_slot(owner), true)->zombies == NULL, "the owner has no record left");
    small_end();
}
static void joined_or_detached(void) {
    chk_assert(successes() >= 1 || detached == 0, "one of them gets the result, or it was given up");
    chk_assert(on_shelves(child_proc) == 1, "the block is given back once");
    chk_assert(ties_of(small, pid_slot(owner), true)->zombies == NULL, "the owner has no record left");
    small_end();
}
static void given_up(void) {
    successes();
    chk_assert(on_shelves(child_proc) == 1 && on_shelves(owner_proc) == 1, "both blocks are given back once");
    chk_assert(ties_of(small, pid_slot(owner), true)->zombies == NULL, "no record is left");
    small_end();
}

SCENARIO(keep_join, .about = "a process ends || is joined", .setup = set_up, .threads = {ends, joins_0}, .finish = joined)
SCENARIO(keep_join_two, .about = "a process ends || is joined || is joined", .setup = set_up, .threads = {ends, joins_0, joins_1},
         .finish = joined, .deep_in = CHK_SC | CHK_TSO)
SCENARIO(keep_join_after, .about = "a process has ended: is joined || is joined", .setup = set_up_ended, .threads = {joins_0, joins_1},
         .finish = joined)
SCENARIO(keep_detach, .about = "a process ends || is joined || is detached", .setup = set_up, .threads = {ends, joins_0, detaches},
         .finish = joined_or_detached, .deep_in = CHK_SC | CHK_TSO)
SCENARIO(keep_owner, .about = "a process ends || its owner ends", .setup = set_up, .threads = {ends, owner_ends}, .finish = given_up)
SCENARIO(keep_owner_join, .about = "a process ends || is joined || its owner ends", .setup = set_up, .threads = {ends, joins_0, owner_ends},
         .finish = given_up, .deep_in = CHK_ALL)
SCENARIO(keep_owner_after, .about = "a process has ended: is joined || its owner ends", .setup = set_up_ended,
         .threads = {joins_0, owner_ends}, .finish = given_up)

/* A thread asks whether it is over, without taking the result. */
static void asks(void) { chk_assert(monitor_is_over(&small_play(2)->local, child), "it has ended"); }
SCENARIO(keep_join_asked, .about = "a process has ended: is joined || a thread asks whether it has", .setup = set_up_ended,
         .threads = {joins_0, asks}, .finish = joined)

/* Another record of the same owner. */
static struct zombie *another;
static void owner_begins_another(void) { another = zombie_new(&small_play(2)->local, owner_proc); }
static void joined_and_another(void) {
    chk_assert(ties_of(small, pid_slot(owner), true)->zombies == another && !another->next, "the owner has the new record alone");
    zombie_undo(&small_play(2)->local, another);
    joined();
}
SCENARIO(keep_another, .about = "a process has ended: is joined || its owner is about to spawn another", .setup = set_up_ended,
         .threads = {joins_0, owner_begins_another}, .finish = joined_and_another)

/* ---- twins that are wrong ------------------------------------------------------------------------------------------------------ */

/* Trusts the word: a process that has ended is not to be had, one that lives is waited for. Both are true too early or too late. */
static void joins_by_the_word(void) {
    struct worker *worker = small_play(1);
    struct joiner *joiner = &joiners[0];
    struct monitor **list = monitor_list(small, pid_slot(child), true);
    struct lock *lock = monitor_lock(small, pid_slot(child));
    (void)worker;
    lock_take(lock);
    if (state_of(atom_load_acq(&child_proc->state.word)) != STATE_COMPLETE) {
        joiner->result = 0;
        joiner->ear.monitor.prev = *list;
        joiner->ear.monitor.next = NULL;
        (*list)->next = &joiner->ear.monitor;
    } else {
        struct zombie *kept = zombie_find(*list, child);
        chk_assert(kept && kept->monitor.told, "a process that has ended has left its reason");
        joiner->result = MONITOR_ENDED;
        zombie_drop(&worker->local, list, kept);
    }
    lock_drop(lock);
}
static void ends_well(void) { small_end(); }
SCENARIO(keep_twin_by_the_word, .about = "broken: COMPLETE is taken for the reason being there", .setup = set_up,
         .threads = {ends, joins_by_the_word}, .finish = ends_well, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* The owner goes through its list without asking whether a record is still there. */
static void owner_ends_unlocked(void) {
    struct worker *worker = small_play(2);
    struct zombie *kept = ties_of(small, pid_slot(owner), true)->zombies;
    if (kept) zombie_undo(&worker->local, kept);
}
SCENARIO(keep_twin_owner_unlocked, .about = "broken: an owner takes its records without the slot's lock", .setup = set_up_ended,
         .threads = {joins_0, owner_ends_unlocked}, .finish = ends_well, .flawed_in = CHK_ALL, .flaw = CHK_RACE)
