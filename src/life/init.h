/* Calling a behavior's `init`, which is the program's and may wait if its caller may. */
#ifndef WEFT_LIFE_INIT_H
#define WEFT_LIFE_INIT_H

#include "life/context.h"
#include "life/spawn.h"
#include "sched/rt_enter.h"

/* Whether init can be called in place: there is none, or it cannot wait. */
static inline bool init_cannot_wait(const struct rt_entry *by, const weft_behavior *behavior, unsigned flags) {
    const struct proc *spawner = by->self ? by->self->current : NULL;
    return !behavior->init || flags & SPAWN_INIT_NEVER_WAITS || (by->self && !(spawner && spawner->stackful));
}

/* The other case. When it returns, *by is the worker or door that the spawner has then; by->local NULL: the runtime has been stopped
 * meanwhile, and the process is gone. */
int init_call_waiting(struct rt_entry *by, struct proc *proc, const weft_spawn_options *options, const char *method,
                      struct monitor *monitor) __attribute__((noinline));
/* A spawn at a door whose init may wait is over: `births` counts one fewer (B2). */
void birth_over(struct runtime *runtime);

#endif
