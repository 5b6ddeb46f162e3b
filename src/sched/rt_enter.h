/* Entering the runtime of a PID from any thread: as one of its workers, or by a door. Between rt_enter and rt_leave nothing waits. */
#ifndef WEFT_SCHED_RT_ENTER_H
#define WEFT_SCHED_RT_ENTER_H

#include "sched/atfork.h"
#include "sched/door.h"
#include "sched/sched.h"

struct rt_entry {
    struct local *local;
    struct worker *self; /* NULL: by a door */
    unsigned instance, door;
};

/* False: there is no such runtime. Messages about misuse name `call`. */
static inline bool rt_enter(struct rt_entry *entry, weft_pid pid, const char *call) {
    struct worker *self = worker_here();
    entry->instance = pid_instance(pid);
    entry->self = self && self->runtime->instance == entry->instance ? self : NULL;
    if (__builtin_expect(entry->self != NULL, 1)) {
        entry->door = 0;
        entry->local = &self->local;
        local_enter(entry->local, call);
        return true;
    }
    atfork_check(call);
    unsigned door; /* no function gets the entry's address: so it is in registers, 10 instructions less in each call */
    entry->local = door_enter(entry->instance, &door);
    entry->door = door;
    return entry->local != NULL;
}
static inline void rt_leave(struct rt_entry *entry) {
    if (entry->self) local_leave(entry->local);
    else door_leave(entry->instance, entry->door);
}

#endif
