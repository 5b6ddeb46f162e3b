/* Receiving messages, with and without selection, and the accessors of a message. */
#include "base/sized.h"
#include "fiber/ret_jump.h"
#include "mail/mailbox.h"
#include "sys/deadline.h"
#include "wait/wait.h"

#include <weft/message.h>

/* Waits for a message with a deadline. Only the timer has the wait's address: a message wakes the process directly. */
static __attribute__((noinline)) int recv_until(struct worker *worker, struct proc *proc, uint64_t deadline) {
    struct wait wait;
    wait_begin(&wait);
    timer_event_arm(worker, &wait.timer, deadline);
    while (mpsc_is_empty(&proc->box) && atom_load_acq(&wait.claimed) == WAIT_PENDING && !fiber_is_cancelled(proc)) /* acq: wait_over */
        worker = fiber_leave(worker, WEFT_STEP_IDLE);
    timer_event_cancel(&wait.timer);
    if (!mpsc_is_empty(&proc->box)) return 0;
    return fiber_is_cancelled(proc) ? WEFT_ECANCELED : WEFT_ETIMEDOUT;
}

/* Returns without having waited: costs budget. */
static __attribute__((noinline, cold)) int recv_at_once(struct worker *worker, uint64_t deadline, int error) {
    fiber_spend(worker, deadline);
    return error;
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
        worker = fiber_leave(worker, WEFT_STEP_IDLE);
        if (!mpsc_is_empty(&proc->box)) return 0;
    } while (!fiber_is_cancelled(proc));
    return WEFT_ECANCELED;
}

static inline int recv_got(weft_msg **message, struct mpsc_node *node) {
    *message = (weft_msg *)message_of(node);
    sim_note("receive", message_of(node)->from);
    return 0;
}

/* ---- with a mailbox: requests or selective receive were used ----------------------------------------------------------- */

struct match {
    bool (*wants)(const weft_msg *message, void *arg); /* NULL: by tag */
    void *arg;
    uint64_t tag;
    struct proc *proc; /* the receiver */
};

/* The predicate is called in the middle of the list, and its caller holds on to the worker: so it must not wait. */
static bool match_wants(const struct match *match, struct mpsc_node *node) {
    struct message *message = message_of(node);
    if (!match->wants) return message->tag == match->tag;
    match->proc->stackful = PROC_UPCALL;
    bool wanted = match->wants((const weft_msg *)message, match->arg);
    match->proc->stackful = PROC_STACKFUL;
    return wanted;
}

/* Looks through `saved`, and at no message twice for the same tag (mailbox.h, K2). */
static struct mpsc_node *recv_saved(struct mailbox *mailbox, const struct match *match) {
    bool again = !match->wants && mailbox->looked && mailbox->looked_tag == match->tag;
    struct mpsc_node **link = again ? mailbox->looked : &mailbox->saved;
    while (*link && !match_wants(match, *link))
        link = &(*link)->next;
    if (!match->wants) {
        mailbox->looked = link;
        mailbox->looked_tag = match->tag;
    }
    return *link ? mailbox_take(mailbox, link) : NULL;
}

/* Looks through the box, and puts aside what is not wanted. */
static struct mpsc_node *recv_fresh(struct worker *worker, struct proc *proc, struct mailbox *mailbox, const struct match *match) {
    struct mpsc_node *node;
    while ((node = mailbox_next(&worker->local, proc, mailbox)) && !match_wants(match, node)) {
        bool all = mailbox->looked == mailbox->saved_end && mailbox->looked_tag == match->tag && !match->wants;
        mailbox_save(mailbox, node);
        if (all) mailbox->looked = mailbox->saved_end;
    }
    return node;
}

static int recv_selected(weft_msg **message, struct match *match, uint64_t deadline, const char *call) {
    fiber_spend(worker_here(), deadline);
    struct worker *worker = fiber_worker(call);
    struct proc *proc = worker->current;
    struct mailbox *mailbox = &fiber_of(proc)->mailbox;
    match->proc = proc;
    mailbox_begin(worker->runtime, proc, mailbox);
    struct mpsc_node *node = recv_saved(mailbox, match);
    while (!node && !(node = recv_fresh(worker, proc, mailbox, match))) {
        int error = recv_wait(worker, proc, deadline, call);
        if (error) return error;
        worker = worker_here();
    }
    return recv_got(message, node);
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
    while (!(node = mailbox_pop(&worker->local, proc, mailbox))) {
        int error = recv_wait(worker, proc, deadline, "weft_recv");
        if (error) return error;
        worker = worker_here();
    }
    return recv_got(message, node);
}

