/* The timers of one worker, a wheel under a lock: see time/timers.h. */
#include "time/timers.h"

#include "base/spin.h"

#include <stddef.h>

void timers_init(struct timers *timers, uint64_t now) {
    spinlock_init(&timers->lock);
    wheel_init(&timers->wheel, now);
    atom_store_rlx(&timers->next, SYS_FOREVER); /* not shared yet, both */
    atom_store_rlx(&timers->moved, 0);
}

void timers_destroy(struct timers *timers) {
    WEFT_ENSURE(timers->wheel.levels == 0, "timers %p go away while some are armed", (void *)timers);
}

/* Sets `next`; under the lock. Stored only when it changes: other threads read it all the time. */
static void timers_announce(struct timers *timers, uint64_t bound) {
    /* rlx, both: a hint (timers_next); the load reads what a holder of the lock wrote. */
    if (atom_load_rlx(&timers->next) != bound) atom_store_rlx(&timers->next, bound);
}

/* Under the lock. */
static bool timers_link(struct timers *own, struct timer *timer, uint64_t when) {
    wheel_add(&own->wheel, timer);
    /* rlx: a thread that reads it takes the lock, and there sees the timer linked (T1). */
    atom_store_rlx(&timer->place, own);
    /* rlx: written under the lock only; T4. */
    bool earlier = when < atom_load_rlx(&own->next);
    if (earlier) atom_store_rlx(&own->next, when);
    return earlier;
}

/* False: it never fires, and need not be linked. */
static bool timers_prepare(struct timer *timer, uint64_t when) {
    /* rlx, asserted only: the caller owns the timer, so no other thread writes it. */
    WEFT_ASSERT(!TIMER_IS_IN(atom_load_rlx(&timer->place)), "timer %p is armed already", (void *)timer);
    timer->when = when;
    if (when == SYS_FOREVER) {
        /* rel: pairs with the load in timers_hold; a runner that arms again is done with the timer here. */
        atom_store_rel(&timer->place, TIMER_NEVER);
        return false;
    }
    return true;
}

bool timers_arm(struct timers *own, struct timer *timer, uint64_t when) {
    if (!timers_prepare(timer, when)) return false;
    spinlock_take(&own->lock);
    bool earlier = timers_link(own, timer, when);
    spinlock_drop(&own->lock);
    return earlier;
}

bool timers_arm_unmoved(struct timers *at, uint32_t moved, struct timer *timer, uint64_t when, bool *earlier) {
    *earlier = false;
    if (!timers_prepare(timer, when)) return true;
    spinlock_take(&at->lock);
    bool unmoved = atom_load_rlx(&at->moved) == moved; /* recheck; rlx: under the lock */
    if (unmoved) *earlier = timers_link(at, timer, when);
    spinlock_drop(&at->lock);
    return unmoved;
}

struct timers *timers_hold(struct timer *timer) {
    for (;;) {
        /* acq: pairs with timer_done (DONE), and with an arm that takes no lock (NEVER): the runner's reads happen before
         * the caller reuses the memory. And with timers_run (TAKEN). */
        struct timers *in = atom_load_acq(&timer->place);
        if (!TIMER_IS_IN(in)) return in;
        spinlock_take(&in->lock);
        /* rlx: it changes under this lock only (T1); it may have been moved before we took the lock. */
        if (atom_load_rlx(&timer->place) == in) return in; /* recheck */
        spinlock_drop(&in->lock);
    }
}

void timers_remove(struct timers *in, struct timer *timer) {
    atom_store_rlx(&timer->place, TIMER_FREE); /* rlx: only the caller reads it from now on */
    uint64_t bound = wheel_remove(&in->wheel, timer);
    /* rlx: written under the lock only. If `next` stood for this timer or its neighbours, it may rise (T4). */
    if (bound <= atom_load_rlx(&in->next)) timers_announce(in, wheel_bound(&in->wheel));
}

/* Cancels it if it is armed: FREE. Else where it was found: TAKEN or DONE. */
static struct timers *timers_try_cancel(struct timer *timer) {
    struct timers *in = timers_hold(timer);
    if (in == TIMER_TAKEN || in == TIMER_DONE) return in;
    if (TIMER_IS_IN(in)) {
        timers_remove(in, timer);
        spinlock_drop(&in->lock);
    } else if (in == TIMER_NEVER) {
        atom_store_rlx(&timer->place, TIMER_FREE); /* rlx: as in timers_remove */
    }
    return TIMER_FREE;
}

bool timers_cancel(struct timer *timer) { return timers_try_cancel(timer) == TIMER_FREE; }

bool timers_cancel_wait(struct timer *timer) {
    struct spin spin = spin_begin();
    struct timers *found;
    while ((found = timers_try_cancel(timer)) == TIMER_TAKEN) /* the runner is using it, and soon calls timer_done (T3) */
        spin_wait(&spin);
    return found == TIMER_FREE;
}

struct timer *timers_run(struct timers *any, uint64_t now) {
    struct timer *first = NULL, **end = &first, *timer;
    unsigned moves = TIMERS_MOVES;
    spinlock_take(&any->lock);
    for (unsigned count = 0; count < TIMERS_BATCH && (timer = wheel_pop(&any->wheel, now, &moves)); count++) {
        /* rel: pairs with the acq in timers_hold. A canceller that sees TAKEN touches nothing before DONE (T1, T3), but with an old handle it must see
         * that the memory was used again (handle_cancel). */
        atom_store_rel(&timer->place, TIMER_TAKEN);
        *end = timer;
        end = &timer->next;
    }
    *end = NULL;
    timers_announce(any, wheel_bound(&any->wheel));
    spinlock_drop(&any->lock);
    return first;
}

static void timers_place(struct timer *timer, void *to) {
    /* rlx: under both locks; a canceller that reads the new place takes the new lock, one that read the old place retries (T1). */
    atom_store_rlx(&timer->place, (struct timers *)to);
}

bool timers_move(struct timers *to, struct timers *from) {
    spinlock_take(&from->lock);
    spinlock_take(&to->lock);
    wheel_move(&to->wheel, &from->wheel, timers_place, to);
    atom_store_rlx(&from->moved, (atom_load_rlx(&from->moved) + 1) & TIMERS_MOVED); /* rlx, both: under the lock */
    uint64_t bound = wheel_bound(&to->wheel);
    /* rlx: written under the lock only. */
    bool earlier = bound < atom_load_rlx(&to->next);
    /* `to` first: a thread that reads both sees the timers in at least one of them. */
    timers_announce(to, bound);
    timers_announce(from, SYS_FOREVER);
    spinlock_drop(&to->lock);
    spinlock_drop(&from->lock);
    return earlier;
}
