/* Links (life/link.h): two processes link, unlink and end at the same time; a kill and an end: real link, tie, ties, monitor, cancel, end of a
 * process.
 *
 * If the link was there when one ended, the other has one notice (it traps), or is condemned; else nothing. Both halves are gone in the end. */
#include "mortal.h"

#include "life/link.h"
#include "life/spawn.h"
#include "step/step.h"

enum { TAG = 9, NOT_ASKED = 77 };

static weft_pid pids[3];
static struct proc *procs[3];
SHARED int linked, unlinked;

/* ---- setup --------------------------------------------------------------------------------------------------------------- */

/* Process i is worker i's, and runs. */
static void begin(unsigned processes) {
    small_begin(POLICY_RING, 3, 4);
    for (unsigned i = 0; i < processes; i++) {
        pids[i] = small_spawn(&mortal);
        procs[i] = policy_pop(small_worker(0));
    }
    linked = unlinked = NOT_ASKED;
    chk_name(&small->monitor_locks[pid_slot(pids[0]) % MONITOR_LOCKS], "slot0.lock");
    chk_name(&small->monitor_locks[pid_slot(pids[1]) % MONITOR_LOCKS], "slot1.lock");
}
static void play(unsigned i) { small_play(i)->current = procs[i]; }
static void end(unsigned i) {
    small_play(i)->current = NULL;
    step_run(small_worker(i), procs[i]);
}
static void traps(unsigned i) {
    play(i);
    chk_assert(weft_trap_exit(true, TAG) == 0, "in setup");
}
static void set_up(void) {
    begin(2);
    traps(1);
}
static void set_up_untrapped(void) { begin(2); }
static void set_up_linked(void) {
    set_up();
    play(1);
    linked = weft_link(pids[0]);
    chk_assert(linked == 0, "in setup");
}
static void set_up_linked_untrapped(void) {
    set_up_untrapped();
    play(1);
    chk_assert(weft_link(pids[0]) == 0, "in setup");
}
static void set_up_linked_both_trap(void) {
    set_up_linked();
    traps(0);
}

/* ---- threads ---------------------------------------------------------------------------------------------------------------- */

static void ends_0(void) { end(0); }
static void ends_1(void) { end(1); }
static void links_0_to_1(void) {
    play(0);
    chk_assert(weft_link(pids[1]) == 0, "it lives");
}
static void links_1_to_0(void) {
    play(1);
    linked = weft_link(pids[0]);
    chk_assert(linked == 0 || linked == WEFT_ENOPROC, "it lives, or has ended");
}
static void unlinks_1_from_0(void) {
    play(1);
    unlinked = weft_unlink(pids[0]);
    chk_assert(unlinked == 0 || unlinked == WEFT_ENOENT, "linked, or not any more");
}
static void links_and_unlinks(void) {
    links_1_to_0();
    unlinks_1_from_0();
}
static void unlinks_0_from_1_and_ends(void) {
    play(0);
    weft_unlink(pids[1]);
    end(0);
}

/* ---- finish ------------------------------------------------------------------------------------------------------------------- */

static unsigned notices(unsigned i) {
    unsigned found = 0;
    for (struct mpsc_node *node; (node = mpsc_pop(&procs[i]->box)); found++) {
        const weft_notice *notice = weft_msg_notice((const weft_msg *)message_of(node));
        chk_assert(notice && notice->kind == WEFT_NOTICE_EXIT && message_of(node)->tag == TAG && notice->reason.code == REASON,
                   "the notice of an end");
        message_free(&small_play(i)->local.cache, message_of(node));
    }
    return found;
}
static void no_half_is_left(unsigned processes) {
    for (unsigned i = 0; i < processes; i++) {
        struct ties *ties = ties_of(small, pid_slot(pids[i]), false);
        struct monitor **list = monitor_list(small, pid_slot(pids[i]), false);
        chk_assert((!ties || !ties->ties) && (!list || !*list), "no half of a link is left");
    }
}
static void told_if_linked(void) {
    bool due = linked == 0 && unlinked != 0;
    struct ties *ties = ties_of(small, pid_slot(pids[0]), false);
    chk_assert(!ties || !ties->ties, "a process that has ended owns nothing: its block may be another's");
    chk_assert(notices(1) == due, "one notice, if the link was there");
    end(1);
    no_half_is_left(2);
    small_end();
}
/* The end of 0 may have come before the link was undone by 0 itself, or the link before that. */
static void told_at_most_once(void) {
    chk_assert(notices(1) <= 1, "one notice at most");
    end(1);
    no_half_is_left(2);
    small_end();
}
static void condemned_if_linked(void) {
    bool condemned = state_condemned(&procs[1]->state) == STATE_EXIT;
    chk_assert(condemned == (linked == 0), "it is to end, if the link was there");
    chk_assert(!condemned || ties_condemned(small, procs[1]) == REASON, "with the same reason");
    end(1);
    no_half_is_left(2);
    small_end();
}
static void both_ended(void) {
    no_half_is_left(2);
    small_end();
}
static void linked_once(void) {
    struct tie *tie = ties_of(small, pid_slot(pids[0]), false)->ties;
    chk_assert(linked == 0 && tie && !tie->next && tie->message.from == pids[1], "one link, whichever process made it");
    end(0);
    chk_assert(notices(1) == 1, "and one notice");
    end(1);
    no_half_is_left(2);
    small_end();
}

