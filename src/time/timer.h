/* One timer: it lies inside the object that waits for it, often on the stack of a parked process, and is never allocated.
 *
 * Its `place` says where it is, and is the whole handshake between the process or object that waits (the user), the thread
 * that cancels it, and the thread that runs due timers (the runner: the worker's own thread, a thief, sysmon):
 *
 *     FREE ──arm──> in some `struct timers` ──timers_run──> TAKEN ──timer_done──> DONE
 *       ^                │         ^                          │                    │
 *       └────cancel──────┘         └──────────────arm─────────┴────────────────────┘
 *
 *   place                  owner of the memory
 *   FREE, DONE             the user's alone: it may go away, or be armed again
 *   a `struct timers *`    the lock of that struct guards all of the timer; it is in a list
 *   TAKEN                  the runner's: it reads `next` and the object around the timer, and no other thread touches it.
 *                          The runner ends this by timer_done, or by arming the timer again (periodic ones)
 *   NEVER                  armed for SYS_FOREVER: the user's, in no list
 *
 * So a user must not free the timer before it has seen FREE or DONE: see timers_cancel_wait. */
#ifndef WEFT_TIME_TIMER_H
#define WEFT_TIME_TIMER_H

#include "base/assert.h"
#include "base/atom.h"
#include "sys/sys.h"

struct timers;

struct timer {
    struct timer *next; /* in a slot of the wheel, or in the list that timers_run returns */
    struct timer *prev;
    uint64_t when;                 /* nanoseconds of sys->now; the user reads it while it owns the timer */
    ATOM_PTR(struct timers) place; /* a timers, or one of the values below */
    /* The wheel's. */
    struct timer *ahead; /* a timer further on in its list, perhaps freed: for prefetching only, never dereferenced */
    uint32_t serial;     /* in what order timers were armed */
    uint16_t slot;       /* which one it is in */
    uint16_t gap;        /* how many places before it the slot's `lag` was when it was added */
};
_Static_assert(sizeof(struct timer) <= 48, "timers lie on small stacks");

#define TIMER_FREE ((struct timers *)0)
#define TIMER_TAKEN ((struct timers *)1)
#define TIMER_DONE ((struct timers *)2)
#define TIMER_NEVER ((struct timers *)3)

/* Is it armed, in the wheel of a `struct timers`? */
#define TIMER_IS_IN(place) ((uintptr_t)(place) > (uintptr_t)TIMER_NEVER)

static inline void timer_init(struct timer *timer) { atom_store_rlx(&timer->place, TIMER_FREE); } /* not shared yet */

/* The runner has read all it needs, `next` included, and has woken the user: it touches the timer no more. To be called
 * last, after the wake-up: until then the user waits, which keeps the object around the timer alive too. */
static inline void timer_done(struct timer *timer) {
    /* rlx, asserted only: the runner itself (through timers_run) wrote it. */
    WEFT_ASSERT(atom_load_rlx(&timer->place) == TIMER_TAKEN, "timer %p was not handed out", (void *)timer);
    /* rel: pairs with the load in timers_hold; without it the user could give the
     * memory another use while the runner still reads. */
    atom_store_rel(&timer->place, TIMER_DONE);
}

/* The next time of a periodic timer that was due at `when`: the first of when + period, when + 2 period … that lies
 * after `now`. Missed ones are left out and the phase is kept. SYS_FOREVER when there is none. */
static inline uint64_t timer_next_period(uint64_t when, uint64_t period, uint64_t now) {
    WEFT_ASSERT(period > 0, "a period of 0 never comes to an end");
    uint64_t missed = now > when ? (now - when) / period : 0;
    /* In two steps: when + missed * period is at most now, so that only the last addition can overflow. */
    uint64_t last = when + missed * period;
    return period < SYS_FOREVER - last ? last + period : SYS_FOREVER;
}

#endif
