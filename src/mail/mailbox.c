/* The receiver's side of a mailbox: messages put aside, replies. */
#include "mail/mailbox.h"

void mailbox_begin(struct runtime *runtime, struct proc *proc, struct mailbox *mailbox) {
    if (proc->extras & PROC_MAILBOX) return;
    proc->extras |= PROC_MAILBOX;
    mailbox->runtime = runtime;
    mailbox->saved = NULL;
    mailbox->saved_end = &mailbox->saved;
    mailbox->looked = NULL;
    mailbox->asks = NULL;
}

/* A reply goes to the request that waits for it (K4). */
static void mailbox_reply(struct local *local, struct mailbox *mailbox, struct message *reply) {
    struct ask *ask = mailbox->asks;
    while (ask && ask->reference != message_head(reply)->reference)
        ask = ask->next;
    if (ask && !ask->reply) ask->reply = reply;
    else message_free(&local->cache, reply);
}

struct mpsc_node *mailbox_next(struct local *local, struct proc *proc, struct mailbox *mailbox) {
    struct mpsc_node *node;
    while ((node = mpsc_pop(&proc->box)) && message_of(node)->type == MESSAGE_REPLY)
        mailbox_reply(local, mailbox, message_of(node));
    return node;
}

void mailbox_save(struct mailbox *mailbox, struct mpsc_node *node) {
    node->next = NULL;
    *mailbox->saved_end = node;
    mailbox->saved_end = &node->next;
}

struct mpsc_node *mailbox_take(struct mailbox *mailbox, struct mpsc_node **link) {
    struct mpsc_node *node = *link;
    *link = node->next;
    if (mailbox->saved_end == &node->next) mailbox->saved_end = link;
    if (mailbox->looked == &node->next) mailbox->looked = link;
    return node;
}

struct mpsc_node *mailbox_pop(struct local *local, struct proc *proc, struct mailbox *mailbox) {
    return mailbox->saved ? mailbox_take(mailbox, &mailbox->saved) : mailbox_next(local, proc, mailbox);
}

void mailbox_end(struct local *local, struct proc *proc, struct mailbox *mailbox) {
    ask_forget_all(local, mailbox);
    if (!mailbox->saved) return;
    mpsc_put_first(&proc->box, mailbox->saved, mailbox->saved_end);
    mailbox->saved = NULL;
}
