/* Sending a message: take a block from the pool, look up the receiver, push, wake it, put it into a run queue. */
#include "mail/send.h"

#include "fiber/fiber.h"
#include "sched/atfork.h"
#include "sched/door.h"
#include "sched/heed.h"
#include "sched/rt_enter.h"

#include <weft/router.h>

/* In a section, which it leaves: the receiver had ended when the message was in its box. A message that was sent meanwhile, by another sender, was accepted. */
static __attribute__((noinline, cold)) int send_too_late(struct local *local, struct worker *self, struct proc *proc, weft_pid to,
                                                         struct message *message, enum bounds_how how) {
    struct mpsc_node *node = deliver_too_late(proc, to), *next;
    bool refused = false;
    section_leave(&local->section);
    for (; node; node = next) {
        next = node->next;
        if (message_of(node) == message) refused = true;
        else message_free(&local->cache, message_of(node));
    }
    return refused ? send_marked(local, self, to, message, how) : 0;
}

/* In a section, which it leaves; `proc`: of proc_find. */
static inline int send_found(struct local *local, struct worker *self, struct proc *proc, weft_pid to, struct message *message,
                             enum bounds_how how) {
    struct state_next next;
    enum mpsc_pushed pushed = proc ? deliver(proc, &message->node, &local->pushed, &next) : MPSC_CLOSED;
    if (__builtin_expect(pushed >= 0 && next.verdict == STATE_DEAD, 0)) return send_too_late(local, self, proc, to, message, how);
    section_leave(&local->section);
    if (__builtin_expect(pushed < 0, 0)) return send_marked(local, self, to, message, how);
    if (next.verdict == STATE_RUN) ready_held(local->runtime, self, proc, next);
    if (next.verdict == STATE_ENQUEUE) ready_again(local->runtime, self, proc, next, READY_WOKEN);
    return 0;
}
static inline int send_push(struct local *local, struct worker *self, weft_pid to, struct message *message, enum bounds_how how) {
    sim_note("send", to);
    section_enter(&local->section);
    return send_found(local, self, proc_find(local->runtime, to), to, message, how);
}

int send_message(struct local *local, struct worker *self, weft_pid to, struct message *message) {
    return send_push(local, self, to, message, BOUNDS_POLICY);
}
int send_message_as(struct local *local, struct worker *self, weft_pid to, struct message *message, enum bounds_how how) {
    return send_push(local, self, to, message, how);
}

int send_unheard(struct local *local, weft_pid to, struct message *message) {
    section_enter(&local->section);
    struct proc *proc = proc_find(local->runtime, to);
    enum mpsc_pushed pushed = proc ? mpsc_push_unheard(&proc->box, &message->node) : MPSC_CLOSED;
    section_leave(&local->section);
    return __builtin_expect(pushed < 0, 0) ? send_marked(local, NULL, to, message, BOUNDS_POLICY) : 0;
}

struct proc *send_wake(struct local *local, struct worker *self, weft_pid to, bool to_run) {
    struct runtime *runtime = local->runtime;
    struct state_next next = {.verdict = STATE_DEAD};
    section_enter(&local->section);
    struct proc *proc = proc_find(runtime, to);
    if (proc) next = to_run ? policy_wake_to_run(runtime, proc) : state_wake(&proc->state);
    section_leave(&local->section);
    if (next.verdict == STATE_ENQUEUE) ready_again(runtime, self, proc, next, READY_WOKEN);
    return next.verdict == STATE_RUN ? proc : NULL;
}

int send_copy(struct local *local, struct worker *self, weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size) {
    struct message *message = message_copy(&local->cache, from, tag, data, size);
    if (!message) return message_refused(size);
    return send_count(local, message, send_message(local, self, to, message));
}

/* A hand-off to a bounded mailbox: the receiver has been woken, and is claimed if possible. */
static __attribute__((noinline, cold)) int send_marked_handoff(struct worker *self, weft_pid to, struct message *message,
                                                               struct proc **target) {
    int error = send_marked(&self->local, self, to, message, BOUNDS_POLICY);
    if (!error) *target = send_wake(&self->local, self, to, handoff_is_allowed(self));
    handoff_count(self, *target != NULL);
    return error;
}

