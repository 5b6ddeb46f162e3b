/* Stackful processes: a process whose step switches onto a stack of its own.
 *
 * The scheduler claims a process and steps it as any other. The step of a stackful one switches from the worker's loop onto the
 * process's stack. When the process has to wait, it looks for the next one itself, as the loop would, and if that is stackful too
 * switches straight to it; the loop hears of it later. Otherwise it switches back to the loop.
 *
 *   F1  A process that leaves its stack is still RUNNING. Whoever arrives on the far side of the switch moves it on
 *       (fiber_arrived): only then are its registers saved and its stack out of use, and others may have it.
 *   F2  Nothing thread-local is trusted across a switch: the far side is told by the switch which worker runs it.
 *   F3  A stack belongs to a process from its first run to its end. A process that ends by returning leaves the stack to the next
 *       newborn one that the worker would run, without a switch. */
#ifndef WEFT_FIBER_FIBER_H
#define WEFT_FIBER_FIBER_H

#include "ctx/annotate.h"
#include "fiber/cleanup.h"
#include "life/monitor.h"
#include "sched/parts.h"
#include "sched/sched.h"

#include <weft/stackful.h>

struct region; /* fork/ */

/* What mail/mailbox.h keeps of a process's messages. */
struct ask;
struct mailbox {
    struct runtime *runtime;
    struct mpsc_node *saved, **saved_end;
    struct mpsc_node **looked; /* NULL: nobody has */
    uint64_t looked_tag;
    struct ask *asks;
    uint64_t reference; /* the last one's; goes on from process to process on the same stack */
};
static inline void mailbox_init(struct mailbox *mailbox) { mailbox->reference = 0; }

/* At the top of its stack. */
struct fiber {
    /* What a switch, a wait and a birth touch: one cache line. */
    struct ctx ctx;
    struct proc *proc; /* whose stack it is; NULL: nobody's, and to be given back */
    struct stack *stack;
    /* The call that it waits in, and which object or process that is about (NULL: none); left as they were when it runs again. */
    ATOM_PTR(const char) waits_in; /* both: its own thread's, rlx; dumps look at them in passing */
    ATOM_PTR(const void) waits_about;
    int error_number; /* errno, while it does not run */
    unsigned shields;
    void *floor; /* of the last upcall: upcall.h */

    struct annotate annotate;
    unsigned held_locks;        /* held_locks.h */
    unsigned nopreempt;         /* weft_nopreempt_begin */
    const void *last_lock;      /* the last one that it entered */
    uint16_t pins, holds;       /* pin.c, mutex_check.c; 0 when it has ended */
    uint32_t heeds;             /* how often it could have been ended by force: self.c */
    const void *held, *held_by; /* the last mutex, and who locked it */
    struct altstack *altstack;  /* the stack that it runs on, if that is not its own: altstack.h */
    struct cleanup *cleanups;   /* newest first; none when it has ended */
    struct region *tasks;       /* the innermost fork/join region; valid with PROC_TASKS */
    struct mailbox mailbox;     /* valid with PROC_MAILBOX */
    /* In a blocking call: how deep, and which worker it had (thread/oscall.h), or NULL and the thread that it went out with. */
    unsigned calls;
    uint32_t call_number;
    struct worker *call_worker;
    struct thread *carrier;
    uint64_t call_began; /* 0: it was not thought to be long */
};

/* In a stackful process's block. */
struct fiber_start {
    weft_entry entry;
    void *arg;
    const char *name;
    struct fiber *fiber; /* NULL until it first runs */
};
_Static_assert(sizeof(struct fiber_start) <= PROC_INLINE_STATE, "a newborn stackful process has no memory but its block");

static inline struct fiber_start *fiber_start_of(struct proc *proc) { return (struct fiber_start *)proc->inline_state; }
static inline struct fiber *fiber_of(struct proc *proc) { return fiber_start_of(proc)->fiber; }

/* birth.c: a stack for a process that has none; NULL: there is none to be had. */
struct fiber *fiber_new(struct worker *worker, struct proc *proc);
void fiber_free(struct local *local, struct fiber *fiber);
/* Others first. By a process that has been at it for too long: sysmon says so, or it has made so many calls that could have waited and did not
 * (sched/fair.h). In the second case not while it holds a lock of sync/: all others would queue up behind it, and go on so for good. */
void fiber_give_way(void);
/* At the beginning of such a call, and of weft_yield: a process that was asked to end and has not, after its grace period, is ended here. */
void fiber_heed(struct worker *worker) __attribute__((noinline, cold));
void fiber_take_turns_slow(struct worker *worker, uint64_t deadline);
/* If sysmon says so. The caller may be anybody: a thread, a step process or a worker between two (`close`, `release`) goes on at once. */
static inline void fiber_take_turns(struct worker *worker) {
    if (worker && __builtin_expect(budget_is_over(worker), 0)) fiber_take_turns_slow(worker, 0);
}
/* The same in a call that may wait until the deadline and does not, or need not: it counts. With the deadline 0 it cannot wait, and a caller may rely
 * on that and hold a mutex of the operating system: then it gives way only if sysmon says so. A call that never waits must do neither. */
