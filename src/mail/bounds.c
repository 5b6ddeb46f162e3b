/* The bounded mailbox: what is let in, what is dropped, and which sender is admitted next. See mail/bounds.h. */
#include "mail/bounds.h"

/* ---- under the lock: counts and lists -------------------------------------------------------------------------------------- */

/* N1 */
static bool bounds_counts(const struct message *message) {
    return message->type == WEFT_EVENT_MESSAGE || message->type == WEFT_EVENT_REQUEST || message->type == MESSAGE_MOVED;
}
/* A request is never dropped: its sender waits for the answer. */
static bool bounds_may_drop(const struct message *message) { return bounds_counts(message) && message->type != WEFT_EVENT_REQUEST; }

static size_t bounds_size(struct message *message) { return message_payload(message).size; }

static void bounds_count(struct bounds *bounds, struct message *message, bool in) {
    if (!bounds_counts(message)) return;
    uint64_t size = bounds_size(message);
    bounds->messages += in ? 1 : (uint64_t)-1;
    bounds->bytes += in ? size : -size;
}
/* rlx, here and below: written under the lock. */
static void bounds_queued(struct bounds *bounds, uint32_t by) {
    atom_store_rlx(&bounds->detour.queued, atom_load_rlx(&bounds->detour.queued) + by);
}

static bool bounds_fits(struct bounds *bounds, size_t size) {
    const weft_mailbox *limits = &bounds->limits;
    if (limits->messages && bounds->messages >= limits->messages) return false;
    return !limits->bytes || bounds->bytes + size <= limits->bytes;
}

static void bounds_append(struct bounds *bounds, struct message *message, bool urgent) {
    struct mpsc_node ***end = urgent ? &bounds->urgent_end : &bounds->end;
    message->urgent = urgent;
    message->node.next = NULL;
    **end = &message->node;
    *end = &message->node.next;
    bounds_count(bounds, message, true);
    bounds_queued(bounds, 1);
}

/* Takes out the message that *link points to, of the list with this end. NULL: there is none. */
static struct mpsc_node *bounds_unlink(struct bounds *bounds, struct mpsc_node **link, struct mpsc_node ***end) {
    struct mpsc_node *node = *link;
    if (!node) return NULL;
    *link = node->next;
    if (*end == &node->next) *end = link;
    if (bounds->oldest == &node->next) bounds->oldest = link;
    bounds_queued(bounds, (uint32_t)-1);
    return node;
}

static struct mpsc_node *bounds_next(struct bounds *bounds) {
    struct mpsc_node *node = bounds_unlink(bounds, &bounds->urgent, &bounds->urgent_end);
    return node ? node : bounds_unlink(bounds, &bounds->first, &bounds->end);
}

/* ---- under the lock: letting in -------------------------------------------------------------------------------------------- */

static void bounds_drop(struct bounds *bounds, struct bounds_put *put, struct message *message) {
    message->node.next = put->dropped;
    put->dropped = &message->node;
    bounds->dropped++;
}

/* False: there is no message that may be dropped. */
static bool bounds_drop_oldest(struct bounds *bounds, struct bounds_put *put) {
    while (*bounds->oldest && !bounds_may_drop(message_of(*bounds->oldest)))
        bounds->oldest = &(*bounds->oldest)->next;
    struct mpsc_node *node = *bounds->oldest;
    if (!node) return false;
    bounds_unlink(bounds, bounds->oldest, &bounds->end);
    bounds_count(bounds, message_of(node), false);
    bounds_drop(bounds, put, message_of(node));
    return true;
}

static int bounds_drop_newest(struct bounds *bounds, struct bounds_put *put, struct message *message) {
    if (!bounds_may_drop(message)) return WEFT_ENOBUFS;
    bounds_drop(bounds, put, message);
    return 0;
}

