/* Child programs that end with their processes: see owned.h. Also signalling and ending a child. */
#include "os/owned.h"

#include "sched/heed.h"

#include <weft/child.h>
#include <weft/time.h>

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* ---- records ---------------------------------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(struct owned) <= POOL_LEAST, "the smallest block");

/* The owner ends. N1: only it reaps the child. */
static void owned_abandon(void *arg) {
    struct owned *owned = arg;
    pid_t pid = owned->pid;
    sys->file->child_signal(pid, SIGKILL, owned->group);
    owned_free(owned);
    weft_waitpid(pid, NULL, WEFT_FOREVER);
}

struct owned *owned_new(bool group) {
    struct owned *owned = pool_take(&worker_here()->local.blocks, 0);
    if (owned) *owned = (struct owned){.cleanup = {.run = owned_abandon, .arg = owned}, .group = group};
    return owned;
}

void owned_free(struct owned *owned) { pool_give(&worker_here()->local.blocks, 0, owned); }

void owned_begin(struct owned *owned, pid_t pid) {
    owned->pid = pid;
    cleanup_push(worker_here()->current, &owned->cleanup);
}

struct owned *owned_find(struct proc *proc, pid_t pid) {
    struct cleanup *cleanup = proc ? fiber_of(proc)->cleanups : NULL;
    while (cleanup && !(cleanup->run == owned_abandon && ((struct owned *)cleanup)->pid == pid))
        cleanup = cleanup->next;
    return (struct owned *)cleanup;
}

void owned_over(struct proc *proc, struct owned *owned) {
    cleanup_remove(proc, &owned->cleanup);
    owned_free(owned);
}

/* ---- signals ---------------------------------------------------------------------------------------------------------------------- */

static int child_signal(pid_t child, int number) {
    if (child <= 0) return WEFT_EINVAL;
    int error = sys->file->child_signal(child, number, true);
    if (error == -ESRCH) error = sys->file->child_signal(child, number, false); /* it leads no group */
    return error == -ESRCH ? WEFT_ECHILD : error;
}

int weft_child_signal(pid_t child, int number) {
    heed(worker_here());
    return child_signal(child, number);
}

/* `fiber`: of the calling process, which goes on waiting whatever happens to it; NULL: the caller is none. Only if it is killed, or was before, there is no grace. */
static int child_end_waiting(struct fiber *fiber, pid_t child, uint64_t grace, int *status) {
    unsigned shields = fiber ? fiber->shields++ : 0;
    if (fiber && fiber_is_killed(fiber->proc)) grace = 0; /* in what it has deferred, where nothing ends a wait */
    int error = grace ? child_wait(child, status, weft_in(grace), true) : WEFT_ETIMEDOUT;
    if (fiber) fiber->shields = shields + FIBER_KEPT;
    if (error == WEFT_ETIMEDOUT || error == WEFT_ECANCELED) {
        child_signal(child, SIGKILL);
        error = child_wait(child, status, WEFT_FOREVER, true);
    }
    if (fiber) fiber->shields = shields;
    return error;
}

int weft_child_end(pid_t child, uint64_t grace, int *status) {
    if (child <= 0) return WEFT_EINVAL;
    if (grace) child_signal(child, SIGTERM);
    struct proc *proc = fiber_whole_begin();
    int error = child_end_waiting(proc ? fiber_of(proc) : NULL, child, grace, status);
    fiber_whole_end(proc);
    return error;
}
