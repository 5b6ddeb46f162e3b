/* The lists of monitors, one for each slot of the table, and telling them. */
#include "life/spawn.h"
#include "life/zombie.h"

struct lock *monitor_lock(struct runtime *runtime, uint32_t slot) {
    return &runtime->monitor_locks[slot % MONITOR_LOCKS];
}

struct monitor **monitor_list(struct runtime *runtime, uint32_t slot, bool make) {
    return side_of(&runtime->sides.monitored, slot, sizeof(struct monitor *), make);
}

/* Links it behind a zombie record, which stays the first (zombie.h, P1). */
void monitor_link(struct monitor **first, struct monitor *monitor) {
    struct monitor *before = *first && (*first)->is_zombie ? *first : NULL, **place = before ? &before->next : first;
    monitor->prev = before;
    monitor->next = *place;
    if (*place) (*place)->prev = monitor;
    *place = monitor;
}

void monitor_unlink(struct monitor **first, struct monitor *monitor) {
    if (monitor->prev) monitor->prev->next = monitor->next;
    else *first = monitor->next;
    if (monitor->next) monitor->next->prev = monitor->prev;
}

/* Under the slot's lock. */
static int monitor_add_locked(struct local *local, weft_pid pid, struct monitor **list, struct monitor *monitor) {
    int error = WEFT_ENOPROC;
    /* The section keeps the slot from the next process, which MONITORED would not concern. */
    section_enter(&local->section);
    struct proc *proc = proc_find(local->runtime, pid);
    if (proc) {
        monitor_link(list, monitor);
        error = state_monitor(&proc->state) ? 0 : WEFT_ENOPROC; /* H1 */
        if (error) monitor_unlink(list, monitor);
    }
    section_leave(&local->section);
    return error;
}

/* The list of the PID's slot; or NULL and the error. */
static struct monitor **monitor_place(struct runtime *runtime, weft_pid pid, int *error) {
    uint32_t slot = pid_slot(pid);
    *error = WEFT_ENOPROC;
    if (!table_at(&runtime->table, slot)) return NULL;
    *error = WEFT_ENOMEM;
    return monitor_list(runtime, slot, true);
}

int monitor_add(struct local *local, weft_pid pid, struct monitor *monitor) {
    int error;
    struct monitor **list = monitor_place(local->runtime, pid, &error);
    if (!list) return error;
    struct lock *lock = monitor_lock(local->runtime, pid_slot(pid));
    monitor->told = monitor->is_zombie = false;
    lock_take(lock);
    error = monitor_add_locked(local, pid, list, monitor);
    lock_drop(lock);
    return error;
}

int monitor_join(struct local *local, weft_pid pid, struct monitor *monitor, struct reason *reason) {
    int error;
    struct monitor **list = monitor_place(local->runtime, pid, &error);
    if (!list) return error;
    struct lock *lock = monitor_lock(local->runtime, pid_slot(pid));
    monitor->told = monitor->is_zombie = false;
    lock_take(lock);
    struct zombie *zombie = zombie_find(*list, pid);
    if (!zombie) {
        error = monitor_add_locked(local, pid, list, monitor);
    } else if (!zombie->monitor.told) { /* its end will be told, even if it is ending already */
        error = 0;
        monitor_link(list, monitor);
    } else {
        error = MONITOR_ENDED;
        if (reason) *reason = zombie_take_reason(zombie);
        if (reason) zombie_drop(local, list, zombie);
    }
    lock_drop(lock);
    if (error == MONITOR_ENDED && reason) magazine_retire(&local->magazine, table_at(&local->runtime->table, pid_slot(pid)));
    return error;
}

bool monitor_is_over(struct local *local, weft_pid pid) {
    struct runtime *runtime = local->runtime;
    uint32_t slot = pid_slot(pid);
    struct monitor **list = table_at(&runtime->table, slot) ? monitor_list(runtime, slot, false) : NULL;
    struct lock *lock = monitor_lock(runtime, slot);
    lock_take(lock);
    struct zombie *zombie = list ? zombie_find(*list, pid) : NULL;
    section_enter(&local->section);
    bool over = zombie ? zombie->monitor.told : !proc_find(runtime, pid);
    section_leave(&local->section);
    lock_drop(lock);
    return over;
}

int monitor_newborn(struct local *local, weft_pid pid, struct monitor *monitor) {
    struct monitor **list = monitor_list(local->runtime, pid_slot(pid), true);
    if (!list) return WEFT_ENOMEM;
    struct lock *lock = monitor_lock(local->runtime, pid_slot(pid));
    monitor->told = false;
    if (monitor->is_zombie) ((struct zombie *)monitor)->pid = pid;
    lock_take(lock);
    monitor_link(list, monitor);
    lock_drop(lock);
    return 0;
}

bool monitor_remove(struct local *local, weft_pid pid, struct monitor *monitor) {
    struct runtime *runtime = local->runtime;
    uint32_t slot = pid_slot(pid);
    struct lock *lock = monitor_lock(runtime, slot);
    lock_take(lock);
    bool mine = !monitor->told;
    if (mine) monitor_unlink(monitor_list(runtime, slot, false), monitor);
    lock_drop(lock);
    return mine;
}

bool monitor_tell(struct local *local, struct worker *self, uint32_t slot, const struct reason *reason, bool last) {
    struct runtime *runtime = local->runtime;
    struct monitor **list = monitor_list(runtime, slot, false);
    struct lock *lock = monitor_lock(runtime, slot);
    lock_take(lock);
    struct zombie *zombie = *list && (*list)->is_zombie ? (struct zombie *)*list : NULL;
    bool joined = false;
    for (struct monitor **others = zombie ? &zombie->monitor.next : list; *others;) {
        struct monitor *monitor = *others;
        monitor_unlink(list, monitor);
        monitor->told = true;
        joined |= monitor->tell(local, self, monitor, reason); /* it may be gone now */
    }
    if (zombie && joined) {
        zombie_drop(local, list, zombie);
    } else if (zombie && last) {
        zombie_set_reason(zombie, reason);
    }
    lock_drop(lock);
    return zombie && !joined;
}

void monitor_destroy_all(struct runtime *runtime) { side_destroy(&runtime->sides.monitored, sizeof(struct monitor *)); }
