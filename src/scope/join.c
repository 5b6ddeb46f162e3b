/* weft_join: a process or a thread of the program waits for the end of a process. */
#include "life/zombie.h"
#include "sched/door.h"
#include "sched/rt_enter.h"
#include "wait/wait.h"

struct join {
    struct monitor monitor;
    struct wait wait;
    int reason;
};

static void join_tell(struct local *local, struct worker *self, struct monitor *monitor, int reason) {
    struct join *join = (struct join *)monitor;
    struct wake wake;
    (void)local, (void)self;
    join->reason = reason;
    if (wait_claim(&join->wait, 1, &wake)) wait_wake_inside(&wake);
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
    if (!rt_enter(&entry, pid, "weft_join")) return false; /* its runtime has gone, and has told the monitor */
    bool mine = monitor_remove(entry.local, pid, &join->monitor);
    rt_leave(&entry);
    return mine;
}

int weft_join(weft_pid pid, int *reason, uint64_t deadline) {
    struct join join = {.monitor = {.tell = join_tell}};
    fiber_spend(worker_here(), deadline);
    wait_begin(&join.wait);
    if (join.wait.proc && weft_self() == pid) WEFT_MISUSE("weft_join", "a process waits for its own end", "join another, or return");
    int error = join_add(pid, &join);
    if (error < 0) return error;
    join.wait.about = (const void *)(uintptr_t)pid;
    int why = error == MONITOR_ENDED ? 0 : wait_for(&join.wait, deadline, "weft_join");
    if (why < 0 && join_take_back(pid, &join)) return why;
    if (reason) *reason = join.reason;
    return 0;
}

int weft_detach(weft_pid pid) {
    struct rt_entry entry;
    if (!rt_enter(&entry, pid, "weft_detach")) return WEFT_ENOPROC;
    int error = zombie_forget(entry.local, pid);
    rt_leave(&entry);
    return error;
}
