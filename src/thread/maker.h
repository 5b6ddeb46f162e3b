/* The thread maker: a thread that makes threads, where processes may be interrupted. One that is interrupted may hold a lock of the C library that
 * making a thread takes; the maker may wait for it, and a worker or sysmon may not (thread/stopped.h, A4).
 *
 *   thread_maker_start, _stop   preempt_begin and preempt_finish, under preempt's lock or when no process runs any more
 *   thread_maker_call           any thread */
#ifndef WEFT_THREAD_MAKER_H
#define WEFT_THREAD_MAKER_H

#include "sched/sched.h"

/* 0, or an error. */
int thread_maker_start(struct runtime *runtime);
void thread_maker_stop(struct runtime *runtime);
/* Asks it for one more thread at rest. */
void thread_maker_call(struct runtime *runtime);

#endif
