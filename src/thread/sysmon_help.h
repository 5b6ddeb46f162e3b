/* Whether stealing helps (policy ring): sysmon measures it.
 *
 * Processes that talk to each other all the time, through a channel or a lock, and run for a microsecond each are slower on two workers than on
 * one: each that is woken is stolen, takes its cache lines along, and is woken from the other side. A hundred senders to one channel took 190 ns an element
 * with two workers, and 50 with one. No rule tells such processes from those that do gain by a second worker; but both can be tried.
 *
 *   H1  Many steps are of processes that were stolen, and thefts are frequent: then short queues are left alone for a moment (sched/brisk.h), and the
 *       steps of both ways are compared. With twice as many it stays so. Either verdict holds for 10 ms at first, and for longer when it is found again.
 *   H2  Only queues that move are left alone, and short ones: brisk.h, B2 and B3. */
#ifndef WEFT_THREAD_SYSMON_HELP_H
#define WEFT_THREAD_SYSMON_HELP_H

#include "sched/sched.h"

/* Once a round. True: short queues are to be left alone now. */
bool help_round(struct runtime *runtime, uint64_t now);

#endif
