/* Workers that are so fast that help is no help: their short queues are left alone.
 *
 * A process that moves to another worker takes its cache lines along, 200 ns or so, and a worker that sleeps needs 40 us to come. A worker whose processes are born and
 * end within tens of nanoseconds has worked off a short queue before that. With two workers such a spawn took 75 ns instead of 28: the other worker came, found little,
 * went to sleep with a fence that interrupts the first, and was woken again.
 *
 * The same holds for processes that talk to each other all the time, and are stolen whenever they are woken: thread/sysmon_help.h.
 *
 *   B1  Sysmon alone says that a worker is brisk: by how many processes it has spawned since the round before, or because stealing was no help.
 *   B2  While a worker is brisk and its queue is short, it wakes no worker for what it queues, thieves pass by, and a worker goes to sleep beside it.
 *       Only with policy ring: how long the others' queues are is not looked at.
 *   B3  Nothing waits there for long. Sysmon looks at a brisk worker every 100 us; one that is slower, or is held up by a process, is brisk no more: then a sleeper is woken
 *       if the queue is not empty. A worker that enters a call, or leaves, does the same itself.
 *
 *   sysmon                          the worker                     a worker without work
 *   1  brisk: no                    1  queues a process            1  sets its bit as a sleeper
 *      fence (heavy)                   fence (light)                  fence (heavy)
 *   2  looks at the queue,          2  looks at brisk              2  looks at brisk and the queue
 *      wakes a sleeper
 *
 * Either sysmon sees the process, or the worker that it is not brisk; either sysmon sees the sleeper, or that one that the queue is not to be left alone. */
#ifndef WEFT_SCHED_BRISK_H
#define WEFT_SCHED_BRISK_H

#include "sched/newborn.h"

#if WEFT_CHECK
/* Whether the scenario is about brisk workers; other scenarios are spared these loads (check/scenarios/small_runtime.c). */
bool chk_brisk(void);
enum { BRISK_SHORT = 2 };
#else
#define chk_brisk() true
enum { BRISK_SHORT = 128 };
#endif
enum {
    BRISK_SPAWN = 200,  /* ns; a worker that spawns a process in this time, on average, becomes brisk */
    BRISK_SLOWER = 400, /* and stays so up to this */
};

static inline bool brisk_is_short(struct worker *worker) {
    return ring_size(&worker->ring) <= BRISK_SHORT && newborn_is_empty(worker) && ring_is_empty(&worker->due);
}

/* Whether the worker's queue is to be left alone (B2); a hint, unless behind a fence. */
static inline bool brisk_left_alone(struct worker *worker) {
    return chk_brisk() && __builtin_expect(atom_load_rlx(&worker->brisk), 0) && brisk_is_short(worker); /* rlx: behind the fences */
}

#endif
