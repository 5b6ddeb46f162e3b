/* Switching from stack to stack: between processes, and between a process and its worker's loop. */
#include "fiber/ending.h"
#include "fiber/exceptions.h"
#include "fiber/pack.h"
#include "fiber/stack_usage.h"
#include "fiber/upcall.h"
#include "life/spawn.h"
#include "sched/atfork.h"
#include "sched/parts.h"
#include "thread/stopped.h"
#include "thread/thread.h"

/* ---- the far side ------------------------------------------------------------------------------------------------- */

/* Moves the process that has just left this worker to its next state (fiber.h, F1). */
static inline void fiber_arrived_inside(struct worker *worker) {
    uintptr_t left = worker->left;
    worker->left = LEFT_NONE;
    if (__builtin_expect(!(left & LEFT_HOW), 1)) {
        step_commit(worker, (struct proc *)left, WEFT_STEP_IDLE);
    } else if (!(left & LEFT_NONE)) {
        step_commit(worker, (struct proc *)(left - LEFT_AS(WEFT_STEP_CONTINUE)), WEFT_STEP_CONTINUE);
    } else if (left != LEFT_NONE) {
        step_commit(worker, (struct proc *)(left - LEFT_AS(WEFT_STEP_BLOCKED)), WEFT_STEP_BLOCKED);
    } else if (__builtin_expect(worker->left_stack != NULL, 0)) {
        struct fiber *stack = worker->left_stack;
        worker->left_stack = NULL;
        if (!stack->proc) fiber_free(&worker->local, stack);
        else if (stack->packing && stack->packing->leaving) pack_left(worker, stack);
        else thread_carry(stack->thread, stack);
    }
}
/* The same, and afterwards the program's code runs. */
static inline void fiber_arrived(struct worker *worker) {
    fiber_arrived_inside(worker);
    local_leave(&worker->local);
}

const char fiber_mail[] = "weft_recv";

/* ---- leaving ------------------------------------------------------------------------------------------------------ */

/* Where to switch to for `next`, which has a stack. */
static inline struct ctx *fiber_to_stack(struct worker *worker, struct fiber *from, struct proc *next, bool ends) {
    struct fiber *fiber = fiber_of(next);
    worker->current = next;
    sim_note("runs", 0);
    count(&worker->local.counters.steps);
    annotate_before_switch(&from->annotate, &fiber->annotate, ends);
    return &fiber->ctx;
}
/* The same for any process: the loop runs one that has no stack. */
static inline struct ctx *fiber_to(struct worker *worker, struct fiber *from, struct proc *next, bool ends) {
    if (__builtin_expect(next && next->stackful == PROC_STACKFUL, 1)) return fiber_to_stack(worker, from, next, ends);
    worker->claimed = next;
    if (!ends && __builtin_expect(from->proc->extras & PROC_HOLDS, 0)) mutex_check(worker, from, from->proc);
    annotate_before_switch(&from->annotate, &worker->loop->annotate, ends);
    return &worker->loop->ctx;
}

/* Switches to `to`, after ctx_expect, or as ctx_switch_unchecked may. It comes back inside (local_begin). */
static inline struct worker *fiber_leave_by(struct worker *worker, struct proc *proc, struct fiber *fiber, enum weft_status status,
                                            struct ctx *to) {
    int error_number = *worker->error_number;
    worker->left = (uintptr_t)proc + LEFT_AS(status);
    worker = ctx_switch_unchecked(&fiber->ctx, to, worker); /* the only call: every parked process has its frame on the stack */
    annotate_after_switch(&fiber->annotate);
    fiber_arrived_inside(worker);
    *worker->error_number = error_number;
    return worker;
}
static inline struct worker *fiber_leave_plainly(struct worker *worker, struct proc *proc, enum weft_status status, struct proc *next) {
    struct fiber *fiber = fiber_of(proc);
    struct ctx *to = fiber_to(worker, fiber, next, false);
    ctx_expect(to);
    return fiber_leave_by(worker, proc, fiber, status, to);
}

/* Leaves in a catch block, or while an exception is in flight. Also when a C++ library is new to the thread. */
static __attribute__((noinline, cold)) struct worker *fiber_leave_catching(struct worker *worker, struct proc *proc,
                                                                           enum weft_status status, struct proc *next) {
    struct exceptions exceptions;
    exceptions_ask(worker->loop);
    exceptions_take(&exceptions);
    worker = fiber_leave_plainly(worker, proc, status, next);
    exceptions_put_back(&exceptions);
    return worker;
}

void fiber_refuse(const struct worker *worker) {
    local_check(&worker->local, "a call that waits");
    if (ctx_sp() - worker->local.closed < SIGNAL_STACK) handler_refuse_wait();
}

/* `proc` runs on the worker. */
static inline struct worker *fiber_leave_whole(struct worker *worker, struct proc *proc, enum weft_status status, struct proc *next) {
    if (exceptions_are_known() && exceptions_any(worker->loop)) return fiber_leave_catching(worker, proc, status, next);
    return fiber_leave_plainly(worker, proc, status, next);
}

