/* Waiting for a child program: the kernel gives a descriptor (pidfd) that becomes ready when the child ends; the process waits for that. */
#include "io/file_call.h"
#include "os/owned.h"
#include "sched/heed.h"
#include "sys/deadline.h"

#include <weft/child.h>
#include <weft/time.h>

#include <poll.h>
#include <signal.h>

enum { CHILD_LOOK_FIRST = 100 * 1000, CHILD_LOOK_LAST = 10 * 1000 * 1000 };

enum { CHILD_LIVES = 1 };

/* 0 when it has ended, CHILD_LIVES when it has not. The call does not block, so it works at the limit of threads too. */
static int child_look(pid_t child, int *status, bool ends_group) {
    struct proc *proc = io_caller("weft_waitpid");
    if (proc && fiber_is_cancelled(proc)) return WEFT_ECANCELED;
    struct owned *owned = owned_find(proc, child);
    if (ends_group || (owned && owned->group)) {
        int ended = sys->file->child_peek(child);
        if (ended == 0) return CHILD_LIVES;                           /* nor is it reaped if it ends just now: what it leaves would go on */
        if (ended > 0) sys->file->child_signal(child, SIGKILL, true); /* what it has left (owned.h, N1) */
    }
    int ended = -EINTR;
    while (ended == -EINTR)
        ended = sys->file->child_reap(child, status);
    if (ended > 0 && owned) owned_over(proc, owned);
    return ended > 0 ? 0 : ended == 0 ? CHILD_LIVES : ended;
}

/* Without such a descriptor: checks now and then. The process sleeps in between, and no thread blocks. */
static int child_look_again(pid_t child, int *status, uint64_t deadline, bool ends_group) {
    for (uint64_t pause = CHILD_LOOK_FIRST;; pause = pause * 2 < CHILD_LOOK_LAST ? pause * 2 : CHILD_LOOK_LAST) {
        int error = child_look(child, status, ends_group);
        if (error != CHILD_LIVES) return error;
        if (deadline <= sys->now()) return WEFT_ETIMEDOUT;
        uint64_t until = weft_in(pause);
        error = weft_sleep_until(until < deadline ? until : deadline);
        if (error) return error;
    }
}

int child_wait(pid_t child, int *status, uint64_t deadline, bool ends_group) {
    int unwanted;
    if (!status) status = &unwanted;
    if (child <= 0) return WEFT_EINVAL;
    int error = child_look(child, status, ends_group);
    if (error != CHILD_LIVES) return error;
    if (deadline <= sys->now()) {
        deadline_check(deadline, "weft_waitpid");
        return WEFT_ETIMEDOUT;
    }
    int descriptor = sys->file->child_open(child);
    if (descriptor < 0) return child_look_again(child, status, deadline, ends_group);
    struct proc *proc = fiber_whole_begin();       /* it has the descriptor */
    error = child_look(child, status, ends_group); /* if it was reaped elsewhere meanwhile, the descriptor may be another program's */
    bool lives = error == CHILD_LIVES;
    if (lives) error = io_wait(descriptor, POLLIN, deadline, "weft_waitpid");
    sys->file->close(descriptor);
    fiber_whole_end(proc);
    return lives && !error ? child_look_again(child, status, deadline, ends_group) : error; /* at once, unless another caller waits too */
}

int weft_waitpid(pid_t child, int *status, uint64_t deadline) {
    heed(worker_here());
    return child_wait(child, status, deadline, false);
}
