/* Zombies: ended processes whose results are kept. A process that was spawned to be joined (WEFT_SPAWN_JOINABLE) tells its reason whenever it
 * is asked, once.
 *
 *     spawned ──> lives ──ends, and a caller waits in weft_join──> told: nothing is kept
 *                   │ └────ends, and no caller waits─────────────> a zombie: the record, and the block with its PID, stay
 *                   │                                                │ weft_join: the reason
 *                   └─ weft_detach, or its owner ends: forgotten <───┘ weft_detach, or its owner ends
 *
 * A record is a monitor (monitor.h) that exists from the process's birth on and stays in its slot's list after the end. Meanwhile the
 * block is not given to the next process, so there is at most one record per slot, and a join finds it at once.
 *
 *   P1  A record is the first in its slot's list and is guarded by that slot's lock. The thread that takes it out frees it, and retires the
 *       block if the process has ended.
 *   P2  An owner, the process that spawned it, has its records in a list of its ties (ties.h, Y1). A record is in its owner's list from before the birth until it is freed.
 *   P3  Processes spawned by a thread have no owner: they are kept until they are joined or detached, or the runtime ends. */
#ifndef WEFT_LIFE_ZOMBIE_H
#define WEFT_LIFE_ZOMBIE_H

#include "life/monitor.h"
#include "life/ties.h"

struct zombie {
    struct monitor monitor; /* first; `told`: the process has ended */
    weft_pid pid;
    struct zombie *next, **link; /* in the owner's list */
    uint32_t owner;              /* its slot; 0: none */
    int reason;                  /* its detail is the monitor's */
};
_Static_assert(sizeof(struct zombie) <= POOL_LEAST, "the smallest block");

/* For a process that is about to be spawned by `owner` (may be NULL), which runs; NULL: no memory. */
struct zombie *zombie_new(struct local *local, struct proc *owner);
/* The process was not spawned after all. */
void zombie_undo(struct local *local, struct zombie *zombie);

/* Under the slot's lock: the record of this PID, or NULL. */
struct zombie *zombie_find(struct monitor *first, weft_pid pid);
/* Under the slot's lock: the process has ended; and, later, the reason, whose reference goes to the caller. */
void zombie_set_reason(struct zombie *zombie, const struct reason *reason);
struct reason zombie_take_reason(struct zombie *zombie);
/* Under the slot's lock: takes the record out and frees it. */
void zombie_drop(struct local *local, struct monitor **list, struct zombie *zombie);

/* The result is not wanted. 0, or WEFT_ENOPROC: there is no such record. */
int zombie_forget(struct local *local, weft_pid pid);
/* The owner has ended: the results of all its processes are not wanted. */
void zombie_forget_all(struct local *local, uint32_t owner);

#endif
