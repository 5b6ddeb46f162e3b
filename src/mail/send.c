/* Sending a message: take a block from the pool, look up the receiver, push, wake it, put it into a run queue. */
#include "mail/send.h"

#include "sched/atfork.h"
#include "sched/door.h"

#include <weft/router.h>

int send_message(struct local *local, struct worker *self, weft_pid to, struct message *message) {
    struct runtime *runtime = local->runtime;
    sim_note("send", to);
    section_enter(&local->section);
    struct proc *proc = proc_find(runtime, to);
    enum mpsc_pushed pushed = proc ? mpsc_push(&proc->box, &message->node) : MPSC_CLOSED;
    struct state_next next = {.verdict = STATE_NOTHING};
    if (pushed == MPSC_PUSHED_FIRST) next = state_wake(&proc->state);
    section_leave(&local->section);
    if (next.verdict == STATE_ENQUEUE) ready_again(runtime, self, proc, next, READY_WOKEN);
    return __builtin_expect(pushed == MPSC_CLOSED, 0) ? WEFT_ENOPROC : 0;
}

int send_unheard(struct local *local, weft_pid to, struct message *message) {
    section_enter(&local->section);
    struct proc *proc = proc_find(local->runtime, to);
    enum mpsc_pushed pushed = proc ? mpsc_push_unheard(&proc->box, &message->node) : MPSC_CLOSED;
    section_leave(&local->section);
    return pushed == MPSC_CLOSED ? WEFT_ENOPROC : 0;
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

static int send_copy(struct local *local, struct worker *self, weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size) {
    struct message *message = message_copy(&local->cache, from, tag, data, size);
    if (!message) return WEFT_ENOMEM;
    return send_count(local, message, send_message(local, self, to, message));
}

int send_message_handoff(struct worker *self, weft_pid to, struct message *message, struct proc **target) {
    struct local *local = &self->local;
    sim_note("handoff", to);
    *target = NULL;
    struct state_next next = {.verdict = STATE_NOTHING};
    section_enter(&local->section);
    struct proc *proc = proc_find(local->runtime, to);
    enum mpsc_pushed pushed = proc ? mpsc_push(&proc->box, &message->node) : MPSC_CLOSED;
    if (pushed != MPSC_CLOSED) next = handoff_is_allowed(self) ? policy_wake_to_run(local->runtime, proc) : state_wake(&proc->state);
    section_leave(&local->section);
    if (next.verdict == STATE_ENQUEUE) ready_again(local->runtime, self, proc, next, READY_WOKEN);
    handoff_count(self, next.verdict == STATE_RUN);
    if (next.verdict == STATE_RUN) *target = proc;
    return pushed == MPSC_CLOSED ? WEFT_ENOPROC : 0;
}

int send_handoff(struct worker *self, weft_pid to, uint64_t tag, const void *data, size_t size, struct proc **target) {
    struct message *message = message_copy(&self->local.cache, worker_pid(self), tag, data, size);
    *target = NULL;
    if (!message) return WEFT_ENOMEM;
    return send_count(&self->local, message, send_message_handoff(self, to, message, target));
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

/* Sends to another runtime of this program, by one of its doors; else by the router. */
static __attribute__((noinline, cold)) int send_far(weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size) {
    unsigned door;
    atfork_check("weft_send");
    struct local *local = door_enter(pid_instance(to), &door);
    if (local) {
        int error = send_copy(local, NULL, from, to, tag, data, size);
        door_leave(pid_instance(to), door);
        return error;
    }
    return send_by_router(from, to, tag, data, size);
}

static inline int send_from_here(struct worker *self, weft_pid to, uint64_t tag, const void *data, size_t size) {
    local_enter(&self->local, "weft_send");
    int error = send_copy(&self->local, self, worker_pid(self), to, tag, data, size);
    local_leave(&self->local);
    return error;
}

__attribute__((flatten)) int weft_send(weft_pid to, uint64_t tag, const void *data, size_t size) {
    struct worker *self = my_worker;
    if (__builtin_expect(self && pid_instance(to) == self->runtime->instance, 1)) return send_from_here(self, to, tag, data, size);
    return send_far(weft_self(), to, tag, data, size);
}
