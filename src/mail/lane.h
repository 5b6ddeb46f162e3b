/* Where the timers of a process's later messages lie: in one worker's wheel as long as some are pending, so that none overtakes another.
 * A wheel hands its timers out in order, and one thread at a time rings them (timer_events_run).
 *
 *   operation        who may call
 *   lane_of          any thread
 *   lane_arm         the thread that arms such a timer
 *   lane_arm_again   the thread that has rung it and arms it once more
 *   lane_leave       the thread that has rung it for the last time, once the message is sent, or has cancelled it
 *
 *   N1  A lane is a worker's number and tenure, and how many are pending. The first two change only while none is: the next one chooses its own
 *       worker, so that a process which has one timer at a time keeps it where it runs.
 *   N2  When a worker's thread has left, its timers are the first worker's (worker_leave), and so are those that are armed for it later. A worker's
 *       tenure is the number of times that its timers were moved away: should it have a thread again, it has lanes of its own, and the older ones
 *       stay where their timers are. The tenure is compared under the lock of the timers, so no timer is armed behind those that have left. */
#ifndef WEFT_MAIL_LANE_H
#define WEFT_MAIL_LANE_H

#include "sched/timer_event.h"

/* Bits 0-11 the worker's number, 12-31 its tenure, which may come round, 32-63 how many are pending. */
#define LANE_ONE (UINT64_C(1) << 32)
#define LANE_TENURE 12
_Static_assert(PLACES_MAX <= 1 << LANE_TENURE && TIMERS_MOVED >> (32 - LANE_TENURE) == 0, "the number of a worker, and its tenure");

/* Of the process in a slot; stays where it is. NULL: there is no memory. */
atom_u64 *lane_of(struct runtime *runtime, uint32_t slot);
/* One more is pending, in the timers of `self`, or of the first worker if that is NULL, or where others are pending. */
void lane_arm(struct runtime *runtime, struct worker *self, atom_u64 *lane, struct timer_event *event, uint64_t when);
/* One that is counted already. */
void lane_arm_again(struct runtime *runtime, struct worker *self, atom_u64 *lane, struct timer_event *event, uint64_t when);
static inline void lane_leave(atom_u64 *lane) {
    atom_sub_rel(lane, LANE_ONE); /* rel: pairs with the acq in lane_enter: a thread that finds none pending comes after what was sent */
}
void lane_destroy_all(struct runtime *runtime);

#endif
