/* A supervisor's children: the list in the order of their starts, and the indexes by PID and by id. */
#include "super/super.h"

#include <string.h>

enum { CHILDREN_BUCKETS = 16 };

static struct child **children_bucket(struct super *super, weft_pid pid) {
    return &super->index[(pid * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (super->buckets - 1)];
}

static struct child **children_bucket_of_id(struct super *super, const char *id) {
    return &super->index[super->buckets + (plan_hash(id) & (super->buckets - 1))];
}

/* ---- the indexes ------------------------------------------------------------------------------------------------------------ */

static void index_put(struct super *super, struct child *child) {
    struct child **bucket = children_bucket(super, child->pid);
    child->same = *bucket;
    *bucket = child;
}

static void index_drop(struct super *super, struct child *child) {
    struct child **link = children_bucket(super, child->pid);
    while (*link != child)
        link = &(*link)->same;
    *link = child->same;
}

static void index_put_id(struct super *super, struct child *child) {
    struct child **bucket = children_bucket_of_id(super, child->plan.id);
    child->same_id = *bucket;
    *bucket = child;
}

static void index_drop_id(struct super *super, struct child *child) {
    struct child **link = children_bucket_of_id(super, child->plan.id);
    while (*link != child)
        link = &(*link)->same_id;
    *link = child->same_id;
}

/* So many buckets that there is one for each child. False: there is no memory; with fewer it is only slower, unless there are none. */
static bool index_grow(struct super *super) {
    size_t buckets = super->buckets ? super->buckets * 2 : CHILDREN_BUCKETS, before = super->buckets;
    struct child **index = sys->alloc(2 * buckets * sizeof *index), **old = super->index;
    if (!index) return before > 0;
    super->index = index;
    super->buckets = buckets;
    for (struct child *child = super->first; child; child = child->next) {
        if (child->state == CHILD_UP) index_put(super, child);
        index_put_id(super, child);
    }
    if (old) sys->free(old, 2 * before * sizeof *old);
    return true;
}

struct child *children_with(struct super *super, weft_pid pid) {
    struct child *child = super->buckets ? *children_bucket(super, pid) : NULL;
    while (child && child->pid != pid)
        child = child->same;
    return child;
}

/* ---- the list -------------------------------------------------------------------------------------------------------------- */

struct child *children_add(struct super *super, const struct plan_child *plan) {
    if (super->count >= super->buckets && !index_grow(super)) return NULL;
    struct child *child = sys->alloc(sizeof *child);
    if (!child) return NULL;
    child->plan = *plan;
    child->plan.spec.id = child->plan.id;
    if (plan->spec.register_as) child->plan.spec.register_as = child->plan.name;
    plan_hold(child->plan.below);
    lock_take(&super->lock);
    child->prev = super->last;
    if (super->last) super->last->next = child;
    else super->first = child;
    super->last = child;
    super->count++;
    lock_drop(&super->lock);
    index_put_id(super, child);
    return child;
}

void children_due(struct super *super, struct child *child, uint64_t due) {
    child->state = CHILD_DUE;
    child->due = due;
    child->due_next = NULL;
    child->due_prev = super->due_last;
    if (super->due_last) super->due_last->due_next = child;
    else super->due_first = child;
    super->due_last = child;
}

void children_undue(struct super *super, struct child *child) {
    if (child->state != CHILD_DUE) return;
    child->state = CHILD_DOWN;
    if (child->due_prev) child->due_prev->due_next = child->due_next;
    else super->due_first = child->due_next;
    if (child->due_next) child->due_next->due_prev = child->due_prev;
    else super->due_last = child->due_prev;
}

/* It is not up, or the supervisor has ended. */
void children_remove(struct super *super, struct child *child) {
    children_undue(super, child);
    if (child->state == CHILD_UP) index_drop(super, child); /* of a supervisor that has ended */
    index_drop_id(super, child);
    lock_take(&super->lock);
    if (child->prev) child->prev->next = child->next;
    else super->first = child->next;
    if (child->next) child->next->prev = child->prev;
    else super->last = child->prev;
    super->count--;
    lock_drop(&super->lock);
    super_let_go(child->nested, true);
    plan_drop(child->plan.below);
    sys->free(child, sizeof *child);
}

struct child *children_named(struct super *super, const char *id) {
    struct child *child = super->buckets ? *children_bucket_of_id(super, id) : NULL;
    while (child && strcmp(child->plan.id, id) != 0)
        child = child->same_id;
    return child;
}

void children_up(struct super *super, struct child *child, weft_pid pid) {
    children_undue(super, child);
    lock_take(&super->lock);
    child->pid = pid;
    lock_drop(&super->lock);
    child->state = CHILD_UP;
    child->patience = 0;
    child->up_since = sys->now();
    index_put(super, child);
}

void children_down(struct super *super, struct child *child, const weft_reason *reason) {
    struct super *nested = child->nested;
    index_drop(super, child);
    child->state = CHILD_DOWN;
    lock_take(&super->lock);
    child->nested = NULL;
    child->pid = WEFT_NOBODY;
    child->last = reason->code;
    child->last_signal = reason->signal;
    child->last_address = reason->address;
    lock_drop(&super->lock);
    super_let_go(nested, true); /* a dump does not find it any more */
}

void children_failed(struct super *super, struct child *child, int code) {
    lock_take(&super->lock);
    if (child->last != code) child->last_signal = 0, child->last_address = NULL; /* else it is of the end that it failed with */
    child->last = code;
    lock_drop(&super->lock);
}

void children_restarted(struct super *super, struct child *child) {
    lock_take(&super->lock);
    child->restarts++;
    lock_drop(&super->lock);
}

weft_child_info children_info(const struct child *child) {
    weft_child_info info = {.pid = child->pid, .restarts = child->restarts, .is_super = child->plan.below != NULL};
    info.last = child->last;
    info.last_signal = child->last_signal;
    info.last_address = child->last_address;
    memcpy(info.id, child->plan.id, sizeof info.id);
    return info;
}

void children_free(struct super *super) {
    while (super->first)
        children_remove(super, super->first);
    if (super->index) sys->free(super->index, 2 * super->buckets * sizeof *super->index);
    super->index = NULL;
    super->buckets = 0;
}
