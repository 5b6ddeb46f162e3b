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
 *   wait_wake              whoever claimed it, soon afterwards, with all locks dropped; not to wait in between
 *
 *   W1  A wait is claimed at most once: by a waker, by its deadline or by the waiter itself, which was cancelled.
 *   W2  wait_for returns after the claim, and then nobody but lists of its own knows the wait: the waiter takes itself out of
 *       those where nobody found it, under their locks.
 *   W3  A claim is marked BUSY until wait_wake, and the waiter does not go on before that mark is gone, whatever else woke it. So
 *       from the claim on the waker may use what the waiter left with the wait (copy an element, say), and when the waiter goes on
 *       the waker has dropped the lock that it claimed under: whoever waited for the last thing in an object may free the object.
 *   W4  A waker of the same runtime takes the mark off first and wakes then: the process's block stays one. Any other wakes first,
 *       since the waiter's runtime, or its thread, may be gone afterwards. */
#ifndef WEFT_WAIT_WAIT_H
#define WEFT_WAIT_WAIT_H

#include "fiber/fiber.h"
#include "sched/timer_event.h"

enum {
    WAIT_PENDING = 0,
    /* 1 and up: why it was claimed, as the waker says. */
    WAIT_LATE = 0x7ffffffe,     /* by its deadline */
    WAIT_CANCELED = 0x7fffffff, /* by the waiter itself */
};
#define WAIT_BUSY 0x80000000u

struct wait {
    atom_u32 claimed;
    struct runtime *runtime;
    struct proc *proc;    /* NULL: a thread that is not a worker */
    const void *about;    /* what it waits for, to be shown in dumps; NULL: nothing to be shown. For whoever calls wait_for to say */
    struct parker parker; /* such a thread's */
    struct timer_event timer;
};

/* From a claim to the wake-up. */
struct wake {
    struct wait *wait;
    uint32_t why;
};

void wait_begin(struct wait *wait);
/* Waits until the wait is claimed; the waker's number (1 and up), or WEFT_ETIMEDOUT, WEFT_ECANCELED. Not to be called from a step
 * process, which must never wait: aborts, naming `call`. A deadline that has passed already is noticed at once. */
int wait_for(struct wait *wait, uint64_t deadline, const char *call);
/* What a call answers that cannot be done at once and has no time left, of its own accord or because its deadline has passed:
 * WEFT_ECANCELED in a stackful process that is cancelled and not shielded, else WEFT_ETIMEDOUT. The one rule of all calls with a
 * deadline (weft/stackful.h): a process that only polls learns of its cancellation too. */
int wait_late(void);

/* True: the wait is the caller's, who now has to wake the waiter. `why` is 1 or more. */
bool wait_claim(struct wait *wait, uint32_t why, struct wake *wake);
void wait_wake(const struct wake *wake);

/* awake.c: somebody has something for the process to look at. */
#if WEFT_CHECK /* waits without run queues: check/scenarios/small_fiber.c */
void wait_awake(struct runtime *runtime, struct worker *self, struct proc *proc);
#else
static inline void wait_awake(struct runtime *runtime, struct worker *self, struct proc *proc) { proc_wake(runtime, self, proc); }
#endif

#endif
