/* Timers with something to do. Each worker has its own timers; others run them too when they come by and the worker is busy. */
#ifndef WEFT_SCHED_TIMER_EVENT_H
#define WEFT_SCHED_TIMER_EVENT_H

#include "sched/sched.h"

/* Embedded in whatever waits. */
struct timer_event {
    struct timer timer;
    /* What to do when its moment has come: on any worker's thread, with that worker as `self`. The owner waits for its return. */
    void (*ring)(struct local *local, struct worker *self, struct timer_event *event);
    bool disposes; /* ring itself says what becomes of the timer: it arms it again, or gives its memory another use */
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
/* By any thread, into the timers of `at`, which may be asleep and not know; `self` is the calling thread's worker, or NULL. */
void timer_event_arm_at(struct runtime *runtime, struct worker *self, struct worker *at, struct timer_event *event, uint64_t when);
/* The same unless that worker's timers have been moved away since timers_moved said `moved`. False: they have, and it is not armed. */
bool alarm_arm_unmoved(struct runtime *runtime, struct worker *self, struct worker *at, uint32_t moved, struct timer_event *event,
                       uint64_t when);
/* The same into those of `self`, or if that is NULL into the first worker's. */
void timer_event_arm_any(struct runtime *runtime, struct worker *self, struct timer_event *event, uint64_t when);
/* By anyone: afterwards it will not ring, and nobody is about to. True: it did not. */
static inline bool timer_event_cancel(struct timer_event *event) { return timers_cancel_wait(&event->timer); }

/* Rings those of `of`'s that are due, on `self`, but no more than TIMERS_BATCH: each makes a process ready, and those must not keep out who waits
 * for other things. In order, and so one thread at a time: while another rings them, nothing is done here. True: there were some, and there
 * may be more. */
bool timer_events_run(struct worker *self, struct worker *of);
/* The same of those that were due at `now`, with a `local` that need not be a worker's (then `self` is NULL). How many there were. */
uint32_t timer_events_ring(struct local *local, struct worker *self, struct worker *of, uint64_t now);

/* Until when the worker, which has nothing to do, may sleep: until its next timer is due. But to sleep and get up costs as much as a
 * hundred timers. While there are so many that several are due each time it gets up, it rests between: 16 us, then longer if that
 * does not change it, and up to a millisecond while many are due each time. Single ones are not late. */
uint64_t timer_events_bedtime(struct worker *own);

/* After a timer was armed there by another: if the worker has no thread any more, its timers are the first worker's. */
void worker_keep_timers(struct runtime *runtime, struct worker *worker);
/* Under `moving`: the first worker takes over the timers of one that has no thread any more. */
void worker_pass_timers(struct runtime *runtime, struct worker *gone);

#endif
