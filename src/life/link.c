/* Links between processes, and trapping exits: see link.h. */
#include "life/link.h"

#include "life/spawn.h"
#include "sched/heed.h"

/* ---- both locks (L1) ----------------------------------------------------------------------------------------------------- */

struct link_locks {
    struct lock *first, *second; /* NULL: both slots have the first */
};

static struct link_locks link_lock(struct worker *self, struct runtime *runtime, weft_pid pid) {
    struct lock *mine = monitor_lock(self->runtime, proc_slot(self->current)), *theirs = monitor_lock(runtime, pid_slot(pid));
    struct link_locks locks = {mine < theirs ? mine : theirs, mine == theirs ? NULL : mine < theirs ? theirs : mine};
    lock_take(locks.first);
    if (locks.second) lock_take(locks.second);
    return locks;
}

static void link_unlock(struct link_locks locks) {
    if (locks.second) lock_drop(locks.second);
    lock_drop(locks.first);
}

/* ---- the halves ------------------------------------------------------------------------------------------------------------ */

int link_reserve(struct runtime *runtime, uint32_t slot) {
    return monitor_list(runtime, slot, true) && ties_of(runtime, slot, true) ? 0 : WEFT_ENOMEM;
}

int link_new(struct local *local, struct worker *self, struct runtime *runtime, struct proc *other, weft_pid pid,
             struct link_halves *halves) {
    halves->mine = tie_new(local, self->runtime, self->current, pid, WEFT_NOTICE_EXIT);
    halves->theirs = tie_new(local, runtime, other, worker_pid(self), WEFT_NOTICE_EXIT);
    if (halves->mine && halves->theirs) {
        halves->mine->twin = halves->theirs;
        halves->theirs->twin = halves->mine;
        return 0;
    }
    link_free(local, halves);
    return WEFT_ENOMEM;
}

void link_free(struct local *local, struct link_halves *halves) {
    if (halves->mine) tie_free(local, halves->mine);
    if (halves->theirs) tie_free(local, halves->theirs);
    *halves = (struct link_halves){NULL, NULL};
}

/* Where the half that `tie` is is listed. */
static struct monitor **link_list(struct runtime *runtime, const struct tie *tie) {
    return monitor_list(runtime, pid_slot(tie->message.from), false);
}

/* `runtime`: of the other process. The linking process is `mine`'s owner. */
static void link_attach(struct runtime *runtime, struct link_halves *halves) {
    struct tie *mine = halves->mine, *theirs = halves->theirs;
    state_monitor_newborn(&mine->owner->state); /* both: the linking process's own, which runs */
    state_owns(&mine->owner->state);
    monitor_link(link_list(runtime, mine), &mine->monitor);
    monitor_link(link_list(mine->runtime, theirs), &theirs->monitor);
    tie_own(mine);
    tie_own(theirs);
}

static void link_detach(struct runtime *runtime, struct link_halves *halves) {
    struct tie *mine = halves->mine, *theirs = halves->theirs;
    monitor_unlink(link_list(runtime, mine), &mine->monitor);
    monitor_unlink(link_list(mine->runtime, theirs), &theirs->monitor);
    tie_disown(mine);
    tie_disown(theirs);
}

/* With the locks, although no other thread knows the process: one may have guessed its PID, and looks into its list. */
void link_newborn(struct runtime *runtime, struct proc *newborn, struct link_halves *halves) {
    weft_pid pid = proc_pid(newborn);
    halves->mine->message.from = pid;
    halves->theirs->runtime = runtime;
    halves->theirs->owner = newborn;
    state_owns(&newborn->state);
    struct link_locks locks = link_lock(worker_here(), runtime, pid);
    link_attach(runtime, halves);
    link_unlock(locks);
}

/* ---- linking --------------------------------------------------------------------------------------------------------------- */

/* Under both locks, and in a section. The halves are taken, or still the caller's: *linked. */
static int link_attach_living(struct worker *self, struct runtime *runtime, weft_pid pid, struct link_halves *halves, bool *linked) {
    struct proc *other = proc_find(runtime, pid);
    if (!other) return WEFT_ENOPROC;
    if (tie_find_link(self->runtime, proc_slot(self->current), pid)) return 0;
    if (!state_tie(&other->state)) return WEFT_ENOPROC; /* L3 */
    halves->theirs->owner = other;
    link_attach(runtime, halves);
    *linked = true;
    return 0;
}

static int link_make(struct local *local, struct worker *self, weft_pid pid) {
    struct runtime *runtime = local->runtime;
    struct link_halves halves;
    bool linked = false;
    if (!table_at(&runtime->table, pid_slot(pid))) return WEFT_ENOPROC;
    if (link_reserve(runtime, pid_slot(pid)) || link_reserve(self->runtime, proc_slot(self->current))) return WEFT_ENOMEM;
    if (link_new(local, self, runtime, NULL, pid, &halves)) return WEFT_ENOMEM;
    struct link_locks locks = link_lock(self, runtime, pid);
    section_enter(&local->section); /* keeps the slot from the next process */
    int error = link_attach_living(self, runtime, pid, &halves, &linked);
    section_leave(&local->section);
    link_unlock(locks);
    if (!linked) link_free(local, &halves);
    return error;
}

int weft_link(weft_pid pid) {
    struct worker *self = worker_here();
    struct rt_entry entry;
    if (!self || !self->current) return WEFT_ENOTINSIDE;
    heed(self);
    if (pid == worker_pid(self)) return 0;
    if (!rt_enter(&entry, pid, "weft_link")) return WEFT_EFOREIGN;
    int error = link_make(entry.local, self, pid);
    rt_leave(&entry);
    return error;
}

static int link_remove(struct local *local, struct worker *self, weft_pid pid) {
    struct runtime *runtime = local->runtime;
    if (!ties_of(self->runtime, proc_slot(self->current), false)) return WEFT_ENOENT;
    struct link_locks locks = link_lock(self, runtime, pid);
    struct tie *mine = tie_find_link(self->runtime, proc_slot(self->current), pid);
    struct link_halves halves = {mine, mine ? mine->twin : NULL}; /* L2 */
    if (mine) link_detach(runtime, &halves);
    link_unlock(locks);
    if (mine) link_free(local, &halves);
    return mine ? 0 : WEFT_ENOENT;
}

int weft_unlink(weft_pid pid) {
    struct worker *self = worker_here();
    struct rt_entry entry;
    if (!self || !self->current) return WEFT_ENOTINSIDE;
    if (!rt_enter(&entry, pid, "weft_unlink")) return WEFT_ENOENT; /* its runtime has gone, and has told of its end */
    int error = link_remove(entry.local, self, pid);
    rt_leave(&entry);
    heed_after(self);
    return error;
}

int weft_trap_exit(bool trap, uint64_t tag) {
    struct worker *self = worker_here();
    if (!self || !self->current) return WEFT_ENOTINSIDE;
    heed(self);
    struct proc *proc = self->current;
    struct ties *ties = ties_of(self->runtime, proc_slot(proc), true);
    if (!ties) return WEFT_ENOMEM;
    struct lock *lock = ties_lock(self->runtime, proc_slot(proc));
    local_enter(&self->local, "weft_trap_exit");
    state_owns(&proc->state);
    lock_take(lock);
    ties->traps = trap;
    ties->trap_tag = tag;
    lock_drop(lock);
    local_leave(&self->local);
    return 0;
}
