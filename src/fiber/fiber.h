/* Stackful processes: a process whose step switches onto a stack of its own.
 *
 * The scheduler claims and steps a stackful process like any other. Its step switches from the worker's loop onto the process's stack.
 * When the process has to wait, it takes the next process from the run queue itself, as the loop would. If that one is stackful too, it
 * switches straight to it, and the loop does not run in between. Otherwise it switches back to the loop.
 *
 *   F1  A process that leaves its stack is still RUNNING. The process (or loop) that arrives on the far side of the switch moves it to its
 *       next state (fiber_arrived). Only then are its registers saved and its stack unused, and other workers may run it.
 *   F2  Nothing thread-local is trusted across a switch: the switch tells the far side which worker runs it.
 *   F3  A stack belongs to a process from its first run to its end. When a process ends by returning and the worker would run a newborn
 *       process next, that one takes over the stack, without a switch. */
#ifndef WEFT_FIBER_FIBER_H
#define WEFT_FIBER_FIBER_H

#include "ctx/annotate.h"
#include "fiber/cleanup.h"
#include "life/monitor.h"
#include "sched/parts.h"
#include "sched/sched.h"

#include <weft/info.h>
#include <weft/stackful.h>

struct region;  /* forkjoin/ */
struct packing; /* pack.h */

/* What mail/mailbox.h keeps of a process's messages. */
struct ask;
struct bounds;
struct mailbox {
    struct runtime *runtime;
    struct bounds *bounds; /* NULL: it is not bounded */
    struct mpsc_node *saved, **saved_end;
    struct mpsc_node **looked; /* the search of mailbox.h, K2 goes on here; NULL: none yet */
    uint64_t looked_tag;
    struct ask *asks;
    uint64_t reference; /* of the last request; not reset for the next process on the same stack */
};
static inline void mailbox_init(struct mailbox *mailbox) { mailbox->reference = 0; }

/* A stackful process's part of its stack, at the top. A stack serves one process after another (F3), so each field is one of three:
 *
 *   of the stack         set when the stack is taken (fiber_on) and kept from process to process: stack, ctx, annotate, mailbox.reference
 *   of the process       set when a process begins on the stack (fiber_born): proc, shields, held_locks, heeds, nopreempt, packing
 *   empty between two    0 or NULL when the stack is taken, and again when a process has returned: pins, holds, calls, altstack,
 *                        cleanups, floor
 *
 * The rest is written before it is read; waits_in and waits_about are shown of a process that waits. */
struct fiber {
    /* What a switch, a wait and a birth touch: one cache line. */
    struct ctx ctx;
    struct proc *proc; /* the owner of the stack; NULL: none, the stack is to be given back */
    struct stack *stack;
    /* The call that it waits in, and the object or process that it waits for (NULL, or whatever with fiber_mail: none). Not cleared when it runs again. */
    ATOM_PTR(const char) waits_in; /* both rlx: written by its own thread; dumps read them racily */
    ATOM_PTR(const void) waits_about;
    unsigned shields;
    void *floor; /* of the last upcall: upcall.h */

    struct annotate annotate;
    unsigned held_locks;        /* held_locks.h */
    unsigned nopreempt;         /* weft_nopreempt_begin */
    const void *last_lock;      /* the last lock of sync/ that it took */
    uint16_t pins, holds;       /* pin.c, mutex_check.c; 0 when it has ended */
    uint32_t heeds;             /* counts calls that it was spared at, weighted: self.c; and FIBER_WHOLE, for each call that is one */
    const void *held, *held_by; /* the last mutex, and the code that locked it */
    struct altstack *altstack;  /* the stack that it runs on, if that is not its own: altstack.h */
    struct cleanup *cleanups;   /* newest first; none when it has ended */
    int ending;                 /* the reason of its end, while cleanups run: fiber_ending */
    struct packing *packing;    /* NULL: it may not be packed (pack.h) */
    struct region *tasks;       /* the innermost fork/join region; valid with PROC_TASKS */
    struct mailbox mailbox;     /* valid with PROC_MAILBOX */
    struct thread *thread;      /* that it keeps while it has no worker: it makes a call there (fiber_go_out), or was stopped there */
    /* In a blocking call: nesting depth, and the worker that it had (thread/oscall.h); NULL: it is out with `thread`. */
    unsigned calls;
    uint32_t call_number;
    struct worker *call_worker;
    uint64_t call_began; /* 0: not expected to be long */
};

/* The text of a process's name, with its 0 byte: a copy, beside the process's block (runtime.names). Atoms, because dumps read it while the
 * slot's next process may be given its own name. */
