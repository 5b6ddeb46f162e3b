/* All regions of a runtime, and the thieves. */
#ifndef WEFT_FORKJOIN_REGIONS_H
#define WEFT_FORKJOIN_REGIONS_H

#include "fiber/fiber.h"
#include "forkjoin/region.h"

enum {
    REGIONS_SEEN = 1024, /* the first so many are shown to thieves; what is forked in others runs in place */
    REGIONS_ARENA = 16,  /* regions whose address space is asked for at once */
};

struct regions_arena {
    struct regions_arena *next;
    void *memory;
    size_t size;
    unsigned char *unused; /* the first that was never given out */
    unsigned left;
};

struct regions {
    struct lock lock;
    struct region *free;          /* newest first */
    struct regions_arena *arenas; /* newest first */
    atom_bool refused; /* there was no process for a task, or no region for that: not to be tried again before the next fork that asks */
    atom_u32 made;     /* so many of `seen` are there; changed under the lock */
    ATOM_PTR(struct region) seen[REGIONS_SEEN];
};

/* For a new tenant; NULL: no address space. */
struct region *regions_take(struct runtime *runtime);
/* Its tenant has joined everything. */
void regions_give(struct region *region);

/* A region becomes its process's innermost, or ceases to be. */
void tasks_enter(struct proc *proc, struct region *region, struct proc *root, const char *name);
void tasks_leave(struct proc *proc, struct region *region);

/* Aborts, naming `call`, unless the process's tasks may wait. */
void tasks_may_wait(struct proc *proc, const char *call);

#endif