SCENARIO(link_add, .about = "a process ends || another, which traps, links itself to it", .setup = set_up,
         .threads = {ends_0, links_1_to_0}, .finish = told_if_linked)
SCENARIO(link_add_untrapped, .about = "a process ends || another links itself to it", .setup = set_up_untrapped,
         .threads = {ends_0, links_1_to_0}, .finish = condemned_if_linked)
SCENARIO(link_unlink, .about = "a process ends || one that is linked to it unlinks", .setup = set_up_linked,
         .threads = {ends_0, unlinks_1_from_0}, .finish = told_if_linked)
SCENARIO(link_add_unlink, .about = "a process ends || another links itself to it, and unlinks", .setup = set_up,
         .threads = {ends_0, links_and_unlinks}, .finish = told_if_linked, .deep_in = CHK_SC | CHK_TSO)
SCENARIO(link_crossed, .about = "a process unlinks another and ends || the other links itself to it", .setup = set_up,
         .threads = {unlinks_0_from_1_and_ends, links_1_to_0}, .finish = told_at_most_once)
SCENARIO(link_both_end, .about = "two linked processes end at once", .setup = set_up_linked_both_trap, .threads = {ends_0, ends_1},
         .finish = both_ended, .deep_in = CHK_TSO | CHK_C11)
SCENARIO(link_both_end_untrapped, .about = "the same, and neither traps", .setup = set_up_linked_untrapped, .threads = {ends_0, ends_1},
         .finish = both_ended, .deep_in = CHK_ALL)
SCENARIO(link_both_link, .about = "two processes link themselves to each other", .setup = set_up, .threads = {links_0_to_1, links_1_to_0},
         .finish = linked_once)

/* Another link of the same process: its list changes on both sides. */
static void set_up_three(void) {
    begin(3);
    traps(1);
    linked = weft_link(pids[0]);
    chk_assert(linked == 0, "in setup");
}
static void set_up_three_linked(void) {
    set_up_three();
    play(1);
    chk_assert(weft_link(pids[2]) == 0, "in setup");
}
static void links_1_to_2(void) {
    play(1);
    chk_assert(weft_link(pids[2]) == 0, "it lives");
}
static void unlinks_1_from_2(void) {
    play(1);
    chk_assert(weft_unlink(pids[2]) == 0, "they were linked");
}
static void told_of_both(void) {
    end(2);
    chk_assert(notices(1) == 2, "of each end");
    end(1);
    no_half_is_left(3);
    small_end();
}
static void told_of_the_first(void) {
    end(2);
    chk_assert(notices(1) == 1, "of the one end");
    end(1);
    no_half_is_left(3);
    small_end();
}
SCENARIO(link_another, .about = "a linked process ends || the other links itself to a third", .setup = set_up_three,
         .threads = {ends_0, links_1_to_2}, .finish = told_of_both)
SCENARIO(link_unlink_another, .about = "a linked process ends || the other unlinks a third", .setup = set_up_three_linked,
         .threads = {ends_0, unlinks_1_from_2}, .finish = told_of_the_first)

/* It begins to trap at that moment. */
static void traps_1(void) { traps(1); }
static void told_or_condemned(void) {
    unsigned told = notices(1), condemned = state_condemned(&procs[1]->state) == STATE_EXIT;
    chk_assert(told + condemned == 1, "one of the two");
    end(1);
    no_half_is_left(2);
    small_end();
}
SCENARIO(link_trap, .about = "a linked process ends || the other begins to trap exits", .setup = set_up_linked_untrapped,
         .threads = {ends_0, traps_1}, .finish = told_or_condemned)

/* ---- kill and end --------------------------------------------------------------------------------------------------------------- */

SHARED struct listener listener;
static int idle_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    return 0;
}
static const weft_behavior idler = {.name = "idler", .step = idle_step};
static void set_up_watched(const weft_behavior *behavior) {
    small_begin(POLICY_RING, 2, 4);
    listener.monitor.tell = hear;
    pids[0] = small_spawn(behavior);
    procs[0] = policy_pop(small_worker(0));
    chk_assert(monitor_add(&small_play(1)->local, pids[0], &listener.monitor) == 0, "watched in setup");
}
static void set_up_mortal(void) { set_up_watched(&mortal); }
static void set_up_idler(void) { set_up_watched(&idler); }
static void kills(void) {
    small_play(1);
    int error = weft_kill(pids[0]);
    chk_assert(error == 0 || error == WEFT_ENOPROC, "it lives, or has ended");
}
static void told_one_of_the_two(void) {
    chk_assert(listener.told == 1, "its end is told once");
    chk_assert(listener.reason == REASON || listener.reason == WEFT_EKILLED, "with one of the two reasons");
    small_end();
}
/* It parks, or is killed before: the kill wakes it. */
static void killed(void) {
    small_run_own(small_play(0));
    small_run_own(small_play(1));
    chk_assert(listener.told == 1 && listener.reason == WEFT_EKILLED, "a kill is not lost");
    small_end();
}
SCENARIO(kill_exit, .about = "a process ends || is killed", .setup = set_up_mortal, .threads = {ends_0, kills},
         .finish = told_one_of_the_two)
