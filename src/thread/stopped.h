/* Interrupting processes that have used up their time slice and do not yield: the scheduler's side. What happens on the interrupted
 * thread is in preempt/preempt.h.
 *
 *     sysmon                             the thread T that drives worker W, process P        other threads
 *     1  P used up its slice: asks W
 *     2  signals T                       3  handler: P may be stopped here?
 *                                        4  P is this thread's from now on; gives W to R
 *                                        5  sleeps in the handler                            6  R, with W: P is resumable, after all others
 *                                                                                            7  S, with worker V, claims P
 *                                        9  drives V; the handler returns, P goes on         8  S gives V to T, and rests
 *
 *   operation                           caller
 *   preempt_look                        sysmon, of a worker whose step has lasted
 *   stopped_list, stopped_sleep         T in 4 and 5
 *   stopped_set_alarm, preempt_alarm    T, when it goes on, and in the handler when its alarm rings
 *   stopped_took                        the thread that has just been given a worker
 *   stopped_take                        S, in 7
 *   stopped_unlist, stopped_hand_back   the thread that has claimed P, in 8
 *   stopped_next                        the thread that has a worker which no thread drives
 *   preempt_evict                       the thread that stops the runtime
 *
 *   A1  A request names a step by its number, as give_way does. A signal that comes late finds that another step is meant, or none.
 *   A2  Only a thread that has used the processor lately is signalled: one asleep in a system call is not, as far as sysmon can tell from
 *       outside. (What the handler does about the rest: preempt/preempt.h.)
 *   A3  P is queued by R, not by T: when other threads can claim it, T has let go of W for good (fiber.h, F1; thread.h, D1).
 *   A4  T may have been stopped while it held a lock of the C library. So nothing on the way from a queue to T, and nothing sysmon
 *       does, takes such a lock: memory comes from the kernel (sys/heap.h), threads are made by the thread maker, which may wait.
 *   A5  To resume a process only a worker is needed: the process's own thread drives it. So an extra worker, which sysmon starts when
 *       threads are stuck (L0), goes to the process that was stopped first, and a thread that waits for a lock of a stopped one gets it in
 *       the end: when all are resumed, they are plain threads. And where no thread is at rest to take over in 4, T gives the worker to a
 *       thread that was stopped before it.
 *   A6  There is always a worker to be had for stopped processes, whatever has happened to all other workers: any number of extra
 *       workers may be used up by processes that fell asleep at a lock. A *relief worker* comes when there are more hogs than extra
 *       workers, or when no process has been resumed for a tenth of a second: a worker beyond all caps, which begins with the process
 *       that was stopped first, takes only stopped processes, and leaves when there are none. Stopped processes and relief workers
 *       together are at most `most`, and so many places are kept for them: a process that may be stopped finds one.
 *   A7  A worker with pinned processes resumes no stopped process, because the worker would leave the thread that they are pinned to.
 *   A8  A thread that goes on with a stopped process sets an alarm for itself, since sysmon may not get the CPU in time beside busy threads: a
 *       signal interrupts what computes without any choice of the kernel's. It rings when it can first be another process's turn, and again after
 *       that. It counts only in the step that it was set for (the number, as in A1), from its time on. It is never set sooner than a part of
 *       the slice ahead, so that the process gets on, nor later than a slice. The alarm is one that counts computing time, and so rings in no system call; or, if the
 *       program has asked for that, a timer. A call in which the thread sleeps when its timer rings loses no more than a slice of its waiting; the timer stops nothing
 *       there and is not set again, so that it comes once (preempt.h, X8). Where there is no alarm, sysmon does it all. */
#ifndef WEFT_THREAD_STOPPED_H
#define WEFT_THREAD_STOPPED_H

#include "sched/sched.h"

enum {
    PREEMPT_SLICE_US = 10000, /* default, and most: a step that lasts longer is a hog's (sysmon.c) */
    PREEMPT_SLICE_LEAST_US = 50,
    PREEMPT_MOST = 64, /* stopped processes and relief workers at a time: each has a place for a worker (A6) */
};

/* How sysmon should treat a step that has lasted. */
enum preempt_view {
    PREEMPT_NONE,  /* preemption does not handle it */
    PREEMPT_ASKED, /* it is, or will be, interrupted when a process needs the worker: no extra worker for it */
    PREEMPT_STUCK, /* its thread sleeps, perhaps waiting for a lock of a stopped one: an extra worker at once */
};

#if !WEFT_CHECK
_Static_assert(WORKERS_MAX + EXTRA_MAX + PREEMPT_MOST <= PLACES_MAX, "A6");
#endif

struct thread;

