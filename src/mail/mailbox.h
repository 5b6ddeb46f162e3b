/* What a process that receives selectively, or asks others, keeps of its messages. All of it is the process's own, but for `gone`.
 *
 *     box  ──mailbox_next──>  asks: a reply goes to the request it answers, or nowhere if that was given up
 *                     └──> whoever receives, or, not wanted now: the end of `saved`
 *
 *   K1  What is in `saved` is older than what is in the box, and both are in the order in which they came: receiving takes from the one
 *       first, then from the other.
 *   K2  Nothing in `saved` before `looked` has the tag `looked_tag`: who waits for one tag again and again looks at each message once.
 *   K3  No reply is ever in `saved`.
 *   K4  A request is in `asks` from before it was sent until its answer is taken or given up. A reply whose request is not there, or
 *       has its reply, is freed: it is too late, or one too many. */
#ifndef WEFT_MAIL_MAILBOX_H
#define WEFT_MAIL_MAILBOX_H

#include "fiber/fiber.h"
#include "life/monitor.h"

struct ask {
    struct monitor monitor; /* of the one asked */
    struct ask *next;
    struct runtime *runtime; /* who asks */
    struct proc *proc;
    weft_pid to;
    uint64_t reference;
    struct message *reply;
    atom_bool gone; /* the one asked has ended */
    bool kept;      /* in memory of its own, not on the asker's stack */
};

/* Before any use in a process. */
void mailbox_begin(struct runtime *runtime, struct proc *proc, struct mailbox *mailbox);

/* The next in the box that is for whoever receives; replies are seen to on the way. NULL: the box is empty. */
struct mpsc_node *mailbox_next(struct local *local, struct proc *proc, struct mailbox *mailbox);
/* The oldest of all, or NULL. */
struct mpsc_node *mailbox_pop(struct local *local, struct proc *proc, struct mailbox *mailbox);
void mailbox_save(struct mailbox *mailbox, struct mpsc_node *node);
/* Takes out the message that *link points to. */
struct mpsc_node *mailbox_take(struct mailbox *mailbox, struct mpsc_node **link);
/* ask.c: the asker gives up whatever it has asked. */
void ask_forget_all(struct local *local, struct mailbox *mailbox);

/* The process ends: its messages back into the box, its requests given up. */
void mailbox_end(struct local *local, struct proc *proc, struct mailbox *mailbox);

#endif