struct fiber_name {
    atom_u64 words[6];
};
_Static_assert(sizeof(struct fiber_name) == sizeof((weft_process_info *)0)->name, "weft_info shows all of it");

/* In a stackful process's block. */
struct fiber_start {
    weft_entry entry;
    void *arg;
    const struct fiber_name *name; /* NULL: none was given */
    struct fiber *fiber;           /* NULL until it first runs */
};
_Static_assert(sizeof(struct fiber_start) <= PROC_INLINE_STATE, "a newborn stackful process has no memory but its block");

static inline struct fiber_start *fiber_start_of(struct proc *proc) { return (struct fiber_start *)proc->inline_state; }
/* By the process itself, or the thread that ends it. */
static inline const char *fiber_name_text(const struct fiber_start *start) { return start->name ? (const char *)start->name : "process"; }
static inline struct fiber *fiber_of(struct proc *proc) { return fiber_start_of(proc)->fiber; }

/* The process begins on the stack, which was just taken or was another process's before. */
static inline void fiber_born(struct fiber *fiber, struct proc *proc) {
    fiber->proc = proc;
    fiber->shields = fiber->held_locks = fiber->heeds = 0;
    fiber->nopreempt = 0;
    fiber->packing = NULL;
    proc->stackful = PROC_STACKFUL;
    fiber_start_of(proc)->fiber = fiber;
}

/* birth.c: of all stackful processes but those with a copied argument. One that has ended on its stack has nothing left to close. */
extern const weft_behavior fiber_behavior;
/* birth.c: a stack for a process that has none; NULL: there is none to be had. */
struct fiber *fiber_new(struct worker *worker, struct proc *proc);
void fiber_free(struct local *local, struct fiber *fiber);
/* The process ends and has not begun: calls what its spawner has given for that (weft_stackful_options.discard). Between local_enter and
 * local_leave; no process is the worker's `current`. */
void fiber_discard(struct local *local, struct proc *proc) __attribute__((noinline, cold));
/* Yields. Called by a process that has used up its time slice (sysmon asks it to yield) or its budget of calls that could have waited and
 * did not (sched/fair.h). In the second case not while it holds a lock of sync/: the others would queue up for it, in a lasting convoy. */
void fiber_give_way(void);
/* At the beginning of such a call, and of weft_yield: ends a process that was condemned, or was cancelled and has not ended within its grace
 * period. */
void fiber_heed(struct worker *worker) __attribute__((noinline, cold));
/* A call of many that answers WEFT_ECANCELED at once, or weft_defer. Not at the first of these: its caller may be weft, with something in hand to give back. */
void fiber_refused(struct worker *worker) __attribute__((noinline, cold));
/* The same in other calls, of whatever process or step: sched/heed.h. */
void fiber_heed_call(struct worker *worker, bool after) __attribute__((noinline, cold));
/* From now on, or (false) no longer, weft holds something that the process's end would leave behind: it is not ended. NULL: nothing. */
void fiber_keep(struct proc *proc, bool on);
/* switch.c: catches a signal handler that waits: one that has interrupted weft, or runs on the signal stack, which the next signal would
 * overwrite. */
void fiber_refuse(const struct worker *worker) __attribute__((noinline, cold));
static inline bool fiber_is_closed(const struct worker *worker) { return ctx_sp() - worker->local.closed < worker->local.closed_size; }
static inline void fiber_check(const struct worker *worker) {
    if (__builtin_expect(fiber_is_closed(worker), 0)) fiber_refuse(worker);
}
void fiber_take_turns_slow(struct worker *worker, uint64_t deadline);
/* Costs budget. True: that is used up. */
static inline bool fiber_spends_last(struct worker *worker) {
    if (WEFT_CHECK) return false; /* the checker tries all orders: no time slices */
    if (!worker) return false;
    fiber_check(worker);
    return __builtin_expect(budget_spend(worker), 0);
}
/* Yields if sysmon asks for it. Any caller: for a thread, a step process or a worker between two (`close`, `release`) it does nothing. */
static inline void fiber_take_turns(struct worker *worker) {
    if (worker && __builtin_expect(budget_is_over(worker), 0)) fiber_take_turns_slow(worker, 0);
}
/* The same in a call that could wait until the deadline and does not: it costs budget. A call with deadline 0 cannot wait,
 * so its caller may hold a mutex of the operating system: it yields only if sysmon asks. A call that never waits must use neither. */
static inline void fiber_spend(struct worker *worker, uint64_t deadline) {
    if (fiber_spends_last(worker)) fiber_take_turns_slow(worker, deadline);
}

