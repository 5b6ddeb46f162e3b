/* Request and reply: a request has a reference number, which its reply repeats, and a monitor on the receiver. */
#include "mail/ask.h"

#include "mail/mailbox.h"
#include "mail/send.h"
#include "sched/door.h"
#include "sched/heed.h"
#include "sched/rt_enter.h"
#include "sys/deadline.h"
#include "wait/wait.h"

#include <weft/message.h>

/* ---- requests and replies --------------------------------------------------------------------------------------------- */

/* A message with a head; NULL: there is no memory. `message` has room for head and payload, or is NULL. */
static struct message *call_fill(struct message *message, uint8_t type, weft_pid from, uint64_t tag, uint64_t reference, const void *data,
                                 size_t size) {
    if (!message) return NULL;
    message->tag = tag;
    message->from = from;
    message->type = type;
    *message_head(message) = (struct message_head){.reference = reference};
    if (size > 0) memcpy(message->data + sizeof(struct message_head), data, size);
    return message;
}

static struct message *call_message(struct local *local, uint8_t type, weft_pid from, uint64_t tag, uint64_t reference, const void *data,
                                    size_t size) {
    if (size > UINT32_MAX - sizeof(struct message_head)) return NULL;
    return call_fill(message_new(&local->cache, sizeof(struct message_head) + size), type, from, tag, reference, data, size);
}

/* A request. One that owns something is a large message (message.h). */
static inline struct message *call_request(struct local *local, weft_pid from, uint64_t tag, uint64_t reference,
                                           const struct ask_payload *payload) {
    if (!payload->release) return call_message(local, WEFT_EVENT_REQUEST, from, tag, reference, payload->data, payload->size);
    struct message *message = call_fill(message_new_large(sizeof(struct message_head) + payload->size), WEFT_EVENT_REQUEST, from, tag,
                                        reference, payload->data, payload->size);
    if (!message) return NULL;
    message_head(message)->release = payload->release;
    payload->hold(message_head(message) + 1);
    return message;
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
    heed(my_worker);
    if (request.reference == 0) return WEFT_EINVAL;
    if (!rt_enter(&entry, request.from, "weft_reply")) return 0; /* the asker has ended with its runtime */
    struct message *reply = call_message(entry.local, MESSAGE_REPLY, weft_self(), request.tag, request.reference, data, size);
    int error = reply ? 0 : message_refused(size);
    if (reply) error = send_count(entry.local, reply, send_message(entry.local, entry.self, request.from, reply));
    rt_leave(&entry);
    /* An asker that has ended waits no more than one that has given up. A server that returns this result must not end with its clients. */
    return error == WEFT_ENOPROC ? 0 : error;
}

/* 0, and the buffer is the asker's; else it is still the caller's. WEFT_ENOPROC: the asker has ended. */
static int reply_moved(weft_request request, const struct message_moved *moved) {
    struct rt_entry entry;
    if (!rt_enter(&entry, request.from, "weft_reply_move")) return WEFT_ENOPROC;
    struct message *reply = message_new_moved_reply(&entry.local->cache, moved, request.reference);
    int error = reply ? 0 : message_refused(moved->size);
    if (reply) {
        reply->tag = request.tag;
        reply->from = weft_self();
        error = send_message(entry.local, entry.self, request.from, reply);
        if (error) message_shell(reply)->release = NULL;
        error = send_count(entry.local, reply, error);
    }
    rt_leave(&entry);
    return error;
}

int weft_reply_move(weft_request request, void *buffer, size_t size, weft_release release, void *user) {
    heed(my_worker);
    if (request.reference == 0) return WEFT_EINVAL;
    int error = reply_moved(request, &(struct message_moved){buffer, size, release, user});
    if (error != WEFT_ENOPROC) return error;
    if (release) release(buffer, size, user); /* dropped, as where the asker has given up */
    return 0;
}

/* ---- asking ------------------------------------------------------------------------------------------------------------ */