static inline void fiber_spend(struct worker *worker, uint64_t deadline) {
    if (WEFT_CHECK) return; /* there are no turns, only all orders */
    if (!worker) return;
    local_check(&worker->local, "a call that may wait");
    if (__builtin_expect(budget_spend(worker), 0)) fiber_take_turns_slow(worker, deadline);
}

/* As weft_spawn_with, on the calling process's worker, but the monitor is told of the end, however soon that is. *ticket is that of the
 * first entry. */
int fiber_spawn_monitored(struct worker *self, weft_pid *pid, weft_entry entry, void *arg, const weft_stackful_options *options,
                          struct monitor *monitor, uint16_t *ticket);

/* Who runs next on this worker, claimed; NULL: the loop has to snapshot. It looks round every so often, so that no source is forgotten
 * while processes change over among themselves. */
static inline struct proc *fiber_next(struct worker *worker) { return __builtin_expect(tick_take(worker), 1) ? policy_pop(worker) : NULL; }

/* switch.c */
/* The step of a stackful process: on the worker's loop. */
int fiber_step(void *self, const weft_event *events, size_t count, weft_out *out);
/* What runs on a stack from its top on. */
void fiber_main(void *worker);
/* On the process's own stack: leaves the worker to others, to wait as `status` says (WEFT_CONTINUE: to be queued). Returns, when the
 * process runs again, the worker that runs it. The process may have been woken for any reason, or none. */
struct worker *fiber_leave(struct worker *worker, enum weft_status status);
/* The first half of it, before the next process is chosen, and the second. A signal handler that waits is noticed here: one that has interrupted weft, or runs
 * on the stack for signals, which the next signal would overwrite. */
void fiber_refuse(const struct worker *worker) __attribute__((noinline, cold));
static inline void fiber_leaving(struct worker *worker) {
    if (__builtin_expect(ctx_sp() - worker->local.closed < worker->local.closed_size, 0)) fiber_refuse(worker);
    local_begin(&worker->local);
}
struct worker *fiber_leave_inside(struct worker *worker, enum weft_status status, struct proc *next);
/* The second half of fiber_leave. */
struct worker *fiber_leave_chosen(struct worker *worker, enum weft_status status);
/* Both, to `next` in particular, which the caller has claimed. */
struct worker *fiber_leave_to(struct worker *worker, enum weft_status status, struct proc *next);
/* Back from a blocking call on a thread that has no worker any more: is queued, and goes on with whichever worker comes to it. */
struct thread;
void fiber_come_back(struct thread *thread, struct fiber *fiber);
/* Leaves the worker to others, and goes on without one: on that thread, which was reserved for it. */
struct thread *fiber_go_out(struct worker *worker, struct fiber *fiber, struct thread *carrier);
/* Ends the process that runs on the worker. */
void fiber_exit(struct worker *worker, int reason) __attribute__((noreturn));

/* blocking.c: whether there is no thread that could take over if a call lasts, and the program wants to hear of that. `worker` may be NULL. */
bool blocking_is_full(struct worker *worker);
/* As weft_blocking_enter; dumps and reports name `call`. weft_blocking_leave is to follow. */
void blocking_enter(const char *call, bool is_long);

/* pin.c: the process is not pinned any more. */
void pin_drop(struct worker *worker, struct proc *proc);
/* mutex_check.c: aborts, by name, if the process that leaves holds a mutex and that is looked at. */
void mutex_check(struct worker *worker, struct fiber *fiber, struct proc *proc) __attribute__((noinline, cold));
/* bigstack.c: gives back the stacks that the process has besides its own. */
void altstack_free_all(struct local *local, struct fiber *fiber);

/* self.c: ends the calling process: its C++ frames are unwound, if there are any (ending.h), and what it has deferred is called. */
void fiber_quit(int reason) __attribute__((noreturn));
/* The same from here, without unwinding: where the frames cannot be gone back through, or have been already. */
void fiber_quit_here(int reason) __attribute__((noreturn));
/* The worker that runs the calling process, which must be stackful, or the program aborts, naming `call`. */
struct worker *fiber_worker(const char *call);
/* The same for calls that come to fiber_leaving before they look at anything but the mailbox: that notices signal handlers. */
struct worker *fiber_worker_leaving(const char *call);

/* Before a process waits, for dumps and reports: two stores. */
static inline void fiber_waits(struct proc *proc, const char *call, const void *about) {
    struct fiber *fiber = fiber_of(proc);
#if !WEFT_CHECK
    atom_store_rlx(&fiber->waits_in, call);
    atom_store_rlx(&fiber->waits_about, about);
#else
    (void)fiber, (void)call, (void)about;
#endif
}

/* Before a process waits. */
static inline void fiber_may_wait(struct proc *proc, const char *call) {
#if !WEFT_CHECK
    if (__builtin_expect(proc->extras & PROC_TASKS, 0)) parts.tasks_may_wait(proc, call);
#else
    (void)proc, (void)call;
#endif
}

/* Whether the process shall stop waiting: it was cancelled and is not shielded. */
static inline bool fiber_is_cancelled(struct proc *proc) {
    return __builtin_expect(state_is_cancelled(&proc->state), 0) && fiber_of(proc)->shields == 0;
}

/* On the thread's own stack, without a worker: until the process is back from its call and has left its stack. */
void fiber_carry(struct thread *self, struct fiber *fiber);

#endif
