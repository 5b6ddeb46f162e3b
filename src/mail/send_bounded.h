/* Sending to a bounded mailbox (bounds.h): the sender's side. The common path of sending (send.c) comes here when it has found a box that
 * is diverted or closed. */
#ifndef WEFT_MAIL_SEND_BOUNDED_H
#define WEFT_MAIL_SEND_BOUNDED_H

#include "mail/bounds.h"
#include "sched/sched.h"

/* As send_message, which has found that the box is marked; never waits. WEFT_EAGAIN: the sender would have to wait, and the message is still
 * the caller's. `self` may be NULL. */
int send_marked(struct local *local, struct worker *self, weft_pid to, struct message *message, enum bounds_how how)
    __attribute__((noinline, cold));
/* After WEFT_EAGAIN, once the caller has left the runtime: waits for room, if the caller may wait. Takes the message if it returns 0. */
int send_wait(weft_pid to, struct message *message, uint64_t deadline, const char *call) __attribute__((noinline, cold));
/* The same; counts the message as sent or refused, and frees it in the second case. */
int send_wait_counted(weft_pid to, struct message *message, uint64_t deadline, const char *call) __attribute__((noinline, cold));

/* Waits until there is room: 0, also if it is not bounded; or WEFT_ENOPROC, WEFT_ECANCELED. By a stackful process. */
int send_await_room(weft_pid to);

/* circle.c: the calling process, which has the bounded mailbox `own`, is about to wait for room in the mailbox of `to`, without a deadline. If
 * that one waits for a third, and so on, and in the end one waits for the caller, all are reported, once, on standard error. */
void circle_look(struct bounds *own, weft_pid self, weft_pid to);

#endif
