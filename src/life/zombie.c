#include "life/zombie.h"

static struct lock *keep_lock(struct runtime *runtime, uint32_t owner) { return &runtime->keep_locks[owner % WATCH_LOCKS]; }

/* ---- the owner's list ---------------------------------------------------------------------------------------------------- */

static void keep_link(struct runtime *runtime, struct kept **list, struct kept *kept) {
    struct lock *lock = keep_lock(runtime, kept->owner);
    lock_take(lock);
    kept->next = *list;
    kept->link = list;
    if (kept->next) kept->next->link = &kept->next;
    *list = kept;
    lock_drop(lock);
}

static void keep_unlink(struct runtime *runtime, struct kept *kept) {
    if (!kept->owner) return;
    struct lock *lock = keep_lock(runtime, kept->owner);
    lock_take(lock);
    *kept->link = kept->next;
    if (kept->next) kept->next->link = kept->link;
    lock_drop(lock);
}

/* ---- records --------------------------------------------------------------------------------------------------------------- */

struct kept *keep_new(struct actor *actor, struct proc *owner) {
    struct kept **list = owner ? watch_owned(actor->runtime, owner->slot) : NULL;
    if (owner && !list) return NULL;
    struct kept *kept = pool_take(&actor->blocks, 0);
    if (!kept) return NULL;
    *kept = (struct kept){.watcher = {.keeps = true}, .owner = owner ? owner->slot : 0};
    if (!owner) return kept;
    keep_link(actor->runtime, list, kept);
    state_owns(&owner->state);
    return kept;
}

void keep_undo(struct actor *actor, struct kept *kept) {
    keep_unlink(actor->runtime, kept);
    pool_give(&actor->blocks, 0, kept);
}

struct kept *keep_find(struct watcher *first, weft_pid pid) {
    struct kept *kept = (struct kept *)first;
    return first && first->keeps && kept->pid == pid ? kept : NULL;
}

void keep_drop(struct actor *actor, struct watcher **list, struct kept *kept) {
    watch_unlink(list, &kept->watcher);
    keep_undo(actor, kept);
}

int keep_forget(struct actor *actor, weft_pid pid) {
    struct runtime *runtime = actor->runtime;
    uint32_t slot = pid_slot(pid);
    struct watcher **list = watch_list(runtime, slot, false);
    if (!list) return WEFT_ENOPROC;
    struct lock *lock = watch_lock(runtime, slot);
    lock_take(lock);
    struct kept *kept = keep_find(*list, pid);
    bool ended = kept && kept->watcher.told;
    if (kept) keep_drop(actor, list, kept);
    lock_drop(lock);
    if (ended) shelf_retire(&actor->shelf, table_at(&runtime->table, slot));
    return kept ? 0 : WEFT_ENOPROC;
}

/* One by one, because of the lock order: a record that is gone when its slot's lock is taken is off the list by then. */
void keep_forget_all(struct actor *actor, uint32_t owner) {
    struct runtime *runtime = actor->runtime;
    struct kept **list = watch_owned(runtime, owner);
    struct lock *lock = keep_lock(runtime, owner);
    weft_pid pid;
    do {
        lock_take(lock);
        pid = *list ? (*list)->pid : WEFT_NOBODY;
        lock_drop(lock);
        if (pid != WEFT_NOBODY) keep_forget(actor, pid);
    } while (pid != WEFT_NOBODY);
}