/* The message does not fit. BOUNDS_ADMITTED: now it does. */
static int bounds_full(struct bounds *bounds, struct bounds_put *put, struct message *message, enum bounds_how how) {
    switch (bounds->limits.when_full) {
    case WEFT_FULL_BLOCK: return how == BOUNDS_TICK ? bounds_drop_newest(bounds, put, message) : WEFT_EAGAIN;
    case WEFT_FULL_FAIL: return how == BOUNDS_TICK ? bounds_drop_newest(bounds, put, message) : WEFT_ENOBUFS;
    case WEFT_FULL_DROP_OLDEST:
        while (!bounds_fits(bounds, bounds_size(message)))
            if (!bounds_drop_oldest(bounds, put)) return bounds_drop_newest(bounds, put, message);
        return BOUNDS_ADMITTED;
    case WEFT_FULL_DROP_NEWEST: return bounds_drop_newest(bounds, put, message);
    case WEFT_FULL_END_RECEIVER:
        put->ends = !bounds->over;
        bounds->over = true;
        return WEFT_ENOBUFS;
    }
    return WEFT_EINVAL;
}

/* BOUNDS_ADMITTED, 0 (dropped) or an error. */
static int bounds_judge(struct bounds *bounds, struct bounds_put *put, struct message *message, enum bounds_how how) {
    if (how >= BOUNDS_PASS || !bounds_counts(message)) return BOUNDS_ADMITTED;
    size_t size = bounds_size(message);
    if (bounds->limits.bytes && size > bounds->limits.bytes) return WEFT_EMSGSIZE;
    if (!bounds->senders.first && bounds_fits(bounds, size)) return BOUNDS_ADMITTED; /* N2 */
    return bounds_full(bounds, put, message, how);
}

/* Under the lock: the receiver is woken, and the caller is to queue it when it has dropped the lock (N5, N6). */
static void bounds_wake(struct bounds *bounds, struct bounds_put *put) {
    put->proc = bounds->proc;
    put->next = state_wake(&put->proc->state);
}

static struct bounds_put bounds_put_locked(struct bounds *bounds, weft_pid to, struct message *message, enum bounds_how how) {
    struct bounds_put put = {.answer = WEFT_ENOPROC, .next = {.verdict = STATE_NOTHING}};
    if (bounds->pid != to) return put;
    bool first = atom_load_rlx(&bounds->detour.queued) == 0;
    put.answer = bounds_judge(bounds, &put, message, how);
    if (put.answer != BOUNDS_ADMITTED) return put;
    put.answer = 0;
    bounds_append(bounds, message, how == BOUNDS_URGENT);
    if (first) bounds_wake(bounds, &put);
    return put;
}

struct bounds_put bounds_put(struct bounds *bounds, weft_pid to, struct message *message, enum bounds_how how) {
    lock_take(&bounds->lock);
    struct bounds_put put = bounds_put_locked(bounds, to, message, how);
    lock_drop(&bounds->lock);
    return put;
}

/* ---- senders that wait ------------------------------------------------------------------------------------------------------- */

static struct bounds_sender *sender_of(struct waiter *waiter) { return (struct bounds_sender *)waiter; }

/* Under the lock: takes the sender out of the list. True: it has been claimed, and `wakes` has it. */
static bool sender_claim(struct bounds *bounds, struct waiter *waiter, uint32_t why, struct wakes *wakes) {
    waiter->why = why;
    bounds->waiting--;
    if (!waiter_claim(waiter)) return false;
    struct bounds *own = sender_of(waiter)->own;
    if (own) atom_store_rlx(&own->blocked_on, WEFT_NOBODY); /* rlx: circle.c says why */
    wakes_add(wakes, waiter);
    return true;
}

/* Under the lock: there may be room (N2). */
static void bounds_admit(struct bounds *bounds, struct wakes *wakes) {
    struct waiter *waiter;
    while ((waiter = bounds->senders.first) && bounds_fits(bounds, waiter->amount)) {
        struct message *message = waiter->item;
        if (sender_claim(bounds, waiter, BOUNDS_ADMITTED, wakes) && message) bounds_append(bounds, message, false);
    }
}

/* Under the lock: no process has it any more. */
static void bounds_desert(struct bounds *bounds, struct wakes *wakes) {
    bounds->pid = WEFT_NOBODY;
    while (bounds->senders.first)
        sender_claim(bounds, bounds->senders.first, BOUNDS_GONE, wakes);
}