/* Gives the message to the receiver and claims it, if it waits or is queued; else the message is pushed, and the receiver woken. */
static inline enum mpsc_pushed handoff_deliver(struct worker *self, struct proc *proc, struct message *message, struct state_next *next) {
    bool allowed = handoff_is_allowed(self);
    *next = (struct state_next){.verdict = STATE_RUN};
    if (allowed && deliver_and_claim(proc, &message->node, self->policy != POLICY_LINE)) return MPSC_PUSHED;
    enum mpsc_pushed pushed = mpsc_push(&proc->box, &message->node);
    if (pushed >= 0) *next = allowed ? policy_wake_to_run(self->runtime, proc) : state_wake(&proc->state);
    return pushed;
}

int send_message_handoff(struct worker *self, weft_pid to, struct message *message, struct proc **target) {
    struct local *local = &self->local;
    sim_note("handoff", to);
    *target = NULL;
    struct state_next next;
    section_enter(&local->section);
    struct proc *proc = proc_find(local->runtime, to);
    enum mpsc_pushed pushed = proc ? handoff_deliver(self, proc, message, &next) : MPSC_CLOSED;
    if (__builtin_expect(pushed >= 0 && next.verdict == STATE_DEAD, 0)) {
        handoff_count(self, false);
        return send_too_late(local, self, proc, to, message, BOUNDS_POLICY);
    }
    section_leave(&local->section);
    if (__builtin_expect(pushed < 0, 0)) return send_marked_handoff(self, to, message, target);
    if (next.verdict == STATE_ENQUEUE) ready_again(local->runtime, self, proc, next, READY_WOKEN);
    handoff_count(self, next.verdict == STATE_RUN);
    if (next.verdict == STATE_RUN) *target = proc;
    return 0;
}

/* The router and its argument, read and changed together. */
static struct {
    struct lock lock;
    weft_router function;
    void *user;
} relay;

int weft_set_router(weft_router router, void *user) {
    lock_take(&relay.lock);
    bool busy = router && relay.function;
    if (!busy) {
        relay.function = router;
        relay.user = user;
    }
    lock_drop(&relay.lock);
    return busy ? WEFT_EBUSY : 0;
}

int send_by_router(weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size) {
    lock_take(&relay.lock);
    weft_router router = relay.function;
    void *user = relay.user;
    lock_drop(&relay.lock);
    return router ? router(user, from, to, tag, data, size) : WEFT_EFOREIGN;
}

/* ---- weft_send --------------------------------------------------------------------------------------------------------------------- */

/* Sends to another runtime of this program, by one of its doors; else by the router. */
static __attribute__((noinline, cold)) int send_far(weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size,
                                                    uint64_t deadline, const char *call) {
    unsigned door;
    heed(worker_here());
    atfork_check(call);
    struct local *local = door_enter(pid_instance(to), &door);
    if (!local) return send_by_router(from, to, tag, data, size);
    struct message *message = message_copy(&local->cache, from, tag, data, size);
    int error = message ? send_message(local, NULL, to, message) : message_refused(size);
    if (message && error != WEFT_EAGAIN) error = send_count(local, message, error);
    door_leave(pid_instance(to), door);
    return __builtin_expect(error == WEFT_EAGAIN, 0) ? send_wait_counted(to, message, deadline, call) : error;
}

/* The sender, inside (local_enter). If it was condemned, it ends here. */
static inline weft_pid send_sender(struct worker *self) {
    struct proc *proc = self->current;
    if (__builtin_expect(!proc, 0)) return WEFT_NOBODY;
    if (__builtin_expect(heed_must(self), 0)) {
        local_leave(&self->local);
        heed(self);
        local_begin(&self->local);
    }
    return proc_pid(proc);
}

/* The message was refused, or there is none for want of memory. The worker leaves here. */
static __attribute__((noinline, cold)) int send_refused(struct worker *self, weft_pid to, struct message *message, int error,
                                                        uint64_t deadline, const char *call) {
    if (message && error != WEFT_EAGAIN) send_count(&self->local, message, error);
    local_leave(&self->local);
    return error == WEFT_EAGAIN ? send_wait_counted(to, message, deadline, call) : error;
}

/* The worker leaves. `error`: of send_message. */
static inline int send_leave(struct worker *self, weft_pid to, struct message *message, int error, uint64_t deadline, const char *call) {
    if (__builtin_expect(error, 0)) return send_refused(self, to, message, error, deadline, call);
    count(&self->local.counters.sent);
    local_leave(&self->local);
    return 0;
}

static inline int send_until(weft_pid to, uint64_t tag, const void *data, size_t size, uint64_t deadline, const char *call) {
    struct worker *self = my_worker;
    if (__builtin_expect(!self || pid_instance(to) != self->runtime->instance, 0))
        return send_far(weft_self(), to, tag, data, size, deadline, call);
    local_enter(&self->local, call);
    struct message *message = message_copy(&self->local.cache, send_sender(self), tag, data, size);
    int error = message ? send_message(&self->local, self, to, message) : message_refused(size);
    return send_leave(self, to, message, error, deadline, call);
}

