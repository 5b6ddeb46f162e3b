/* Request and reply: a request has a reference number, which its reply repeats, and a monitor on the receiver. */
#include "mail/mailbox.h"
#include "mail/send.h"
#include "sched/door.h"
#include "sched/rt_enter.h"
#include "sys/deadline.h"
#include "wait/wait.h"

#include <weft/message.h>

/* ---- requests and replies --------------------------------------------------------------------------------------------- */

/* A message with a head; NULL: there is no memory. */
static struct message *call_message(struct local *local, uint8_t type, weft_pid from, uint64_t tag, uint64_t reference, const void *data,
                                    size_t size) {
    if (size > UINT32_MAX - sizeof(struct message_head)) return NULL;
    struct message *message = message_new(&local->cache, sizeof(struct message_head) + size);
    if (!message) return NULL;
    message->tag = tag;
    message->from = from;
    message->type = type;
    *message_head(message) = (struct message_head){.reference = reference};
    if (size > 0) memcpy(message->data + sizeof(struct message_head), data, size);
    return message;
}

/* Counts the message as sent or, with an `error`, as refused; a refused message is freed. */
static int call_sent(struct local *local, struct message *message, int error) {
    count(error ? &local->counters.refused : &local->counters.sent);
    if (error) message_free(&local->cache, message);
    return error;
}

weft_request weft_msg_request(const weft_msg *opaque) {
    const struct message *message = (const struct message *)opaque;
    weft_request request = {.from = message->from, .tag = message->tag};
    if (message->type == WEFT_EVENT_REQUEST) request.reference = ((const struct message_head *)message->data)->reference;
    return request;
}

weft_request weft_event_request(const weft_event *event) {
    weft_request request = {.from = event->from, .tag = event->tag};
    if (event->type == WEFT_EVENT_REQUEST)
        request.reference = ((const struct message_head *)event->data - 1)->reference; /* message_payload */
    return request;
}

int weft_reply(weft_request request, const void *data, size_t size) {
    struct rt_entry entry;
    if (request.reference == 0) return WEFT_EINVAL;
    if (!rt_enter(&entry, request.from, "weft_reply")) return WEFT_EFOREIGN;
    struct message *reply = call_message(entry.local, MESSAGE_REPLY, weft_self(), request.tag, request.reference, data, size);
    int error = WEFT_ENOMEM;
    if (reply) error = call_sent(entry.local, reply, send_message(entry.local, entry.self, request.from, reply));
    rt_leave(&entry);
    return error;
}

/* ---- asking ------------------------------------------------------------------------------------------------------------ */

/* The receiver has ended. Called under the lock that ask_end takes too, so the asker still exists. */
static void ask_tell(struct local *local, struct worker *self, struct monitor *monitor, int reason) {
    struct ask *ask = (struct ask *)monitor;
    (void)local, (void)reason;
    atom_store_rel(&ask->gone, true); /* rel: pairs with the acq in ask_wait: a reply that was sent before is seen */
    proc_wake(ask->runtime, self && self->runtime == ask->runtime ? self : NULL, ask->proc);
}

/* Takes the request out of the list and removes its monitor: nothing refers to it afterwards. `local` is that of the asker's worker, or of
 * a door when the runtime is being taken down. */
static void ask_end(struct local *local, struct mailbox *mailbox, struct ask *ask) {
    struct ask **link = &mailbox->asks;
    struct rt_entry entry;
    while (*link != ask)
        link = &(*link)->next;
    *link = ask->next;
    if (local->runtime->instance == pid_instance(ask->to)) {
        monitor_remove(local, ask->to, &ask->monitor);
    } else if (rt_enter(&entry, ask->to, "weft_call")) { /* else its runtime has gone, and has told the monitor */
        monitor_remove(entry.local, ask->to, &ask->monitor);
        rt_leave(&entry);
    }
}

