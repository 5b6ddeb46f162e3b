/* Whoever can wake a process although everybody sleeps and no timer runs: a handler that will complete a command, a descriptor that the
 * kernel watches, a child of the operating system that will end.
 *
 * As long as there is one, nobody is in a deadlock (deadlock.c). A process that waits for such a thing says so before it waits, and
 * whoever wakes it, or itself, when that is over:
 *
 *     outside_begin(&worker->actor);
 *     int why = wait_for(&wait, deadline, "weft_accept");
 *     outside_end(&worker_here()->actor);            it may have moved
 *
 * The counts are their actors' own and nothing is ordered by them, so this costs a nanosecond. What is not needed here: timers, calls in
 * weft_blocking, processes that run or are ready, and other threads of the program, all of which are seen without it. */
#ifndef WEFT_SCHED_EXTERNAL_WAIT_H
#define WEFT_SCHED_EXTERNAL_WAIT_H

#include "sched/runtime.h"

static inline void outside_begin(struct actor *actor) { count(&actor->counters.outside_begun); }
static inline void outside_end(struct actor *actor) { count(&actor->counters.outside_ended); }

#endif
