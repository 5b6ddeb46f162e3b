/* weft_join: a process or a thread of the program waits for the end of a process. */
#include "life/cancel.h"
#include "life/zombie.h"
#include "sched/door.h"
#include "sched/heed.h"
#include "sched/rt_enter.h"
#include "wait/wait.h"

struct join {
    struct monitor monitor;
    struct wait wait;
    struct reason reason; /* with a reference to its detail */
    atom_bool left;       /* the teller has come too late to wake the waiter, and is done with this record */
};

/* It takes the result even if its wait is over: join_take_back finds it told. */
static bool join_tell(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *reason) {
    struct join *join = (struct join *)monitor;
    struct wake wake;
    (void)local, (void)self;
    join->reason = (struct reason){reason->code, reason_detail_hold(reason->detail)};
    if (wait_claim(&join->wait, 1, &wake)) wait_wake_inside(&wake);
    else atom_store_rel(&join->left, true); /* rel: pairs with the acq in join_take_back: the last touch */
    return true;
}

static int join_add(weft_pid pid, struct join *join) {
    struct rt_entry entry;
    if (!rt_enter(&entry, pid, "weft_join")) return WEFT_ENOPROC;
    int error = monitor_join(entry.local, pid, &join->monitor, &join->reason);
    rt_leave(&entry);
    return error;
}

/* Removes the monitor. False: it was told already, so the process has ended. */
static bool join_take_back(weft_pid pid, struct join *join) {
    struct rt_entry entry;
    if (!rt_enter(&entry, pid, "weft_join")) {                              /* its runtime is being taken down, and tells all monitors */
        for (struct spin spin = spin_begin(); !atom_load_acq(&join->left);) /* acq: pairs with the rel in join_tell */
            spin_wait(&spin);
        return false;
    }
    bool mine = monitor_remove(entry.local, pid, &join->monitor);
    rt_leave(&entry);
    return mine;
}

/* `call`: weft_join or weft_join_reason. On success *reason has a reference of the caller's. */
static int join_process(weft_pid pid, struct reason *reason, uint64_t deadline, const char *call) {
    struct join join = {.monitor = {.tell = join_tell}};
    fiber_spend(worker_here(), deadline);
    wait_begin(&join.wait);
    if (join.wait.proc && weft_self() == pid) WEFT_REFUSE(call, "a process waits for its own end", "join another, or return");
    int error = join_add(pid, &join);
    if (error < 0) return error;
    join.wait.about = (const void *)(uintptr_t)pid;
    int why = error == MONITOR_ENDED ? 0 : wait_for(&join.wait, deadline, call);
    if (why < 0 && join_take_back(pid, &join)) return why;
    *reason = join.reason;
    return 0;
}

int weft_join(weft_pid pid, int *code, uint64_t deadline) {
    struct reason reason;
    int error = join_process(pid, &reason, deadline, "weft_join");
    if (error) return error;
    reason_detail_drop(reason.detail);
    if (code) *code = reason.code;
    return 0;
}

/* Of a caller that was killed, which no shield of the program's own holds up. */
static int join_kill(struct fiber *fiber, weft_pid pid, int *code) {
    kill_pid(pid);
    fiber->shields += FIBER_KEPT;
    int error = weft_join(pid, code, WEFT_FOREVER);
    fiber->shields -= FIBER_KEPT;
    return error;
}

int weft_end(weft_pid pid, int *code) {
    struct worker *self = worker_here();
    struct fiber *fiber = self && self->current && self->current->stackful ? fiber_of(self->current) : NULL;
    cancel_pid(pid);
    if (!fiber) return weft_join(pid, code, WEFT_FOREVER);
    if (fiber_is_killed(fiber->proc)) return join_kill(fiber, pid, code);
    fiber->shields++;
    int error = weft_join(pid, code, WEFT_FOREVER);
    fiber->shields--;
    return error == WEFT_ECANCELED ? join_kill(fiber, pid, code) : error;
}

int weft_join_reason(weft_pid pid, weft_reason *shown, uint64_t deadline) {
    struct reason reason;
    int error = join_process(pid, &reason, deadline, "weft_join_reason");
    if (!error) *shown = reason_shown(reason);
    return error;
}

int weft_detach(weft_pid pid) {
    struct rt_entry entry;
    heed(my_worker);
    if (!rt_enter(&entry, pid, "weft_detach")) return WEFT_ENOPROC;
    int error = zombie_forget(entry.local, pid);
    rt_leave(&entry);
    return error;
}
