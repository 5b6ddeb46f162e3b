/* Processes that are interrupted: what happens on their thread. The scheduler's side is in thread/stopped.h.
 *
 * SIGURG comes to preempt_signal, on the thread's stack for signals. If the process may be stopped where it is, the thread gives its worker
 * away and sleeps right there, in the handler, until somebody brings another worker. Then the handler returns, and the kernel restores
 * every register. No stack is switched, so it does not matter what the process was at: a lock that it holds, in malloc or anywhere, is held by
 * a thread that is not running, as threads are all the time.
 *
 *   X1  Where weft is at work on this thread nothing is stopped, because it knows its worker by heart and holds locks. That is so if the
 *       program counter is in weft's code, or a return address on the stack is, below the mark of the last upcall (upcall.h). A call
 *       always leaves its return address there (or in a register, on ARM: those are looked at too), whatever was called: memcpy, a
 *       system call, malloc, a signal handler of the program's that interrupted weft. No call of weft is marked, so none costs more.
 *   X2  What lies on the stack may also be left over from calls that have returned, and what is in a register may be there for weft's own
 *       frames above the upcall. So if such a word is found, the frames are counted one by one, by the tables that debuggers use (unwind.h). If these say
 *       that weft is not there, and lead to the upcall, it is not.
 *   X3  A process that runs on a stack of its own making, or on that of another signal handler, is not stopped: the stack pointer tells.
 *   X4  Nothing in the handler allocates, or takes a lock that a stopped thread may hold.
 *   X5  A call of the operating system that was interrupted by our signal and would tell so (poll, nanosleep: SA_RESTART does not help
 *       them) is begun again (restart.h). It cannot have waited for long, because threads that sleep are not signalled (A2).
 *   X6  All signals are blocked in the handler, for as long as the process is stopped: a thread that is not running handles none. Else a
 *       handler of the program's would run in a process that has no worker, and could leave ours by a jump; and what it was to interrupt, a
 *       call that is begun again, would never hear of it. */
#ifndef WEFT_PREEMPT_PREEMPT_H
#define WEFT_PREEMPT_PREEMPT_H

#include "fiber/fiber.h"

/* From now on processes of the runtime may be interrupted, all of them or those that say so. 0, or why not; then a line has been written
 * to standard error. Any number of times. */
int preempt_begin(struct runtime *runtime, bool all);

/* The step of a process that was stopped: hands the worker over to its thread, if it may have it. */
int preempt_resume(struct worker *worker, struct proc *proc);

/* The runtime has stopped. */
void preempt_finish(struct runtime *runtime);
/* Which thread keeps a process that is stopped. By whoever has claimed it. */
struct thread *preempt_thread_of(struct proc *proc);
/* Whether it was stopped in the program's own code, called by nothing but that. By anyone, while it is stopped. */
bool preempt_in_program(const struct thread *thread);

/* What the handler found, for tests. */
enum preempt_verdict {
    PREEMPT_DONE,
    PREEMPT_NOT_ASKED,   /* or too late */
    PREEMPT_NOT_MARKED,  /* not a process that may be interrupted */
    PREEMPT_IN_WEFT,     /* X1 */
    PREEMPT_ELSEWHERE,   /* X3 */
    PREEMPT_FORBIDDEN,   /* weft_nopreempt_begin */
    PREEMPT_WITH_PINNED, /* pinned processes need this thread */
    PREEMPT_NO_THREAD,   /* nobody to take the worker */
    PREEMPT_TOO_MANY,
    PREEMPT_VERDICTS,
};
/* So often each, since the program began. */
extern atom_u64 preempt_verdicts[PREEMPT_VERDICTS];
/* So often X2 helped. */
extern atom_u64 preempt_walked;

#endif