SCENARIO(kill_park, .about = "a process parks || is killed", .setup = set_up_idler, .threads = {ends_0, kills}, .finish = killed)

/* ---- twins that are wrong ----------------------------------------------------------------------------------------------------- */

/* L2 the other way round: what it owns is given up before others are told. A linker may come in between. */
static void ends_in_the_wrong_order(void) {
    struct worker *worker = small_play(0);
    struct proc *proc = procs[0];
    struct reason reason = {REASON, NULL};
    proc_end_pid(proc);
    mpsc_close(&proc->box);
    uint32_t left = state_complete(&proc->state);
    if (left & STATE_OWNS) ties_end(&worker->local, proc);
    if (left & STATE_MONITORED) monitor_tell(&worker->local, worker, proc_slot(proc), &reason, true);
    magazine_retire(&worker->local.magazine, proc);
}
static void set_up_both_trap(void) {
    set_up();
    traps(0);
}
SCENARIO(link_twin_wrong_order, .about = "broken: a process that ends gives up its ties before it tells", .setup = set_up_both_trap,
         .threads = {ends_in_the_wrong_order, links_1_to_0}, .finish = told_if_linked, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* L3 the other way round: puts the halves in, and takes them out again when the other has ended. */
static void links_first_and_looks_then(void) {
    play(1);
    struct worker *worker = small_worker(1);
    struct link_halves halves;
    struct lock *locks[] = {monitor_lock(small, pid_slot(pids[0])), monitor_lock(small, pid_slot(pids[1]))};
    chk_assume(link_reserve(small, pid_slot(pids[1])) == 0 && link_reserve(small, pid_slot(pids[0])) == 0);
    chk_assume(link_new(&worker->local, worker, small, procs[0], pids[0], &halves) == 0);
    struct monitor **list = monitor_list(small, pid_slot(pids[0]), false), **own = monitor_list(small, pid_slot(pids[1]), false);
    state_monitor_newborn(&procs[1]->state);
    for (unsigned i = 0; i < 2; i++)
        lock_take(locks[i]);
    monitor_link(list, &halves.mine->monitor);
    monitor_link(own, &halves.theirs->monitor);
    tie_own(halves.mine);
    tie_own(halves.theirs);
    linked = state_tie(&procs[0]->state) ? 0 : WEFT_ENOPROC;
    if (linked) {
        monitor_unlink(list, &halves.mine->monitor);
        monitor_unlink(own, &halves.theirs->monitor);
        tie_disown(halves.mine);
        tie_disown(halves.theirs);
    }
    for (unsigned i = 2; i-- > 0;)
        lock_drop(locks[i]);
    if (linked) link_free(&worker->local, &halves);
}
SCENARIO(link_twin_undone, .about = "broken: a half is put in before COMPLETE is looked for, and taken out again",
         .setup = set_up_both_trap, .threads = {ends_0, links_first_and_looks_then}, .finish = told_if_linked, .flawed_in = CHK_ALL,
         .flaw = CHK_LEAK)

/* L1 with one lock: a half is taken out of the list of a slot whose lock is not held. */
static void unlinks_with_one_lock(void) {
    play(1);
    struct worker *worker = small_worker(1);
    struct lock *lock = monitor_lock(small, pid_slot(pids[1]));
    lock_take(lock);
    struct tie *mine = tie_find_link(small, pid_slot(pids[1]), pids[0]), *theirs = mine ? mine->twin : NULL;
    if (mine) {
        monitor_unlink(monitor_list(small, pid_slot(pids[0]), false), &mine->monitor);
        monitor_unlink(monitor_list(small, pid_slot(pids[1]), false), &theirs->monitor);
        tie_disown(mine);
        tie_disown(theirs);
    }
    lock_drop(lock);
    if (mine) link_free(&worker->local, &(struct link_halves){mine, theirs});
    unlinked = mine ? 0 : WEFT_ENOENT;
}
SCENARIO(link_twin_one_lock, .about = "broken: unlinks under the lock of its own slot alone", .setup = set_up_linked,
         .threads = {ends_0, unlinks_with_one_lock}, .finish = told_if_linked, .flawed_in = CHK_ALL, .flaw = CHK_RACE)

/* Wakes first, and condemns then: the process has run, and parked, in between. */
static void kills_too_late(void) {
    struct worker *worker = small_play(1);
    proc_wake(small, worker, procs[0]);
    small_run_own(worker);
    state_condemn(&procs[0]->state, STATE_KILL);
}
SCENARIO(kill_twin_too_late, .about = "broken: a process is woken, and then killed", .setup = set_up_idler,
         .threads = {ends_0, kills_too_late}, .finish = killed, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
