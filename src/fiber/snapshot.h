/* A racy snapshot of a process, taken by another thread for dumps and reports. */
#ifndef WEFT_FIBER_SNAPSHOT_H
#define WEFT_FIBER_SNAPSHOT_H

#include "sched/sched.h"

/* Of a stackful process, which may run meanwhile. */
struct snapshot {
    const void *entry; /* NULL: not a stackful process, or the block has another process by now */
    const char *name;  /* NULL: none was given */
    const char *call;  /* that it waits in, or has last waited in; NULL: none yet */
    const void *about;
    bool in_call; /* weft_blocking */
};
void fiber_snapshot(struct proc *proc, struct snapshot *snapshot);
/* Writes a name for the address: symbol or object, and offset. */
void fiber_symbol(const void *address, char *text, size_t size) __attribute__((noinline, cold));

#endif
