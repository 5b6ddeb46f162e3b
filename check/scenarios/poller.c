/* Polling: while there is a descriptor and all workers sleep, one of them sleeps in the poll; and it is woken there like any other.
 *
 * The workers are real (find_work). As in find.c a worker takes one process and is busy with it for ever, and there are as many processes
 * as workers: one that is not found means a worker asleep for ever. Process 0 waits for a descriptor, process 1 for a message. */
#include "sleepers.h"
#include "small_poll.h"

#include "mail/send.h"
#include "sched/door.h"
#include "step/step.h"

/* The worker that polls wakes the process that waits. (With a message, so that it has something to run for.) */
static void wake_0(void) {
    struct worker *self = my_worker;
    chk_assert(send_message(self ? &self->local : &small->doors[0], self, pid[0], &letters[0]) == 0, "it lives");
}

static void set_up(unsigned workers, unsigned processes, bool used) {
    small_begin(POLICY_RING, workers, 4);
    small_poll(wake_0);
    sleepers_begin(processes);
    if (used) chk_assert(netpoll_join(small, small_worker(0)) == 0, "a descriptor");
}
static void one(void) { set_up(1, 1, true); }
static void one_unused(void) { set_up(1, 1, false); }
static void two(void) { set_up(2, 2, true); }
static void two_for_one(void) { set_up(2, 1, true); }

/* ---- threads ---------------------------------------------------------------------------------------------------------------- */

static void works_once(void) {
    struct worker *worker = small_play(chk_self());
    step_run(worker, find_work(worker));
}
static void something_comes(void) { small_poll_event(); }
static void sends_0(void) { send_from_outside(0); }
static void sends_1(void) { send_from_outside(1); }

static void ran(unsigned processes) {
    for (unsigned i = 0; i < processes; i++)
        chk_assert(runs[i] == 1, "each has run once");
    chk_assert(atom_load_rlx(&small->netpoll.held) == 0, "no thread holds the poll");
    chk_assert(idle_searchers(&small->idle) == 0 && idle_sleepers(&small->idle) == 0, "no worker is counted that is not there");
    small_end();
}
static void one_ran(void) { ran(1); }
static void both_ran(void) { ran(2); }

SCENARIO(poller_event, .about = "a worker goes to sleep in the poll || a descriptor becomes ready", .setup = one,
         .threads = {works_once, something_comes}, .finish = one_ran)
SCENARIO(poller_bell, .about = "a worker goes to sleep in the poll || a send from outside: the bell (B2)", .setup = one,
         .threads = {works_once, sends_0}, .finish = one_ran)
/* A worker that is busy for ever does not come by again: here it leaves instead. (Sysmon would see to it.) */
static void works_and_leaves(void) {
    works_once();
    netpoll_unattended(small);
}
SCENARIO(poller_event_send,
         .about = "two workers go to sleep, one of them in the poll || a descriptor || a send (random: in full it is too large)",
         .setup = two, .threads = {works_and_leaves, works_and_leaves, something_comes, sends_1}, .finish = both_ran, .random_runs = 5000,
         .deep_in = CHK_ALL)

/* A descriptor comes from a thread that is not a worker. */
static void registers_outside(void) {
    chk_assert(netpoll_join(small, NULL) == 0, "a descriptor");
    small_poll_event();
}
SCENARIO(poller_join, .about = "a worker goes to sleep || another thread registers the first descriptor, which becomes ready",
         .setup = one_unused, .threads = {works_once, registers_outside}, .finish = one_ran)

/* Descriptors come and go. */
static void joins_and_leaves(void) {
    chk_assert(netpoll_join(small, NULL) == 0, "a descriptor");
    netpoll_left(small);
}
static void joins(void) { chk_assert(netpoll_join(small, NULL) == 0, "a descriptor"); }
static void one_is_left(void) {
    chk_assert(atom_load_rlx(&small->netpoll.used) == 1, "one is left");
    small_end();
}
SCENARIO(poller_count, .about = "one descriptor comes and goes || another comes", .setup = one_unused, .threads = {joins_and_leaves, joins},
         .finish = one_is_left)

/* Sysmon polls; meanwhile a worker goes to sleep and finds the poll held. */
static void sysmon_polls(void) {
    chk_assert(small->netpoll.seen.rounds == 0, "as in setup");
    netpoll_watch(small, UINT64_C(1) << 40);
}
SCENARIO(poller_sysmon, .about = "a worker goes to sleep || sysmon polls || a descriptor becomes ready (B3)", .setup = one,
         .threads = {works_once, sysmon_polls, something_comes}, .finish = one_ran, .deep_in = CHK_C11)

/* A worker polls, finds nothing and leaves for good. */
static void polls_and_leaves(void) {
    small_play(1);
    netpoll_now(small, NETPOLL_BATCH);
    netpoll_unattended(small);
}
SCENARIO(poller_leave, .about = "a worker goes to sleep || another polls and leaves || a descriptor becomes ready", .setup = two_for_one,
         .threads = {works_once, polls_and_leaves, something_comes}, .finish = one_ran)

/* ---- twins that are wrong --------------------------------------------------------------------------------------------------- */

static void sysmon_says_nothing(void) { netpoll_now(small, NETPOLL_BATCH); }
SCENARIO(poller_twin_sysmon, .about = "sysmon polls, and does not look whether a worker went to sleep meanwhile", .setup = one,
         .threads = {works_once, sysmon_says_nothing, something_comes}, .finish = one_ran, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

static void registers_silently(void) {
    atom_add_rel(&small->netpoll.used, 1);
    small_poll_event();
}
SCENARIO(poller_twin_join, .about = "a descriptor is registered, and no worker is told", .setup = one_unused,
         .threads = {works_once, registers_silently}, .finish = one_ran, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* Wakes a worker as if it slept on its parker. */
static void sends_without_bell(void) {
    unsigned door;
    struct local *local = door_enter(small->instance, &door);
    struct proc *proc = small_proc(pid[0]);
    chk_assert(send_unheard(local, pid[0], &letters[0]) == 0, "it lives");
    struct state_next next = state_wake(&proc->state);
    if (next.verdict == STATE_ENQUEUE) inject_push(&small->inject, entry_make(proc, next.ticket));
    door_leave(small->instance, door);
    int sleeper = idle_wake(&small->idle);
    if (sleeper != IDLE_NOBODY) parker_unpark(&small_worker((unsigned)sleeper)->parker);
}
SCENARIO(poller_twin_bell, .about = "a worker in the poll is given a token, and the bell is not rung", .setup = one,
         .threads = {works_once, sends_without_bell}, .finish = one_ran, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* Asks without holding the poll: takes away the bell. */
static void polls_without_holding(void) {
    struct netpoll_batch batch;
    if (netpoll_wait(&small->netpoll, &batch, 0) > 0) netpoll_deliver(small, &batch);
}
SCENARIO(poller_twin_two, .about = "two poll at once, and one takes away the ring that was meant for the other (B1)", .setup = one,
         .threads = {works_once, polls_without_holding, sends_0}, .finish = one_ran, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
