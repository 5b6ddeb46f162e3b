/* The scheduler's parts, each in its own file, and how they call each other. */
#ifndef WEFT_SCHED_SCHED_H
#define WEFT_SCHED_SCHED_H

#include "base/spin.h"
#include "sched/fair.h"

/* ---- ready.c: the one door into the run queues -------------------------------------------------------------------- */

enum ready_why { READY_WOKEN, READY_SPAWNED, READY_YIELDED };
/* Somebody made `proc` READY and has its ticket. `self` is the calling thread's worker if it is one of this runtime's. */
void ready(struct runtime *runtime, struct worker *self, struct proc *proc, uint16_t ticket, enum ready_why why);
/* The same for a process that may be pinned: then to its own worker's inbox. (Asked of the word that was made READY: an entry in a queue may
 * be one too many, in an inbox it may not.) */
void ready_pinned(struct runtime *runtime, struct worker *self, struct proc *proc, unsigned pinned_to);
static inline void ready_again(struct runtime *runtime, struct worker *self, struct proc *proc, struct state_next next,
                               enum ready_why why) {
    if (__builtin_expect(next.pinned_to != 0, 0)) ready_pinned(runtime, self, proc, next.pinned_to - 1u);
    else ready(runtime, self, proc, next.ticket, why);
}
/* A process has something to look at. The caller knows that the block is one, if not whose. */
void proc_wake(struct runtime *runtime, struct worker *self, struct proc *proc);
/* There is new work in a queue that others may take from: wakes a sleeper if there is one and nobody searches. */
void ready_wake(struct runtime *runtime, struct worker *self);
/* There is something for this worker in particular: wakes it if it sleeps. */
void ready_wake_one(struct runtime *runtime, struct worker *worker);

/* ---- policy.c: three disciplines behind one seam ------------------------------------------------------------------ */

int policy_init(struct worker *worker);
void policy_destroy(struct worker *worker);
/* Queues a READY process on its own worker. True: others may want to know. */
bool policy_push(struct worker *own, struct proc *proc, uint16_t ticket, enum ready_why why);
/* The next process in the worker's own order, claimed; NULL when there is none. */
struct proc *policy_pop(struct worker *own);
/* Moves work here from another worker: one process, claimed, or NULL. *busy is set if somebody was in the way, which says nothing
 * about emptiness. */
struct proc *policy_steal(struct worker *own, struct worker *victim, bool last_pass, bool *busy);
/* Hand-off: wakes the process and claims it for the caller if it was waiting or queued. */
struct state_next policy_wake_to_run(struct runtime *runtime, struct proc *proc);
/* Whether the worker's queue looks empty, to anyone. */
bool policy_is_empty(struct worker *worker);

/* ---- commit.c: a process that has run, on to its next state -------------------------------------------------------- */

/* A process that has run goes on as `status` says, WEFT_DONE excepted: commit after the switch, for stackful ones. */
void step_commit(struct worker *worker, struct proc *proc, enum weft_status status);
/* To sleep; and back into the queues. */
void commit_park(struct worker *worker, struct proc *proc, enum state_name name, bool for_mail);
void commit_requeue(struct worker *worker, struct proc *proc);

/* What the step of a stackful process answers then. */
enum { STEP_GONE = 1 };

/* ---- find.c: where a worker looks for work ------------------------------------------------------------------------ */

/* A process, claimed; or NULL when the worker shall leave. */
struct proc *find_work(struct worker *worker);
/* Of entries that the worker has taken out of a queue: the first that can be claimed, or NULL; those behind it go into the worker's own queue. */
struct proc *find_adopt(struct worker *worker, const uint64_t *batch, size_t count);
/* Claims an entry's process, or says that the entry is stale. */
static inline struct proc *find_claim(uint64_t entry) {
    struct proc *proc = entry_ptr(entry);
    return state_claim(&proc->state, entry_ticket(entry)) ? proc : NULL;
}
/* A searching worker searches no longer, and the last one sends another. */
void find_success(struct worker *worker);
struct proc *find_global_one(struct worker *worker);
/* Whether processes lie in the queue of a worker beyond those wanted, which may have left. A hint. */
bool find_orphans_wait(struct runtime *runtime);
/* The oldest there that can be claimed, or NULL. */
struct proc *find_oldest(struct inject *inject);
struct proc *find_global_batch(struct worker *worker);
/* After how many processes a busy worker takes the next one from the global queue: GLOBAL_OFTEN ... GLOBAL_TICK. */
unsigned find_global_due(size_t queued, unsigned workers, uint32_t looks);

/* ---- local.c: what a thread has of a runtime, and which worker it drives ----------------------------------------- */

/* my_worker, asked for anew: for code that may have been moved to another thread. */
struct worker *worker_here(void);
/* For those who have none of their own. */
struct worker *worker_first(struct runtime *runtime);
struct thread;
#if WEFT_CHECK
#define my_thread ((struct thread *)NULL)
#else
/* The thread itself, if it drives workers: thread/thread.h. */
extern _Thread_local struct thread *my_thread __attribute__((tls_model("initial-exec")));
#endif
void local_init(struct local *local, struct runtime *runtime);

/* ---- sysmon_sleep.c ----------------------------------------------------------------------------------------------- */

void sysmon_unpark(struct runtime *runtime);
/* Whether every worker that has a thread sleeps; a look in passing. */
bool sysmon_all_asleep(struct runtime *runtime);
/* By sysmon: until a worker wakes up. */
void sysmon_sleep(struct runtime *runtime);
void sysmon_tell_time(struct runtime *runtime, uint64_t now);
/* A moment in the units of the runtime's `coarse`; never 0, which says that there is no monitor. */
static inline uint32_t sysmon_coarse(uint64_t now) {
    uint32_t coarse = (uint32_t)(now >> COARSE_SHIFT);
    return coarse ? coarse : 1;
}
/* By a worker that has just been woken. */
static inline void sysmon_wake(struct runtime *runtime) {
    atom_fence_light();                                                                      /* pairs with the heavy one in sysmon_sleep */
    if (__builtin_expect(atom_load_rlx(&runtime->sysmon.asleep), 0)) sysmon_unpark(runtime); /* rlx: the fence */
}

/* ---- processes that were stopped: thread/stopped.h ------------------------------------------------------------------ */

#if WEFT_CHECK
/* Whether the scenario is about them; the others are spared the looks (check/scenarios/small_runtime.c). */
bool chk_preempts(void);
#else
#define chk_preempts() true
#endif

static inline bool preempt_is_on(struct runtime *runtime) {
    return chk_preempts() && __builtin_expect(atom_load_rlx(&runtime->preempt.on), 0); /* rlx: once on it stays on; late is no harm */
}

/* Whether somebody is stopped who could be resumed; a hint. */
static inline bool stopped_waiting(struct runtime *runtime) {
    return chk_preempts() && atom_load_rlx(&runtime->preempt.waiting) > 0; /* rlx: a number */
}
/* Whether there is such a one for this worker (A7). By whoever has it. */
static inline bool stopped_waits_for(struct worker *worker) {
    return stopped_waiting(worker->runtime) &&
           (atom_load_rlx(&worker->pinned_count) & ~PINNED_CLOSED) == 0; /* rlx: this thread's, while there are any */
}

#endif
