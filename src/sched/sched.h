/* The scheduler's interface, file by file: making processes ready, the queue policies, finding work, and sysmon's sleep. */
#ifndef WEFT_SCHED_SCHED_H
#define WEFT_SCHED_SCHED_H

#include "base/spin.h"
#include "sched/fair.h"

/* Policy ring: queues a process that the caller holds on its own worker, to run next. */
void policy_put_held(struct worker *own, struct proc *proc, uint16_t ticket);
/* The same if no process is to run next yet. False: one is, and nothing was done. */
static inline bool policy_put_alone(struct worker *own, struct proc *proc, uint16_t ticket) {
    if (__builtin_expect(ring_has_next(&own->ring) || !slot_is_empty(&own->slot), 0)) return false;
    slot_fill(&own->slot, entry_make(proc, ticket));
    return true;
}

/* ---- ready.c: the one door into the run queues -------------------------------------------------------------------- */

enum ready_why { READY_WOKEN, READY_SPAWNED, READY_YIELDED };
/* Queues `proc`, which the caller has made READY and whose ticket it has. `self` is the calling thread's worker if it is one of this
 * runtime's. */
void ready(struct runtime *runtime, struct worker *self, struct proc *proc, uint16_t ticket, enum ready_why why);
/* The same for a process that may be pinned: then it goes to its own worker's pinned queue. (`pinned_to` comes from the state word that was
 * made READY: a queue tolerates a surplus entry, a pinned queue does not.) */
void ready_pinned(struct runtime *runtime, struct worker *self, struct proc *proc, unsigned pinned_to);
static inline void ready_again(struct runtime *runtime, struct worker *self, struct proc *proc, struct state_next next,
                               enum ready_why why) {
    if (__builtin_expect(next.pinned_to != 0, 0)) ready_pinned(runtime, self, proc, next.pinned_to - 1u);
    else ready(runtime, self, proc, next.ticket, why);
}
/* The same for a process that the caller holds (proc/deliver.h), as READY_WOKEN. */
static inline void ready_held(struct runtime *runtime, struct worker *self, struct proc *proc, struct state_next next) {
    if (__builtin_expect(self && self->policy == POLICY_RING && !next.pinned_to, 1)) policy_put_held(self, proc, next.ticket);
    else ready_again(runtime, self, proc, state_let_go(&proc->state), READY_WOKEN);
}
/* Wakes a process. The caller knows that `proc` is a control block, if not which process has it now. */
void proc_wake(struct runtime *runtime, struct worker *self, struct proc *proc);
/* There is new work in a queue that other workers may take from: wakes a sleeping worker if there is one and no worker searches. */
void ready_wake(struct runtime *runtime, struct worker *self);
/* There is work in the caller's own queue: the same, unless that is left alone (brisk.h). */
void ready_tell(struct worker *own);
/* The worker is brisk no more, and a worker is woken for what is in its queue. By sysmon. */
void ready_not_brisk(struct worker *worker);
/* There is work for this worker in particular: wakes it if it sleeps. */
void ready_wake_one(struct runtime *runtime, struct worker *worker);

/* ---- policy.c: three queue policies, one interface ---------------------------------------------------------------- */

int policy_init(struct worker *worker);
void policy_destroy(struct worker *worker);
/* Queues a READY process on the caller's worker. True: there is work that a sleeping worker should be told of. */
bool policy_push(struct worker *own, struct proc *proc, uint16_t ticket, enum ready_why why);
/* The next process in the worker's own order, claimed; NULL when there is none. (Beside those that are due, the queue's turn may be the global queue's.) */
struct proc *policy_pop(struct worker *own);
/* The same from the slot alone: the entry, whose process is claimed if it is `sure` (queue/slot.h, T1), or ENTRY_NONE: there is none, or it is another's
 * turn. It takes the tick too. */
uint64_t policy_take_held(struct worker *own, bool *sure);
/* The process of an entry that was in a slot, claimed; NULL: there is none, or another thread has it. */
struct proc *slot_confirm(uint64_t entry);
/* The next of the processes that timers made ready while the worker was busy, claimed; NULL when there is none, or when it is the queue's turn:
 * both have every second one, so that timers which are always due do not starve the queue. */
struct proc *policy_pop_due(struct worker *own);
/* Steals work from another worker: one process, claimed, or NULL. *busy is set if another thread was in the way, which says nothing
 * about emptiness. */