/* As weft_spawn_with, for weft itself: does not heed. */
int fiber_spawn(weft_entry entry, void *arg, const weft_stackful_options *options, weft_pid *pid);
/* As weft_spawn_with, on the calling process's worker, but with a monitor from birth on: it is told of the end, however soon that is.
 * *ticket is that of the first queue entry. */
int fiber_spawn_monitored(struct worker *self, weft_pid *pid, weft_entry entry, void *arg, const weft_stackful_options *options,
                          struct monitor *monitor, uint16_t *ticket);

/* The process to run next on this worker, claimed; NULL: the loop has to look. The loop looks round every so often (the tick), so that no
 * source of work starves while processes switch among themselves. */
static inline struct proc *fiber_next(struct worker *worker) { return __builtin_expect(tick_take(worker), 1) ? policy_pop(worker) : NULL; }

/* switch.c */
/* The step of a stackful process: on the worker's loop. */
int fiber_step(void *self, const weft_event *events, size_t count, weft_out *out);
/* The outermost function on every process's stack. */
void fiber_main(void *gift);
/* On the process's own stack: gives up the worker and parks as `status` says (WEFT_STEP_CONTINUE: is queued again). When the process runs
 * again, returns the worker that runs it. Wake-ups may be spurious. */
struct worker *fiber_leave(struct worker *worker, enum weft_status status);
/* fiber_leave in two halves. The first is fiber_leaving, before the next process is chosen. */
static inline void fiber_leaving(struct worker *worker) {
    fiber_check(worker);
    local_begin(&worker->local);
}
/* The second half, to `next`, which the caller has claimed; NULL: to the loop. */
struct worker *fiber_leave_inside(struct worker *worker, enum weft_status status, struct proc *next);
/* The second half, to the process that fiber_next chooses. */
struct worker *fiber_leave_chosen(struct worker *worker, enum weft_status status);
/* The same by `proc`, which waits for a message. It comes back inside (local_begin), so that it takes the message, and leaves then. `next`: claimed,
 * or NULL, and fiber_next chooses. */
struct worker *fiber_leave_for_mail(struct worker *worker, struct proc *proc, struct proc *next);
/* The same by a process with no exception in hand, to one that has a stack (PROC_STACKFUL). `fiber`: of `proc`. For functions of ret_jump.h only (see
 * ctx_switch_unchecked). */
struct worker *fiber_leave_for_mail_to(struct worker *worker, struct proc *proc, struct fiber *fiber, struct proc *next);
/* Both halves, to `next`, which the caller has claimed. */
struct worker *fiber_leave_to(struct worker *worker, enum weft_status status, struct proc *next);
/* Back from a blocking call whose thread has lost its worker: the process is queued, and goes on with the worker that claims it. */
struct thread;
void fiber_come_back(struct thread *thread, struct fiber *fiber);
/* As fiber_leave, to the loop, which packs the stack: pack.h. */
struct worker *fiber_leave_to_pack(struct worker *worker, struct fiber *fiber);
/* Gives up the worker and goes on without one, on the thread `carrier`, which was reserved for it. */
struct thread *fiber_go_out(struct worker *worker, struct fiber *fiber, struct thread *carrier);
/* Ends the process that runs on the worker. */
void fiber_exit(struct worker *worker, int reason) __attribute__((noreturn));

/* wait/blocking.c: whether no thread is left to take over the worker if a call lasts, and the runtime's blocking_fails is set. `worker` may
 * be NULL. */
bool blocking_is_full(struct worker *worker);
/* As weft_blocking_enter, for weft itself: does not heed. Dumps and reports name `call`. blocking_leave must follow. */
void blocking_enter(const char *call, bool is_long);
/* weft_blocking_leave: a process that was killed does not end in it. The caller has the result of the call, or is a destructor. */
void blocking_leave(void);

/* pin.c: the process is not pinned any more. */
void pin_drop(struct worker *worker, struct proc *proc);
/* mutex_check.c: aborts, by name, if the process that leaves holds a mutex and the runtime checks for that. */
void mutex_check(struct worker *worker, struct fiber *fiber, struct proc *proc) __attribute__((noinline, cold));
/* mutex_check.c: the process ends and holds locks of sync/: says so. For debug builds. */
void mutex_check_left(struct fiber *fiber, struct proc *proc) __attribute__((noinline, cold));
/* bigstack.c: weft_call_big, for weft itself: does not heed. */
int bigstack(void (*fn)(void *arg), void *arg, size_t stack_size);
/* bigstack.c: gives back the stacks that the process has besides its own. */
void altstack_free_all(struct local *local, struct fiber *fiber);

