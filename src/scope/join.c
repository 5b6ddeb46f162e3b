/* Waiting for the end of a process, by a process or by a thread of one's own. */
#include "wait/wait.h"
#include "life/zombie.h"
#include "sched/door.h"
#include "sched/rt_enter.h"

struct join {
    struct watcher watcher;
    struct wait wait;
    int reason;
};

static void join_tell(struct actor *actor, struct worker *self, struct watcher *watcher, int reason) {
    struct join *join = (struct join *)watcher;
    struct wake wake;
    (void)actor, (void)self;
    join->reason = reason;
    if (wait_claim(&join->wait, 1, &wake)) wait_wake(&wake);
}

static int join_add(weft_pid pid, struct join *join) {
    struct reach reach;
    if (!reach_begin(&reach, pid, "weft_join")) return WEFT_ENOPROC;
    int error = watch_join(reach.actor, pid, &join->watcher, &join->reason);
    reach_end(&reach);
    return error;
}

/* False: it was told, so the process has ended. */
static bool join_take_back(weft_pid pid, struct join *join) {
    struct reach reach;
    if (!reach_begin(&reach, pid, "weft_join")) return false; /* its runtime has gone, and has told */
    bool mine = watch_remove(reach.actor, pid, &join->watcher);
    reach_end(&reach);
    return mine;
}

int weft_join(weft_pid pid, int *reason, uint64_t deadline) {
    struct join join = {.watcher = {.tell = join_tell}};
    fiber_spend(worker_here(), deadline);
    wait_begin(&join.wait);
    if (join.wait.proc && weft_self() == pid)
        WEFT_MISUSE("weft_join", "a process waits for its own end", "join another, or return");
    int error = join_add(pid, &join);
    if (error < 0) return error;
    join.wait.about = (const void *)(uintptr_t)pid;
    int why = error == WATCH_ENDED ? 0 : wait_for(&join.wait, deadline, "weft_join");
    if (why < 0 && join_take_back(pid, &join)) return why;
    if (reason) *reason = join.reason;
    return 0;
}

int weft_detach(weft_pid pid) {
    struct reach reach;
    if (!reach_begin(&reach, pid, "weft_detach")) return WEFT_ENOPROC;
    int error = keep_forget(reach.actor, pid);
    reach_end(&reach);
    return error;
}
