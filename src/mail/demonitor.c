/* weft_demonitor, which may have to take the notice out of the mailbox. */
#include "life/tie.h"
#include "mail/mailbox.h"
#include "sched/heed.h"

#include <weft/life.h>

static bool demonitor_is(struct mpsc_node *node, uint64_t reference) {
    const weft_notice *notice = weft_msg_notice((const weft_msg *)message_of(node));
    return notice && notice->kind == WEFT_NOTICE_DOWN && notice->reference == reference;
}

/* Where the notice is linked in a list of messages; else where the list ends. */
static struct mpsc_node **demonitor_find(struct mpsc_node **link, uint64_t reference) {
    while (*link && !demonitor_is(*link, reference))
        link = &(*link)->next;
    return link;
}

/* All that is in the box now, in one list. */
static struct mpsc_node *demonitor_take_all(struct mpsc *box) {
    struct mpsc_node *list = mpsc_take_all(box), **end = &list;
    while (*end)
        end = &(*end)->next;
    if (list) *end = mpsc_take_all(box); /* the first time it may have been the rest of an earlier list */
    return list;
}

static void demonitor_flush(struct worker *self, uint64_t reference) {
    struct proc *proc = self->current;
    struct mailbox *mailbox = proc->stackful && proc->extras & PROC_MAILBOX ? &fiber_of(proc)->mailbox : NULL;
    struct mpsc_node **link = mailbox ? demonitor_find(&mailbox->saved, reference) : NULL, *found = NULL;
    struct bounds *bounds = bounds_of(proc);
    if (link && *link) {
        found = mailbox_take(mailbox, link);
    } else if (bounds) {
        found = bounds_pick(bounds, demonitor_is, reference);
    } else {
        struct mpsc_node *list = demonitor_take_all(&proc->box);
        link = demonitor_find(&list, reference);
        found = *link;
        if (found) *link = found->next;
        if (list) mpsc_put_back(&proc->box, list);
    }
    if (found) message_free(&self->local.cache, message_of(found));
}

int weft_demonitor(uint64_t reference, bool flush) {
    struct worker *self = worker_here();
    if (!self || !self->current) return WEFT_ENOTINSIDE;
    local_enter(&self->local, "weft_demonitor");
    bool mine = tie_demonitor(self, reference);
    if (!mine && flush) demonitor_flush(self, reference);
    local_leave(&self->local);
    heed_after(self);
    return mine ? 0 : WEFT_ENOENT;
}
