/* Timer events: timers with a function to call when they are due. Each worker has its own timers; other workers and sysmon fire them
 * while it is busy. */
#ifndef WEFT_SCHED_TIMER_EVENT_H
#define WEFT_SCHED_TIMER_EVENT_H

#include "sched/sched.h"

/* Embedded in whatever waits. */
struct timer_event {
    struct timer timer;
    /* Called when the timer is due: on any worker's thread, with that worker as `self` (NULL on sysmon's). The owner waits for its
     * return. */
    void (*ring)(struct local *local, struct worker *self, struct timer_event *event);
    bool disposes; /* `ring` itself disposes of the timer: it arms it again, or reuses its memory */
};

static inline void timer_event_init(struct timer_event *event, void (*ring)(struct local *, struct worker *, struct timer_event *)) {
    timer_init(&event->timer);
    event->ring = ring;
    event->disposes = false;
}

/* By the worker's own thread. */
static inline void timer_event_arm(struct worker *own, struct timer_event *event, uint64_t when) {
    timers_arm(&own->timers, &event->timer, when);
}
/* By any thread, into the timers of `at`, which is woken if it sleeps past `when`; `self` is the calling thread's worker, or NULL. */
void timer_event_arm_at(struct runtime *runtime, struct worker *self, struct worker *at, struct timer_event *event, uint64_t when);
/* The same unless that worker's timers have been moved away since timers_moved said `moved`. False: they have, and it is not armed. */
bool timer_event_arm_unmoved(struct runtime *runtime, struct worker *self, struct worker *at, uint32_t moved, struct timer_event *event,
                             uint64_t when);
/* The same into the timers of `self`, or if that is NULL into the first worker's. */
void timer_event_arm_any(struct runtime *runtime, struct worker *self, struct timer_event *event, uint64_t when);
/* By any thread: afterwards it will not fire, and is not being fired. True: it did not fire. */
static inline bool timer_event_cancel(struct timer_event *event) { return timers_cancel_wait(&event->timer); }

/* Fires the timers of `of` that are due, on `self`, but no more than TIMERS_BATCH: each makes a process ready, and those must not starve
 * processes that wait for other things. They fire in order, and so one thread at a time: while another thread fires them, nothing is
 * done here. True: some fired, and there may be more. */
bool timer_events_run(struct worker *self, struct worker *of);
/* The same for the worker's own, when it has nothing else to run: not before its rest is over (timer_events_bedtime). */
bool timer_events_run_rested(struct worker *own);
/* The same for those that were due at `now`, with a `local` that need not be a worker's (then `self` is NULL). Returns how many fired. */
uint32_t timer_events_ring(struct local *local, struct worker *self, struct worker *of, uint64_t now);

/* Until when the worker, which has nothing to do, may sleep: until its next timer is due. But to sleep and wake up costs as much as a
 * hundred timers. While several are due each time it has nothing else to run, the worker rests between: 16 us, then longer if still several are
 * due each time, and up to a millisecond while many are. Single timers are not late. It rests whichever thread wakes it: two workers that woke each
 * other for every few timers spent 5 us on a sleeper. */
uint64_t timer_events_bedtime(struct worker *own);

/* After another thread armed a timer there: if the worker has no thread any more, its timers move to the first worker. */
void worker_keep_timers(struct runtime *runtime, struct worker *worker);
/* Under `moving`: the first worker takes over the timers of one that has no thread any more. */
void worker_pass_timers(struct runtime *runtime, struct worker *gone);

#endif
