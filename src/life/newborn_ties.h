/* What ties a process to the one that spawns it, from its birth on: WEFT_SPAWN_MONITOR, WEFT_SPAWN_LINK. The records are made first, so that
 * nothing can fail once the new process's `init` has been called. */
#ifndef WEFT_LIFE_NEWBORN_TIES_H
#define WEFT_LIFE_NEWBORN_TIES_H

#include "life/link.h"

enum { SPAWN_TIED = WEFT_SPAWN_MONITOR | WEFT_SPAWN_LINK };
/* Flags for which a birth needs a struct newborn_ties. */
enum { SPAWN_TOLD = SPAWN_TIED | WEFT_SPAWN_ANNOUNCE };

struct newborn_ties {
    struct tie *down;                     /* NULL: no monitor */
    struct link_halves halves;            /* NULL, both: no link */
    uint64_t *reference;                  /* where the monitor's goes; may be NULL */
    weft_spawn_announcement announcement; /* tell: NULL without WEFT_SPAWN_ANNOUNCE */
};

/* By the spawner, a process: 0, or WEFT_ENOMEM, WEFT_ENOTINSIDE when it is none and the flags are in SPAWN_TIED. */
int newborn_ties_prepare(struct newborn_ties *tied, const weft_spawn_options *options);
/* The announcement alone. */
struct newborn_ties newborn_announced(const weft_spawn_options *options);
/* `argument` is a struct newborn_ties: the process was not born. By the spawner. */
void newborn_ties_drop(void *argument);
/* What ties the process and its spawner is a monitor or a link, and not an announcement alone. */
static inline bool newborn_ties_any(const struct newborn_ties *tied) { return tied->down || tied->halves.mine; }
/* The process will be born the next moment; no other thread knows it. Its lists have memory (link_reserve). Announces it first, for which
 * the section of `local` is left. */
void newborn_ties_attach(struct local *local, struct proc *proc, struct newborn_ties *tied);

#endif
