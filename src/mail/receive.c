/* Receiving messages, with and without selection, and the accessors of a message. */
#include "base/sized.h"
#include "fiber/exceptions.h"
#include "fiber/ret_jump.h"
#include "mail/search.h"
#include "sched/sched.h"
#include "sys/deadline.h"
#include "wait/wait.h"

#include <weft/message.h>

/* Waits for a message with a deadline. Only the timer has the wait's address: a message wakes the process directly. */
static __attribute__((noinline)) int recv_until(struct worker *worker, struct proc *proc, uint64_t deadline) {
    struct wait own, *wait = pack_room(worker, &own, sizeof own);
    wait_begin(wait);
    timer_event_arm(worker, &wait->timer, deadline);
    while (mpsc_is_empty(&proc->box) && atom_load_acq(&wait->claimed) == WAIT_PENDING && !fiber_is_cancelled(proc)) /* acq: wait_over */
        worker = pack_leave(worker, WEFT_STEP_IDLE, wait);
    timer_event_cancel(&wait->timer);
    if (!mpsc_is_empty(&proc->box)) return 0;
    if (!fiber_is_cancelled(proc)) return WEFT_ETIMEDOUT;
    fiber_heed(worker);
    return WEFT_ECANCELED;
}

/* Returns without having waited: costs budget. */
static __attribute__((noinline, cold)) int recv_at_once(struct worker *worker, uint64_t deadline, int error) {
    fiber_spend(worker, deadline);
    if (error == WEFT_ECANCELED) fiber_heed(worker_here());
    return error;
}

/* The budget is used up: whether the process goes on all the same, because there is more mail, and it is not asked to do anything else. */
static __attribute__((noinline, cold)) bool recv_goes_on(struct worker *worker, struct proc *proc) {
    return !mpsc_is_empty(&proc->box) && !state_is_cancelled(&proc->state) && !worker_shall_give_way(worker) && budget_renew(worker);
}

/* A message was received without waiting, and the budget is used up. While the process yields the message is in the box again, and not the caller's: if the
 * process is ended, it is freed with the others, and not by what the process has deferred. */
static __attribute__((noinline, cold)) int recv_took_turns(struct worker *worker, weft_msg **message, uint64_t deadline) {
    struct proc *proc = worker->current;
    if (deadline == 0 && !worker_shall_give_way(worker) && !state_condemned(&proc->state)) return 0; /* it polls, and goes on */
    if (recv_goes_on(worker, proc)) return 0;
    struct mpsc_node *node = &((struct message *)*message)->node;
    *message = NULL;
    mpsc_put_first(&proc->box, node, &node->next);
    fiber_spend(worker, deadline);
    mpsc_pop(&proc->box);
    *message = (weft_msg *)message_of(node);
    return 0;
}

/* Waits until the box is not empty. 0: there is a message. */
static __attribute__((noinline)) int recv_wait(struct worker *worker, struct proc *proc, uint64_t deadline, const char *call) {
    if (fiber_is_cancelled(proc)) return recv_at_once(worker, deadline, WEFT_ECANCELED);
    if (deadline != WEFT_FOREVER && deadline <= sys->now()) {
        deadline_check(deadline, call);
        return recv_at_once(worker, deadline, WEFT_ETIMEDOUT);
    }
    fiber_may_wait(proc, call);
    fiber_waits(proc, call, NULL);
    if (deadline != WEFT_FOREVER) return recv_until(worker, proc, deadline);
    do {
        worker = pack_leave(worker, WEFT_STEP_IDLE, NULL);
        if (!mpsc_is_empty(&proc->box)) return 0;
    } while (!fiber_is_cancelled(proc));
    fiber_heed(worker);
    return WEFT_ECANCELED;
}

static inline int recv_got(weft_msg **message, struct mpsc_node *node) {
    *message = (weft_msg *)message_of(node);
    if (MESSAGE_CHECKED) message_given(message_of(node), weft_self());
    sim_note("receive", message_of(node)->from);
    return 0;
}

/* ---- with a mailbox: requests or selective receive were used ----------------------------------------------------------- */

