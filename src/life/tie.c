/* Monitors between processes, and what they have in common with links: see tie.h. */
#include "life/tie.h"

#include "life/cancel.h"
#include "life/spawn.h"
#include "sched/heed.h"

static struct tie *tie_of(struct monitor *monitor) { return (struct tie *)((unsigned char *)monitor - offsetof(struct tie, monitor)); }
static struct lock *tie_lock(const struct tie *tie) { return ties_lock(tie->runtime, proc_slot(tie->owner)); }

/* ---- the owner's list, under its lock -------------------------------------------------------------------------------------- */

static void tie_link(struct tie **list, struct tie *tie) {
    tie->next = *list;
    tie->link = list;
    if (tie->next) tie->next->link = &tie->next;
    *list = tie;
}

static void tie_unlink(struct tie *tie) {
    *tie->link = tie->next;
    if (tie->next) tie->next->link = tie->link;
}

/* ---- telling ------------------------------------------------------------------------------------------------------------------ */

static struct worker *tie_worker(struct worker *self, struct runtime *runtime) { return self && self->runtime == runtime ? self : NULL; }

/* The record becomes the message. By the owner itself, or under its lock (G3). */
static void tie_send(struct local *local, struct worker *self, struct tie *tie, const struct reason *reason) {
    struct runtime *runtime = tie->runtime;
    struct proc *owner = tie->owner;
    weft_notice notice = {
        .kind = tie->kind,
        .pid = tie->message.from,
        .reference = tie->kind == WEFT_NOTICE_DOWN ? tie->reference : 0,
        .reason = reason_shown((struct reason){reason->code, reason_detail_hold(reason->detail)}),
    };
    memcpy(tie->message.data, &notice, sizeof notice); /* the tie's own fields are gone from here on */
    enum mpsc_pushed pushed = mpsc_push(&owner->box, &tie->message.node);
    if (pushed == MPSC_CLOSED) message_free(&local->cache, &tie->message);
    if (pushed == MPSC_PUSHED_FIRST) proc_wake(runtime, tie_worker(self, runtime), owner);
}

/* The owner does not trap exits: it ends with the same reason, if that is not 0. The first such reason counts. */
static void tie_condemn(struct local *local, struct worker *self, struct ties *ties, struct tie *tie, const struct reason *reason) {
    struct runtime *runtime = tie->runtime;
    struct proc *owner = tie->owner;
    tie_free(local, tie);
    if (reason->code == 0) return;
    if (ties->exit.code == 0) ties->exit = (struct reason){reason->code, reason_detail_hold(reason->detail)};
    condemn_now(runtime, tie_worker(self, runtime), owner, STATE_EXIT);
}

/* Under the owner's lock, and out of its list. */
static void tie_fire(struct local *local, struct worker *self, struct tie *tie, const struct reason *reason) {
    struct ties *ties = ties_of(tie->runtime, proc_slot(tie->owner), false);
    if (tie->kind == WEFT_NOTICE_EXIT && !ties->traps) {
        tie_condemn(local, self, ties, tie, reason);
        return;
    }
    if (tie->kind == WEFT_NOTICE_EXIT) tie->message.tag = ties->trap_tag;
    tie_send(local, self, tie, reason);
}

static bool tie_tell(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *reason) {
    struct tie *tie = tie_of(monitor);
    struct lock *lock = tie_lock(tie);
    lock_take(lock);
    bool given_up = tie->given_up; /* G2 */
    if (!given_up) {
        tie_unlink(tie);
        tie_fire(local, self, tie, reason);
    }
    lock_drop(lock);
    if (given_up) atom_store_rel(&tie->left, true); /* rel: pairs with the acq in tie_withdraw: the last touch (G4) */
    return false;
}

/* ---- making --------------------------------------------------------------------------------------------------------------------- */

struct tie *tie_new(struct local *local, struct runtime *runtime, struct proc *owner, weft_pid target, enum weft_notice_kind kind) {
    struct tie *tie = pool_take(&local->cache.pool, pool_class_of(MESSAGE_NOTICE_BLOCK));
    if (!tie) return NULL;
    tie->message = (struct message){.from = target, .size = sizeof(weft_notice), .type = WEFT_EVENT_NOTICE, .class = MESSAGE_NOTICE};
    tie->monitor = (struct monitor){.tell = tie_tell};
    tie->runtime = runtime;
    tie->owner = owner;
    tie->reference = 0;
    tie->kind = (uint8_t)kind;
    tie->given_up = false;
    atom_store_rlx(&tie->left, false); /* rlx: no other thread knows it */
    return tie;
}

void tie_free(struct local *local, struct tie *tie) { pool_give(&local->cache.pool, pool_class_of(MESSAGE_NOTICE_BLOCK), tie); }

void tie_own(struct tie *tie) {
    struct lock *lock = tie_lock(tie);
    lock_take(lock);
    tie_link(&ties_of(tie->runtime, proc_slot(tie->owner), false)->ties, tie);
    lock_drop(lock);
}

