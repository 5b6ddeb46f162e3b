/* Cleanups of processes, and weft_defer. */
#include "fiber/cleanup.h"

#include "fiber/ending.h"
#include "fiber/upcall.h"
#include "life/spawn.h"
#include "life/ties.h"

void cleanup_push(struct proc *proc, struct cleanup *cleanup) {
    struct fiber *fiber = fiber_of(proc);
    cleanup->next = fiber->cleanups;
    fiber->cleanups = cleanup;
    proc->extras |= PROC_FAREWELL;
}

void cleanup_pop(struct proc *proc, struct cleanup *cleanup) {
    struct fiber *fiber = fiber_of(proc);
    WEFT_ENSURE(fiber->cleanups == cleanup, "a cleanup is taken off out of order");
    fiber->cleanups = cleanup->next;
}

void cleanup_remove(struct proc *proc, struct cleanup *cleanup) {
    struct cleanup **at = &fiber_of(proc)->cleanups;
    while (*at && *at != cleanup)
        at = &(*at)->next;
    if (*at) *at = cleanup->next;
}

static void cleanup_run_newest(struct fiber *fiber) {
    struct cleanup *cleanup = fiber->cleanups;
    fiber->cleanups = cleanup->next; /* C1 */
    cleanup->run(cleanup->arg);
}

/* Whether a cleanup lies between the two addresses. */
static bool cleanup_within(const struct fiber *fiber, uintptr_t low, uintptr_t high) {
    for (const struct cleanup *each = fiber->cleanups; each; each = each->next)
        if ((uintptr_t)each >= low && (uintptr_t)each < high) return true;
    return false;
}

void cleanup_run_within(struct proc *proc, uintptr_t low, uintptr_t high) {
    while (cleanup_within(fiber_of(proc), low, high))
        cleanup_run_newest(fiber_of(proc));
}

void cleanup_run(struct proc *proc, bool returned) {
    struct fiber *fiber = fiber_of(proc);
    fiber->shields |= FIBER_DYING; /* C2; for good, since the process ends */
    while (fiber->cleanups) {
        struct cleanup *cleanup = fiber->cleanups;
        if (returned && cleanup->pair) WEFT_MISUSE(cleanup->pair, "missing when the process's function returned", "call it before");
        cleanup_run_newest(fiber);
    }
}

void cleanup_call(struct proc *proc, struct cleanup *cleanup, int code) {
    struct fiber *fiber = fiber_of(proc);
    unsigned before = fiber->shields;
    int ending = fiber->ending;
    cleanup_remove(proc, cleanup);
    fiber->ending = fiber_is_condemned(proc) ? REASON_CONDEMNED : code; /* as weft_exit */
    fiber->shields |= FIBER_DYING;
    cleanup->run(cleanup->arg);
    fiber->shields = before;
    fiber->ending = ending;
}

int cleanup_reason(struct worker *worker) {
    struct proc *proc = worker->current;
    int code = fiber_of(proc)->ending;
    bool condemned = state_condemned(&proc->state) && (code == 0 || code == REASON_CONDEMNED); /* as proc_leave sees it */
    return condemned ? ties_condemned(worker->runtime, proc) : code;
}

/* ---- around functions of the program ---------------------------------------------------------------------------------- */

_Static_assert(sizeof(struct cleanup) <= sizeof(struct guard), "the guard has room");

void guard_begin(struct guard *guard, struct proc *proc, void (*undo)(void *arg), void *arg) {
    struct cleanup *cleanup = (struct cleanup *)guard;
    if (!proc) return;
    *cleanup = (struct cleanup){.run = undo, .arg = arg};
    cleanup_push(proc, cleanup);
}

/* Cleanups that the function has deferred stay. */
void guard_end(struct guard *guard, struct proc *proc) {
    if (proc) cleanup_remove(proc, (struct cleanup *)guard);
}

/* ---- weft_defer: in memory of its own --------------------------------------------------------------------------------- */

struct deferred {
    struct cleanup cleanup;
    void (*run)(void *arg);
    void *arg;
};

static void deferred_free(struct deferred *deferred) { pool_give(&worker_here()->local.blocks, 0, deferred); }

static void deferred_run(void *arg) {
    struct deferred deferred = *(struct deferred *)arg;
    struct upcall way = {.strict = "weft_defer"};
    deferred_free(arg);
    upcall(fiber_of(worker_here()->current), deferred.run, deferred.arg, &way);
    if (__builtin_expect(way.thrown != NULL, 0))
        fiber_quit_here(ending_landed(way.thrown)); /* weft_exit in there: the remaining cleanups are called (C1) */
}

int weft_defer(void (*run)(void *arg), void *arg) {
    _Static_assert(sizeof(struct deferred) <= POOL_LEAST, "the smallest block");
    struct worker *worker = fiber_worker("weft_defer");
    struct deferred *deferred = pool_take(&worker->local.blocks, 0);
    if (!deferred) return WEFT_ENOMEM;
    *deferred = (struct deferred){{.run = deferred_run, .arg = deferred}, run, arg};
    cleanup_push(worker->current, &deferred->cleanup);
    fiber_refused(worker); /* counts, and ends it late: it may have more to defer that belongs together */
    return 0;
}

void weft_undefer(bool run) {
    struct proc *proc = fiber_worker("weft_undefer")->current;
    struct cleanup *newest = fiber_of(proc)->cleanups;
    if (!newest || newest->run != deferred_run)
        WEFT_REFUSE("weft_undefer", "nothing was deferred here", "pair it with a weft_defer, inside out with scopes");
    cleanup_pop(proc, newest);
    if (run) deferred_run(newest);
    else deferred_free((struct deferred *)newest);
}
