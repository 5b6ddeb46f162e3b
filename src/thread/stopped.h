/* Processes that do not give way are interrupted: the scheduler's side. What happens on the interrupted thread is in preempt/preempt.h.
 *
 *     sysmon                        the thread T that drives worker W, process P        others
 *     1  P has had its time: asks W
 *     2  signals T                       3  handler: P may be stopped here?
 *                                        4  P is this thread's from now on; gives W to R
 *                                        5  sleeps in the handler                            6  R, with W: P may be resumed, after all others
 *                                                                                            7  S, with worker V, claims P
 *                                        9  drives V; the handler returns, P goes on         8  S gives V to T, and rests
 *
 *   operation                           who may call
 *   preempt_look                        sysmon, of a worker whose step has lasted
 *   stopped_list, stopped_sleep         T in 4 and 5
 *   stopped_took                        the thread that has just been given a worker
 *   stopped_take                        S, in 7
 *   stopped_unlist, stopped_hand_back   whoever has claimed P, in 8
 *   stopped_next                        whoever has a worker that nobody drives
 *   preempt_evict                       the thread that stops the runtime
 *
 *   A1  A request names a step by its number, as give_way does. A signal that comes late finds that another is meant, or none.
 *   A2  Nobody is signalled who has not used the processor lately: a thread asleep in a system call is not, as far as one can tell from
 *       outside. (What the handler does about the rest: preempt/preempt.h.)
 *   A3  P is queued by R, not by T: when others can claim it, T has let go of W for good (fiber.h, F1; thread.h, D1).
 *   A4  T may have been stopped while it held a lock of the C library. So nothing on the way from a queue to T, and nothing sysmon
 *       does, takes such a lock: memory comes from the kernel (sys/heap.h), threads are made by the thread maker, who may wait.
 *   A5  Nothing is needed to resume somebody but a worker: its own thread drives it. So an extra worker, which L0 starts when threads are
 *       stuck, goes to who was stopped first, and whoever waits for a lock of theirs gets it in the end: when all are resumed, they are
 *       plain threads. And where no thread is at rest to take over in 4, T gives the worker to whoever was stopped before it.
 *   A6  There is always a worker to be had for those who are stopped, whatever may have happened to all others: extra workers may be used up by
 *       processes that fell asleep at a lock, in any number. A *relief worker* comes when there are more hogs than extra workers, or when nobody
 *       has been resumed for a tenth of a second: a worker beyond all caps, which begins with the process that was stopped first, takes
 *       none but others that were stopped, and leaves when there are none. Those who are stopped and relief workers together are at most `most`, and
 *       so many places are kept for them: who may be stopped finds one.
 *   A7  A worker with pinned processes resumes nobody, because it would go to another thread than theirs. */
#ifndef WEFT_THREAD_STOPPED_H
#define WEFT_THREAD_STOPPED_H

#include "sched/sched.h"

enum {
    PREEMPT_SLICE_US = 10000, /* default, and most: what lasts longer is a hog's (sysmon.c) */
    PREEMPT_SLICE_LEAST_US = 50,
    PREEMPT_MOST = 64, /* stopped at a time, or relieved: there is a place for a worker for each (A6) */
};

/* What sysmon should think of a step that has lasted. */
enum preempt_view {
    PREEMPT_NONE,  /* nothing is known about it here */
    PREEMPT_ASKED, /* it is, or will be, interrupted when somebody needs the worker: no extra worker for it */
    PREEMPT_STUCK, /* its thread sleeps, perhaps for a lock of somebody who was stopped: an extra worker at once */
};

#if !WEFT_CHECK
_Static_assert(WORKERS_MAX + EXTRA_MAX + PREEMPT_MOST <= PLACES_MAX, "A6");
#endif

struct thread;

/* ---- those who are stopped ---------------------------------------------------------------------------------------- */

/* Among those who are stopped. False: there are as many as there may be, which is no matter any more when the runtime stops. */
bool stopped_list(struct thread *thread);
void stopped_unlist(struct thread *thread);
/* There is a relief worker more (1), or one less (-1). */
void stopped_relieve(struct runtime *runtime, int more);
/* In 4 and 5: its process is in the list. Gives the worker to `heir` (NULL: nobody has to drive it, because the runtime stops) and sleeps until
 * somebody brings another, which is returned. */
struct worker *stopped_sleep(struct worker *worker, struct thread *self, struct thread *heir);
/* In 8: the thread of a process that was claimed goes on with the worker, which is not the caller's any more. */
void stopped_hand_back(struct worker *worker, struct thread *thread);
/* The same for one that was claimed by a hand-off, perhaps. False: the worker has pinned processes, and the caller has it still; the other is among those who
 * can be resumed. */
bool stopped_resume_with(struct worker *worker, struct proc *proc);

/* Thread `number` drives the worker from now on: queues who was stopped there. */
void stopped_took(struct worker *worker, uint32_t number);
/* Who has been stopped for longest, claimed; NULL: nobody, or it cannot be had just now. Its step hands the worker over to its thread. */
struct proc *stopped_take(struct worker *worker);
/* The worker's step, which has begun, is of one who was stopped. */
static inline void stopped_goes_on(struct worker *own) {
    atom_store_rlx(&own->again, atom_load_rlx(&own->local.counters.steps)); /* rlx: for sysmon */
}
/* The thread of who has been stopped for longest; the process is claimed, and goes on as soon as the thread is given the worker. NULL: there is
 * none, or it cannot be had just now. By whoever has the worker. */
struct thread *stopped_next(struct worker *worker);

/* ---- who is stopped, and when: with signals, of which the checker has none ---------------------------------------- */

#if WEFT_CHECK
static inline enum preempt_view preempt_look(struct worker *worker, uint64_t now) { return (void)worker, (void)now, PREEMPT_NONE; }
static inline void preempt_evict(struct worker *worker) { (void)worker; }
static inline void preempt_settle(struct runtime *runtime) { (void)runtime; }
static inline unsigned preempt_overdue(struct runtime *runtime, uint64_t now) { return (void)runtime, (void)now, 0; }
#else
enum preempt_view preempt_look(struct worker *worker, uint64_t now);
/* So many workers are wanted besides, because nobody has been resumed for long though somebody could be: whatever it is that holds the others up. */
unsigned preempt_overdue(struct runtime *runtime, uint64_t now);
/* The longest sysmon may sleep while somebody runs. */
uint64_t preempt_period(struct runtime *runtime, uint64_t period);
/* As stopped_next, if the worker should go to such a thread rather than to one at rest: an extra worker; or there is none at rest. */
struct thread *stopped_heir(struct worker *worker);

/* A runtime stops and wants the worker back. */
void preempt_evict(struct worker *worker);
/* And has said so to the worker: nobody drives it after the one who is stopped now. By its own thread. */
bool stopped_is_last(struct worker *worker);
/* A runtime stops, and some processes have not ended: before its monitor does. Those who are stopped will sleep for ever, so they must not hold
 * a lock of the C library: they are resumed until they can be stopped in the program's own code. Takes a second at most. */
void preempt_settle(struct runtime *runtime);

/* The thread maker: a thread that makes threads. 0, or an error. */
int thread_maker_start(struct runtime *runtime);
void thread_maker_stop(struct runtime *runtime);
/* A thread more is wanted at rest. */
void thread_maker_call(struct runtime *runtime);
#endif

#endif
