/* Ties: what only some processes have besides their control blocks. One record for each slot (proc/side.h).
 *
 *   operation                    caller
 *   ties_of, ties_lock           any thread
 *   ties_leave_detail            the process itself, or the thread that ends it
 *   ties_end                     the thread that has ended the process (its state is COMPLETE)
 *
 *   Y1  The slot's lock of ties guards what others may change or read: the lists of records that the process owns, `exit`, `traps`. Lock order:
 *       a slot's lock of monitors (monitor.h), then one of ties.
 *   Y2  A process that has ties has STATE_OWNS: ties_end empties them before the block can have the next process. */
#ifndef WEFT_LIFE_TIES_H
#define WEFT_LIFE_TIES_H

#include "proc/reason.h"
#include "sched/sched.h"

struct tie;
struct zombie;
struct held_name;
struct membership;

struct ties {
    struct zombie *zombies;       /* of the processes that it has spawned: zombie.h */
    struct tie *ties;             /* that tell it of the ends of others: tie.h */
    uint64_t serial;              /* of its last monitor; not reset for the next process of the slot */
    struct reason_detail *detail; /* of its own end, left there before it ends */
    struct held_name *names;      /* registry/names.c and group.c, under locks of their own: given up before the others (end.c) */
    struct membership *groups;
    struct reason exit;         /* of the end of a process that it is linked to, and for which it must end (STATE_EXIT); code 0: none */
    uint64_t trap_tag;          /* weft_trap_exit */
    void (*discard)(void *arg); /* weft_stackful_options; fiber_discard */
    bool traps;
};

/* NULL: there are none, or no memory if `make`. */
struct ties *ties_of(struct runtime *runtime, uint32_t slot, bool make);
struct lock *ties_lock(struct runtime *runtime, uint32_t slot);

/* Takes the caller's reference: the detail will be told with the process's end, if that has the code that the detail is for. */
void ties_leave_detail(struct runtime *runtime, struct proc *proc, struct reason_detail *detail);
/* The code that a condemned process ends with. */
int ties_condemned(struct runtime *runtime, struct proc *proc);
/* The reason of the process's end, without a reference. */
struct reason ties_reason(struct runtime *runtime, uint32_t slot, int code);

/* Gives up all that the process has owned. */
void ties_end(struct local *local, struct proc *proc);
void ties_destroy_all(struct runtime *runtime);

#endif
