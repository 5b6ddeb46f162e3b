/* The receiver's side of a mailbox: messages put aside, replies. */
#include "mail/mailbox.h"

void mailbox_begin(struct runtime *runtime, struct proc *proc, struct mailbox *mailbox) {
    if (proc->extras & PROC_MAILBOX) return;
    proc->extras |= PROC_MAILBOX;
    mailbox->runtime = runtime;
    mailbox->bounds = bounds_of(proc);
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
    if (!ask || ask->reply) {
        message_free(&local->cache, reply);
        return;
    }
    message_reply_open(reply);
    ask->reply = reply;
}

struct mpsc_node *mailbox_next(struct local *local, struct proc *proc, struct mailbox *mailbox) {
    struct mpsc_node *node;
    while ((node = mpsc_pop(&proc->box)) && message_of(node)->type == MESSAGE_REPLY)
        mailbox_reply(local, mailbox, message_of(node));
    return node;
}

/* K5 */
static __attribute__((noinline, cold)) void mailbox_save_urgent(struct mailbox *mailbox, struct mpsc_node *node) {
    struct mpsc_node **link = &mailbox->saved;
    while (*link && message_of(*link)->urgent)
        link = &(*link)->next;
    node->next = *link;
    *link = node;
    if (!node->next) mailbox->saved_end = &node->next;
    mailbox->looked = NULL;
}

void mailbox_look_urgent(struct mailbox *mailbox) {
    if (__builtin_expect(!mailbox->bounds, 1)) return;
    for (struct mpsc_node *node = bounds_urgent(mailbox->bounds), *next; node; node = next) {
        next = node->next;
        mailbox_save_urgent(mailbox, node);
    }
}

void mailbox_save(struct mailbox *mailbox, struct mpsc_node *node) {
    if (__builtin_expect(mailbox->bounds && message_of(node)->urgent, 0)) {
        mailbox_save_urgent(mailbox, node);
        return;
    }
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

static void mailbox_count_one(struct mpsc_node *node, void *user) {
    struct mailbox_count *count = user;
    if (message_of(node)->type == MESSAGE_REPLY) return; /* not for the program */
    count->messages++;
    count->bytes += message_payload(message_of(node)).size;
}

struct mailbox_count mailbox_count(struct proc *proc) {
    struct mailbox_count count = {0};
    mpsc_each(&proc->box, mailbox_count_one, &count);
    struct mpsc_node *saved = proc->stackful && proc->extras & PROC_MAILBOX ? fiber_of(proc)->mailbox.saved : NULL;
    for (; saved; saved = saved->next)
        mailbox_count_one(saved, &count);
    return count;
}

void mailbox_end(struct local *local, struct proc *proc, struct mailbox *mailbox) {
    ask_forget_all(local, mailbox);
    if (!mailbox->saved) return;
    mpsc_put_first(&proc->box, mailbox->saved, mailbox->saved_end);
    mailbox->saved = NULL;
}
