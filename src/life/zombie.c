/* The records of joinable processes, and the lists of their owners. */
#include "life/zombie.h"

/* ---- the owner's list ---------------------------------------------------------------------------------------------------- */

static void zombie_link(struct runtime *runtime, struct zombie **list, struct zombie *zombie) {
    struct lock *lock = ties_lock(runtime, zombie->owner);
    lock_take(lock);
    zombie->next = *list;
    zombie->link = list;
    if (zombie->next) zombie->next->link = &zombie->next;
    *list = zombie;
    lock_drop(lock);
}

static void zombie_unlink(struct runtime *runtime, struct zombie *zombie) {
    if (!zombie->owner) return;
    struct lock *lock = ties_lock(runtime, zombie->owner);
    lock_take(lock);
    *zombie->link = zombie->next;
    if (zombie->next) zombie->next->link = zombie->link;
    lock_drop(lock);
}

/* ---- records --------------------------------------------------------------------------------------------------------------- */

struct zombie *zombie_new(struct local *local, struct proc *owner) {
    struct ties *ties = owner ? ties_of(local->runtime, proc_slot(owner), true) : NULL;
    if (owner && !ties) return NULL;
    struct zombie *zombie = pool_take(&local->blocks, 0);
    if (!zombie) return NULL;
    *zombie = (struct zombie){.monitor = {.is_zombie = true}, .owner = owner ? proc_slot(owner) : 0};
    if (!owner) return zombie;
    zombie_link(local->runtime, &ties->zombies, zombie);
    state_owns(&owner->state);
    return zombie;
}

void zombie_undo(struct local *local, struct zombie *zombie) {
    zombie_unlink(local->runtime, zombie);
    reason_detail_drop(zombie->monitor.detail);
    pool_give(&local->blocks, 0, zombie);
}

struct zombie *zombie_find(struct monitor *first, weft_pid pid) {
    struct zombie *zombie = (struct zombie *)first;
    return first && first->is_zombie && zombie->pid == pid ? zombie : NULL;
}

void zombie_set_reason(struct zombie *zombie, const struct reason *reason) {
    zombie->monitor.told = true;
    zombie->monitor.detail = reason_detail_hold(reason->detail);
    zombie->reason = reason->code;
}

struct reason zombie_take_reason(struct zombie *zombie) {
    struct reason reason = {zombie->reason, zombie->monitor.detail};
    zombie->monitor.detail = NULL;
    return reason;
}

void zombie_drop(struct local *local, struct monitor **list, struct zombie *zombie) {
    monitor_unlink(list, &zombie->monitor);
    zombie_undo(local, zombie);
}

int zombie_forget(struct local *local, weft_pid pid) {
    struct runtime *runtime = local->runtime;
    uint32_t slot = pid_slot(pid);
    struct monitor **list = monitor_list(runtime, slot, false);
    if (!list) return WEFT_ENOPROC;
    struct lock *lock = monitor_lock(runtime, slot);
    lock_take(lock);
    struct zombie *zombie = zombie_find(*list, pid);
    bool ended = zombie && zombie->monitor.told;
    if (zombie) zombie_drop(local, list, zombie);
    lock_drop(lock);
    if (ended) magazine_retire(&local->magazine, table_at(&runtime->table, slot));
    return zombie ? 0 : WEFT_ENOPROC;
}

/* One by one, because of the lock order. A record that is gone when its slot's lock is taken has left the owner's list by then. */
void zombie_forget_all(struct local *local, uint32_t owner) {
    struct runtime *runtime = local->runtime;
    struct zombie **list = &ties_of(runtime, owner, false)->zombies;
    struct lock *lock = ties_lock(runtime, owner);
    weft_pid pid;
    do {
        lock_take(lock);
        pid = *list ? (*list)->pid : WEFT_NOBODY;
        lock_drop(lock);
        if (pid != WEFT_NOBODY) zombie_forget(local, pid);
    } while (pid != WEFT_NOBODY);
}
