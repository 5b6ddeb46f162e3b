/* Looking through a mailbox: for a message with a tag, or one that a predicate wants, or any. Only the process itself does. */
#ifndef WEFT_MAIL_SEARCH_H
#define WEFT_MAIL_SEARCH_H

#include "mail/mailbox.h"

struct match {
    bool (*wants)(const weft_msg *message, void *arg); /* NULL: by tag */
    void *arg;
    uint64_t tag;
    bool any;          /* of search_look, search_there and search_take: whatever its tag */
    struct proc *proc; /* the receiver */
};

/* Takes the oldest in `saved`, and looks at no message twice for the same tag (mailbox.h, K2); NULL: there is none. */
struct mpsc_node *search_saved(struct mailbox *mailbox, const struct match *match);
/* Takes it out of the box, and puts aside what is not wanted; NULL: there is none, and the box is empty. */
struct mpsc_node *search_fresh(struct worker *worker, struct proc *proc, struct mailbox *mailbox, const struct match *match);

/* ---- for a receiver that decides later whether it takes a message (select/): by tag, or any ------------------------------------ */

/* Whether all its messages are in the box, and all in the box are for the program. */
static inline bool search_is_plain(const struct match *match) {
    return match->any && !(match->proc->extras & (PROC_MAILBOX | PROC_BOUNDED));
}
bool search_look_aside(const struct match *match);
/* False: there is none, and the box is empty. */
static inline bool search_look(const struct match *match) {
    return search_is_plain(match) ? !mpsc_is_empty(&match->proc->box) : search_look_aside(match);
}
/* The same for a receiver that looks for several: search_drain puts all messages aside, and gives replies to their requests, until the box is
 * empty; then search_there tells which are there. */
void search_drain(struct worker *worker, struct proc *proc);
bool search_there(const struct match *match);
/* After one of these has found it, and before any other receive. */
weft_msg *search_take(const struct match *match);

#endif