/* ---- the list of stopped threads ---------------------------------------------------------------------------------- */

/* Adds the thread to the list. False: the list is full. (It has no limit while the runtime stops.) */
bool stopped_list(struct thread *thread);
void stopped_unlist(struct thread *thread);
/* There is one relief worker more (1), or one fewer (-1). */
void stopped_relieve(struct runtime *runtime, int more);
/* In 4 and 5: the thread is in the list. Gives the worker to `heir` (NULL: no thread has to drive it, because the runtime stops) and
 * sleeps until another thread brings a worker, which is returned. */
struct worker *stopped_sleep(struct worker *worker, struct thread *self, struct thread *heir);
/* In 8: the thread of a claimed process goes on with the worker, which is not the caller's any more. */
void stopped_hand_back(struct worker *worker, struct thread *thread);
/* The same for a process that was claimed, perhaps by a hand-off. If the worker has pinned processes, the caller keeps it, and the process
 * is back among those that can be resumed. */
void stopped_resume(struct worker *worker, struct thread *thread);

/* Thread `number` drives the worker from now on: makes the process that was stopped on it available to be resumed. */
void stopped_took(struct worker *worker, uint32_t number);
/* The process that has been stopped for longest, claimed; NULL: there is none, or it cannot be had just now. Its step hands the worker
 * over to its thread. */
struct proc *stopped_take(struct worker *worker);
/* The worker's step, which has begun, is that of a process that was stopped. */
static inline void stopped_goes_on(struct worker *own) {
    atom_store_rlx(&own->again, atom_load_rlx(&own->local.counters.steps)); /* rlx: for sysmon */
}
/* The thread of the process that has been stopped for longest; the process is claimed, and goes on as soon as the thread is given the
 * worker. NULL: there is none, or it cannot be had just now. By the thread that has the worker. */
struct thread *stopped_next(struct worker *worker);

/* ---- which process is stopped, and when: with signals, which the checker has not ---------------------------------- */

#if WEFT_CHECK
static inline enum preempt_view preempt_look(struct worker *worker, uint64_t now) { return (void)worker, (void)now, PREEMPT_NONE; }
static inline void preempt_evict(struct worker *worker) { (void)worker; }
static inline void stopped_no_alarm(struct thread *self, struct worker *own) { (void)self, (void)own; }
static inline void preempt_settle(struct runtime *runtime) { (void)runtime; }
static inline bool preempt_computes(struct worker *worker, uint64_t now) { return (void)worker, (void)now, false; }
static inline unsigned preempt_overdue(struct runtime *runtime, uint64_t now) { return (void)runtime, (void)now, 0; }
#else
enum preempt_view preempt_look(struct worker *worker, uint64_t now);
/* By the thread, in a signal handler, as it goes on with its process on the worker: sets its alarm (A8). */
void stopped_set_alarm(struct worker *worker, struct thread *self);
/* By the thread, which is about to make a call that may sleep: its alarm does not ring there, for whichever step, on whichever worker, it was set. `own`: the worker
 * that it drives, or NULL. */
void stopped_no_alarm(struct thread *self, struct worker *own);
/* The alarm of the worker's thread rings, and the thread is not in a system call: whether its process should be stopped now. If not, it rings again
 * when that may have changed. */
bool preempt_alarm(struct worker *worker, struct thread *self);
/* It rang where the process could not be stopped: rings again after a part of the slice, if it is one that counts computing time. */
void preempt_alarm_again(struct worker *worker, struct thread *self);
/* Whether the worker's process has computed for a part of its time slice, or was interrupted before. */
bool preempt_computes(struct worker *worker, uint64_t now);
/* How many more workers are wanted because no process has been resumed for long though one could be, whatever holds the workers up. */
unsigned preempt_overdue(struct runtime *runtime, uint64_t now);
/* The longest that sysmon may sleep while a process runs. */
uint64_t preempt_period(struct runtime *runtime, uint64_t period);
/* As stopped_next, if the worker should go to a stopped thread rather than to one at rest: it is an extra worker, or no thread is at
 * rest. */
struct thread *stopped_heir(struct worker *worker);

/* The runtime stops and wants the worker back: interrupts what runs on it. */
void preempt_evict(struct worker *worker);
/* Whether the runtime stops and has dismissed the worker: no thread drives it after the process that is being stopped now. By its own
 * thread. */
bool stopped_is_last(struct worker *worker);
/* The runtime stops, some processes have not ended, and sysmon still runs. Stopped processes will sleep for ever, so they must not hold
 * a lock of the C library: they are resumed until they can be stopped in the program's own code. Takes a second at most. */
void preempt_settle(struct runtime *runtime);
#endif

#endif
