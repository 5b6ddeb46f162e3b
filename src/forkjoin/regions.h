/* All fork/join regions of a runtime: where a process, or a thief, gets one, and how it becomes the process's innermost. */
#ifndef WEFT_FORKJOIN_REGIONS_H
#define WEFT_FORKJOIN_REGIONS_H

#include "fiber/fiber.h"
#include "forkjoin/region.h"

enum {
    REGIONS_SEEN = 1024, /* the first so many are shown to thieves; tasks of later ones are never stolen */
    REGIONS_ARENA = 16,  /* regions whose address space is mapped at once */
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
    atom_bool refused; /* no thief process could be made, or it got no region: thieves do not try again before the next fork that asks */
    atom_u32 made;     /* how many of `seen` are set; changed under the lock */
    ATOM_PTR(struct region) seen[REGIONS_SEEN];
};

/* A region for a new owner; NULL: no address space. */
struct region *regions_take(struct runtime *runtime);
/* Gives it back; its owner has joined all tasks. */
void regions_give(struct region *region);

/* A region becomes its process's innermost, or ceases to be. */
void tasks_enter(struct proc *proc, struct region *region, struct proc *root, const char *name);
void tasks_leave(struct proc *proc, struct region *region);

/* Aborts, naming `call`, unless the process's tasks may wait. */
void tasks_may_wait(struct proc *proc, const char *call);

#endif
