/* Where the timers of a process's later messages lie: in one worker's wheel as long as some are pending, so that none overtakes another.
 * A wheel hands its timers out in order, and one thread at a time rings them (alarms_run).
 *
 *   operation      who may call
 *   lane_of        anyone
 *   lane_enter     whoever is going to arm such a timer, before
 *   lane_worker    whoever arms it again, between enter and leave
 *   lane_leave     whoever has rung it for good, once the message is sent, or has cancelled it
 *
 *   N1  A lane is a worker's number and tenure, and how many are pending. The first two change only while none is: the next one chooses its own
 *       worker, so that a process which has one timer at a time keeps it where it runs.
 *   N2  When a worker's thread has left, its timers are the first worker's (worker_leave), and so are those that are armed for it later. A worker's
 *       tenure ends then: should it have a thread again, it has lanes of its own, and the older ones stay where their timers are.
 *       (A thread that pauses between lane_enter and the arm for as long as it takes a worker to leave and come back arms its timer there all the same.) */
#ifndef WEFT_SCHED_LANE_H
#define WEFT_SCHED_LANE_H

#include "sched/sched.h"

/* Bits 0-11 the worker's number, 12-31 its tenure, which may come round, 32-63 how many are pending. */
#define LANE_ONE (UINT64_C(1) << 32)
#define LANE_TENURE 12
_Static_assert(PLACES_MAX <= 1 << LANE_TENURE, "the number of a worker");

/* Of the process in a slot; stays where it is. NULL: there is no memory. */
atom_u64 *lane_of(struct runtime *runtime, uint32_t slot);
/* The worker whose timers the message belongs to: `self`, or the first if that is NULL, unless others are pending. */
struct worker *lane_enter(struct runtime *runtime, struct worker *self, atom_u64 *lane);
struct worker *lane_worker(struct runtime *runtime, atom_u64 *lane);
static inline void lane_leave(atom_u64 *lane) {
    atom_sub_rel(lane, LANE_ONE); /* rel: pairs with the acq in lane_enter: who finds none pending comes after what was sent */
}
void lane_destroy_all(struct runtime *runtime);

#endif
