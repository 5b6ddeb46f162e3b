#include "mail/mailbox.h"

void talk_begin(struct runtime *runtime, struct proc *proc, struct talk *talk) {
    if (proc->extras & PROC_TALKS) return;
    proc->extras |= PROC_TALKS;
    talk->runtime = runtime;
    talk->saved = NULL;
    talk->saved_end = &talk->saved;
    talk->looked = NULL;
    talk->asks = NULL;
}

/* A reply goes to the request that waits for it (K4). */
static void talk_reply(struct actor *actor, struct talk *talk, struct message *reply) {
    struct ask *ask = talk->asks;
    while (ask && ask->reference != message_head(reply)->reference)
        ask = ask->next;
    if (ask && !ask->reply) ask->reply = reply;
    else message_free(&actor->cache, reply);
}

struct mpsc_node *talk_next(struct actor *actor, struct proc *proc, struct talk *talk) {
    struct mpsc_node *node;
    while ((node = mpsc_pop(&proc->box)) && message_of(node)->type == MESSAGE_REPLY)
        talk_reply(actor, talk, message_of(node));
    return node;
}

void talk_save(struct talk *talk, struct mpsc_node *node) {
    node->next = NULL;
    *talk->saved_end = node;
    talk->saved_end = &node->next;
}

struct mpsc_node *talk_take(struct talk *talk, struct mpsc_node **link) {
    struct mpsc_node *node = *link;
    *link = node->next;
    if (talk->saved_end == &node->next) talk->saved_end = link;
    if (talk->looked == &node->next) talk->looked = link;
    return node;
}

struct mpsc_node *talk_pop(struct actor *actor, struct proc *proc, struct talk *talk) {
    return talk->saved ? talk_take(talk, &talk->saved) : talk_next(actor, proc, talk);
}

void talk_end(struct actor *actor, struct proc *proc, struct talk *talk) {
    ask_forget_all(actor, talk);
    if (!talk->saved) return;
    mpsc_put_first(&proc->box, talk->saved, talk->saved_end);
    talk->saved = NULL;
}
