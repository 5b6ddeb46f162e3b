/* Receiving, and what can be asked of a message. */
#include "fiber/home.h"
#include "fiber/wait.h"

#include <weft/message.h>

/* Waits for a message with a deadline: the wait is known to its alarm alone, and a message wakes the process by itself. */
static __attribute__((noinline)) int recv_until(struct worker *worker, struct proc *proc, uint64_t deadline) {
    struct wait wait;
    wait_begin(&wait);
    alarm_arm(worker, &wait.alarm, deadline);
    while (mpsc_is_empty(&proc->box) && atom_load_acq(&wait.claimed) == WAIT_PENDING && !fiber_is_cancelled(proc)) /* acq: wait_over */
        worker = fiber_leave(worker, WEFT_IDLE);
    alarm_cancel(&wait.alarm);
    if (!mpsc_is_empty(&proc->box)) return 0;
    return fiber_is_cancelled(proc) ? WEFT_ECANCELED : WEFT_ETIMEDOUT;
}

/* 0: there is a message. */
static int recv_wait(struct worker *worker, struct proc *proc, uint64_t deadline) {
    if (deadline != WEFT_FOREVER && !fiber_is_cancelled(proc))
        return deadline <= sys->now() ? WEFT_ETIMEDOUT : recv_until(worker, proc, deadline);
    do {
        if (fiber_is_cancelled(proc)) return WEFT_ECANCELED;
        worker = fiber_leave(worker, WEFT_IDLE);
    } while (mpsc_is_empty(&proc->box));
    return 0;
}

static inline int recv_got(weft_msg **message, struct mpsc_node *node, unsigned instance) {
    message_of(node)->instance = (uint8_t)instance;
    *message = (weft_msg *)message_of(node);
    return 0;
}

FIBER_SLOW int weft_recv_slow(weft_msg **message, uint64_t deadline, struct worker *worker);
FIBER_HOME(weft_recv_home, weft_recv_slow);
FIBER_SLOW int weft_recv_slow(weft_msg **message, uint64_t deadline, struct worker *worker) {
    struct proc *proc = worker->current;
    unsigned instance = worker->runtime->instance;
    int error = recv_wait(worker, proc, deadline);
    return __builtin_expect(error, 0) ? error : recv_got(message, mpsc_pop(&proc->box), instance);
}

__attribute__((flatten)) int weft_recv(weft_msg **message, uint64_t deadline) {
    struct worker *worker = fiber_worker("weft_recv");
    struct mpsc_node *node = mpsc_pop(&worker->current->box);
    return node ? recv_got(message, node, worker->runtime->instance) : weft_recv_home(message, deadline, worker);
}

weft_pid weft_msg_from(const weft_msg *message) { return ((const struct message *)message)->from; }
uint64_t weft_msg_tag(const weft_msg *message) { return ((const struct message *)message)->tag; }
void *weft_msg_data(weft_msg *message) { return ((struct message *)message)->data; }
size_t weft_msg_len(const weft_msg *message) { return ((const struct message *)message)->size; }

void weft_msg_free(weft_msg *opaque) {
    struct worker *self = my_worker;
    struct message *message = (struct message *)opaque;
    if (__builtin_expect(self && message->instance == self->runtime->instance, 1)) {
        message_free(&self->actor.cache, message);
        return;
    }
    unsigned door, instance = message->instance;
    struct actor *actor = foreign_enter(instance, &door);
    if (!actor) return; /* the runtime has gone, and its messages with it */
    message_free(&actor->cache, message);
    foreign_leave(instance, door);
}
