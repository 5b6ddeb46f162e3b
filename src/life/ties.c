/* The ties of processes: see ties.h. */
#include "life/ties.h"

#include "life/tie.h"
#include "life/zombie.h"

struct lock *ties_lock(struct runtime *runtime, uint32_t slot) {
    return &runtime->ties_locks[slot % MONITOR_LOCKS];
}

struct ties *ties_of(struct runtime *runtime, uint32_t slot, bool make) {
    return side_of(&runtime->sides.ties, slot, sizeof(struct ties), make);
}

void ties_leave_detail(struct runtime *runtime, struct proc *proc, struct reason_detail *detail) {
    struct ties *ties = detail ? ties_of(runtime, proc_slot(proc), true) : NULL;
    if (!ties) {
        reason_detail_drop(detail);
        return;
    }
    reason_detail_drop(ties->detail);
    ties->detail = detail;
    state_owns(&proc->state);
}

static struct reason ties_exit(struct runtime *runtime, uint32_t slot) {
    struct lock *lock = ties_lock(runtime, slot);
    lock_take(lock);
    struct reason exit = ties_of(runtime, slot, false)->exit; /* it does not change again before ties_end */
    lock_drop(lock);
    return exit;
}

int ties_condemned(struct runtime *runtime, struct proc *proc) {
    return state_condemned(&proc->state) & STATE_KILL ? WEFT_EKILLED : ties_exit(runtime, proc_slot(proc)).code;
}

/* Whether the detail belongs to an end with this code. */
static bool ties_fits(const struct reason_detail *detail, int code) { return detail && detail->code == code; }

struct reason ties_reason(struct runtime *runtime, uint32_t slot, int code) {
    struct reason_detail *own = ties_of(runtime, slot, false)->detail;
    if (!ties_fits(own, code)) own = ties_exit(runtime, slot).detail;
    return (struct reason){code, ties_fits(own, code) ? own : NULL};
}

void ties_end(struct local *local, struct proc *proc) {
    struct ties *ties = ties_of(local->runtime, proc_slot(proc), false);
    zombie_forget_all(local, proc_slot(proc));
    tie_give_up_all(local, proc_slot(proc));
    /* No tie leads here any more. */
    reason_detail_drop(ties->detail);
    reason_detail_drop(ties->exit.detail);
    ties->detail = NULL;
    ties->exit = (struct reason){0, NULL};
    ties->traps = false;
    ties->discard = NULL;
}

void ties_destroy_all(struct runtime *runtime) { side_destroy(&runtime->sides.ties, sizeof(struct ties)); }
