/* Counts processes that wait for something outside the program, which can wake them although every worker sleeps and no timer runs: a
 * handler that will complete a command, a descriptor that the kernel watches, a child of the operating system that will end.
 *
 * As long as there is such a wait there is no deadlock (deadlock.c). A process calls external_wait_begin before it waits; the process or
 * its waker calls external_wait_end when the wait is over:
 *
 *     external_wait_begin(&worker->local);
 *     int why = wait_for(&wait, deadline, "weft_accept");
 *     external_wait_end(&worker_here()->local);            it may have moved
 *
 * Each local has its own counts and they order nothing, so this costs a nanosecond. Not needed for timers, calls in weft_blocking,
 * processes that run or are ready, and the program's own threads: the deadlock check sees all of these without it. */
#ifndef WEFT_SCHED_EXTERNAL_WAIT_H
#define WEFT_SCHED_EXTERNAL_WAIT_H

#include "sched/runtime.h"

static inline void external_wait_begin(struct local *local) { count(&local->counters.external_wait_begun); }
static inline void external_wait_end(struct local *local) { count(&local->counters.external_wait_ended); }

#endif