/* Sends the request. With `target` as a hand-off, if possible: *target is then the receiver, claimed. */
static int ask_begin(struct worker *worker, struct ask *ask, weft_pid to, uint64_t tag, const void *data, size_t size,
                     struct proc **target) {
    struct proc *proc = worker->current;
    struct mailbox *mailbox = &fiber_of(proc)->mailbox;
    struct rt_entry entry;
    weft_pid self = worker_pid(worker);
    if (to == self) WEFT_MISUSE("weft_call", "a process asks itself and would wait for its own answer", "call a function");
    if (!rt_enter(&entry, to, "weft_call")) return WEFT_EFOREIGN;
    mailbox_begin(worker->runtime, proc, mailbox);
    ask->monitor.tell = ask_tell;
    ask->runtime = worker->runtime;
    ask->proc = proc;
    ask->to = to;
    ask->reference = ++mailbox->reference;
    ask->reply = NULL;
    atom_store_rlx(&ask->gone, false); /* rlx: no other thread knows it yet */
    int error = monitor_add(entry.local, to, &ask->monitor);
    if (!error) {
        ask->next = mailbox->asks;
        mailbox->asks = ask;
        struct message *request = call_message(entry.local, WEFT_EVENT_REQUEST, self, tag, ask->reference, data, size);
        if (!request) error = WEFT_ENOMEM;
        else if (target && entry.self) error = call_sent(entry.local, request, send_message_handoff(worker, to, request, target));
        else error = call_sent(entry.local, request, send_message(entry.local, entry.self, to, request));
    }
    rt_leave(&entry);
    if (error && mailbox->asks == ask) ask_end(&worker->local, mailbox, ask);
    return error;
}

/* ---- waiting for the answer ---------------------------------------------------------------------------------------------- */

/* Looks for the reply in the mailbox and puts other messages aside. False: it is not there, and the box is empty. */
static bool ask_answered(struct worker *worker, struct proc *proc, struct ask *ask) {
    struct mailbox *mailbox = &fiber_of(proc)->mailbox;
    struct mpsc_node *node;
    while (!ask->reply && (node = mailbox_next(&worker->local, proc, mailbox)))
        mailbox_save(mailbox, node);
    return ask->reply != NULL;
}

/* The asker's wait for a reply. Only the timer has its address: a reply wakes the process directly. */
struct ask_patience {
    uint64_t deadline;
    bool armed;
    struct wait wait;
};

/* 0: the asker goes on waiting. Otherwise the error that ends the wait. */
static int ask_over(struct proc *proc, bool gone, struct ask_patience *patience) {
    if (gone) return WEFT_ENOPROC;
    if (fiber_is_cancelled(proc)) return WEFT_ECANCELED;
    bool late = patience->armed ? atom_load_acq(&patience->wait.claimed) != WAIT_PENDING /* acq: as in wait_over */
                                : patience->deadline != WEFT_FOREVER && patience->deadline <= sys->now();
    return late ? WEFT_ETIMEDOUT : 0;
}

static void ask_arm(struct worker *worker, struct ask_patience *patience) {
    if (patience->armed || patience->deadline == WEFT_FOREVER) return;
    wait_begin(&patience->wait);
    timer_event_arm(worker, &patience->wait.timer, patience->deadline);
    patience->armed = true;
}

/* 0: the reply is there. `target` is the process to switch to first, or NULL. */
static int ask_wait(struct worker *worker, struct ask *ask, struct proc *target, uint64_t deadline, const char *call) {
    struct proc *proc = worker->current;
    struct ask_patience patience;
    patience.deadline = deadline;
    patience.armed = false;
    int error;
    fiber_waits(proc, call, (const void *)(uintptr_t)ask->to);
    for (;;) {
        bool gone = atom_load_acq(&ask->gone); /* acq: pairs with the rel in ask_tell. Before the look for the reply */
        bool answered = ask_answered(worker, proc, ask);
        error = answered ? 0 : ask_over(proc, gone, &patience);
        bool waits = !answered && !error;
        if (!waits && !target) break;
        if (waits) {
            fiber_may_wait(proc, call);
            ask_arm(worker, &patience);
        }
        enum weft_status status = waits ? WEFT_STEP_IDLE : WEFT_STEP_CONTINUE;
        /* A process that was claimed must be run in any case. */
        worker = target ? fiber_leave_to(worker, status, target) : fiber_leave(worker, status);
        target = NULL;
    }
    if (patience.armed) timer_event_cancel(&patience.wait.timer);
    if (error == WEFT_ETIMEDOUT) deadline_check(deadline, call);
    return error;
}

