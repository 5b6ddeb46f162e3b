/* Arming and firing timer events, and how long a worker with timers sleeps. */
#include "sched/timer_event.h"

/* Nanoseconds; powers of two times the least. */
enum { TIMER_EVENT_REST_LEAST = 16000, TIMER_EVENT_REST_FEW = 64000, TIMER_EVENT_REST_MOST = 1024000, TIMER_EVENT_MANY = 8 };

void worker_pass_timers(struct runtime *runtime, struct worker *gone) {
    struct worker *heir = atom_load_rlx(&runtime->workers[0]); /* rlx: under the lock */
    /* The fence in idle_wake_one pairs with the one in idle_enter: the first worker sees the timers, or is seen asleep. */
    if (gone != heir && timers_move(&heir->timers, &gone->timers)) ready_wake_one(runtime, heir);
}

void worker_keep_timers(struct runtime *runtime, struct worker *worker) {
    if (__builtin_expect(atom_load_rlx(&worker->driven), 1)) return; /* rlx: worker_leave */
    lock_take(&runtime->moving);
    if (!atom_load_rlx(&worker->driven)) worker_pass_timers(runtime, worker); /* rlx: under the lock */
    lock_drop(&runtime->moving);
}

/* A worker that sleeps until its timers are due must learn of an earlier one. */
static void timer_event_armed(struct runtime *runtime, struct worker *self, struct worker *at, bool earlier) {
    if (at == self) return;
    /* The fence in idle_wake_one pairs with the one in idle_enter: `at` sees the timer, or is seen asleep. */
    if (earlier) ready_wake_one(runtime, at);
    worker_keep_timers(runtime, at);
}

void timer_event_arm_at(struct runtime *runtime, struct worker *self, struct worker *at, struct timer_event *event, uint64_t when) {
    timer_event_armed(runtime, self, at, timers_arm(&at->timers, &event->timer, when));
}

bool timer_event_arm_unmoved(struct runtime *runtime, struct worker *self, struct worker *at, uint32_t moved, struct timer_event *event,
                             uint64_t when) {
    bool earlier;
    if (!timers_arm_unmoved(&at->timers, moved, &event->timer, when, &earlier)) return false;
    timer_event_armed(runtime, self, at, earlier);
    return true;
}

void timer_event_arm_any(struct runtime *runtime, struct worker *self, struct timer_event *event, uint64_t when) {
    if (self) timer_event_arm(self, event, when);
    else timer_event_arm_at(runtime, NULL, worker_first(runtime), event, when);
}

/* Another thread fires this worker's timers: the worker looks again a little later, and not at once. */
static void timer_events_leave_to_another(struct worker *self, uint64_t now) {
    self->rung_at = now;
    if (self->rest < TIMER_EVENT_REST_LEAST) self->rest = TIMER_EVENT_REST_LEAST;
}

uint32_t timer_events_ring(struct local *local, struct worker *self, struct worker *of, uint64_t now) {
    uint32_t rung = 0;
    if (!spinlock_try(&of->ringing)) {
        if (self == of) timer_events_leave_to_another(self, now);
        return 0;
    }
    for (struct timer *due = timers_run(&of->timers, now), *after; due; due = after, rung++) {
        after = due->next; /* read before it fires: then it is its owner's */
        struct timer_event *event = (struct timer_event *)((unsigned char *)due - offsetof(struct timer_event, timer));
        /* The next event's timer is in the cache; what lies behind it is not. */
        if (after) __builtin_prefetch((unsigned char *)after + sizeof *after);
        bool disposes = event->disposes;
        event->ring(local, self, event);
        if (!disposes) timer_done(due);
    }
    spinlock_drop(&of->ringing);
    return rung;
}

static bool timer_events_run_at(struct worker *self, struct worker *of, uint64_t now) {
    uint32_t rung = timer_events_ring(&self->local, self, of, now);
    self->rung += rung;
    self->rung_at = now;
    return rung > 0;
}

bool timer_events_run(struct worker *self, struct worker *of) {
    uint64_t next = timers_next(&of->timers);
    if (next == SYS_FOREVER) return false;
    uint64_t now = sys->now();
    return now >= next && timer_events_run_at(self, of, now);
}

/* As many fired as `rung` says: a longer rest while they are several, a shorter one for a single timer. */
static void timer_events_adapt(struct worker *own) {
    if (own->rung == 1) own->rest = own->rest > TIMER_EVENT_REST_LEAST ? own->rest / 2 : 0;
    uint32_t most = own->rung >= TIMER_EVENT_MANY ? TIMER_EVENT_REST_MOST : own->rung > 1 ? TIMER_EVENT_REST_FEW : 0;
    if (own->rest < most) own->rest = own->rest ? own->rest * 2 : TIMER_EVENT_REST_LEAST;
    own->rung = 0;
}

uint64_t timer_events_bedtime(struct worker *own) {
    uint64_t next = timers_next(&own->timers), rested = own->rung_at + own->rest;
    return next < rested ? rested : next;
}

bool timer_events_run_rested(struct worker *own) {
    if (timers_next(&own->timers) == SYS_FOREVER) return false;
    uint64_t now = sys->now();
    if (now < timer_events_bedtime(own)) return false;
    uint32_t before = own->rung;
    bool rung = timer_events_run_at(own, own, now);
    if (own->rung - before < TIMERS_BATCH) timer_events_adapt(own);
    else own->rung_at = 0; /* there may be more that are due: without a rest */
    return rung;
}
