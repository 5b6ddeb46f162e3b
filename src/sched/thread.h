/* Threads, as opposed to workers: a worker is a place to run processes at, with its queue, timers and caches; a thread drives one at a
 * time. A thread that is stuck in a call of the operating system loses its worker to another one (call.c).
 *
 *   operation           who may call
 *   threads_init        one thread, before it is shared
 *   thread_give         whoever has a worker that nobody drives
 *   threads_end         the thread that stops the runtime, when no worker is driven any more
 *
 *   D1  A worker is driven by one thread at a time. Who gives it away does not touch it again.
 *   D2  A thread without a worker rests in the pool until it is given one, and ends by itself after some seconds of rest. */
#ifndef WEFT_SCHED_THREAD_H
#define WEFT_SCHED_THREAD_H

#include "sched/sched.h"

struct thread {
    struct loop loop;
    struct runtime *runtime;
    struct parker parker;
    struct worker *given; /* what it was woken for; NULL: to end. Written before the unpark */
    struct thread *next;  /* in a list of the pool */
    struct proc *orphan;  /* a process that came back from a call and had lost its worker: to be queued once its stack is left */
    struct fiber *caller; /* whose blocking call it is in */
    sys_thread handle;
};

#if WEFT_CHECK
#define my_thread ((struct thread *)NULL)
#else
extern _Thread_local struct thread *my_thread __attribute__((tls_model("initial-exec")));
#endif

void threads_init(struct threads *threads, unsigned most);
/* 0: some thread drives the worker from now on. WEFT_EAGAIN: there is none to be had, and the worker is still the caller's. */
int thread_give(struct runtime *runtime, struct worker *worker);
/* Joins all threads. False: some are out in calls that do not end, and will look at the runtime should they ever come back. */
bool threads_end(struct runtime *runtime);

#endif
