/* A look at a process from outside, while it may be changing: for dumps and reports. */
#ifndef WEFT_FIBER_SNAPSHOT_H
#define WEFT_FIBER_SNAPSHOT_H

#include "sched/sched.h"

/* What can be seen of a stackful process from outside, while it may be changing. */
struct snapshot {
    const void *entry; /* NULL: not a stackful process, or another by now */
    const char *name;  /* NULL: none was given */
    const char *call;  /* the one that it waits in, or has last waited in; NULL: none yet */
    const void *about;
    bool in_call; /* weft_blocking */
};
void fiber_snapshot(struct proc *proc, struct snapshot *snapshot);
/* What an address is called. */
void fiber_symbol(const void *address, char *text, size_t size) __attribute__((noinline, cold));

#endif
