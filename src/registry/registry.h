/* Names and groups of a runtime's processes, and what each process has of them.
 *
 *     naming a process                             ending the process
 *     1  under the lock: OWNS set                  1  the word becomes COMPLETE
 *     2  COMPLETE? then "no such process"          2  OWNS?
 *     3  into the table, and into its list         3  then under the lock: all in its list out of the table
 *                                                  4  its monitors are told (life/end.c)
 *
 *   R1  One of the two sees the other (as monitor.h, H1; state_give): no name outlives its process, and all names are gone before
 *       the end is told.
 *   R2  A name is in the table if and only if it is in the list of the process whose PID the table has. Both are written under the lock.
 *   R3  A name whose PID is not of a living process counts as free: the process is ending and has not come to 3 yet, or it is being
 *       spawned (`register_as`): then the name is taken, but look-ups do not find it yet (its state is still COMPLETE).
 *
 * Groups are joined by running processes themselves, which cannot end meanwhile. Their lock is another one. Neither lock is held while
 * another lock is taken, except those of the memory pools. */
#ifndef WEFT_REGISTRY_REGISTRY_H
#define WEFT_REGISTRY_REGISTRY_H

#include "life/spawn.h"
#include "life/ties.h"
#include "registry/name_table.h"
#include "sched/heed.h"
#include "sched/rt_enter.h"

/* A name of a process. */
struct held_name {
    struct held_name *next, **link; /* in the list of its process */
    char name[NAME_WORDS * 8];
};
_Static_assert(sizeof(struct held_name) <= POOL_LEAST, "the smallest block");

/* Made when the first process of a runtime gets a name or joins a group. */
struct registry {
    struct name_table names; /* PIDs; the note is the held_name */
    struct lock names_lock;
    struct lock groups_lock;
    struct name_table groups; /* struct proc_group */
};

/* The runtime's; NULL: there are no names and groups yet. */
static inline struct registry *registry_of(struct runtime *runtime) {
    return atom_load_acq(&runtime->registry); /* acq: pairs with the cas in registry_make */
}
/* The same, made if need be; NULL: there is no memory. */
struct registry *registry_make(struct runtime *runtime);

/* At the beginning of a public call, which heeds: enters `runtime`, or the calling process's own: NULL. 0 or WEFT_ENOTINSIDE, WEFT_EFOREIGN (it has been stopped). */
int registry_enter(struct rt_entry *entry, weft_runtime *runtime, const char *call);

/* For life/, through sched/parts.h. A process that is being spawned gets a name: 0 or as weft_register. */
int registry_newborn(struct local *local, struct proc *proc, weft_pid pid, const char *name);
/* The process in this slot has ended, or will not be born. */
void registry_end(struct local *local, uint32_t slot);
void registry_destroy(struct runtime *runtime);

/* Writes the last name of the process in this slot; "": it has none. Unless `waits`, also when another thread is naming processes. */
void names_last(struct runtime *runtime, uint32_t slot, bool waits, char *text, size_t size);

/* names.c, group.c: the two halves of registry_end. */
void names_end(struct local *local, struct registry *registry, struct ties *ties);
void groups_end(struct local *local, struct registry *registry, struct ties *ties);

#endif
