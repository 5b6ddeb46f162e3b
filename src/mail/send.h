/* Sending: how a message gets into a mailbox, and its receiver into a run queue. */
#ifndef WEFT_MAIL_SEND_H
#define WEFT_MAIL_SEND_H

#include "life/spawn.h"
#include "mail/send_bounded.h"
#include "proc/deliver.h"

/* Gives a message to a process of `local`'s runtime. Takes the message if it returns 0. Never waits: WEFT_EAGAIN says that its mailbox is full
 * and its senders wait (send_wait). send_message_as: `how` it is let in there. */
int send_message(struct local *local, struct worker *self, weft_pid to, struct message *message);
int send_message_as(struct local *local, struct worker *self, weft_pid to, struct message *message, enum bounds_how how);
/* As weft_send, by sysmon or whatever must not wait: let in past all bounds. */
int send_past_bounds(weft_pid to, uint64_t tag, const void *data, size_t size);
/* Counts the message as sent or, with an `error`, as refused; a refused message is freed. */
static inline int send_count(struct local *local, struct message *message, int error) {
    if (__builtin_expect(error, 0)) {
        message_free(&local->cache, message);
        count(&local->counters.refused);
        return error;
    }
    count(&local->counters.sent);
    return 0;
}
/* weft_send to a process of `local`'s runtime. `self`: the worker whose `local` it is, or NULL. */
int send_copy(struct local *local, struct worker *self, weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size);
/* Hand-off of a step process, in two parts. send_unheard, when the step asks for it, so that its messages stay in order: pushes the
 * message without waking the receiver. send_wake, after the step: wakes the receiver; with `to_run` returns it, claimed, if possible. */
int send_unheard(struct local *local, weft_pid to, struct message *message);
struct proc *send_wake(struct local *local, struct worker *self, weft_pid to, bool to_run);
/* Both at once, for a process that runs on `self`: *target is the receiver, claimed, or NULL if it could not be claimed. Takes the message
 * if it returns 0. */
int send_message_handoff(struct worker *self, weft_pid to, struct message *message, struct proc **target);
/* weft_send to a PID that is of no runtime in this program. */
int send_by_router(weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size);

#endif
