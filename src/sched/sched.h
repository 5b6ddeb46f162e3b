/* The scheduler's parts, each in its own file, and how they call each other. */
#ifndef WEFT_SCHED_SCHED_H
#define WEFT_SCHED_SCHED_H

#include "base/spin.h"
#include "sched/fair.h"

#include <signal.h>

/* ---- ready.c: the one door into the run queues -------------------------------------------------------------------- */

enum ready_why { READY_WOKEN, READY_SPAWNED, READY_YIELDED };
/* Somebody made `proc` READY and has its ticket. `self` is the calling thread's worker if it is one of this runtime's. */
void ready(struct runtime *runtime, struct worker *self, struct proc *proc, uint16_t ticket, enum ready_why why);
/* The same for a process that may be pinned: then to its own worker's inbox. (Asked of the word that was made READY: an entry in a queue may
 * be one too many, in an inbox it may not.) */
void ready_home(struct runtime *runtime, struct worker *self, struct proc *proc, unsigned home);
static inline void ready_again(struct runtime *runtime, struct worker *self, struct proc *proc, struct state_next next, enum ready_why why) {
    if (__builtin_expect(next.home != 0, 0)) ready_home(runtime, self, proc, next.home - 1u);
    else ready(runtime, self, proc, next.ticket, why);
}
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

/* ---- step.c: running a process once ------------------------------------------------------------------------------- */

/* A process that has run goes on as `status` says, WEFT_DONE excepted: commit after the switch, for stackful ones. */
void step_commit(struct worker *worker, struct proc *proc, enum weft_status status);
/* Runs a claimed process and then whatever it handed over to. False: the thread has lost its worker, and must not touch it. */
bool step_run(struct worker *worker, struct proc *proc);
/* What the step of a stackful process answers then. */
enum { STEP_GONE = 1 };

/* ---- send.c, spawn.c ---------------------------------------------------------------------------------------------- */

/* Within a section: the living process of a PID, or NULL. Without a section it may have another tenant the next moment. */
static inline struct proc *send_find(struct runtime *runtime, weft_pid to) {
    struct proc *proc = table_at(&runtime->table, pid_slot(to));
    /* acq: pairs with the rel in proc_end, so that a sender who sees the end sees what led to it, and with that in shelf_take. */
    bool lives = proc && atom_load_acq(&proc->generation) == pid_generation(to);
    /* No living tenant has an even generation, but a block that was never used has 0, and an open mailbox. */
    return __builtin_expect(lives && pid_generation(to) % 2 == 1, 1) ? proc : NULL;
}
/* Gives a message to a process of the actor's runtime. Takes the message if it returns 0. */
int send_message(struct actor *actor, struct worker *self, weft_pid to, struct message *message);
/* Sent, or refused and freed: counted in either case. */
static inline int send_count(struct actor *actor, struct message *message, int error) {
    if (__builtin_expect(error, 0)) {
        message_free(&actor->cache, message);
        count(&actor->counters.refused);
        return error;
    }
    count(&actor->counters.sent);
    return 0;
}
/* For hand-off in two parts. First, when the step asks for it, so that the order of what it sends is kept: puts the message in the
 * mailbox and wakes nobody. Then, after the step: wakes the receiver; with `to_run` it is returned, claimed, if it could be had. */
int send_unheard(struct actor *actor, weft_pid to, struct message *message);
struct proc *send_wake(struct actor *actor, struct worker *self, weft_pid to, bool to_run);
/* Both at once, for a process that runs on `self`: *target is the receiver, claimed, or NULL when it could not be had. */
int send_handoff(struct worker *self, weft_pid to, uint64_t tag, const void *data, size_t size, struct proc **target);
/* The same with a message ready made, which it takes if it returns 0. */
int send_message_handoff(struct worker *self, weft_pid to, struct message *message, struct proc **target);
/* A process that is watched from its birth on: its watcher is told of its end, whenever that is. From a worker's own thread. *ticket is
 * that of its first entry. Otherwise as weft_spawn_step. */
struct watcher;
/* In two steps, for who knows better than a behavior's init what a process begins with. In between it is the spawner's: `self` is to be set,
 * and a context may be given. NULL: *error says why. The ticket is that of its first entry. */