static inline int recv_given(struct worker *worker, struct proc *proc, weft_msg **message, struct mpsc_node *node) {
    mailbox_received(&fiber_of(proc)->mailbox, node);
    if (budget_is_over(worker)) recv_goes_on(worker, proc); /* else the next call yields */
    return recv_got(message, node);
}

static int recv_selected(weft_msg **message, struct match *match, uint64_t deadline, const char *call) {
    fiber_spend(worker_here(), deadline);
    struct worker *worker = fiber_worker(call);
    struct proc *proc = worker->current;
    struct mailbox *mailbox = &fiber_of(proc)->mailbox;
    match->proc = proc;
    mailbox_begin(worker->runtime, proc, mailbox);
    mailbox_look_urgent(mailbox);
    struct mpsc_node *node = search_saved(mailbox, match);
    while (!node && !(node = search_fresh(worker, proc, mailbox, match))) {
        int error = recv_wait(worker, proc, deadline, call);
        if (error) return error;
        worker = worker_here();
    }
    return recv_given(worker, proc, message, node);
}

int weft_recv_tag(uint64_t tag, weft_msg **message, uint64_t deadline) {
    return recv_selected(message, &(struct match){.tag = tag}, deadline, "weft_recv_tag");
}

int weft_recv_match(bool (*wants)(const weft_msg *message, void *arg), void *arg, weft_msg **message, uint64_t deadline) {
    return recv_selected(message, &(struct match){.wants = wants, .arg = arg}, deadline, "weft_recv_match");
}

static __attribute__((noinline)) int recv_carefully(weft_msg **message, uint64_t deadline, struct worker *worker) {
    struct proc *proc = worker->current;
    struct mailbox *mailbox = &fiber_of(proc)->mailbox;
    struct mpsc_node *node;
    fiber_spend(worker, deadline);
    worker = worker_here();
    mailbox_begin(worker->runtime, proc, mailbox);
    mailbox_look_urgent(mailbox);
    while (!(node = mailbox_pop(&worker->local, proc, mailbox))) {
        int error = recv_wait(worker, proc, deadline, "weft_recv");
        if (error) return error;
        worker = worker_here();
    }
    return recv_given(worker, proc, message, node);
}

/* ---- without one ------------------------------------------------------------------------------------------------------- */

/* The process was woken for nothing. */
static __attribute__((noinline, cold)) int recv_again(weft_msg **message, struct worker *worker) {
    struct proc *proc = worker->current;
    int error = recv_wait(worker, proc, WEFT_FOREVER, "weft_recv");
    return error ? error : recv_got(message, mpsc_pop_direct(&proc->box));
}

/* After a wait: the thread is inside of weft. */
static inline int recv_woken(weft_msg **message, struct worker *worker, struct proc *proc) {
    struct mpsc_node *node = mpsc_pop_direct(&proc->box);
    local_leave(&worker->local);
    return __builtin_expect(node != NULL, 1) ? recv_got(message, node) : recv_again(message, worker);
}

/* Most processes are parked in one of these two most of the time: the frame is small, so that they occupy little cache. The thread is inside of weft
 * (local.h). `next`: as in fiber_leave_for_mail. */
FIBER_SLOW int weft_recv_slow(weft_msg **message, uint64_t deadline, struct worker *worker, struct proc *next);
FIBER_RET_JUMP(weft_recv_jump, weft_recv_slow);
FIBER_SLOW int weft_recv_slow(weft_msg **message, uint64_t deadline, struct worker *worker, struct proc *next) {
    struct proc *proc = worker->current;
    if (__builtin_expect(deadline != WEFT_FOREVER, 0)) {
        local_leave(&worker->local);
        int error = recv_wait(worker, proc, deadline, "weft_recv");
        return __builtin_expect(error, 0) ? error : recv_got(message, mpsc_pop_direct(&proc->box));
    }
    fiber_waits_for_mail(fiber_of(proc));
    if (fiber_is_cancelled(proc)) {
        local_leave(&worker->local);
        return recv_at_once(worker, deadline, WEFT_ECANCELED);
    }
    return recv_woken(message, fiber_leave_for_mail(worker, proc, next), proc);
}