struct bounds_put bounds_queue(struct bounds *bounds, weft_pid to, struct message *message, uint64_t deadline,
                               struct bounds_sender *sender) {
    struct waiter *waiter = &sender->waiter;
    waiter_init(waiter, &sender->wait, BOUNDS_ADMITTED);
    waiter->item = message;
    waiter->amount = message ? bounds_size(message) : 1;
    lock_take(&bounds->lock);
    struct bounds_put put = {.answer = WEFT_ENOPROC, .next = {.verdict = STATE_NOTHING}};
    if (message) put = bounds_put_locked(bounds, to, message, BOUNDS_POLICY);
    else if (bounds->pid == to) put.answer = !bounds->senders.first && bounds_fits(bounds, waiter->amount) ? 0 : WEFT_EAGAIN;
    if (put.answer == WEFT_EAGAIN) {
        if (sender->own && deadline == WEFT_FOREVER) atom_store_rlx(&sender->own->blocked_on, to); /* rlx: circle.c says why */
        waiters_add(&bounds->senders, waiter);
        bounds->waiting++;
    }
    lock_drop(&bounds->lock);
    return put;
}

int bounds_wait(struct bounds *bounds, struct bounds_sender *sender, uint64_t deadline, const char *call) {
    int why = wait_for(&sender->wait, deadline, call);
    if (why > 0) return why == BOUNDS_ADMITTED ? 0 : WEFT_ENOPROC;
    lock_take(&bounds->lock);
    if (sender->waiter.in) {
        waiters_remove(&sender->waiter);
        bounds->waiting--;
    }
    if (sender->own) {
        atom_store_rlx(&sender->own->blocked_on, WEFT_NOBODY);
        atom_store_rlx(&sender->own->circle_told, false); /* it may be in another circle later */
    }
    lock_drop(&bounds->lock);
    return why;
}

struct bounds_put bounds_readmit(struct bounds *bounds, weft_pid to, struct wakes *wakes) {
    struct bounds_put put = {.answer = 0, .next = {.verdict = STATE_NOTHING}};
    lock_take(&bounds->lock);
    if (bounds->pid == to) {
        bool empty = atom_load_rlx(&bounds->detour.queued) == 0;
        bounds_admit(bounds, wakes);
        if (empty && atom_load_rlx(&bounds->detour.queued) > 0) bounds_wake(bounds, &put);
    }
    lock_drop(&bounds->lock);
    return put;
}

/* ---- the receiver ---------------------------------------------------------------------------------------------------------------- */

/* Whether messages that the process takes out are received by that. A stackful process may put some aside: mailbox.c calls bounds_received. */
static bool bounds_receives(const struct bounds *bounds) { return !(bounds->proc->extras & PROC_BOUNDED); }

static struct mpsc_node *bounds_take(struct mpsc_detour *detour, unsigned most) {
    struct bounds *bounds = (struct bounds *)detour;
    struct wakes wakes = {NULL, NULL};
    struct mpsc_node *list = NULL, **end = &list;
    lock_take(&bounds->lock);
    for (; most > 0 && (*end = bounds_next(bounds)) != NULL; most--) {
        if (bounds_receives(bounds)) bounds_count(bounds, message_of(*end), false);
        end = &(*end)->next;
    }
    *end = NULL;
    bounds_admit(bounds, &wakes);
    lock_drop(&bounds->lock);
    wakes_run(&wakes, wait_wake_inside);
    return list;
}

void bounds_received(struct bounds *bounds, struct message *message) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&bounds->lock);
    bounds_count(bounds, message, false);
    bounds_admit(bounds, &wakes);
    lock_drop(&bounds->lock);
    wakes_run(&wakes, wait_wake_inside);
}

struct mpsc_node *bounds_urgent(struct bounds *bounds) {
    struct mpsc_node *list = NULL, **end = &list;
    lock_take(&bounds->lock);
    while ((*end = bounds_unlink(bounds, &bounds->urgent, &bounds->urgent_end)) != NULL)
        end = &(*end)->next;
    lock_drop(&bounds->lock);
    return list;
}

/* Under the lock. */
static weft_mailbox_use bounds_use(struct bounds *bounds) {
    return (weft_mailbox_use){bounds->messages, bounds->bytes, bounds->dropped, bounds->waiting};
}

bool bounds_glance(struct bounds *bounds, weft_mailbox_use *use) {
    if (!lock_try(&bounds->lock)) return false;
    *use = bounds_use(bounds);
    lock_drop(&bounds->lock);
    return true;
}