/* self.c: ends the calling process: its C++ frames are unwound, if there are any (ending.h), and what it has deferred is called. */
void fiber_quit(int reason) __attribute__((noreturn));
/* The same without unwinding: the frames cannot be unwound, or have been already. */
void fiber_quit_here(int reason) __attribute__((noreturn));
/* The worker that runs the calling process, which must be stackful, or the program aborts, naming `call`. */
struct worker *fiber_worker(const char *call);
/* The same at the beginning of a public call, which heeds (sched/heed.h). */
struct worker *fiber_caller(const char *call);
/* The same for calls that reach fiber_leaving before they touch anything but the mailbox: fiber_leaving catches signal handlers. */
struct worker *fiber_worker_leaving(const char *call);

/* Before a process waits: leaves for dumps and reports what it waits in and for. Two stores. */
static inline void fiber_waits(struct proc *proc, const char *call, const void *about) {
    struct fiber *fiber = fiber_of(proc);
    sim_note(call, 0);
#if !WEFT_CHECK
    atom_store_rlx(&fiber->waits_in, call);
    atom_store_rlx(&fiber->waits_about, about);
#else
    (void)fiber, (void)call, (void)about;
#endif
}
/* The same in weft_recv: for nothing in particular, so that one store will do. */
extern const char fiber_mail[];
static inline void fiber_waits_for_mail(struct fiber *fiber) {
    sim_note(fiber_mail, 0);
    atom_store_rlx(&fiber->waits_in, fiber_mail);
}

/* Before a process waits: in a fork/join task it may have to abort. */
static inline void fiber_may_wait(struct proc *proc, const char *call) {
#if !WEFT_CHECK
    if (__builtin_expect(proc->extras & PROC_TASKS, 0)) parts.tasks_may_wait(proc, call);
#else
    (void)proc, (void)call;
#endif
}

/* In `shields`, beside the program's own: weft waits for what uses the process's memory, and even a killed process must wait; the process
 * is ending, and what it has deferred is called. */
enum { FIBER_KEPT = 1 << 16, FIBER_DYING = 1 << 30 };
static inline bool fiber_is_killed(struct proc *proc) { return state_condemned(&proc->state) & STATE_KILL; }
/* Whether the process must stop waiting: it was cancelled and is not shielded, or was killed. */
static __attribute__((noinline, cold, unused)) bool fiber_has_no_shield(struct proc *proc) {
    unsigned shields = fiber_of(proc)->shields;
    return shields == 0 || (shields < FIBER_KEPT && fiber_is_killed(proc));
}
static inline bool fiber_is_cancelled(struct proc *proc) {
    return __builtin_expect(state_is_cancelled(&proc->state), 0) && fiber_has_no_shield(proc);
}
/* Whether the process is to end at this call. */
static inline bool fiber_is_condemned(struct proc *proc) { return state_condemned(&proc->state) && fiber_is_cancelled(proc); }
/* Before a call returns WEFT_ECANCELED that has waited: a condemned process ends at its next one. */
static inline void fiber_was_cancelled(struct worker *worker, struct proc *proc) {
    if (state_condemned(&proc->state)) budget_end(worker);
}

/* In `heeds`: the process is in a call that holds something which is given to the caller in the end, or given back (a descriptor, a child). It does
 * not end in there, though it is killed: what would wait says WEFT_ECANCELED, the call undoes what it has begun, and the process ends at its next
 * one. They nest. Of a caller that is no stackful process `proc` is NULL. */
enum { FIBER_WHOLE = 1 << 27 }; /* above all that self.c counts to */
static inline struct proc *fiber_whole(struct proc *proc) {
    if (proc) fiber_of(proc)->heeds += FIBER_WHOLE;
    return proc;
}
static inline struct proc *fiber_whole_begin(void) {
    struct worker *worker = worker_here();
    struct proc *proc = worker ? worker->current : NULL;
    return fiber_whole(proc && proc->stackful ? proc : NULL);
}
static inline void fiber_whole_end(struct proc *proc) {
    if (!proc) return;
    fiber_of(proc)->heeds -= FIBER_WHOLE;
    struct worker *worker = worker_here(); /* none inside of a blocking call */
    if (worker) fiber_was_cancelled(worker, proc);
}

/* On the thread's own stack, without a worker: runs the process until it is back from its call and has left its stack. */
void fiber_carry(struct thread *self, struct fiber *fiber);

#endif
