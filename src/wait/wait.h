/* Waiting for the first of several events: a waker's action, a deadline, a cancellation.
 *
 * A process that has to wait makes a `struct wait` on its stack and leaves its address in every place where a waker looks (a channel's
 * list, say, under that channel's lock). The first waker claims it. Threads that are not workers wait in the same way, parked on a
 * futex.
 *
 *   operation              caller
 *   wait_begin             the waiter
 *   wait_for               the waiter, once it has left the address in all these places
 *   wait_claim             any thread that knows that the wait still exists: it holds the lock of a list that the wait is in
 *   wait_wake, _inside     the waker that claimed it, soon afterwards, with all locks dropped; it must not wait in between
 *
 *   W1  A wait is claimed at most once: by a waker, by its deadline or by the waiter itself when it was cancelled,
 *       or has found what it looks for itself.
 *   W2  wait_for returns after the claim. Then only the lists in which no waker has found the wait still hold it: the waiter removes
 *       itself from those, under their locks.
 *   W3  A claim is marked BUSY until wait_wake, and the waiter does not go on before the mark is cleared, whatever else woke it. So
 *       from the claim on the waker may use what the waiter left with the wait (copy an element, say). And when the waiter goes on, the
 *       waker has dropped the lock that it claimed under: a waiter that was the last user of an object may free the object.
 *   W4  A waker of the same runtime clears the mark first and wakes then: the process's block stays valid memory. Any other waker wakes
 *       first, since the waiter's runtime, or its thread, may be gone once the mark is cleared. */
#ifndef WEFT_WAIT_WAIT_H
#define WEFT_WAIT_WAIT_H

#include "fiber/pack.h"
#include "sched/timer_event.h"

enum {
    WAIT_PENDING = 0,
    /* 1 and up: the waker's reason for the claim. */
    WAIT_LATE = 0x7ffffffe,     /* by its deadline */
    WAIT_CANCELED = 0x7fffffff, /* by the waiter itself */
};
#define WAIT_BUSY 0x80000000u

struct wait {
    atom_u32 claimed;
    struct runtime *runtime;
    struct proc *proc;    /* NULL: a thread that is not a worker */
    const void *about;    /* the object it waits for, shown in dumps; NULL: none. Set by the caller of wait_for */
    struct parker parker; /* of a thread that is not a worker */
    struct timer_event timer;
};

/* The waker's record of a claim, until the wake-up. */
struct wake {
    struct wait *wait;
    uint32_t why;
};

void wait_begin(struct wait *wait);
/* The same by a process that knows where it runs, for a wait that no timer is armed for but by wait_for and its like. */
static inline void wait_begin_in(struct wait *wait, struct runtime *runtime, struct proc *proc) {
    atom_store_rlx(&wait->claimed, WAIT_PENDING); /* rlx: no other thread knows it yet */
    wait->runtime = runtime;
    wait->proc = proc;
    wait->about = NULL;
}
/* Waits until the wait is claimed. Returns the waker's reason (1 and up), or WEFT_ETIMEDOUT, WEFT_ECANCELED. In a step process, which
 * must never wait, it aborts, naming `call`. With a deadline that has passed already it does not park. */
int wait_for(struct wait *wait, uint64_t deadline, const char *call);
/* The same; the waiter also looks for what no waker claims the wait for: messages in its own mailbox. `look` is asked before each sleep, and
 * has found the mailbox empty when it returns 0; otherwise it returns the reason that the waiter claims the wait with, unless a waker was
 * first. Then nothing that it has found must have been taken. With `look` NULL it is wait_for; else the caller is a stackful process,
 * and has made sure of that. */
typedef uint32_t wait_look(void *arg);
int wait_for_any(struct wait *wait, uint64_t deadline, const char *call, wait_look *look, void *arg) __attribute__((noinline));
/* The waiter claims its own wait, with a reason. False: a waker was first. */
static inline bool wait_claim_own(struct wait *wait, uint32_t why) {
    uint32_t pending = WAIT_PENDING;
    return atom_cas_rlx_rlx(&wait->claimed, &pending, why); /* rlx: as in wait_claim; only this thread goes on with what it means */
}
/* At the beginning of a call that will wait: aborts, naming it, where wait_for would: in a step process. */
void wait_check(const char *call);
/* The error of a call that cannot be done at once and has no time left (it polls, or its deadline has passed): WEFT_ECANCELED in a
 * stackful process that is cancelled and not shielded, else WEFT_ETIMEDOUT. The one rule of all calls with a deadline
 * (weft/stackful.h): a process that only polls learns of its cancellation too. */
int wait_late(void);

/* True: the caller has claimed the wait, and must now wake the waiter. `why` is 1 or more. */
bool wait_claim(struct wait *wait, uint32_t why, struct wake *wake);
void wait_wake(const struct wake *wake);
/* The same by a worker that is inside already (local_enter): it polls, or tells of an end. */
void wait_wake_inside(const struct wake *wake);

/* The claim, once it is no longer BUSY; 0: there is none yet. */
static inline uint32_t wait_over(struct wait *wait) {
    struct spin spin = spin_begin();
    uint32_t claimed;
    while ((claimed = atom_load_acq(&wait->claimed)) & WAIT_BUSY) /* acq: pairs with the rel that ends BUSY (W3) */
        spin_wait(&spin);
    return claimed;
}
/* The waiter gives up, unless a waker has claimed the wait first: then that claim is the result. */
static inline uint32_t wait_give_up(struct wait *wait, uint32_t why) { return wait_claim_own(wait, why) ? why : wait_over(wait); }

/* One sleep of wait_for_any without a deadline, in the short way of weft_recv: by a process that is not cancelled, whose last look has found nothing, and
 * whose call has begun with fiber_check. The claim; 0: there is none, and the waiter looks into its mailbox. */
static inline __attribute__((always_inline)) uint32_t wait_for_mail(struct wait *wait, struct worker *worker, struct proc *proc,
                                                                    const char *call) {
    fiber_may_wait(proc, call);
    fiber_waits(proc, call, wait->about);
    local_begin(&worker->local);
    worker = fiber_leave_for_mail(worker, proc, NULL);
    local_leave(&worker->local);
    return wait_over(wait);
}

/* Wakes the process, which then looks at its wait. */
#if WEFT_CHECK /* waits without run queues: check/scenarios/small_fiber.c */
void wait_awake(struct runtime *runtime, struct worker *self, struct proc *proc);
#else
static inline void wait_awake(struct runtime *runtime, struct worker *self, struct proc *proc) { proc_wake(runtime, self, proc); }
#endif

#endif