/* Without a deadline, and to a process that lies in the worker's slot and has a stack: most often the one that `proc` has just sent a message to. All
 * choices are made before there is a frame, while few registers are needed: 15 instructions less. (The order of the arguments is that of the registers
 * which they are in.) */
FIBER_SLOW int weft_recv_direct(weft_msg **message, struct proc *next, struct proc *proc, struct fiber *fiber, struct worker *worker);
FIBER_RET_JUMP(weft_recv_direct_jump, weft_recv_direct);
FIBER_SLOW int weft_recv_direct(weft_msg **message, struct proc *next, struct proc *proc, struct fiber *fiber, struct worker *worker) {
    fiber_waits_for_mail(fiber);
    return recv_woken(message, fiber_leave_for_mail_to(worker, proc, fiber, next), proc);
}

/* A thief has come for the same entry. */
static __attribute__((noinline, cold)) int recv_unsure(weft_msg **message, struct worker *worker, uint64_t entry) {
    return weft_recv_slow(message, WEFT_FOREVER, worker, slot_confirm(entry));
}

/* The box is empty. */
static inline int recv_none(weft_msg **message, uint64_t deadline, struct worker *worker, struct proc *proc) {
    bool sure;
    mpsc_looked(&proc->box);
    bool is_direct =
        deadline == WEFT_FOREVER && !state_is_cancelled(&proc->state) && !(exceptions_are_known() && exceptions_any(worker->loop));
    if (__builtin_expect(!is_direct, 0)) return weft_recv_jump(message, deadline, worker, NULL);
    uint64_t entry = policy_take_held(worker, &sure);
    if (entry == ENTRY_NONE) return weft_recv_jump(message, WEFT_FOREVER, worker, NULL);
    if (__builtin_expect(!sure, 0)) return recv_unsure(message, worker, entry);
    struct proc *next = entry_ptr(entry);
    if (__builtin_expect(next->stackful != PROC_STACKFUL, 0)) return weft_recv_jump(message, WEFT_FOREVER, worker, next);
    return weft_recv_direct_jump(message, next, proc, fiber_of(proc), worker);
}
/* The process has messages that it has not taken out of its box yet. */
static __attribute__((noinline, flatten)) int recv_fresh(weft_msg **message, uint64_t deadline, struct worker *worker) {
    struct mpsc_node *node = mpsc_pop_direct(&worker->current->box);
    if (__builtin_expect(!node, 0)) { /* the caller is recv_otherwise; or the box is closed, and the runtime is taken down */
        if (deadline == WEFT_FOREVER) fiber_may_wait(worker->current, "weft_recv"); /* else it may look, and recv_wait asks */
        return weft_recv_slow(message, deadline, worker, NULL);
    }
    local_leave(&worker->local);
    recv_got(message, node);
    return __builtin_expect(budget_spend(worker), 0) ? recv_took_turns(worker, message, deadline) : 0;
}

/* The caller is no stackful process, has a mailbox of its own, is in a fork/join region, or is a signal handler. */
static __attribute__((noinline)) int recv_otherwise(weft_msg **message, uint64_t deadline) {
    struct worker *worker = fiber_worker_leaving("weft_recv");
    if (worker->current->extras & (PROC_MAILBOX | PROC_BOUNDED)) return recv_carefully(message, deadline, worker);
    fiber_leaving(worker);
    return recv_fresh(message, deadline, worker);
}

/* All that takes longer is a tail call: so a wait needs no frame of this function's, and no register is saved here (10 instructions). */
__attribute__((flatten)) int weft_recv(weft_msg **message, uint64_t deadline) {
    struct worker *worker = my_worker;
    struct proc *proc = worker ? worker->current : NULL;
    if (__builtin_expect(!proc || proc->stackful != PROC_STACKFUL || proc->extras & (PROC_MAILBOX | PROC_BOUNDED | PROC_TASKS) ||
                             fiber_is_closed(worker),
                         0))
        return recv_otherwise(message, deadline);
    local_begin(&worker->local); /* a signal handler that receives in the middle of this would get the same message */
    struct mpsc_node *node = mpsc_pop_taken(&proc->box);
    if (!node) return mpsc_is_clear(&proc->box) ? recv_none(message, deadline, worker, proc) : recv_fresh(message, deadline, worker);
    local_leave(&worker->local);
    recv_got(message, node);
    /* A receiver that never runs out of messages yields when its budget is used up. */
    return __builtin_expect(budget_spend(worker), 0) ? recv_took_turns(worker, message, deadline) : 0;
}

