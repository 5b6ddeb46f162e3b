/* Preemption: processes that are interrupted when they have used up their time slice.
 *
 * By default a process yields at weft calls only; one that computes for long keeps its worker, and another worker is started beside it.
 * With weft_config.preempt, or for one process with WEFT_SPAWN_PREEMPT, a stackful process is interrupted wherever it is after 10 ms
 * (weft_config.preempt_us), if other processes wait, and goes on when its turn comes again: on the same thread, so that locks, thread-local
 * variables and C libraries behave as ever. It uses the signal SIGURG, which then belongs to weft: handlers that were there before are
 * still called for those that weft has not sent. */
#ifndef WEFT_PREEMPT_H
#define WEFT_PREEMPT_H

#include <weft/api.h>

WEFT_BEGIN

/* Between these the calling process is not interrupted: for short stretches that other processes should not find half done. They nest, and
 * belong to the process: waiting in between is allowed, and other processes run then. Outside of a stackful process they do nothing. */
WEFT_API void weft_nopreempt_begin(void);
WEFT_API void weft_nopreempt_end(void);

WEFT_END

#endif