struct proc *spawn_begin(struct actor *actor, const weft_behavior *behavior, unsigned flags, int *error);
uint16_t spawn_finish(struct actor *actor, struct worker *self, struct proc *proc, bool watched);
static inline weft_pid spawn_pid(struct runtime *runtime, struct proc *proc) {
    return pid_make(runtime->instance, atom_load_rlx(&proc->generation), proc->slot); /* rlx: the spawner's own, still */
}
int spawn_watched(struct worker *self, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                  struct watcher *watcher, uint16_t *ticket);
/* Flags of weft_spawn_options that are not for users. LATE: born even while the runtime stops; the process that it is born for lives
 * still, so those who stop the runtime wait for it. PLAIN: init is weft's own, and does not wait. */
enum { SPAWN_LATE = 1 << 30, SPAWN_PLAIN = 1 << 29 };
/* What weft_send does with a PID of no runtime in this program. */
int send_by_router(weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size);
/* Somebody has something for a process to look at. Whoever calls knows that the block is one, if not whose. */
void send_awake(struct runtime *runtime, struct worker *self, struct proc *proc);
/* As weft_cancel, by a caller that knows whose block it is, and that this one cannot end meanwhile. */
void cancel_now(struct runtime *runtime, struct worker *self, struct proc *proc);
/* The process has ended: tells its closer, empties its mailbox, retires its block. By whoever owns it. */
void proc_end(struct actor *actor, struct proc *proc, int reason);

/* ---- foreign.c: threads that are not workers ---------------------------------------------------------------------- */

/* Opens a door to the runtime of this instance; NULL when there is none. Held until foreign_leave: short. */
struct actor *foreign_enter(unsigned instance, unsigned *door);
void foreign_leave(unsigned instance, unsigned door);
/* Gives the runtime an instance, and the generations and serial numbers that are new there: 0 or WEFT_ENOBUFS. */
int foreign_open(struct runtime *runtime);
/* Waits for those inside; others may enter. */
void foreign_settle(unsigned instance);
/* Waits for those inside; nobody enters afterwards. Not `again`: some of its threads are left behind and may still make PIDs, so no other
 * runtime gets the instance. Nothing happens the second time. */
void foreign_close(struct runtime *runtime, bool again);
/* Whether there is a runtime. */
bool foreign_any(void);

/* ---- dispatch/command.c ------------------------------------------------------------------------------------------- */

void command_dispatch(struct worker *worker, struct proc *proc, struct message *yield);
void command_destroy_all(struct runtime *runtime);

/* ---- fork/: tasks of fork/join regions ------------------------------------------------------------------------------ */

#if !WEFT_CHECK
/* While runtime->forks is not 0: a process that takes over a task, claimed; or NULL, and those who have tasks have been asked for some. */
struct proc *fork_steal(struct worker *worker);
/* The same by a worker that has others to run: of tasks that lie open; nobody is asked. */
struct proc *fork_take(struct worker *worker);
/* The second look: whether there is a task to be had. If not, the next fork anywhere wakes somebody. */
bool fork_anything(struct worker *worker);
void fork_destroy_all(struct runtime *runtime);
#else
static inline struct proc *fork_steal(struct worker *worker) { return (void)worker, NULL; }
static inline struct proc *fork_take(struct worker *worker) { return (void)worker, NULL; }
static inline bool fork_anything(struct worker *worker) { return (void)worker, false; }
static inline void fork_destroy_all(struct runtime *runtime) { (void)runtime; }
#endif

/* ---- worker.c, resize.c ------------------------------------------------------------------------------------------- */

void *worker_main(void *worker);
/* my_worker, asked for anew: for code that may have been moved to another thread. */
struct worker *worker_here(void);
/* Under the lock: one more worker, without a thread yet; NULL when there is no memory. */
struct worker *worker_new(struct runtime *runtime, unsigned index);
/* WEFT_EBUSY: one that was to leave has pinned processes, and stays. No workers at all: they leave whatever they have. */
int workers_set(struct runtime *runtime, unsigned workers);
/* A process is pinned to the worker that runs it, or no longer. worker_pin is false when the worker is to leave; by its own thread. */
bool worker_pin(struct worker *own);
void worker_unpin(struct worker *own);
/* For those who have none of their own. */
struct worker *worker_first(struct runtime *runtime);
/* After a timer was armed there by another: if the worker has no thread any more, its timers are the first worker's. */
void worker_keep_timers(struct runtime *runtime, struct worker *worker);
/* So many workers beside those that are wanted; by the monitor. */
void workers_compensate(struct runtime *runtime, unsigned hogs);
/* Beyond these, if there are more hogs than extra workers: for processes that were stopped and no worker takes (preempt.h, A6); by the monitor. */
void workers_relieve(struct runtime *runtime, unsigned hogs);
/* Sends the worker's thread away: it leaves soon, whatever there is to do, and worker_main returns. */
void worker_dismiss(struct runtime *runtime, struct worker *worker);