/* The receiver has ended. Called under the lock that ask_end takes too, or ask_end waits for ASK_LEFT: so the asker still exists. */
static bool ask_tell(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *reason) {
    struct ask *ask = (struct ask *)monitor;
    (void)local, (void)reason;
    atom_store_rel(&ask->gone, ASK_TOLD); /* rel: pairs with the acq in ask_wait and ask_is_gone: a reply that was sent before is seen */
    wait_awake(ask->runtime, self && self->runtime == ask->runtime ? self : NULL, ask->proc);
    atom_store_rel(&ask->gone, ASK_LEFT); /* rel: pairs with the acq in ask_await_teller: the last touch */
    return false;
}

/* The receiver's runtime is being taken down, and tells all monitors. */
static void ask_await_teller(struct ask *ask) {
    for (struct spin spin = spin_begin(); atom_load_acq(&ask->gone) != ASK_LEFT;) /* acq: pairs with the rel in ask_tell */
        spin_wait(&spin);
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
    } else if (rt_enter(&entry, ask->to, "weft_call")) {
        monitor_remove(entry.local, ask->to, &ask->monitor);
        rt_leave(&entry);
    } else {
        ask_await_teller(ask);
    }
}

/* Sends the request. With `target` as a hand-off, if possible: *target is then the receiver, claimed. */
static inline __attribute__((always_inline)) int ask_begin(struct worker *worker, struct ask *ask, weft_pid to, uint64_t tag,
                                                           const struct ask_payload *payload, struct proc **target, uint64_t deadline,
                                                           const char *call) {
    struct proc *proc = worker->current;
    struct mailbox *mailbox = &fiber_of(proc)->mailbox;
    struct rt_entry entry;
    weft_pid self = worker_pid(worker);
    if (to == self) WEFT_REFUSE(call, "a process asks itself and would wait for its own answer", "call a function");
    if (!rt_enter(&entry, to, call)) return WEFT_EFOREIGN;
    mailbox_begin(worker->runtime, proc, mailbox);
    ask->monitor.tell = ask_tell;
    ask->runtime = worker->runtime;
    ask->proc = proc;
    ask->to = to;
    ask->reference = ++mailbox->reference;
    ask->reply = NULL;
    atom_store_rlx(&ask->gone, ASK_PENDING); /* rlx: no other thread knows it yet */
    struct message *request = NULL;
    int error = monitor_add(entry.local, to, &ask->monitor);
    if (!error) {
        ask->next = mailbox->asks;
        mailbox->asks = ask;
        request = call_request(entry.local, self, tag, ask->reference, payload);
        if (!request) error = message_refused(payload->size);
        else if (target && entry.self) error = send_message_handoff(worker, to, request, target);
        else error = send_message(entry.local, entry.self, to, request);
        if (request && error != WEFT_EAGAIN) error = send_count(entry.local, request, error);
    }
    rt_leave(&entry);
    if (__builtin_expect(error == WEFT_EAGAIN, 0)) error = send_wait_counted(to, request, deadline, call);
    if (error && mailbox->asks == ask) ask_end(&worker_here()->local, mailbox, ask);
    return error;
}

/* ---- waiting for the answer ---------------------------------------------------------------------------------------------- */

/* Looks for the reply in the mailbox and puts other messages aside. False: it is not there, and the box is empty. */
static __attribute__((flatten)) bool ask_answered(struct worker *worker, struct proc *proc, struct ask *ask) {
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
    if (fiber_is_cancelled(proc)) {
        fiber_was_cancelled(worker_here(), proc);
        return WEFT_ECANCELED;
    }
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
        bool gone = atom_load_acq(&ask->gone) != ASK_PENDING; /* acq: pairs with the rel in ask_tell. Before the look for the reply */
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
    if (MESSAGE_CHECKED) message_given(ask->reply, weft_self());
    return 0;
}