/* ---- without one ------------------------------------------------------------------------------------------------------- */

FIBER_SLOW int weft_recv_slow(weft_msg **message, uint64_t deadline, struct worker *worker);
FIBER_RET_JUMP(weft_recv_jump, weft_recv_slow);
/* Most processes are parked here most of the time: the frame is small, so that they occupy little cache. */
FIBER_SLOW int weft_recv_slow(weft_msg **message, uint64_t deadline, struct worker *worker) {
    struct proc *proc = worker->current;
    if (__builtin_expect(deadline != WEFT_FOREVER, 0)) {
        local_check(&worker->local, "weft_recv");
        int error = recv_wait(worker, proc, deadline, "weft_recv");
        return __builtin_expect(error, 0) ? error : recv_got(message, mpsc_pop(&proc->box));
    }
    struct mpsc_node *node;
    do {
        fiber_leaving(worker);
        fiber_may_wait(proc, "weft_recv");
        fiber_waits(proc, "weft_recv", NULL);
        if (fiber_is_cancelled(proc)) {
            local_leave(&worker->local);
            return recv_at_once(worker, deadline, WEFT_ECANCELED);
        }
        worker = fiber_leave_chosen(worker, WEFT_STEP_IDLE);
    } while (!(node = mpsc_pop(&proc->box)));
    return recv_got(message, node);
}

__attribute__((flatten)) int weft_recv(weft_msg **message, uint64_t deadline) {
    struct worker *worker = fiber_worker_leaving("weft_recv");
    if (__builtin_expect(worker->current->extras & PROC_MAILBOX, 0)) return recv_carefully(message, deadline, worker);
    struct mpsc_node *node = mpsc_pop(&worker->current->box);
    if (!node) return weft_recv_jump(message, deadline, worker);
    recv_got(message, node);
    /* A receiver that never runs out of messages yields when its budget is used up. A tail call, so that a wait needs no frame. */
    return __builtin_expect(budget_spend(worker), 0) ? recv_at_once(worker, deadline, 0) : 0;
}

weft_pid weft_msg_from(const weft_msg *message) { return ((const struct message *)message)->from; }
uint64_t weft_msg_tag(const weft_msg *message) { return ((const struct message *)message)->tag; }
void *weft_msg_data(const weft_msg *message) { return message_payload((struct message *)message).data; }
size_t weft_msg_len(const weft_msg *message) { return message_payload((struct message *)message).size; }

/* The slow path: the thread has no worker, or the message is large or has a release function of the program. */
static __attribute__((noinline, cold)) void recv_free_otherwise(struct worker *self, struct message *message) {
    if (!self) {
        message_free_anywhere(message);
        return;
    }
    local_check(&self->local, "weft_msg_free");
    message_free_other(&self->local.cache, message);
}

/* The message may be of another runtime than the calling worker. */
void weft_msg_free(weft_msg *message) {
    struct worker *self = my_worker;
    if (__builtin_expect(!message, 0)) return;
    if (__builtin_expect(!self || ((struct message *)message)->class >= POOL_CLASSES, 0)) {
        recv_free_otherwise(self, (struct message *)message);
        return;
    }
    local_enter(&self->local, "weft_msg_free");
    pool_give(&self->local.cache.pool, ((struct message *)message)->class, message);
    local_leave(&self->local);
}

int weft_recv_into_sized(void *data, size_t size, weft_envelope *envelope, size_t envelope_size, uint64_t deadline) {
    weft_msg *message;
    int error = weft_recv(&message, deadline);
    if (error) return error;
    size_t length = weft_msg_len(message), copied = length < size ? length : size;
    if (copied > 0) memcpy(data, weft_msg_data(message), copied);
    weft_envelope mine = {weft_msg_request(message), length};
    if (envelope) sized_write(envelope, envelope_size, &mine, sizeof mine);
    weft_msg_free(message);
    return 0;
}