void actor_init(struct actor *actor, struct runtime *runtime);
/* Everything but the configuration, which is there already, and the workers. */
int runtime_init(struct runtime *runtime, uint64_t processes);
void runtime_destroy(struct runtime *runtime);
/* Calls `visit` with every process that lives now. */
typedef void each_visit(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user);
void each_process(struct runtime *runtime, each_visit *visit, void *user);
/* Cancels every process, or those of a context and below. */
void cancel_all(struct runtime *runtime, struct weft_context *below);
/* Refuses new processes, cancels all there are and waits until none is left, or until the deadline. */
void stop_wait(struct runtime *runtime, uint64_t deadline);
/* Whoever was asked to end is ended at its next call that may wait. To be repeated: it concerns who runs now. */
void stop_press(struct runtime *runtime);

/* fiber/exceptions.c: when a runtime starts. */
#if WEFT_CHECK
static inline void exceptions_begin(void) {}
#else
void exceptions_begin(void);
#endif

/* ---- monitor.c ---------------------------------------------------------------------------------------------------- */

int monitor_start(struct runtime *runtime);
void monitor_stop(struct runtime *runtime);
void monitor_unpark(struct runtime *runtime);
/* It comes at once, if it would not have soon: by a thread that will be stuck, when nobody is idle. */
void monitor_hurry(struct runtime *runtime);
/* Whether every worker that has a thread sleeps; a look in passing. */
bool monitor_all_asleep(struct runtime *runtime);
/* By the monitor: until a worker wakes up. */
void monitor_sleep(struct runtime *runtime);
void monitor_tell_time(struct runtime *runtime, uint64_t now);
/* A moment in the units of the runtime's `coarse`; never 0, which says that there is no monitor. */
static inline uint32_t monitor_coarse(uint64_t now) {
    uint32_t coarse = (uint32_t)(now >> COARSE_SHIFT);
    return coarse ? coarse : 1;
}
/* By a worker that has just been woken. */
static inline void monitor_wake(struct runtime *runtime) {
    atom_fence_light(); /* pairs with the heavy one in monitor_sleep */
    if (__builtin_expect(atom_load_rlx(&runtime->monitor.asleep), 0)) monitor_unpark(runtime); /* rlx: the fence */
}

/* ---- watch.c ------------------------------------------------------------------------------------------------------ */

/* A process that nobody knows yet is watched; its state says so when it is made ready. 0 or WEFT_ENOMEM. */
int watch_newborn(struct actor *actor, weft_pid pid, struct watcher *watcher);
/* The process in this slot has ended and somebody watches. True: its result is kept, and its block with it (keep.h). */
bool watch_tell(struct actor *actor, struct worker *self, uint32_t slot, int reason);
void watch_destroy_all(struct runtime *runtime);

/* ---- interrupt.c -------------------------------------------------------------------------------------------------- */

void interrupt_poke(struct runtime *runtime, struct proc *proc);
/* By whoever has just cancelled the process: one that waits in a call is told to give it up. */
static inline void interrupt_cancelled(struct runtime *runtime, struct proc *proc) {
    if (__builtin_expect(state_is_interruptible(&proc->state), 0)) interrupt_poke(runtime, proc);
}

/* ---- after.c ------------------------------------------------------------------------------------------------------- */

void after_destroy_all(struct runtime *runtime);

/* ---- fiber/look.c, fiber/symbol.c ---------------------------------------------------------------------------------- */

