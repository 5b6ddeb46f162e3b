/* Whoever can wake a process although everybody sleeps and no timer runs: a handler that will complete a command, a descriptor that the
 * kernel watches, a child of the operating system that will end.
 *
 * As long as there is one, nobody is in a deadlock (deadlock.c). A process that waits for such a thing says so before it waits, and
 * whoever wakes it, or itself, when that is over:
 *
 *     external_wait_begin(&worker->local);
 *     int why = wait_for(&wait, deadline, "weft_accept");
 *     external_wait_end(&worker_here()->local);            it may have moved
 *
 * The counts are their locals' own and nothing is ordered by them, so this costs a nanosecond. What is not needed here: timers, calls in
 * weft_blocking, processes that run or are ready, and other threads of the program, all of which are seen without it. */
#ifndef WEFT_SCHED_EXTERNAL_WAIT_H
#define WEFT_SCHED_EXTERNAL_WAIT_H

#include "sched/runtime.h"

static inline void external_wait_begin(struct local *local) { count(&local->counters.external_wait_begun); }
static inline void external_wait_end(struct local *local) { count(&local->counters.external_wait_ended); }

#endif
