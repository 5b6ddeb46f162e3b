/* Lanes keep delayed messages (weft_after, weft_every) to one process in order: as long as some are pending, all their timers are in one
 * worker's timer wheel. A wheel hands its timers out in order, and one thread at a time fires them (timer_events_run).
 *
 *   operation        caller
 *   lane_of          any thread
 *   lane_arm         the thread that arms such a timer
 *   lane_arm_again   the thread that has fired it and arms it once more
 *   lane_leave       the thread that has fired it for the last time, once the message is sent, or has cancelled it
 *
 *   N1  A lane is a worker's number and tenure, and the number of pending timers. The first two change only while none is pending: the next
 *       timer goes to the arming thread's own worker, so that a process with one timer at a time keeps it where it runs.
 *   N2  When a worker's thread has left, its timers move to the first worker (worker_leave), and later timers for it are armed there too. A
 *       worker's tenure counts how often its timers were moved away: if it gets a thread again, it begins new lanes, and the older lanes
 *       stay where their timers are. The tenure is compared under the lock of the timers, so no timer is armed after the move. */
#ifndef WEFT_MAIL_LANE_H
#define WEFT_MAIL_LANE_H

#include "sched/timer_event.h"

/* Bits 0-11 the worker's number, 12-31 its tenure, which may wrap round, 32-63 how many timers are pending. */
#define LANE_ONE (UINT64_C(1) << 32)
#define LANE_TENURE 12
_Static_assert(PLACES_MAX <= 1 << LANE_TENURE && TIMERS_MOVED >> (32 - LANE_TENURE) == 0, "the number of a worker, and its tenure");

/* The lane of the process in a slot; its address does not change. NULL: there is no memory. */
atom_u64 *lane_of(struct runtime *runtime, uint32_t slot);
/* Arms one more timer: where others are pending, else in the wheel of `self`, or of the first worker if that is NULL. */
void lane_arm(struct runtime *runtime, struct worker *self, atom_u64 *lane, struct timer_event *event, uint64_t when);
/* Arms again a timer that is counted already. */
void lane_arm_again(struct runtime *runtime, struct worker *self, atom_u64 *lane, struct timer_event *event, uint64_t when);
static inline void lane_leave(atom_u64 *lane) {
    atom_sub_rel(lane, LANE_ONE); /* rel: pairs with the acq in lane_enter: if a thread finds none pending, the messages were sent before */
}
void lane_destroy_all(struct runtime *runtime);

#endif
