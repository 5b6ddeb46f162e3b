/* The limits that bound a runtime, and the numbers of its scheduler. */
#ifndef WEFT_SCHED_LIMITS_H
#define WEFT_SCHED_LIMITS_H

#include "queue/idle.h"

#if WEFT_CHECK
enum { DOORS = 2, EVENT_BATCH = 2, RESERVE_LEAST = 4, WORKERS_MAX = IDLE_MAX };
#else
enum {
    WORKERS_MAX = 1024,   /* most that can be wanted; beside these there is room for EXTRA_MAX and PREEMPT_MOST */
    DOORS = 8,            /* doors for threads that are not workers */
    EVENT_BATCH = 64,     /* most events a step is given at once */
    RESERVE_LEAST = 2048, /* the global queue has room for so many processes from the start */
};
#endif
enum {
    PLACES_MAX = IDLE_MAX,        /* workers of all kinds */
    CONDEMNED_LOOKS = 1000000000, /* ns; how often it is looked for condemned processes that run on, while there are any */
    BUDGET_CALLS = 64,            /* a process yields after so many calls in a row that could have waited and did not: at 10 to 60 ns a
                           * call about a microsecond, of which the switch is a hundredth */
    GLOBAL_TICK = 61,             /* every 61st process is one from the global queue */
    GLOBAL_OFTEN = 16,            /* every 16th while very many wait there and the worker's own queue does not run empty */
    RING_SHORT =
        WEFT_CHECK ? 3 : 256, /* processes in a ring: a tree that is walked in breadth as far as that is walked in depth from there on */
    EVEN_OUT = 16,            /* every 16th look round of a worker it compares its ring with another's */
    FAIR_SOURCES = 5,         /* queues besides its own that a worker asks in turn when it looks round */
    PINNED_TICK = 2,          /* on a worker with pinned processes every second process is a pinned one */
    GLOBAL_PATIENCE = 64,     /* looks at GLOBAL_TICK before GLOBAL_OFTEN applies: by then a full ring has been worked off */
    NEWEST_RUNS_MAX =
        GLOBAL_PATIENCE * GLOBAL_TICK, /* most newborn in a row from the newest end of a deque: with 61 a tree of processes was
                                                      * walked in breadth, and took a tenth longer; with 16 * 61, 4 in 100 */
    SLOT_RUNS_MAX = 256, /* most processes in a row from the one-slot LIFO: with 64 pairs that message each other took 12 % longer */
    SLOT_RUNS_DUE = 64,  /* the same while processes wait whose timers are due */
    SLOT_RUNS_SLOW = 16, /* the same on a worker whose processes run for half a microsecond or more each */
    CHAIN_WHOLE = 4,     /* so many of those after a process that was due come before a look round: a request and its answer */
    HANDOFFS_MAX = 16,   /* most hand-offs in a row */
    STEPS_MAX = 128,     /* most steps in a row of a process that has more messages than a step is given. With 16 a receiver
                           * with a hundred senders fell behind for good, at three times the time and five times the memory */
    ELEMENTS_MAX = 32,   /* budgets in a row of a receiver whose channel has more elements */
    INSTANCES = 256,
    CONTEXT_LOCKS = 16,
    MONITOR_LOCKS = 64,
    STACK_DEFAULT = 64 << 10,
    EXTRA_MAX = 64, /* extra workers, for hogs: the most, and the default */
    THREADS_DEFAULT = 1024,
    SIGNAL_STACK = 128 << 10, /* of every worker's thread: for signal handlers */
    COARSE_SHIFT = 26,        /* 67 ms: a process's 24 bits of it last 13 days */
};

#define PINNED_CLOSED 0x80000000u
#define ALL_STACKS UINTPTR_MAX
#define NO_STACK (UINTPTR_MAX / 2) /* no stack is there */

#endif
