/* The table of functions through which a lower room calls a higher one.
 *
 * Includes and calls go downward: a room knows the rooms below it and none above. Where a lower room has to call upward, it goes
 * through this one constant table, which the top room fills in (runtime/wiring.c; for the checker check/scenarios/small_parts.c). In the
 * library, which is compiled as one unit, the compiler sees the table's contents, and each of these is a direct call.
 *
 * The comment beside an entry says which room calls it and which room implements it. */
#ifndef WEFT_SCHED_PARTS_H
#define WEFT_SCHED_PARTS_H

#include "sched/sched.h"
#include <signal.h>

/* A thread's stack for signal handlers. The former one is noted here and not on the stack itself: of most such stacks no page is ever
 * touched. */
struct signal_stack {
    void *memory;
    stack_t before;
};

/* Brackets a call of a function of the program in the middle of something: if the process ends inside it (weft_exit, or by force when
 * the runtime stops), undo(arg) is called. `proc` is that process; NULL: it is not stackful, cannot end there, and the guard does
 * nothing. */
struct guard {
    void *room[4];
};
/* The calling process, if it is a stackful one; else NULL. */
static inline struct proc *guard_process(const struct worker *self) {
    return self && self->current && self->current->stackful ? self->current : NULL;
}

struct epoll_event;
struct fiber;
struct mailbox;
struct thread;

struct parts {
    /* Running processes. */
    struct worker *(*run)(struct worker *worker, struct proc *proc);                        /* thread -> step: step_run */
    void (*begin_command)(struct worker *worker, struct proc *proc, struct message *yield); /* step -> command */
    void (*carry)(struct thread *self, struct fiber *fiber);                                /* thread -> fiber: fiber_carry */
    void (*guard_begin)(struct guard *, struct proc *, void (*undo)(void *arg), void *arg); /* life -> fiber */
    void (*guard_end)(struct guard *, struct proc *);
    void (*heed)(struct worker *worker, bool after);                                      /* all -> fiber: fiber_heed_call; heed.h */
    void (*keep)(struct proc *proc, bool on);                                             /* life -> fiber: fiber_keep */
    void (*mailbox_end)(struct local *local, struct proc *proc, struct mailbox *mailbox); /* fiber -> mail: mailbox_end */
    int (*bounds_begin)(bool *counted, struct proc *, weft_pid, const weft_mailbox *);    /* life -> mail: bounds_begin */

    /* Birth and end: names and groups. */
    int (*registry_newborn)(struct local *, struct proc *, weft_pid pid, const char *name); /* life -> registry */
    void (*registry_end)(struct local *local, uint32_t slot);

    /* Finding work. */
    struct proc *(*take_stopped)(struct worker *worker); /* sched -> thread: stopped_take */
    struct proc *(*steal_task)(struct worker *worker);   /* sched -> forkjoin */
    struct proc *(*take_task)(struct worker *worker);
    bool (*any_task)(struct worker *worker);
    void (*tasks_may_wait)(struct proc *proc, const char *call); /* fiber -> forkjoin */
    void (*deliver)(const struct epoll_event *event);            /* sched -> net: net_deliver */

    /* Threads and signals. */
    void (*thread_begins)(struct signal_stack *mine, struct loop *loop); /* thread -> fiber: fault.c */
    void (*thread_ends)(struct signal_stack *mine);
    int (*preempt_begin)(struct runtime *runtime, bool all); /* fiber -> preempt */
    bool (*condemned_any)(struct runtime *runtime);          /* thread -> life */
    bool (*in_program)(const struct thread *thread);         /* thread -> preempt: preempt_in_program */

    /* Reports. */
    void (*name)(struct runtime *runtime, struct proc *proc, char *text, size_t size); /* thread -> runtime: report_name */
    void (*hogs)(struct runtime *runtime, uint64_t now);                               /* thread -> runtime: report_hogs */
    void (*all_asleep)(struct runtime *runtime, uint64_t now);                         /* thread -> runtime: deadlock_check */
    void (*sysmon_round)(struct runtime *runtime, uint64_t now);                       /* thread -> runtime: deadlock_hurry */
    void (*dump)(weft_runtime *runtime, int descriptor);                               /* fiber -> runtime: dump_after_fault */
};
extern const struct parts parts __attribute__((visibility("hidden")));

#endif