void tie_disown(struct tie *tie) {
    struct lock *lock = tie_lock(tie);
    lock_take(lock);
    tie_unlink(tie);
    lock_drop(lock);
}

struct tie *tie_find_link(struct runtime *runtime, uint32_t owner, weft_pid pid) {
    struct lock *lock = ties_lock(runtime, owner);
    lock_take(lock);
    struct tie *tie = ties_of(runtime, owner, false)->ties;
    while (tie && (tie->kind != WEFT_NOTICE_EXIT || tie->message.from != pid))
        tie = tie->next;
    lock_drop(lock);
    return tie;
}

/* ---- giving up -------------------------------------------------------------------------------------------------------------------- */

/* Out of the target's list, after it has been given up; then it is freed. */
static void tie_withdraw(struct local *local, struct tie *tie) {
    weft_pid target = tie->message.from;
    struct rt_entry entry;
    if (local->runtime->instance == pid_instance(target)) {
        monitor_remove(local, target, &tie->monitor);
    } else if (rt_enter(&entry, target, "weft_demonitor")) {
        monitor_remove(entry.local, target, &tie->monitor);
        rt_leave(&entry);
    } else { /* the target's runtime is being taken down, and tells all that is in its lists */
        for (struct spin spin = spin_begin(); !atom_load_acq(&tie->left);) /* acq: pairs with the rel in tie_tell */
            spin_wait(&spin);
    }
    tie_free(local, tie);
}

/* Under the owner's lock. */
static void tie_give_up(struct tie *tie) {
    tie_unlink(tie);
    tie->given_up = true;
}

void tie_give_up_all(struct local *local, uint32_t owner) {
    struct ties *ties = ties_of(local->runtime, owner, false);
    struct lock *lock = ties_lock(local->runtime, owner);
    struct tie *tie;
    do {
        lock_take(lock);
        tie = ties->ties;
        if (tie) tie_give_up(tie);
        lock_drop(lock);
        if (tie) tie_withdraw(local, tie);
    } while (tie);
}

/* ---- monitors ----------------------------------------------------------------------------------------------------------------------- */

/* Unique in the runtime. */
uint64_t tie_reference(struct worker *self) {
    uint32_t slot = proc_slot(self->current);
    return ++ties_of(self->runtime, slot, false)->serial << PID_SLOT_BITS | slot;
}

static int tie_monitor(struct rt_entry *entry, struct worker *self, weft_pid pid, uint64_t tag, uint64_t *reference) {
    struct ties *ties = ties_of(self->runtime, proc_slot(self->current), true);
    struct tie *tie = ties ? tie_new(entry->local, self->runtime, self->current, pid, WEFT_NOTICE_DOWN) : NULL;
    if (!tie) return WEFT_ENOMEM;
    tie->message.tag = tag;
    uint64_t mine = tie->reference = tie_reference(self);
    state_owns(&self->current->state);
    tie_own(tie);
    int error = monitor_add(entry->local, pid, &tie->monitor);
    if (error) tie_disown(tie);
    if (error == WEFT_ENOPROC) {
        tie_send(entry->local, self, tie, &(struct reason){WEFT_ENOPROC, NULL});
        error = 0;
    } else if (error) {
        tie_free(entry->local, tie);
    }
    if (!error && reference) *reference = mine;
    return error;
}

int weft_monitor(weft_pid pid, uint64_t tag, uint64_t *reference) {
    struct worker *self = worker_here();
    struct rt_entry entry;
    if (!self || !self->current) return WEFT_ENOTINSIDE;
    heed(self);
    if (!rt_enter(&entry, pid, "weft_monitor")) return WEFT_EFOREIGN;
    int error = tie_monitor(&entry, self, pid, tag, reference);
    rt_leave(&entry);
    return error;
}

static struct tie *tie_find(struct tie *tie, uint64_t reference) {
    while (tie && (tie->kind != WEFT_NOTICE_DOWN || tie->reference != reference))
        tie = tie->next;
    return tie;
}

bool tie_demonitor(struct worker *self, uint64_t reference) {
    uint32_t owner = proc_slot(self->current);
    struct ties *ties = ties_of(self->runtime, owner, false);
    if (!ties) return false;
    struct lock *lock = ties_lock(self->runtime, owner);
    lock_take(lock);
    struct tie *tie = tie_find(ties->ties, reference);
    if (tie) tie_give_up(tie);
    lock_drop(lock);
    if (tie) tie_withdraw(&self->local, tie);
    return tie != NULL;
}

/* ---- notices -------------------------------------------------------------------------------------------------------------------------- */

const weft_notice *weft_msg_notice(const weft_msg *opaque) {
    const struct message *message = (const struct message *)opaque;
    return message && message->type == WEFT_EVENT_NOTICE ? (const weft_notice *)(const void *)message->data : NULL;
}

const weft_notice *weft_event_notice(const weft_event *event) { return event && event->type == WEFT_EVENT_NOTICE ? event->data : NULL; }