struct mpsc_node *bounds_pick(struct bounds *bounds, bool (*is)(struct mpsc_node *node, uint64_t reference), uint64_t reference) {
    lock_take(&bounds->lock);
    struct mpsc_node **link = &bounds->first;
    while (*link && !is(*link, reference))
        link = &(*link)->next;
    struct mpsc_node *node = bounds_unlink(bounds, link, &bounds->end);
    lock_drop(&bounds->lock);
    return node;
}

int bounds_usage(struct bounds *bounds, weft_pid pid, weft_mailbox_use *use) {
    lock_take(&bounds->lock);
    *use = bounds_use(bounds);
    int error = bounds->pid == pid ? 0 : WEFT_ENOPROC;
    lock_drop(&bounds->lock);
    return error;
}

/* ---- the rest of the detour -------------------------------------------------------------------------------------------------------- */

/* Only for what is never refused; anything else goes by bounds_put. The caller has the box from a look-up within a section, so the
 * process that has the struct now is that one, or the box is closed. */
static enum mpsc_pushed bounds_push(struct mpsc_detour *detour, struct mpsc *box, struct mpsc_node *node) {
    struct bounds *bounds = (struct bounds *)detour;
    if (bounds_counts(message_of(node))) return MPSC_DIVERTED;
    enum mpsc_pushed pushed = MPSC_CLOSED;
    lock_take(&bounds->lock);
    if (bounds->pid && &bounds->proc->box == box) {
        pushed = atom_load_rlx(&bounds->detour.queued) == 0 ? MPSC_PUSHED_FIRST : MPSC_PUSHED;
        bounds_append(bounds, message_of(node), false);
    }
    lock_drop(&bounds->lock);
    return pushed;
}

static struct mpsc_node *bounds_close(struct mpsc_detour *detour) {
    struct bounds *bounds = (struct bounds *)detour;
    struct wakes wakes = {NULL, NULL};
    lock_take(&bounds->lock);
    bounds_desert(bounds, &wakes);
    *bounds->urgent_end = bounds->first;
    struct mpsc_node *rest = bounds->urgent;
    lock_drop(&bounds->lock);
    wakes_run(&wakes, wait_wake_inside);
    bounds_give(bounds);
    return rest;
}

void bounds_forsake(struct proc *proc) {
    struct bounds *bounds = bounds_of(proc);
    struct wakes wakes = {NULL, NULL};
    if (!bounds) return;
    lock_take(&bounds->lock);
    bounds_desert(bounds, &wakes);
    lock_drop(&bounds->lock);
    wakes_run(&wakes, wait_wake_inside);
}

/* ---- made and unmade ------------------------------------------------------------------------------------------------------------------ */

/* Under the lock: as new. */
static void bounds_reset(struct bounds *bounds, struct proc *proc, weft_pid pid, const weft_mailbox *limits) {
    bounds->pid = pid;
    bounds->proc = proc;
    bounds->limits = *limits;
    atom_store_rlx(&bounds->detour.queued, 0);
    bounds->messages = bounds->bytes = bounds->dropped = 0;
    bounds->first = bounds->urgent = NULL;
    bounds->end = bounds->oldest = &bounds->first;
    bounds->urgent_end = &bounds->urgent;
    bounds->over = false;
    atom_store_rlx(&bounds->blocked_on, WEFT_NOBODY);
    atom_store_rlx(&bounds->circle_told, false);
}

int bounds_begin(bool *counted, struct proc *proc, weft_pid pid, const weft_mailbox *limits) {
    if (limits->when_full > WEFT_FULL_END_RECEIVER || limits->reserved[0] || limits->reserved[1]) return WEFT_EINVAL;
    struct bounds *bounds = bounds_take_spare(counted);
    if (!bounds) return WEFT_ENOMEM;
    /* Once: a sender that wanted its former process may read them. */
    if (!bounds->detour.push) bounds->detour.push = bounds_push, bounds->detour.take = bounds_take, bounds->detour.close = bounds_close;
    lock_take(&bounds->lock); /* a sender that wanted its former process may hold it */
    bounds_reset(bounds, proc, pid, limits);
    lock_drop(&bounds->lock);
    mpsc_divert(&proc->box, &bounds->detour);
    return 0;
}