struct worker *fiber_leave_inside(struct worker *worker, enum weft_status status, struct proc *next) {
    worker = fiber_leave_whole(worker, worker->current, status, next);
    local_leave(&worker->local);
    return worker;
}

struct worker *fiber_leave_for_mail(struct worker *worker, struct proc *proc, struct proc *next) {
    worker->fair.handoffs = 0;
    if (!next) next = fiber_next(worker);
    return fiber_leave_whole(worker, proc, WEFT_STEP_IDLE, next);
}

struct worker *fiber_leave_for_mail_to(struct worker *worker, struct proc *proc, struct fiber *fiber, struct proc *next) {
    worker->fair.handoffs = 0;
    return fiber_leave_by(worker, proc, fiber, WEFT_STEP_IDLE, fiber_to_stack(worker, fiber, next, false));
}

struct worker *fiber_leave_to(struct worker *worker, enum weft_status status, struct proc *next) {
    fiber_leaving(worker);
    return fiber_leave_inside(worker, status, next);
}

struct worker *fiber_leave_chosen(struct worker *worker, enum weft_status status) {
    worker->fair.handoffs = 0;
    return fiber_leave_inside(worker, status, fiber_next(worker));
}

struct worker *fiber_leave(struct worker *worker, enum weft_status status) {
    fiber_leaving(worker);
    return fiber_leave_chosen(worker, status);
}

void fiber_come_back(struct thread *thread, struct fiber *fiber) {
    struct exceptions exceptions;
    exceptions_take(&exceptions);   /* without asking whether there are any: this path is slow anyway */
    thread->returned = fiber->proc; /* the loop's side queues it (fiber.h, F1) */
    int error_number = *thread->loop.error_number;
    annotate_before_switch(&fiber->annotate, &thread->loop.annotate, false);
    struct worker *worker = ctx_switch(&fiber->ctx, &thread->loop.ctx, NULL);
    annotate_after_switch(&fiber->annotate);
    fiber_arrived(worker);
    *worker->error_number = error_number;
    exceptions_put_back(&exceptions);
}

struct thread *fiber_go_out(struct worker *worker, struct fiber *fiber, struct thread *carrier) {
    struct exceptions exceptions;
    exceptions_take(&exceptions); /* as in fiber_come_back */
    local_begin(&worker->local);
    fiber->thread = carrier;
    int error_number = *worker->error_number;
    worker->left_stack = fiber; /* the loop's side wakes the thread (fiber.h, F1) */
    worker->claimed = NULL;
    annotate_before_switch(&fiber->annotate, &worker->loop->annotate, false);
    ctx_switch(&fiber->ctx, &worker->loop->ctx, worker);
    annotate_after_switch(&fiber->annotate);
    carrier = fiber->thread;
    *carrier->loop.error_number = error_number;
    exceptions_put_back(&exceptions);
    return carrier;
}

struct worker *fiber_leave_to_pack(struct worker *worker, struct fiber *fiber) {
    struct exceptions exceptions;
    exceptions_take(&exceptions); /* as in fiber_come_back */
    fiber_leaving(worker);
    worker->fair.handoffs = 0;
    int error_number = *worker->error_number;
    worker->left_stack = fiber; /* the loop's side packs it (fiber.h, F1) */
    worker->claimed = NULL;
    annotate_before_switch(&fiber->annotate, &worker->loop->annotate, false);
    worker = ctx_switch(&fiber->ctx, &worker->loop->ctx, worker);
    annotate_after_switch(&fiber->annotate);
    fiber_arrived(worker);
    *worker->error_number = error_number;
    exceptions_put_back(&exceptions);
    return worker;
}

/* ---- the loop's side ---------------------------------------------------------------------------------------------- */

void fiber_carry(struct thread *self, struct fiber *fiber) {
    annotate_before_switch(&self->loop.annotate, &fiber->annotate, false);
    ctx_switch(&self->loop.ctx, &fiber->ctx, NULL);
    annotate_after_switch(&self->loop.annotate);
}

/* The process does not begin: it was condemned, or there is no stack for it. */
static __attribute__((noinline, cold)) int fiber_stillborn(struct worker *worker, struct proc *proc, int reason) {
    proc->extras = 0; /* clears PROC_PREEMPT for the block's next process */
    worker->current = NULL;
    fiber_discard(&worker->local, proc);
    return reason;
}

int fiber_step(void *self, const weft_event *events, size_t count_events, weft_out *out) {
    (void)self, (void)events, (void)count_events;
    struct worker *worker = out->worker;
    struct proc *proc = worker->current;
    struct fiber *fiber = fiber_of(proc);
    if (!fiber) {
        bool condemned = state_condemned(&proc->state);
        if (condemned || !(fiber = fiber_new(worker, proc)))
            return fiber_stillborn(worker, proc, condemned ? REASON_CONDEMNED : WEFT_ENOSTACK);
    }
    if (__builtin_expect(proc->stackful == PROC_STOPPED, 0)) {
        stopped_resume(worker, fiber->thread);
        return 0;
    }
    if (__builtin_expect(proc->stackful == PROC_PACKED, 0)) pack_restore(&worker->local, proc);
    struct loop *loop = worker->loop;
    annotate_before_switch(&loop->annotate, &fiber->annotate, false);
    worker = ctx_switch(&loop->ctx, &fiber->ctx, worker);
    annotate_after_switch(&loop->annotate);
    if (__builtin_expect(worker != NULL, 1)) fiber_arrived(worker); /* NULL: the process came here by fiber_come_back */
    return 0;
}

