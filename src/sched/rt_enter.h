/* To the runtime of a PID, from wherever the caller is: as one of its workers, or by a door. Between begin and end nothing waits. */
#ifndef WEFT_SCHED_RT_ENTER_H
#define WEFT_SCHED_RT_ENTER_H

#include "sched/atfork.h"
#include "sched/door.h"
#include "sched/sched.h"

struct reach {
    struct actor *actor;
    struct worker *self; /* NULL: by a door */
    unsigned instance, door;
};

/* False: there is no such runtime. Messages about misuse name `call`. */
static inline bool reach_begin(struct reach *reach, weft_pid pid, const char *call) {
    struct worker *self = worker_here();
    reach->instance = pid_instance(pid);
    reach->self = self && self->runtime->instance == reach->instance ? self : NULL;
    if (reach->self) actor_enter(&self->actor, call);
    else child_check(call);
    reach->actor = reach->self ? &self->actor : foreign_enter(reach->instance, &reach->door);
    return reach->actor != NULL;
}
static inline void reach_end(struct reach *reach) {
    if (reach->self) actor_leave(reach->actor);
    else foreign_leave(reach->instance, reach->door);
}

#endif