static inline __attribute__((always_inline)) int ask_and_wait(weft_pid to, uint64_t tag, const struct ask_payload *payload,
                                                              weft_msg **reply, uint64_t deadline, const char *call) {
    fiber_spend(worker_here(), deadline); /* costs budget: the receiver may be gone already */
    struct worker *worker = fiber_worker(call);
    struct mailbox *mailbox = &fiber_of(worker->current)->mailbox;
    struct proc *target = NULL;
    struct ask ask;
    ask.kept = false;
    if (fiber_is_cancelled(worker->current)) { /* no call is answered at once */
        fiber_was_cancelled(worker, worker->current);
        return WEFT_ECANCELED;
    }
    int error = ask_begin(worker, &ask, to, tag, payload, &target, deadline, call);
    if (error) return error;
    error = ask_wait(worker_here(), &ask, target, deadline, call);
    ask_end(&worker_here()->local, mailbox, &ask);
    return error ? error : ask_got(&ask, reply);
}

int weft_call(weft_pid to, uint64_t tag, const void *data, size_t size, weft_msg **reply, uint64_t deadline) {
    return ask_and_wait(to, tag, &(struct ask_payload){data, size, NULL, NULL}, reply, deadline, "weft_call");
}

int ask_call(weft_pid to, uint64_t tag, const struct ask_payload *payload, weft_msg **reply, uint64_t deadline, const char *call) {
    return ask_and_wait(to, tag, payload, reply, deadline, call);
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
    struct worker *worker = fiber_caller("weft_ask");
    struct ask *ask = pool_take(&worker->local.blocks, pool_class_of(sizeof *ask));
    if (!ask) return WEFT_ENOMEM;
    ask->kept = true;
    int error = ask_begin(worker, ask, to, tag, &(struct ask_payload){data, size, NULL, NULL}, NULL, WEFT_FOREVER, "weft_ask");
    if (error) ask_free(&worker_here()->local, ask);
    else *reference = ask->reference;
    return error;
}

/* The calling process's request, or NULL. */
static struct ask *ask_own(struct worker *worker, uint64_t reference) {
    struct proc *proc = worker->current;
    return proc->extras & PROC_MAILBOX ? ask_find(&fiber_of(proc)->mailbox, reference) : NULL;
}

/* The request has ended: with its reply, or without. */
static void ask_close(struct worker *worker, struct ask *ask, weft_msg **reply) {
    ask_end(&worker->local, &fiber_of(worker->current)->mailbox, ask);
    if (ask->reply) ask_got(ask, reply);
    ask_free(&worker->local, ask);
}

int weft_recv_reply(uint64_t reference, weft_msg **reply, uint64_t deadline) {
    fiber_spend(worker_here(), deadline);
    struct worker *worker = fiber_worker("weft_recv_reply");
    struct ask *ask = ask_own(worker, reference);
    if (!ask) return WEFT_ENOENT;
    int error = ask_wait(worker, ask, NULL, deadline, "weft_recv_reply");
    if (error == WEFT_ETIMEDOUT || error == WEFT_ECANCELED) return error;
    ask_close(worker_here(), ask, reply);
    return error;
}

bool ask_is_gone(struct worker *worker, uint64_t reference) {
    struct ask *ask = ask_own(worker, reference);
    return !ask || atom_load_acq(&ask->gone) != ASK_PENDING; /* acq: as in ask_wait */
}

bool ask_has_reply(struct worker *worker, uint64_t reference) {
    struct ask *ask = ask_own(worker, reference);
    return ask && ask->reply;
}

int ask_take(struct worker *worker, uint64_t reference, weft_msg **reply) {
    struct ask *ask = ask_own(worker, reference);
    if (!ask) return WEFT_ENOENT;
    int error = ask->reply ? 0 : WEFT_ENOPROC;
    ask_close(worker, ask, reply);
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
    heed_after(worker);
}

void ask_forget_all(struct local *local, struct mailbox *mailbox) {
    while (mailbox->asks)
        ask_forget(local, mailbox, mailbox->asks);
}