static inline struct message *recv_looked_at(const weft_msg *message, const char *call) {
    message_used((const struct message *)message, call);
    return (struct message *)(uintptr_t)message;
}
weft_pid weft_msg_from(const weft_msg *message) { return recv_looked_at(message, "weft_msg_from")->from; }
uint64_t weft_msg_tag(const weft_msg *message) { return recv_looked_at(message, "weft_msg_tag")->tag; }
void *weft_msg_data(const weft_msg *message) { return message_payload(recv_looked_at(message, "weft_msg_data")).data; }
size_t weft_msg_len(const weft_msg *message) { return message_payload(recv_looked_at(message, "weft_msg_len")).size; }

/* The slow path: the thread has no worker, or the message is large or has a release function of the program. */
static __attribute__((noinline, cold)) void recv_free_otherwise(struct worker *self, struct message *message) {
    if (!self) {
        message_free_anywhere(message);
        return;
    }
    local_check(&self->local, "weft_msg_free");
    if (message->class == MESSAGE_LARGE) {
        message_free_other(&self->local.cache, message); /* which needs no cache */
        return;
    }
    struct message_moved moved = {.release = NULL};
    local_begin(&self->local);
    if (message->class >= POOL_CLASSES) moved = message_take_apart(&self->local.cache, message);
    else pool_give(&self->local.cache.pool, message->class, message);
    local_leave(&self->local);
    message_release(moved);
}
/* Inside: the cache is full. */
static __attribute__((noinline, cold)) void recv_free_full(struct worker *self, struct message *message) {
    pool_give(&self->local.cache.pool, message->class, message);
    local_leave(&self->local);
}

/* Whether the block goes to the caller's cache and needs nothing else. */
static inline bool recv_is_simple(const struct worker *self, unsigned class) {
    return self && class < POOL_CLASSES && self->local.closed_size != ALL_STACKS;
}

/* In debug builds: it is marked as freed until its block is used again. */
static inline void recv_freed(struct message *message) {
    if (!MESSAGE_CHECKED) return;
    message_used(message, "weft_msg_free");
    message_gone(message);
    if (message->class < POOL_CLASSES) message->type = MESSAGE_FREED; /* what others have besides is found by their type */
}

/* The message may be of another runtime than the calling worker. All that is rare is one tail call, so that no register is saved. */
void weft_msg_free(weft_msg *given) {
    struct worker *self = my_worker;
    struct message *message = (struct message *)given;
    if (__builtin_expect(!message, 0)) return;
    recv_freed(message);
    unsigned class = message->class; /* read once: the compiler would read it anew behind local_begin */
    if (__builtin_expect(!recv_is_simple(self, class), 0)) {
        recv_free_otherwise(self, message);
        return;
    }
    local_begin(&self->local);
    if (__builtin_expect(!pool_has_room(&self->local.cache.pool, class), 0)) { /* asked inside: a signal handler may free messages too */
        recv_free_full(self, message);
        return;
    }
    pool_put(&self->local.cache.pool, class, message);
    local_leave(&self->local);
}

int weft_recv_into_sized(void *data, size_t size, weft_envelope *envelope, size_t envelope_size, uint64_t deadline) {
    weft_msg *message = NULL;
    int error = weft_recv(&message, deadline);
    if (error) return error;
    size_t length = weft_msg_len(message), copied = length < size ? length : size;
    if (copied > 0) memcpy(data, weft_msg_data(message), copied);
    weft_envelope mine = {weft_msg_request(message), length};
    if (envelope) sized_write(envelope, envelope_size, &mine, sizeof mine);
    weft_msg_free(message);
    return 0;
}