/* What can be seen of a stackful process from outside, while it may be changing. */
struct look {
    const void *entry; /* NULL: not a stackful process, or another by now */
    const char *name;  /* NULL: none was given */
    const char *call;  /* the one that it waits in, or has last waited in; NULL: none yet */
    const void *about;
    bool in_call; /* weft_blocking */
};
#if WEFT_CHECK
static inline void fiber_look(struct proc *proc, struct look *look) { (void)proc, *look = (struct look){.entry = NULL}; }
static inline void fiber_symbol(const void *address, char *text, size_t size) { (void)address, (void)size, *text = '\0'; }
#else
void fiber_look(struct proc *proc, struct look *look);
/* What an address is called. */
void fiber_symbol(const void *address, char *text, size_t size) __attribute__((noinline, cold));
#endif

/* ---- fiber/overflow.c, fiber/marks.c ------------------------------------------------------------------------------ */

/* Where a thread's signal handlers run. What it had before is kept here and not there: of most such stacks no page is ever touched. */
struct signal_stack {
    void *memory;
    stack_t before;
};

#if WEFT_CHECK /* there are no stacks */
static inline void overflow_begin(void) {}
static inline void overflow_finish(void) {}
static inline void overflow_thread_begin(struct signal_stack *mine, struct loop *loop) { (void)mine, (void)loop; }
static inline void overflow_thread_end(struct signal_stack *mine) { (void)mine; }
static inline void marks_destroy(struct runtime *runtime) { (void)runtime; }
#else
/* A runtime more, one less. */
void overflow_begin(void);
void overflow_finish(void);
/* A worker's thread begins and ends. */
void overflow_thread_begin(struct signal_stack *mine, struct loop *loop);
void overflow_thread_end(struct signal_stack *mine);
void marks_destroy(struct runtime *runtime);
#endif

/* ---- fiber/cleanup.c ---------------------------------------------------------------------------------------------- */

/* Around a function of the program's that is called in the middle of something: should the process end in there (weft_exit, or by force when
 * the runtime stops), undo(arg) is called. `proc` is that process; NULL: there is no stackful one, nothing can end so, and this does nothing. */
struct guard {
    void *room[4];
};
#if WEFT_CHECK
static inline void guard_begin(struct guard *guard, struct proc *proc, void (*undo)(void *arg), void *arg) {
    (void)guard, (void)proc, (void)undo, (void)arg;
}
static inline void guard_end(struct guard *guard, struct proc *proc) { (void)guard, (void)proc; }
#else
void guard_begin(struct guard *guard, struct proc *proc, void (*undo)(void *arg), void *arg);
void guard_end(struct guard *guard, struct proc *proc);
#endif
/* The process that calls, if it is a stackful one. */
static inline struct proc *guard_process(const struct worker *self) {
    return self && self->current && self->current->stackful ? self->current : NULL;
}

/* ---- fiber/switch.c ----------------------------------------------------------------------------------------------- */

#if !WEFT_CHECK
struct thread;
struct fiber;
/* On the thread's own stack, without a worker: until the process is back from its call and has left its stack. */
void fiber_carry(struct thread *self, struct fiber *fiber);
#endif

/* ---- fiber/preempt.c ---------------------------------------------------------------------------------------------- */

#if WEFT_CHECK
static inline int preempt_begin(struct runtime *runtime, bool all) { return (void)runtime, (void)all, 0; }
static inline void preempt_finish(struct runtime *runtime) { (void)runtime; }
#else
/* As in fiber/preempt.h. */
int preempt_begin(struct runtime *runtime, bool all);
/* The runtime has stopped. */
void preempt_finish(struct runtime *runtime);
#endif

/* ---- context.c ---------------------------------------------------------------------------------------------------- */

/* A process gets a context (NULL: none) when it is born and loses it when it ends. When the context's deadline comes, it is cancelled. 0 or
 * WEFT_ENOMEM. `self` is the calling thread's worker if it is one of this runtime's. */
int context_give(struct actor *actor, struct worker *self, struct proc *proc, struct weft_context *context);
void context_take(struct actor *actor, struct proc *proc);
/* The same where there is no actor: its block is left to the pool's end. */
void context_leave(struct runtime *runtime, struct proc *proc);
/* Of a process that is the caller's; NULL: it has none. */
struct weft_context *context_of(const struct proc *proc);
/* Whether `above` is the context of the slot's present tenant or an ancestor of that; asked by anyone. */
bool context_is_above(struct runtime *runtime, uint32_t slot, const struct weft_context *above);

#endif
