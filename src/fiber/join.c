/* Waiting for the end of a process, by a process or by a thread of one's own. */
#include "fiber/wait.h"
#include "sched/watch.h"

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

/* Adds or takes back, from wherever the caller is. */
static int join_watch(weft_pid pid, struct join *join, bool add) {
    struct worker *self = my_worker;
    unsigned door, instance = pid_instance(pid);
    bool inside = self && instance == self->runtime->instance;
    struct actor *actor = inside ? &self->actor : foreign_enter(instance, &door);
    if (!actor) return WEFT_ENOPROC;
    int result = add ? watch_add(actor, pid, &join->watcher) : watch_remove(actor, pid, &join->watcher);
    if (!inside) foreign_leave(instance, door);
    return result;
}

int weft_join(weft_pid pid, int *reason, uint64_t deadline) {
    struct join join = {.watcher = {.tell = join_tell}};
    wait_begin(&join.wait);
    if (join.wait.proc && weft_self() == pid)
        WEFT_MISUSE("weft_join", "a process waits for its own end", "join another, or return");
    int error = join_watch(pid, &join, true);
    if (error) return error;
    int why = wait_for(&join.wait, deadline, "weft_join");
    if (why < 0 && join_watch(pid, &join, false)) return why; /* told meanwhile: then it has ended */
    if (reason) *reason = join.reason;
    return 0;
}
