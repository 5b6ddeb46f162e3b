/* A racy snapshot of a process, taken by another thread for dumps and reports. */
#ifndef WEFT_FIBER_SNAPSHOT_H
#define WEFT_FIBER_SNAPSHOT_H

#include "sched/sched.h"

#include <dlfcn.h>

/* Whether names are looked up under a lock of the C library, which an interrupted process may hold (thread/stopped.h, A4): before glibc 2.35. */
#if defined(DLFO_STRUCT_HAS_EH_DBASE)
enum { SYMBOL_LOCKS = 0 };
#else
enum { SYMBOL_LOCKS = 1 };
#endif

/* Of a stackful process, which may run meanwhile. */
struct snapshot {
    const void *entry; /* NULL: not a stackful process, or the block has another process by now */
    char name[48];     /* "": none was given */
    const char *call;  /* that it waits in, or has last waited in; NULL: none yet */
    const void *about;
    bool in_call;      /* weft_blocking */
    const void *stack; /* an address in its stack; NULL: it has none yet */
};
/* `runtime` is the process's. NULL: without its name. */
void fiber_snapshot(struct runtime *runtime, struct proc *proc, struct snapshot *snapshot);
/* Writes a name for the address: object and offset, and the function if it is known. */
void fiber_symbol(const void *address, char *text, size_t size) __attribute__((noinline, cold));
/* Where the object (program or library) that has the address begins; 0: none has it. In signal handlers too. */
uintptr_t fiber_object(const void *address);

#endif
