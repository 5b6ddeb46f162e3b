/* Sending a message: take a block from the pool, look up the receiver, push, wake it, put it into a run queue. */
#include "mail/send.h"

#include "fiber/fiber.h"
#include "sched/atfork.h"
#include "sched/door.h"
#include "sched/heed.h"
#include "sched/rt_enter.h"

#include <weft/router.h>

static inline int send_push(struct local *local, struct worker *self, weft_pid to, struct message *message, enum bounds_how how) {
    struct runtime *runtime = local->runtime;
    sim_note("send", to);
    section_enter(&local->section);
    struct proc *proc = proc_find(runtime, to);
    struct state_next next;
    enum mpsc_pushed pushed = proc ? deliver(proc, &message->node, &next) : MPSC_CLOSED;
    section_leave(&local->section);
    if (__builtin_expect(pushed < 0, 0)) return send_marked(local, self, to, message, how);
    if (next.verdict == STATE_RUN) ready_held(runtime, self, proc, next);
    if (next.verdict == STATE_ENQUEUE) ready_again(runtime, self, proc, next, READY_WOKEN);
    return 0;
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

static inline int send_until(weft_pid to, uint64_t tag, const void *data, size_t size, uint64_t deadline, const char *call) {
    struct worker *self = my_worker;
    if (__builtin_expect(!self || pid_instance(to) != self->runtime->instance, 0))
        return send_far(weft_self(), to, tag, data, size, deadline, call);
    local_enter(&self->local, call);
    struct message *message = message_copy(&self->local.cache, send_sender(self), tag, data, size);
    int error = message ? send_message(&self->local, self, to, message) : message_refused(size);
    if (__builtin_expect(error, 0)) return send_refused(self, to, message, error, deadline, call);
    count(&self->local.counters.sent);
    local_leave(&self->local);
    return 0;
}

__attribute__((flatten)) int weft_send(weft_pid to, uint64_t tag, const void *data, size_t size) {
    return send_until(to, tag, data, size, WEFT_FOREVER, "weft_send");
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
