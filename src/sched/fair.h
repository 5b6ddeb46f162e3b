/* Fairness: what keeps a process, or a source of work, from holding a worker for as long as it likes.
 *
 * A worker serves its own queue, in the policy's order, and runs one process after the other: this is cheap, and starves everything
 * else. So it *looks round* with every 61st process (GLOBAL_TICK), and serves what is not in its queue: timers, the kernel, other queues
 * (find.c). The tick counts the processes that still run before that. Only these operations change it:
 *
 *   tick_take       the worker's thread, before it takes a process from its own queue. False: the tick is up, find_work looks round
 *   tick_charge     the worker's thread: a process runs that was not in its queue: a hand-off, another step of the same process
 *   tick_begin      the worker's thread: it looks round with the n-th process from now on; tick_hurry, any thread: with the second
 *
 * A process that yields while its worker's queue is empty brings the tick to its end if processes wait elsewhere (fiber_stays): else it
 * would go on alone for 61 turns. A worker that leaves processes behind in its queue hurries the other workers.
 *
 *   K1  Between two looks round at least one process from the worker's own queue runs, if there is one: only tick_take lets the tick
 *       reach its end. (Else a process from another queue that takes all its steps, or so long that sysmon hurries the worker, would be
 *       followed by the next from another queue, and the worker's own processes would have no turn.)
 *
 * How the counters of a worker compose (`fair` in struct worker). From the innermost to the outermost:
 *
 *   counter          bounds                                            by            then
 *   calls            calls of a process that could have waited and     BUDGET_CALLS  it yields, if it holds no lock of sync/
 *                    did not, one after the other
 *   mail_turns       budgets of a process that has messages or        STEPS_MAX     it is queued behind the others
 *                    elements left (of these ELEMENTS_MAX); of a
 *                    step process steps (counted in step_run)
 *   handoffs         hand-offs in a row                                HANDOFFS_MAX  the receiver is queued like any other
 *   slot_runs        processes in a row from the one-slot LIFO         SLOT_RUNS_MAX one from the ring's head; the slot's goes to its end
 *                    (SLOT_RUNS_DUE while others are due, and
 *                    SLOT_RUNS_SLOW where they run for long)
 *                    (policy deque: from the newest end of the deque)  NEWEST_RUNS_MAX one from the oldest end; "local": GLOBAL_TICK
 *   due_turn         processes in a row that timers have made ready    1             one from the queue
 *   tick             processes and steps, all of the above included    GLOBAL_TICK   the worker looks round: timers and descriptors
 *                                                                                    that are due make processes ready; then one
 *                                                                                    process of the other queues runs
 *   cut_short        looks in a row at which a timer's process runs    1             the rest of the look
 *   chain            processes in the slot, woken in a row by one that CHAIN_WHOLE   the worker looks round
 *                    was due, that run although the tick is up
 *   pinned_turns     the same while processes are pinned here: every second process is pinned (PINNED_TICK), every 60th is a look round
 *   rounds           looks round, of all kinds. Says which of the other queues is asked first (rounds % FAIR_SOURCES), so that each has its
 *                    turn in FAIR_SOURCES looks; the eldest newborn every 32nd (newborn.h); the poll every 8th while processes are
 *                    queued (NETPOLL_SELDOM)
 *   looks            looks round since the worker's own queue was last empty. After GLOBAL_PATIENCE of them the tick is shortened in
 *                    proportion to the backlog elsewhere, to GLOBAL_OFTEN at least, and each look may be the eldest newborn's
 *
 * Timers fire while the worker looks round, TIMERS_BATCH at a time: one of the processes runs at once, unless that is where the last look ended, and the
 * others run in turns with the queue.
 *
 * When the worker's own queue is empty, every source is asked, in the order of find_elsewhere. Sources that could feed it for ever take
 * turns: timers fire TIMERS_BATCH at a time, and then the global queue or the newborn queue is asked before the processes that the
 * timers made ready.
 *
 * No decision depends on the clock. But sysmon, which has one, hurries a worker whose processes are slow (sysmon_pace), and asks a
 * process that has run for 10 ms to yield (budget_end). */
#ifndef WEFT_SCHED_FAIR_H
#define WEFT_SCHED_FAIR_H

#include "sched/runtime.h"

/* ---- one word: processes until the worker looks round, calls until the running process yields --------------------------------- */

/* rlx, all: one thread counts. What sysmon writes (tick_hurry, budget_end) may be lost between a load and a store here; sysmon repeats
 * it, if need be. */
#define TURN_CALL (UINT64_C(1) << 32)

