/* The timers of one worker: armed and cancelled by any thread, run by the thread that first finds some due.
 *
 *   operation              caller
 *   timers_init, _destroy  one thread, before it is shared and after
 *   timers_arm, _unmoved   the thread that owns the timer (see timer.h); usually the worker's own, for its own `timers`
 *   timers_moved           any thread, no lock
 *   timers_cancel, _wait   any thread that the arming happens before, one at a time for a timer
 *   timers_hold, _remove   the same, in two steps, by several threads at a time: handle.h
 *   timers_run             any thread: the owner, a thief, sysmon
 *   timer_done             the runner: the thread that got the timer from timers_run, once
 *   timers_next            any thread, no lock
 *   timers_move            any thread, but one move at a time: it holds two locks
 *
 * Nothing here wakes a process or worker, reads a clock, or allocates: timers_run returns a list, timers_arm a verdict.
 *
 *   the user (waits)                                  the runner
 *   1  timer_init, timers_arm                         1  timers_next(any) <= now: list = timers_run(any, now)
 *      true: wake the thread that sleeps until then   2  for each: read `next`, wake its user, timer_done
 *   2  park                                           3  again, until timers_next(any) > now
 *   3  awake, for whatever reason: timers_cancel_wait
 *      true: it did not fire; false: it did
 *
 * T1  While `place` is a timers, that timers' lock guards the timer. Only its holder changes `place` to something else.
 * T2  A timer is handed out at most once for each arming, and not after a cancel that returned true.
 * T3  A cancel that returned false has found TAKEN or DONE. The runner may still be reading while it is TAKEN: so after
 *     false the user waits for DONE before the memory goes away. That is what timers_cancel_wait does. It waits for no
 *     more than TIMERS_BATCH wake-ups: the runner does nothing else between timers_run and timer_done.
 * T4  `next` is never later than the earliest armed timer's `when` once the arm has returned. It is earlier only after
 *     a cancel, and then timers_run at that time makes it exact.
 * T5  Lists come in the order of `when`, and of arming where that is equal; late timers come once. Timers armed after
 *     timers_run began may be earlier than those it returns. */
#ifndef WEFT_TIME_TIMERS_H
#define WEFT_TIME_TIMERS_H

#include "base/config.h"
#include "queue/spinlock.h"
#include "time/timer.h"
#include "time/wheel.h"

/* How many timers are handed out at once, and how many are moved within the wheel while the lock is held (some 100 us). */
#if WEFT_CHECK
enum { TIMERS_BATCH = 2, TIMERS_MOVES = 16 };
#else
enum { TIMERS_BATCH = 64, TIMERS_MOVES = 4096 };
#endif

#define TIMERS_MOVED ((1U << 20) - 1)

struct timers {
    /* Read by all threads all the time, so on a cache line of its own: the lock's is written at every arm. */
    _Alignas(CONFIG_CACHE_LINE) atom_u64 next;
    atom_u32 moved; /* how often all timers were moved away; written under the lock, wraps around after TIMERS_MOVED */
    /* Under the lock. */
    _Alignas(CONFIG_CACHE_LINE) struct spinlock lock;
    struct wheel wheel;
};

/* `now` need not be exact; it saves work. The struct must outlive every cancel of a timer that was in it, also of
 * one that was moved away. */
void timers_init(struct timers *timers, uint64_t now);
void timers_destroy(struct timers *timers); /* none may be armed */

/* Arms a timer that the caller owns and that is not armed: fresh from timer_init, cancelled, DONE, or just handed to
 * the caller by timers_run (then there is no timer_done). `when` may be past; with SYS_FOREVER it never fires. True:
 * timers_next is earlier than before. */
bool timers_arm(struct timers *own, struct timer *timer, uint64_t when);

/* The same, unless all that were armed here have been moved away since timers_moved said `moved`. False: they have, and it is not armed.
 * `earlier`: as what timers_arm returns. */
bool timers_arm_unmoved(struct timers *at, uint32_t moved, struct timer *timer, uint64_t when, bool *earlier);
static inline uint32_t timers_moved(struct timers *any) {
    return atom_load_rlx(&any->moved);
} /* rlx: a number; timers_arm_unmoved looks again */

/* True: it will not fire and is the caller's again. False: it is being handed out, or was (T3). */
bool timers_cancel(struct timer *timer);
/* The same, and the timer is the caller's in both cases. */
bool timers_cancel_wait(struct timer *timer);

/* Where it is; if TIMER_IS_IN that, its lock is held: the caller removes the timer, or not, and drops the lock. */
struct timers *timers_hold(struct timer *timer);
void timers_remove(struct timers *in, struct timer *timer);

/* Up to TIMERS_BATCH timers that are due at `now`, linked by `next`, each TAKEN. NULL when none is due. Also NULL, and with
 * timers_next not after `now`, when it has just moved thousands of timers in the wheel and there are more: the caller may do
 * something else first, and so may threads that wait for the lock. Worth calling when timers_next says so. */
struct timer *timers_run(struct timers *any, uint64_t now);

/* Moves all that are armed in `from` to `to`, as when a worker goes away, and counts that. True: timers_next(to) is earlier than
 * before. */
bool timers_move(struct timers *to, struct timers *from);

/* No timer is due before this; SYS_FOREVER when none is armed (T4). */
static inline uint64_t timers_next(struct timers *any) {
    /* rlx: a hint about when to look; timers_run looks again under the lock. A sleeper that must not miss a timer armed
     * meanwhile has its own pair of fences (queue/idle.h: the arming is the work that is published). */
    return atom_load_rlx(&any->next);
}

#endif
