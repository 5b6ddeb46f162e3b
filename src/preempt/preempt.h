/* Preempting a process by a signal: what happens on its thread. The scheduler's side is in thread/stopped.h.
 *
 * preempt_signal handles SIGURG on the thread's signal stack. If the process may be stopped where it is, the thread gives its worker away
 * and parks in the handler, until another thread gives it a worker. Then the handler returns, and the kernel restores every register. No
 * stack is switched, so it does not matter what the process was doing: a lock that it holds, in malloc or elsewhere, is held by a thread
 * that is not running, which is nothing new for threads.
 *
 *   X1  A thread is not stopped inside weft, because weft's code keeps its worker in registers and holds locks. It is inside weft if the
 *       program counter is in weft's code, or a return address on the stack below the mark of the last upcall (upcall.h) is. A call
 *       always leaves its return address there (or in a register, on ARM: those are checked too), whatever was called: memcpy, a
 *       system call, malloc, a signal handler of the program that interrupted weft. No call of weft is marked, so none costs more.
 *   X2  A word on the stack may be left over from a call that has returned, and a word in a register may belong to weft's frames above
 *       the upcall. So if such a word is found, the frames are walked one by one, by the tables that debuggers use (unwind.h). If none is
 *       weft's, and the walk reaches the upcall, the thread is not inside weft.
 *   X3  A process that runs on a stack of its own making, or on that of another signal handler, is not stopped: the stack pointer tells.
 *   X4  The handler does not allocate, and takes no lock that a stopped thread may hold.
 *   X5  A system call that was interrupted by our signal and would return EINTR (poll, nanosleep: SA_RESTART does not help them) is
 *       restarted (restart.h). It cannot have waited for long, because threads that sleep are not signalled (stopped.h, A2); for alarms: X8.
 *   X6  All signals are blocked in the handler, for as long as the process is stopped. Else a handler of the program would run in a
 *       process that has no worker, and could leave our handler by a jump; and a system call that this signal should interrupt would be
 *       restarted without returning EINTR.
 *   X7  A process that was condemned (weft_kill, a link) is ended instead, in its own code only: nothing but frames of the program's is on its
 *       stack, it holds no lock that weft knows of, and it has computed for 10 ms without a call at which it could have ended. What it has deferred
 *       is called there; C++ frames are not unwound: the tables for exceptions know calls, and not where it was interrupted. So a process that
 *       does call weft, and was only interrupted before it came to that, is left to end there, with its destructors.
 *   X8  The thread's own alarm (stopped.h, A8), if it is a timer, may ring while it sleeps in a system call. The process is not stopped there, and the alarm not set again: otherwise a
 *       sleep longer than the time slice would be begun again for ever. So the call is restarted as in X5, and waits for at most a time slice longer, once for
 *       each time that a process was stopped on that thread. A call of weft's own loop is not restarted: that looks at the clock again. Where most calls could not be
 *       restarted, no timers are set. */
#ifndef WEFT_PREEMPT_PREEMPT_H
#define WEFT_PREEMPT_PREEMPT_H

#include "fiber/fiber.h"

/* From now on processes of the runtime may be interrupted: all of them, or those spawned with WEFT_SPAWN_PREEMPT. Returns 0 or an error; then
 * the reason has been written to standard error. May be called any number of times. */
int preempt_begin(struct runtime *runtime, bool all);

/* The runtime has stopped. */
void preempt_finish(struct runtime *runtime);
/* Whether it was stopped in the program's own code, with only such frames on its stack. By any thread, while it is stopped. */
bool preempt_in_program(const struct thread *thread);

/* What the handler found, for tests. */
enum preempt_verdict {
    PREEMPT_DONE,
    PREEMPT_NOT_ASKED,   /* or too late */
    PREEMPT_NOT_MARKED,  /* the process is not one that may be interrupted */
    PREEMPT_IN_WEFT,     /* X1 */
    PREEMPT_ELSEWHERE,   /* X3 */
    PREEMPT_FORBIDDEN,   /* weft_nopreempt_begin; fork (sched/atfork.h) */
    PREEMPT_WITH_PINNED, /* pinned processes need this thread */
    PREEMPT_NO_THREAD,   /* no thread to take the worker */
    PREEMPT_TOO_MANY,
    PREEMPT_ENDED, /* X7 */
    PREEMPT_VERDICTS,
};
/* How often each was found, since the program began. */
extern atom_u64 preempt_verdicts[PREEMPT_VERDICTS];
/* How many of those that were stopped had an alarm that rang. */
extern atom_u64 preempt_rung;
/* How often X2 allowed to stop a process. */
extern atom_u64 preempt_walked;

#endif
