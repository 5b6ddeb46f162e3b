#include "sched/alarm.h"

/* Nanoseconds; powers of two times the least. */
enum { ALARM_REST_LEAST = 16000, ALARM_REST_FEW = 64000, ALARM_REST_MOST = 1024000, ALARM_MANY = 8 };

static void alarm_arm_outside(struct runtime *runtime, struct alarm *alarm, uint64_t when) {
    struct worker *first = atom_load_acq(&runtime->made) > 0 ? atom_load_rlx(&runtime->workers[0]) : NULL; /* acq: as in find_steal_pass */
    WEFT_ENSURE(first, "a runtime without workers");
    /* The fence in idle_wake_one pairs with the one in idle_enter: it sees the timer, or is seen asleep. */
    if (timers_arm(&first->timers, &alarm->timer, when)) ready_wake_one(runtime, first);
}

void alarm_arm_any(struct runtime *runtime, struct worker *self, struct alarm *alarm, uint64_t when) {
    if (self) alarm_arm(self, alarm, when);
    else alarm_arm_outside(runtime, alarm, when);
}

uint32_t alarms_ring(struct actor *actor, struct worker *self, struct worker *of, uint64_t now) {
    uint32_t rung = 0;
    for (struct timer *due = timers_run(&of->timers, now), *after; due; due = after, rung++) {
        after = due->next; /* before it rings: then it is its owner's */
        struct alarm *alarm = (struct alarm *)((unsigned char *)due - offsetof(struct alarm, timer));
        /* Of the next, only the timer has been touched lately. */
        if (after) __builtin_prefetch((unsigned char *)after + sizeof *after);
        bool disposes = alarm->disposes;
        alarm->ring(actor, self, alarm);
        if (!disposes) timer_done(due);
    }
    return rung;
}

bool alarms_run(struct worker *self, struct worker *of) {
    uint64_t next = timers_next(&of->timers);
    if (next == SYS_FOREVER) return false;
    uint64_t now = sys->now();
    if (now < next) return false;
    uint32_t rung = alarms_ring(&self->actor, self, of, now);
    self->rung += rung;
    self->rung_at = now;
    return rung > 0;
}

uint64_t alarms_bedtime(struct worker *own) {
    uint64_t next = timers_next(&own->timers);
    if (own->rung == 1) own->rest = own->rest > ALARM_REST_LEAST ? own->rest / 2 : 0;
    uint32_t most = own->rung >= ALARM_MANY ? ALARM_REST_MOST : own->rung > 1 ? ALARM_REST_FEW : 0;
    if (own->rest < most) own->rest = own->rest ? own->rest * 2 : ALARM_REST_LEAST;
    own->rung = 0;
    uint64_t rested = own->rung_at + own->rest;
    return next < rested ? rested : next;
}