struct proc *policy_steal(struct worker *own, struct worker *victim, bool last_pass, bool *busy);
/* Takes a batch of the victim's ring over into the worker's own, if that is much shorter. Policy ring. */
void policy_even_out(struct worker *own, struct worker *victim);
/* The same from those that policy_pop_due is for: last of all, because the victim runs them soon. */
struct proc *policy_steal_due(struct worker *own, struct worker *victim, bool *busy);
/* Hand-off: wakes the process and claims it for the caller if it was waiting or queued. */
struct state_next policy_wake_to_run(struct runtime *runtime, struct proc *proc);
/* The thread that takes the runtime down: lets a process go that is held in the worker's slot, and queues it nowhere. */
void policy_let_go(struct worker *worker);
/* Whether the worker's queue looks empty; by any thread, a hint unless behind a fence. */
bool policy_is_empty(struct worker *worker);

/* ---- commit.c: a process that has run, on to its next state -------------------------------------------------------- */

/* Moves a process that has run to the state that `status` says, WEFT_STEP_DONE excepted: called after the switch, for stackful ones. */
void step_commit(struct worker *worker, struct proc *proc, enum weft_status status);
/* Parks it; puts it back into the queues. */
void commit_park(struct worker *worker, struct proc *proc, enum state_name name, bool for_mail);
void commit_requeue(struct worker *worker, struct proc *proc);

/* ---- find.c: where a worker looks for work ------------------------------------------------------------------------ */

/* A process, claimed; or NULL when the worker is to leave. */
struct proc *find_work(struct worker *worker);
/* Claims the first claimable of the entries that the worker has taken out of a queue, or returns NULL; the entries behind it go into the
 * worker's own queue. */
struct proc *find_adopt(struct worker *worker, const uint64_t *batch, size_t n);
/* Claims an entry's process; NULL: the entry is stale. */
static inline struct proc *find_claim(uint64_t entry) {
    struct proc *proc = entry_ptr(entry);
    return state_claim(&proc->state, entry_ticket(entry)) ? proc : NULL;
}
/* A searching worker stops searching because it has found work; the last searcher wakes another. */
void find_success(struct worker *worker);
/* After timers have fired (`firing`) and the worker has taken what it runs at once: other workers may run the rest. */
void find_tell_of_due(struct worker *worker);
struct proc *find_global_one(struct worker *worker);
/* Whether there are processes for a worker whose own queue is empty; a hint. */
static inline bool find_has_stored(struct worker *worker) {
    return inject_size(&worker->runtime->inject) > 0 || inject_size(&worker->newborn) > 0;
}
/* Whether there are processes in the queues of workers beyond those wanted, whose threads may have left. A hint. */
bool find_orphans_wait(struct runtime *runtime);
/* The oldest process there that can be claimed, or NULL. */
struct proc *find_oldest(struct inject *inject);
struct proc *find_global_batch(struct worker *worker);
/* After how many processes a busy worker takes the next one from the global queue: GLOBAL_OFTEN ... GLOBAL_TICK. */
unsigned find_global_due(size_t queued, unsigned workers, uint32_t looks);

/* ---- local.c: what a thread has of a runtime, and which worker it drives ----------------------------------------- */

/* my_worker, asked for anew: for code that may have been moved to another thread. */
struct worker *worker_here(void);
/* For threads that drive no worker. */
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
/* Whether every worker that has a thread sleeps; a racy read, the value is a hint. */
bool sysmon_all_asleep(struct runtime *runtime);
/* By sysmon: sleeps until a worker wakes up. */
void sysmon_sleep(struct runtime *runtime);
void sysmon_tell_time(struct runtime *runtime, uint64_t now);
/* A time in the units of the runtime's `coarse`; never 0, which says that there is no sysmon. */
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
/* Whether the scenario is about stopped processes; other scenarios are spared these loads (check/scenarios/small_runtime.c). */
bool chk_preempts(void);
#else
#define chk_preempts() true
#endif

static inline bool preempt_is_on(struct runtime *runtime) {
    return chk_preempts() && __builtin_expect(atom_load_rlx(&runtime->preempt.on), 0); /* rlx: once on it stays on; late is no harm */
}

/* Whether there is a stopped process that could be resumed; a hint. */
static inline bool stopped_waiting(struct runtime *runtime) {
    return chk_preempts() && atom_load_rlx(&runtime->preempt.waiting) > 0; /* rlx: a number */
}
/* Whether there is one that this worker may resume (stopped.h, A7). By the thread that has the worker. */
static inline bool stopped_waits_for(struct worker *worker) {
    return stopped_waiting(worker->runtime) &&
           (atom_load_rlx(&worker->pinned_count) & ~PINNED_CLOSED) == 0; /* rlx: this thread's, while there are any */
}

#endif
