/* The pool of threads. A worker is a place to run processes at, with its queue, timers and caches; a thread drives one worker at a
 * time. A thread that is stuck in a call of the operating system loses its worker to another thread (oscall.c).
 *
 *   operation           caller
 *   threads_init        one thread, before it is shared
 *   thread_give         the thread that has a worker which no thread drives
 *   thread_reserve      a thread that drives a worker; it calls thread_carry next
 *   threads_end         the thread that stops the runtime, when no worker is driven any more
 *
 *   D1  A worker is driven by one thread at a time. The thread that gives it away does not touch it again.
 *   D2  A thread without a worker rests in the pool until it is given one, and ends by itself after some seconds of rest.
 *   D3  Where a worker has pinned processes, its thread is theirs. Any other process makes its blocking calls on a thread of the pool,
 *       without a worker: it goes out with that thread, stack and all, and is queued when it comes back, like a process that has lost
 *       its worker (wait/blocking.c).
 *   D4  `my_worker` is the worker that the calling thread drives, or NULL. While a thread runs a process it may lose its worker, in three
 *       ways: the worker is retaken during a blocking call (oscall.h); the process is stopped (stopped.h, 4), and is resumed with another
 *       worker; the process that it is to run was stopped, and the worker goes to that process's thread (stopped.h, 8). Each sets
 *       `my_worker`; step_stackful reads it, and the loop goes on with that worker, or ends if there is none. */
#ifndef WEFT_THREAD_THREAD_H
#define WEFT_THREAD_THREAD_H

#include "sched/sched.h"

struct thread {
    struct loop loop;
    struct runtime *runtime;
    struct parker parker;
    /* Why it was woken: to drive a worker, or to make a process's call (D3). Neither: to end. Written before the unpark. */
    struct worker *given;
    struct fiber *carries;
    struct thread *next;   /* in a list of the pool */
    struct proc *returned; /* the process that is back from a call for which the thread lost its worker: queued once its stack is left */
    struct fiber *caller;  /* the process whose blocking call it makes */
    bool reserved;         /* it was started by thread_reserve and waits for that caller to wake it */
    sys_thread handle;
    uint32_t number; /* the kernel's */
    /* While it sleeps in a signal handler, with a process that was interrupted (stopped.h): the process, and its place in the list of
     * stopped threads. */
    struct proc *stopped;
    struct thread *sooner, *later;
    /* Its alarm (stopped.h, A8), in its own signal handler: made when it first went on with a stopped process, or refused then. */
    sys_alarm alarm;
    bool alarm_refused,
        alarm_is_set; /* is_set: it may ring in a system call: it has not been taken back since, whatever step it was set for */
    /* The condemned process that was interrupted here last, what it had been spared by then (struct fiber, heeds), and from which CPU time of
     * the thread on it is ended (preempt.h, X7). */
    struct {
        weft_pid pid;
        uint32_t heeds;
        uint64_t from;
    } condemned;
    bool unjoined;       /* no thread joins it */
    bool waits;          /* its stopped process can be resumed; under preempt's lock */
    const void *context; /* what was interrupted: a ucontext_t; and how far up its stack is searched */
    const void *floor;
};

#if WEFT_CHECK
#define thread_is_careful false
#else
/* Set for sysmon: it must not wait for locks of the C library, because a stopped process may hold them (stopped.h, A4). */
extern _Thread_local bool thread_is_careful __attribute__((tls_model("initial-exec")));
#endif

void threads_init(struct threads *threads, unsigned most);
/* Starts one more thread, to rest in the pool. Not from a worker's thread or sysmon while processes may be interrupted: it may wait for
 * locks of the C library (stopped.h, A4). 0, or as thread_give. */
int thread_prepare(struct runtime *runtime);
/* A thread at rest; NULL: there is none. The caller gives it a worker at once, by thread_wake. */
struct thread *thread_take(struct runtime *runtime);
/* Gives the worker to a thread that waits for one. */
static inline void thread_wake(struct thread *thread, struct worker *worker) {
    atom_store_rlx(&worker->driver, 0); /* rlx: a number; 0 until the thread is up */
    thread->given = worker;
    parker_unpark(&thread->parker);
}
/* A thread to make a call with: one at rest, or a new one. NULL: there is none to be had. It may wait for locks of the C library, so the
 * caller holds none of weft's; and the caller keeps its worker, so that sysmon finds it asleep and resumes the process that holds the
 * lock (stopped.h, A5). */
struct thread *thread_reserve(struct runtime *runtime);
/* The process of `fiber` has left its stack, and makes a call on the thread, which is away from now on. */
void thread_carry(struct thread *thread, struct fiber *fiber);
/* 0: some thread drives the worker from now on. WEFT_EAGAIN: there is none to be had, and the worker is still the caller's. */
int thread_give(struct runtime *runtime, struct worker *worker);
/* Joins all threads. False: some are out in calls that do not end, and will look at the runtime if they ever come back. */
bool threads_end(struct runtime *runtime);
/* By a thread that is back from a call and has lost its worker. Never returns if threads_end did not wait for it: the process is no
 * more. */
void thread_came_back(struct thread *self);
/* my_thread, asked for anew: for code that may have been moved to another thread. */
struct thread *thread_here(void);

#endif
