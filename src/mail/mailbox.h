/* The receiver's side of a mailbox, for a process that receives selectively or makes requests: messages put aside, and its pending
 * requests. Only the process itself touches it, except for `gone`.
 *
 *     box  ──mailbox_next──>  asks: a reply goes to the request it answers, or is freed if that was given up
 *                     └──> the receiving call; a message that it does not want: the end of `saved`
 *
 *   K1  All messages in `saved` are older than those in the box, and both are in order of arrival: receiving takes from `saved` first,
 *       then from the box.
 *   K2  No message in `saved` before `looked` has the tag `looked_tag`: repeated waits for one tag look at each message once.
 *   K3  No reply is ever in `saved`.
 *   K4  A request is in `asks` from before it is sent until its answer is taken or given up. A reply whose request is not there, or
 *       already has its reply, is freed: it is too late, or one too many.
 *   K5  Of a bounded mailbox (bounds.h): urgent messages are before all others in `saved`, and count, as these do, until they are received. */
#ifndef WEFT_MAIL_MAILBOX_H
#define WEFT_MAIL_MAILBOX_H

#include "fiber/fiber.h"
#include "life/monitor.h"
#include "mail/bounds.h"

/* ASK_TOLD: the receiver has ended. ASK_LEFT: and the teller is done with the record. */
enum ask_gone { ASK_PENDING, ASK_TOLD, ASK_LEFT };

/* A request that this process has sent. */
struct ask {
    struct monitor monitor; /* of the receiver */
    struct ask *next;
    struct runtime *runtime; /* of the asker, as is `proc` */
    struct proc *proc;
    weft_pid to;
    uint64_t reference;
    struct message *reply;
    atom_u32 gone; /* enum ask_gone */
    bool kept;     /* in memory of its own, not on the asker's stack */
};

/* Before any use in a process. */
void mailbox_begin(struct runtime *runtime, struct proc *proc, struct mailbox *mailbox);

/* The next message in the box that is not a reply; replies go to their requests on the way. NULL: the box is empty. */
struct mpsc_node *mailbox_next(struct local *local, struct proc *proc, struct mailbox *mailbox);
/* The oldest message in `saved` and the box, or NULL. */
struct mpsc_node *mailbox_pop(struct local *local, struct proc *proc, struct mailbox *mailbox);
/* Before the receiver looks through `saved`: puts urgent messages there, in front (K5). */
void mailbox_look_urgent(struct mailbox *mailbox);
/* The program has received a message that mailbox_next, mailbox_pop or mailbox_take gave. */
static inline void mailbox_received(struct mailbox *mailbox, struct mpsc_node *node) {
    if (__builtin_expect(mailbox->bounds != NULL, 0)) bounds_received(mailbox->bounds, message_of(node));
}
/* Appends a message to `saved`; an urgent one goes before the ordinary ones. */
void mailbox_save(struct mailbox *mailbox, struct mpsc_node *node);
/* Takes the message that *link points to out of `saved`. */
struct mpsc_node *mailbox_take(struct mailbox *mailbox, struct mpsc_node **link);
/* ask.c, for a request of the calling process. Whether no reply will come, but for one that the box has now, to be asked before the box is
 * emptied; whether its reply is there; if one of them is true, ends it, as weft_recv_reply. */
bool ask_is_gone(struct worker *worker, uint64_t reference);
bool ask_has_reply(struct worker *worker, uint64_t reference);
int ask_take(struct worker *worker, uint64_t reference, weft_msg **reply);
/* The asker gives up all its requests. */
void ask_forget_all(struct local *local, struct mailbox *mailbox);

/* Messages that the calling process has not received, and the bytes of their payloads. */
struct mailbox_count {
    uint64_t messages, bytes;
};
struct mailbox_count mailbox_count(struct proc *proc);

/* The process ends: moves `saved` back into the box and gives up its requests. */
void mailbox_end(struct local *local, struct proc *proc, struct mailbox *mailbox);

#endif