static int ask_got(struct ask *ask, weft_msg **reply) {
    *reply = (weft_msg *)ask->reply;
    return 0;
}

int weft_call(weft_pid to, uint64_t tag, const void *data, size_t size, weft_msg **reply, uint64_t deadline) {
    fiber_spend(worker_here(), deadline); /* costs budget: the receiver may be gone already */
    struct worker *worker = fiber_worker("weft_call");
    struct mailbox *mailbox = &fiber_of(worker->current)->mailbox;
    struct proc *target = NULL;
    struct ask ask;
    ask.kept = false;
    int error = ask_begin(worker, &ask, to, tag, data, size, &target);
    if (error) return error;
    error = ask_wait(worker, &ask, target, deadline, "weft_call");
    ask_end(&worker_here()->local, mailbox, &ask);
    return error ? error : ask_got(&ask, reply);
}

/* ---- in two parts --------------------------------------------------------------------------------------------------------- */

static void ask_free(struct local *local, struct ask *ask) { pool_give(&local->blocks, pool_class_of(sizeof *ask), ask); }

static struct ask *ask_find(struct mailbox *mailbox, uint64_t reference) {
    struct ask *ask = mailbox->asks;
    while (ask && ask->reference != reference)
        ask = ask->next;
    return ask;
}

int weft_ask(weft_pid to, uint64_t tag, const void *data, size_t size, uint64_t *reference) {
    struct worker *worker = fiber_worker("weft_ask");
    struct ask *ask = pool_take(&worker->local.blocks, pool_class_of(sizeof *ask));
    if (!ask) return WEFT_ENOMEM;
    ask->kept = true;
    int error = ask_begin(worker, ask, to, tag, data, size, NULL);
    if (error) ask_free(&worker->local, ask);
    else *reference = ask->reference;
    return error;
}

/* The calling process's request, or NULL. */
static struct ask *ask_own(struct worker *worker, uint64_t reference) {
    struct proc *proc = worker->current;
    return proc->extras & PROC_MAILBOX ? ask_find(&fiber_of(proc)->mailbox, reference) : NULL;
}

int weft_recv_reply(uint64_t reference, weft_msg **reply, uint64_t deadline) {
    fiber_spend(worker_here(), deadline);
    struct worker *worker = fiber_worker("weft_recv_reply");
    struct mailbox *mailbox = &fiber_of(worker->current)->mailbox;
    struct ask *ask = ask_own(worker, reference);
    if (!ask) return WEFT_ENOENT;
    int error = ask_wait(worker, ask, NULL, deadline, "weft_recv_reply");
    if (error == WEFT_ETIMEDOUT || error == WEFT_ECANCELED) return error;
    worker = worker_here();
    ask_end(&worker->local, mailbox, ask);
    if (!error) ask_got(ask, reply);
    ask_free(&worker->local, ask);
    return error;
}

static void ask_forget(struct local *local, struct mailbox *mailbox, struct ask *ask) {
    ask_end(local, mailbox, ask);
    if (ask->reply) message_free(&local->cache, ask->reply);
    if (ask->kept) ask_free(local, ask);
}

void weft_forget(uint64_t reference) {
    struct worker *worker = fiber_worker("weft_forget");
    struct ask *ask = ask_own(worker, reference);
    if (ask) ask_forget(&worker->local, &fiber_of(worker->current)->mailbox, ask);
}

void ask_forget_all(struct local *local, struct mailbox *mailbox) {
    while (mailbox->asks)
        ask_forget(local, mailbox, mailbox->asks);
}