/* ---- birth and death on a stack ----------------------------------------------------------------------------------- */

/* Leaves the stack of a process that has ended, for good: the far side frees it. */
static __attribute__((noreturn)) void fiber_go(struct worker *worker, struct fiber *fiber, struct proc *next) {
    exceptions_forget();
    worker->left_stack = fiber;
    ctx_switch(&fiber->ctx, fiber_to(worker, fiber, next, true), worker);
    __builtin_unreachable();
}

static __attribute__((noinline, cold)) void fiber_farewell(struct worker *worker, struct fiber *fiber, struct proc *proc) {
    if (proc->extras & PROC_HOLDS) mutex_check(worker, fiber, proc);
    if (proc->extras & PROC_MAILBOX) parts.mailbox_end(&worker->local, proc, &fiber->mailbox);
    if (proc->extras & PROC_MEASURED) stack_usage_end(worker->runtime, proc, fiber->stack, false);
    if (proc->extras & PROC_PINNED) pin_drop(worker, proc);
    fiber->pins = fiber->holds = 0;
    proc->extras = 0;
}

static inline void fiber_end(struct worker *worker, struct fiber *fiber, int reason) {
    struct proc *proc = fiber->proc;
    local_begin(&worker->local); /* until the next process has arrived, on this stack or another */
    if (WEFT_DEBUG && !WEFT_CHECK && fiber->held_locks) mutex_check_left(fiber, proc);
    if (__builtin_expect(proc->extras, 0)) fiber_farewell(worker, fiber, proc);
    fiber->proc = NULL;
    fiber_start_of(proc)->fiber = NULL; /* so that fiber_close leaves the stack alone */
    worker->current = NULL;
    if (__builtin_expect(atom_load_rlx(&proc->behavior) == &fiber_behavior, 1)) proc_end_closed(&worker->local, proc, reason);
    else proc_end(&worker->local, proc, reason);
}

void fiber_exit(struct worker *worker, int reason) {
    struct fiber *fiber = fiber_of(worker->current);
    fiber_end(worker, fiber, reason);
    fiber_go(worker, fiber, fiber_next(worker));
}

/* The process had its stack from the first, and was condemned before it began. */
static __attribute__((noreturn, noinline, cold)) void fiber_exit_unbegun(struct worker *worker, struct fiber *fiber) {
    local_begin(&worker->local);
    worker->current = NULL;
    fiber_discard(&worker->local, fiber->proc);
    local_leave(&worker->local);
    worker->current = fiber->proc;
    fiber_exit(worker, REASON_CONDEMNED);
}

/* Whether the next process can begin on this stack (fiber.h, F3). */
static inline bool fiber_suits(const struct fiber *fiber, struct proc *next) {
    return next && next->stackful == PROC_UNBORN && next->stack_class == fiber->stack->class && !state_condemned(&next->state);
}

/* The process's function has returned, and the thread has no worker. */
static __attribute__((noreturn, noinline, cold)) void fiber_nowhere(void) {
    atfork_check("a process's function that returns");
    WEFT_MISUSE("weft_blocking_enter", "a process's function has returned, and there was no weft_blocking_leave", "pair them");
}

void fiber_main(void *gift) {
    struct worker *worker = gift;
    struct fiber *fiber = fiber_of(worker->current);
    annotate_after_switch(&fiber->annotate);
    fiber_arrived(worker);
    if (__builtin_expect(state_condemned(&fiber->proc->state), 0)) fiber_exit_unbegun(worker, fiber);
    for (;;) {
        struct fiber_start *start = fiber_start_of(fiber->proc);
        *worker->error_number = 0;
        struct upcall way = {0};
        upcall(fiber, start->entry, start->arg, &way);
        int reason = __builtin_expect(way.thrown != NULL, 0) ? ending_landed(way.thrown) : 0;
        if (__builtin_expect(fiber->proc->extras & PROC_FAREWELL, 0)) {
            fiber->ending = reason;
            cleanup_run(fiber->proc, true);
        }
        worker = worker_here();
        if (__builtin_expect(!worker, 0)) fiber_nowhere();
        fiber_end(worker, fiber, reason);
        struct proc *next = fiber_next(worker);
        if (!fiber_suits(fiber, next)) fiber_go(worker, fiber, next);
        ctx_renew();
        fiber_born(fiber, next);
        worker->current = next;
        sim_note("runs", 0);
        count(&worker->local.counters.steps);
        local_leave(&worker->local);
    }
}
