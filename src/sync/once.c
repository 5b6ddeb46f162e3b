/* weft_once of weft/sync.h: a function that runs once, and the callers that wait until it has.
 *
 *   word               meaning
 *   FRESH              the function is not running
 *   RUNNING            a caller, the runner, runs it
 *   RUNNING | QUEUE    and other callers may wait
 *   DONE               it has succeeded; final
 *
 *   O1  Without QUEUE the word changes in one step. With it, under the lock only.
 *   O2  A waiter sets QUEUE and enters the list in one critical section of the lock, so the runner finds it there.
 *   O3  A runner that fails makes the first waiter the runner; without waiters the word becomes FRESH. */
#include "fiber/held_locks.h"
#include "fiber/upcall.h"
#include "wait/waiters.h"

#include <weft/sync.h>

enum { ONCE_FRESH = 0, ONCE_RUNNING = 1, ONCE_QUEUE = 2, ONCE_DONE = 4 };
enum { ONCE_WOKEN_DONE = 1, ONCE_WOKEN_TO_RUN };

struct once {
    atom_u32 word;
    struct lock lock;
    struct waiters waiting;
};
_Static_assert(sizeof(struct once) <= sizeof(weft_once), "the public struct has room");

static void once_wake_all(struct once *once) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&once->lock);
    atom_store_rel(&once->word, ONCE_DONE); /* rel: pairs with the acq in weft_once_do */
    for (struct waiter *waiter; (waiter = waiters_claim(&once->waiting)) != NULL;)
        wakes_add(&wakes, waiter);
    lock_drop(&once->lock);
    wakes_run(&wakes, wait_wake);
}

/* O3 */
static void once_pass_on(struct once *once) {
    lock_take(&once->lock);
    struct waiter *next = NULL;
    while (!next && once->waiting.first) {
        struct waiter *first = once->waiting.first;
        first->why = ONCE_WOKEN_TO_RUN;
        if (waiter_claim(first)) next = first;
    }
    if (!next) atom_store_rlx(&once->word, ONCE_FRESH); /* rlx: the next runner takes the lock first */
    lock_drop(&once->lock);
    if (next) waiter_wake(next);
}

static void once_over(struct once *once, int error) {
    held_lock_left(worker_here());
    uint32_t found = ONCE_RUNNING;
    /* rel: pairs with the acq in weft_once_do and once_enter, of callers that find it DONE and of the next runner. */
    if (atom_cas_rel_rlx(&once->word, &found, error ? ONCE_FRESH : ONCE_DONE)) return;
    if (error) once_pass_on(once);
    else once_wake_all(once);
}

/* The runner's process ends inside the function: as if the function had failed. */
static void once_abandoned(void *once) { once_over(once, WEFT_ECANCELED); }

static int once_run(struct once *once, int (*function)(void *), void *arg) {
    struct guard guard;
    struct worker *worker = worker_here();
    struct proc *proc = guard_process(worker);
    held_lock_entered(worker, once);
    guard_begin(&guard, proc, once_abandoned, once);
    struct upcall upcall = {0};
    int error = (int)upcall_here((uintptr_t)function, (uintptr_t)arg, 0, &upcall);
    guard_end(&guard, proc);
    once_over(once, upcall.thrown ? WEFT_ECANCELED : error); /* left by an exception: as if it had failed */
    upcall_pass_on(&upcall);
    return error;
}

/* Under the lock: the word as it was. FRESH: the caller is the runner now. RUNNING: QUEUE has been set, if `queue`. */
static uint32_t once_enter(struct once *once, bool queue) {
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint32_t found = atom_load_acq(&once->word); /* acq: pairs with the rel of the runner, if it is DONE, or FRESH again */
        if (found == ONCE_DONE || found & ONCE_QUEUE || (found == ONCE_RUNNING && !queue)) return found;
        /* rlx: the load above has acquired: a word that is FRESH now was FRESH then, since a runner begins under the lock. */
        if (atom_cas_rlx_rlx(&once->word, &found, found == ONCE_FRESH ? ONCE_RUNNING : ONCE_RUNNING | ONCE_QUEUE)) return found;
    }
}

static int once_wait(struct once *once, uint64_t deadline) {
    struct turn turn;
    turn_begin(&turn, once, ONCE_WOKEN_DONE);
    int why = waiters_wait(&once->waiting, &turn.waiter, &once->lock, deadline, "weft_once_do");
    if (why <= 0) lock_drop(&once->lock); /* QUEUE may stay: the runner then finds an empty list */
    return why;
}

static __attribute__((noinline)) int once_slow(struct once *once, int (*function)(void *), void *arg, uint64_t deadline) {
    lock_take(&once->lock);
    uint32_t found = once_enter(once, deadline != 0);
    if (found == ONCE_FRESH || found == ONCE_DONE || deadline == 0) {
        lock_drop(&once->lock);
        return found == ONCE_FRESH ? once_run(once, function, arg) : found == ONCE_DONE ? 0 : wait_late();
    }
    int why = once_wait(once, deadline);
    if (why <= 0) return why;
    return why == ONCE_WOKEN_TO_RUN ? once_run(once, function, arg) : 0;
}

int weft_once_do(weft_once *opaque, int (*function)(void *), void *arg, uint64_t deadline) {
    struct once *once = (struct once *)(void *)opaque;
    fiber_spend(my_worker, deadline);
    if (__builtin_expect(atom_load_acq(&once->word) == ONCE_DONE, 1)) return 0; /* acq: pairs with the rel of the runner */
    return once_slow(once, function, arg, deadline);
}
