/* Looking through a mailbox. */
#include "mail/search.h"

/* The predicate is called in the middle of the list, and its caller holds on to the worker: so it must not wait. */
static bool match_wants(const struct match *match, struct mpsc_node *node) {
    struct message *message = message_of(node);
    if (!match->wants) return match->any || message->tag == match->tag;
    match->proc->stackful = PROC_UPCALL;
    bool wanted = match->wants((const weft_msg *)message, match->arg);
    match->proc->stackful = PROC_STACKFUL;
    return wanted;
}

static bool match_is_by_tag(const struct match *match) { return !match->wants && !match->any; }

/* Where the message is that is wanted, or the end of `saved`. */
static struct mpsc_node **search_place(struct mailbox *mailbox, const struct match *match) {
    bool by_tag = match_is_by_tag(match), again = by_tag && mailbox->looked && mailbox->looked_tag == match->tag;
    struct mpsc_node **link = again ? mailbox->looked : &mailbox->saved;
    while (*link && !match_wants(match, *link))
        link = &(*link)->next;
    if (by_tag) {
        mailbox->looked = link;
        mailbox->looked_tag = match->tag;
    }
    return link;
}

struct mpsc_node *search_saved(struct mailbox *mailbox, const struct match *match) {
    struct mpsc_node **link = search_place(mailbox, match);
    return *link ? mailbox_take(mailbox, link) : NULL;
}

__attribute__((flatten)) struct mpsc_node *search_fresh(struct worker *worker, struct proc *proc, struct mailbox *mailbox,
                                                        const struct match *match) {
    struct mpsc_node *node;
    while ((node = mailbox_next(&worker->local, proc, mailbox)) && !match_wants(match, node)) {
        bool all = mailbox->looked == mailbox->saved_end && mailbox->looked_tag == match->tag && match_is_by_tag(match);
        mailbox_save(mailbox, node);
        if (all) mailbox->looked = mailbox->saved_end;
    }
    return node;
}

/* ---- without taking it ------------------------------------------------------------------------------------------------------ */

static struct mailbox *search_begin(struct worker *worker, struct proc *proc) {
    struct mailbox *mailbox = &fiber_of(proc)->mailbox;
    mailbox_begin(worker->runtime, proc, mailbox);
    mailbox_look_urgent(mailbox);
    return mailbox;
}

bool search_look_aside(const struct match *match) {
    struct proc *proc = match->proc;
    struct worker *worker = worker_here();
    struct mailbox *mailbox = search_begin(worker, proc);
    if (*search_place(mailbox, match)) return true;
    struct mpsc_node *node = search_fresh(worker, proc, mailbox, match);
    if (node) mailbox_save(mailbox, node); /* search_place finds it there */
    return node != NULL;
}

void search_drain(struct worker *worker, struct proc *proc) {
    struct mailbox *mailbox = search_begin(worker, proc);
    struct mpsc_node *node;
    while ((node = mailbox_next(&worker->local, proc, mailbox)))
        mailbox_save(mailbox, node);
}

bool search_there(const struct match *match) { return *search_place(&fiber_of(match->proc)->mailbox, match); }

weft_msg *search_take(const struct match *match) {
    struct proc *proc = match->proc;
    if (search_is_plain(match)) return (weft_msg *)message_of(mpsc_pop_direct(&proc->box));
    struct mailbox *mailbox = &fiber_of(proc)->mailbox;
    struct mpsc_node *node = search_saved(mailbox, match);
    mailbox_received(mailbox, node);
    return (weft_msg *)message_of(node);
}
