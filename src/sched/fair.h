/* Who runs when: what keeps a process, or a source of work, from holding a worker for as long as it likes.
 *
 * A worker serves its own queue, in the policy's order, and runs one process after the other: this is cheap, and starves everything else. So it
 * *looks round* with every 61st process (GLOBAL_TICK), and serves what is not in its queue: timers, the kernel, other queues (find.c). The tick
 * counts the processes that still run before that. Three operations, and nobody else touches the word:
 *
 *   tick_take       the worker's thread: before it takes a process from its own queue. False: that one is the loop's to find, which looks round
 *   tick_charge     the worker's thread: something runs that was not in its queue: a hand-off, another step of the same process
 *   tick_begin      the worker's thread: it looks round with the n-th process from now on; tick_hurry, any thread: with the one after the next
 *
 * A process that yields while its worker's queue is empty makes the tick up if others wait elsewhere (fiber_stays): else it would go on alone for
 * 61 turns. A worker that leaves processes behind in its queue hurries the others.
 *
 *   K1  Between two looks round one process from the worker's own queue runs at least, if there is one: nothing but tick_take makes the tick up.
 *       (Else a process from elsewhere that takes all its steps, or so long that sysmon hurries the worker, would be followed by the next
 *       from elsewhere, and the worker's own would have no turn.)
 *
 * How the counters of a worker compose (`fair` in struct worker). From the innermost to the outermost:
 *
 *   counter          bounds                                            by            then
 *   calls            calls of a process that could have waited and     BUDGET_CALLS  it yields, if it holds no lock of sync/
 *                    did not, one after the other
 *   (step_run)       steps of a process that has messages left         STEPS_MAX     it is queued behind the others
 *   handoffs         hand-offs in a row                                HANDOFFS_MAX  the receiver is queued like any other
 *   slot_runs        processes in a row from the one-slot LIFO         SLOT_RUNS_MAX one from the ring's head; the slot's goes to its end
 *                    (policy deque: from the newest end of the deque)  NEWEST_RUNS_MAX one from the oldest end; "local": GLOBAL_TICK
 *   tick             processes and steps, all of the above included    GLOBAL_TICK   the worker looks round: what is due of timers and
 *                                                                                    descriptors becomes ready, one process of the other queues runs
 *   pinned_turns      the same while processes are pinned here: every second process is a pinned one (PINNED_TICK), every 60th a look round
 *   rounds           looks round, of all kinds. Which of the other queues is asked first (rounds % FAIR_SOURCES), so that each has its turn in
 *                    FAIR_SOURCES looks; the eldest newborn every 32nd (newborn.h); the poll every 8th while others wait (NETPOLL_SELDOM)
 *   looks            looks round since the worker's own queue was last empty. After GLOBAL_PATIENCE of them the tick is shortened in proportion
 *                    to what waits elsewhere, to GLOBAL_OFTEN at least, and each look may be the eldest newborn's
 *
 * Where the worker's own queue is empty, every source is asked, in the order of find_elsewhere, and those that could feed it for ever in turns:
 * timers ring TIMERS_BATCH at a time, and then the global queue or the newborn queue is asked before what they have made ready.
 *
 * No decision depends on the clock. But sysmon, which has one, hurries a worker whose processes are slow (sysmon_pace), and asks a process to
 * give way that has run for 10 ms (budget_end). */
#ifndef WEFT_SCHED_FAIR_H
#define WEFT_SCHED_FAIR_H

#include "sched/runtime.h"

/* ---- one word: processes until the worker looks round, calls until the process that runs gives way ---------------------------- */

/* rlx, all: one thread counts. What sysmon writes (tick_hurry, budget_end) may be lost between a load and a store here; it comes again, if
 * need be. */
#define TURN_CALL (UINT64_C(1) << 32)

static inline uint32_t tick_left(struct worker *own) { return (uint32_t)atom_load_rlx(&own->fair.turn); }
static inline bool tick_is_up(struct worker *own) { return tick_left(own) <= 1; }
/* The process that runs next has its whole budget. */
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

/* One call of those that may wait. True: the budget is used up. */
static inline bool budget_spend(struct worker *own) {
    uint64_t turn = atom_load_rlx(&own->fair.turn);
    if (__builtin_expect(turn < TURN_CALL, 0)) return true;
    atom_store_rlx(&own->fair.turn, turn - TURN_CALL);
    return false;
}
static inline bool budget_is_over(struct worker *own) { return __builtin_expect(atom_load_rlx(&own->fair.turn) < TURN_CALL, 0); }
/* By any thread: the process that runs should give way at its next call. */
static inline void budget_end(struct worker *worker) { atom_store_rlx(&worker->fair.turn, tick_left(worker)); }

/* ---- hand-offs ------------------------------------------------------------------------------------------------------------------ */

static inline bool handoff_is_allowed(const struct worker *own) { return own->fair.handoffs < HANDOFFS_MAX; }
/* By a process or a step that wanted to hand over: whether it does. */
static inline void handoff_count(struct worker *own, bool handed) {
    own->fair.handoffs = handed ? own->fair.handoffs + 1 : 0;
    if (!handed) return;
    count(&own->local.counters.handoffs);
    tick_charge(own);
}

#endif