/* ---- weft_send of a short message to a process that waits for one ------------------------------------------------------------------
 *
 * Most messages go this way. All that is otherwise is left to one of four functions, by a tail call. So weft_send makes no call that returns, and has its
 * values in registers that it need not save: 87 instructions, in place of 119 with the general form alone. */

/* It is no short message from a process, or the cache is empty. */
static __attribute__((noinline, flatten)) int send_otherwise(weft_pid to, uint64_t tag, const void *data, size_t size) {
    return send_until(to, tag, data, size, WEFT_FOREVER, "weft_send");
}
/* In a section: the receiver does not wait for a message, or is pinned, or (with an even generation) has ended. */
static __attribute__((noinline, flatten)) int send_to_busy(weft_pid to, struct message *message, struct proc *proc) {
    struct worker *self = my_worker;
    int error = send_found(&self->local, self, pid_generation(to) % 2 == 1 ? proc : NULL, to, message, BOUNDS_POLICY);
    return send_leave(self, to, message, error, WEFT_FOREVER, "weft_send");
}
/* In a section: the PID is not that of a process of this runtime. The general form begins anew, with what the message has: so weft_send need not keep it. */
static __attribute__((noinline, cold)) int send_to_none(weft_pid to, struct message *message) {
    struct worker *self = my_worker;
    uint64_t tag = message->tag;
    size_t size = message->size;
    unsigned char data[MESSAGE_SHORT];
    memcpy(data, message->data, size);
    section_leave(&self->local.section);
    message_free(&self->local.cache, message);
    local_leave(&self->local);
    return send_otherwise(to, tag, data, size);
}
/* The sender holds the receiver, and another process is to run next; or the policy is another. */
static __attribute__((noinline, flatten)) int send_to_queue(struct proc *proc, uint16_t ticket) {
    struct worker *self = my_worker;
    ready_held(self->runtime, self, proc, (struct state_next){.verdict = STATE_RUN, .ticket = ticket});
    return send_leave(self, WEFT_NOBODY, NULL, 0, WEFT_FOREVER, "weft_send");
}

/* Whether the process, which runs on the worker and need not heed, sends a short message outside of weft. */
static inline bool send_is_short(const struct worker *self, struct proc *sender, size_t size) {
    return sender && size <= MESSAGE_SHORT && !heed_must_proc(sender) && self->local.closed_size != ALL_STACKS;
}

int weft_send(weft_pid to, uint64_t tag, const void *data, size_t size) {
    struct worker *self = my_worker;
    struct proc *sender = self ? self->current : NULL;
    if (__builtin_expect(!send_is_short(self, sender, size), 0)) return send_otherwise(to, tag, data, size);
    local_begin(&self->local);
    struct message *message = message_copy_short(&self->local.cache, proc_pid(sender), tag, data, size);
    if (__builtin_expect(!message, 0)) {
        local_leave(&self->local);
        return send_otherwise(to, tag, data, size);
    }
    section_enter(&self->local.section);
    struct proc *proc = proc_named(self->runtime, to);
    if (__builtin_expect(!proc, 0)) return send_to_none(to, message);
    sim_note("send", to);
    struct state_next next;
    if (__builtin_expect(!deliver_unpinned(proc, &message->node, &next), 0)) return send_to_busy(to, message, proc);
    section_leave(&self->local.section);
    if (__builtin_expect(!policy_put_alone(self, proc, next.ticket), 0)) return send_to_queue(proc, next.ticket);
    count(&self->local.counters.sent);
    local_leave(&self->local);
    return 0;
}

__attribute__((noinline, cold)) int weft_send_until(weft_pid to, uint64_t tag, const void *data, size_t size, uint64_t deadline) {
    return send_until(to, tag, data, size, deadline, "weft_send_until");
}

int send_past_bounds(weft_pid to, uint64_t tag, const void *data, size_t size) {
    struct rt_entry entry;
    if (!rt_enter(&entry, to, "weft_send")) return send_by_router(WEFT_NOBODY, to, tag, data, size);
    struct message *message = message_copy(&entry.local->cache, weft_self(), tag, data, size);
    int error = message ? 0 : message_refused(size);
    if (message) error = send_count(entry.local, message, send_message_as(entry.local, entry.self, to, message, BOUNDS_PASS));
    rt_leave(&entry);
    return error;
}