/* Policy ring: a row of processes from the slot begins. Where it may be SLOT_RUNS_SLOW long it begins that far from its end, which is the same for all: a
 * comparison with a constant is an instruction less for each message. rlx: sysmon writes `skipped` now and then. */
static inline void slot_row_begin(struct worker *own) { own->fair.slot_runs = atom_load_rlx(&own->fair.skipped); }
/* At a look round. While processes are due (`due`) a row is SLOT_RUNS_DUE long: these wait for its end, and so does the next one for what the last one has begun. A row that began before sysmon
 * found the worker slow is no longer than one that begins now. rlx: as above. */
static inline void slot_row_shorten(struct worker *own, bool due) {
    enum { SHORTER = SLOT_RUNS_MAX - SLOT_RUNS_DUE };
    uint32_t runs = own->fair.slot_runs, skipped = atom_load_rlx(&own->fair.skipped);
    if (own->policy != POLICY_RING) return;
    if (due && runs < SHORTER) runs = runs < SLOT_RUNS_DUE ? runs + SHORTER : SLOT_RUNS_MAX;
    own->fair.slot_runs = runs < skipped ? skipped : runs;
}

static inline uint32_t tick_left(struct worker *own) { return (uint32_t)atom_load_rlx(&own->fair.turn); }
static inline bool tick_is_up(struct worker *own) { return tick_left(own) <= 1; }
/* Also gives the process that runs next its whole budget of calls. */
static inline void tick_begin(struct worker *own, uint32_t processes) {
    atom_store_rlx(&own->fair.turn, BUDGET_CALLS * TURN_CALL | processes);
}
static inline bool tick_take(struct worker *own) {
    uint32_t left = tick_left(own);
    if (__builtin_expect(left <= 1, 0)) return false;
    tick_begin(own, left - 1);
    return true;
}
static inline void tick_charge(struct worker *own) {
    uint32_t left = tick_left(own);
    tick_begin(own, left > 2 ? left - 1 : left);
}
static inline void tick_hurry(struct worker *worker) {
    uint64_t turn = atom_load_rlx(&worker->fair.turn);
    if ((uint32_t)turn > 2) atom_store_rlx(&worker->fair.turn, turn - (uint32_t)turn + 2);
}

/* Counts one call that may wait. True: the budget is used up. */
static inline bool budget_spend(struct worker *own) {
    uint64_t turn = atom_load_rlx(&own->fair.turn);
    if (__builtin_expect(turn < TURN_CALL, 0)) return true;
    atom_store_rlx(&own->fair.turn, turn - TURN_CALL);
    return false;
}
static inline bool budget_is_over(struct worker *own) { return __builtin_expect(atom_load_rlx(&own->fair.turn) < TURN_CALL, 0); }
/* By any thread: the running process should yield at its next call. */
static inline void budget_end(struct worker *worker) { atom_store_rlx(&worker->fair.turn, tick_left(worker)); }

/* The running process has used up its budget on messages, or on elements of a channel, and has more. True: it has another, which counts like another process. Else a process
 * with many senders would fall behind: in their turns they send more than it receives in its own. */
static inline bool budget_renew_up_to(struct worker *own, uint32_t most) {
    uint64_t step = atom_load_rlx(&own->local.counters.steps); /* rlx: its own count */
    own->fair.mail_turns = own->fair.mail_step == step ? own->fair.mail_turns + 1 : 1;
    own->fair.mail_step = step;
    if (own->fair.mail_turns >= most) {
        own->fair.mail_turns = 0;
        return false;
    }
    tick_charge(own);
    return true;
}
static inline bool budget_renew(struct worker *own) { return budget_renew_up_to(own, STEPS_MAX); }
/* For elements: so many as a channel of the usual size holds. Not where processes run for long: there what they do with an element takes longer than a wait. Nor when a look round is
 * due: its timers do not wait for the channel. rlx: as in slot_row_begin. */
static inline bool budget_renew_for_elements(struct worker *own) {
    return atom_is_rlx(&own->fair.skipped, 0) && tick_left(own) > 2 && budget_renew_up_to(own, ELEMENTS_MAX);
}

/* ---- hand-offs ------------------------------------------------------------------------------------------------------------------ */

static inline bool handoff_is_allowed(const struct worker *own) { return own->fair.handoffs < HANDOFFS_MAX; }
/* By a process or a step that wanted to hand over: `handed` says whether it did. */
static inline void handoff_count(struct worker *own, bool handed) {
    own->fair.handoffs = handed ? own->fair.handoffs + 1 : 0;
    if (!handed) return;
    count(&own->local.counters.handoffs);
    tick_charge(own);
}

#endif
