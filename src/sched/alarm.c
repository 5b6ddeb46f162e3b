#include "sched/alarm.h"

bool alarms_run(struct worker *self, struct worker *of) {
    uint64_t next = timers_next(&of->timers);
    if (next == SYS_FOREVER) return false;
    uint64_t now = sys->now();
    if (now < next) return false;
    bool some = false;
    for (struct timer *due; (due = timers_run(&of->timers, now)) != NULL;)
        for (some = true; due;) {
            struct timer *after = due->next; /* before it rings: then it is its owner's */
            struct alarm *alarm = (struct alarm *)((unsigned char *)due - offsetof(struct alarm, timer));
            alarm->ring(&self->actor, self, alarm);
            timer_done(due);
            due = after;
        }
    return some;
}
