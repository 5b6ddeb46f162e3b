/* Sending: how a message gets into a mailbox, and its receiver into a run queue. */
#ifndef WEFT_MAIL_SEND_H
#define WEFT_MAIL_SEND_H

#include "life/spawn.h"

/* Gives a message to a process of `local`'s runtime. Takes the message if it returns 0. */
int send_message(struct local *local, struct worker *self, weft_pid to, struct message *message);
/* Sent, or refused and freed: counted in either case. */
static inline int send_count(struct local *local, struct message *message, int error) {
    if (__builtin_expect(error, 0)) {
        message_free(&local->cache, message);
        count(&local->counters.refused);
        return error;
    }
    count(&local->counters.sent);
    return 0;
}
/* For hand-off in two parts. First, when the step asks for it, so that the order of what it sends is kept: puts the message in the
 * mailbox and wakes nobody. Then, after the step: wakes the receiver; with `to_run` it is returned, claimed, if it could be had. */
int send_unheard(struct local *local, weft_pid to, struct message *message);
struct proc *send_wake(struct local *local, struct worker *self, weft_pid to, bool to_run);
/* Both at once, for a process that runs on `self`: *target is the receiver, claimed, or NULL when it could not be had. */
int send_handoff(struct worker *self, weft_pid to, uint64_t tag, const void *data, size_t size, struct proc **target);
/* The same with a message ready made, which it takes if it returns 0. */
int send_message_handoff(struct worker *self, weft_pid to, struct message *message, struct proc **target);
/* What weft_send does with a PID of no runtime in this program. */
int send_by_router(weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size);

#endif
