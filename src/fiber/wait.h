/* Waiting for one of several things: what somebody else does, a deadline, a cancellation.
 *
 * A process that has to wait makes a `struct wait` on its stack and leaves its address wherever somebody may come by who can end the
 * wait (a channel's list, say, under that channel's lock). Whoever comes first claims it. Threads that are not workers wait in the
 * same way, asleep on a futex.
 *
 *   operation              who may call
 *   wait_begin             whoever is going to wait
 *   wait_for               the same, once its address is everywhere it has to be
 *   wait_claim             anyone who can be sure that the wait is still there: under the lock of the list it is in
 *   wait_wake              whoever claimed it, afterwards, best with all locks dropped
 *
 *   W1  A wait is claimed at most once: by a waker, by its deadline or by the waiter itself, which was cancelled.
 *   W2  wait_for returns after the claim, and then nobody but lists of its own knows the wait: the waiter takes itself out of
 *       those where nobody found it, under their locks.
 *   W3  After wait_claim a waker of the same runtime does not touch the wait again, since it may be gone. Any other is waited for:
 *       the claim is marked BUSY until it has done with it. */
#ifndef WEFT_FIBER_WAIT_H
#define WEFT_FIBER_WAIT_H

#include "fiber/fiber.h"
#include "sched/alarm.h"

enum {
    WAIT_PENDING = 0,
    /* 1 and up: why it was claimed, as the waker says. */
    WAIT_LATE = 0x7ffffffe,      /* by its deadline */
    WAIT_CANCELED = 0x7fffffff,  /* by the waiter itself */
};
#define WAIT_BUSY 0x80000000u

struct wait {
    atom_u32 claimed;
    struct runtime *runtime;
    struct proc *proc;    /* NULL: a thread that is not a worker */
    struct parker parker; /* such a thread's */
    struct alarm alarm;
};

/* For wait_wake, kept outside of the wait. */
struct wake {
    struct wait *wait;
    struct proc *proc;
    struct runtime *runtime;
};

void wait_begin(struct wait *wait);
/* Waits until the wait is claimed; the waker's number (1 and up), or WEFT_ETIMEDOUT, WEFT_ECANCELED. Not to be called from a step
 * process, which must never wait: aborts, naming `call`. A deadline that has passed already is noticed at once. */
int wait_for(struct wait *wait, uint64_t deadline, const char *call);

/* True: the wait is the caller's, who now has to wake the waiter. `why` is 1 or more. */
bool wait_claim(struct wait *wait, uint32_t why, struct wake *wake);
void wait_wake(const struct wake *wake);

#endif
