/* Monitors: records that are told when a process ends.
 *
 *     adding a monitor                             ending the process
 *     1  under the slot's lock: into the list      1  the word becomes COMPLETE
 *     2  MONITORED set                             2  MONITORED?
 *     3  COMPLETE? then out again, and "no such"   3  then under the lock: tells all in the list
 *
 *   H1  One of the two sees the other (all four are seq_cst): the end of a process that was monitored in time is told, exactly once.
 *       A process that is monitored from birth (spawn_monitored) has MONITORED from the first.
 *   H2  Telling and removing are under the same lock: after monitor_remove no thread is about to tell that monitor.
 *
 * Lists are kept beside the table of control blocks, made when the first process of a chunk is monitored: most never are. */
#ifndef WEFT_LIFE_MONITOR_H
#define WEFT_LIFE_MONITOR_H

#include "proc/reason.h"
#include "sched/sched.h"

/* Embedded in whatever waits. */
struct monitor {
    struct monitor *next, *prev;
    bool told;
    bool is_zombie; /* a struct zombie's, which has no `tell`: first in its list, and stays there if no join takes the result (zombie.h) */
    union {
        /* Under the slot's lock: short. `self` is the worker whose thread this is, if any. If the detail is to be kept, it is held. True: it
         * takes the result, and no zombie is kept. */
        bool (*tell)(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *reason);
        struct reason_detail *detail; /* a zombie's, once it is told; its reference */
    };
};

/* 0, or WEFT_ENOPROC (it has ended), WEFT_ENOMEM. `local` is of the process's own runtime. */
int monitor_add(struct local *local, weft_pid pid, struct monitor *monitor);
/* The same for a monitor that takes the result. If the process is a zombie: MONITOR_ENDED and *reason, with a reference of the caller's; with
 * `reason` NULL the zombie stays. */
enum { MONITOR_ENDED = 1 };
int monitor_join(struct local *local, weft_pid pid, struct monitor *monitor, struct reason *reason);
/* Whether monitor_join would find that the process has ended, and not that its end will be told. */
bool monitor_is_over(struct local *local, weft_pid pid);
/* True: it was not told and will not be. */
bool monitor_remove(struct local *local, weft_pid pid, struct monitor *monitor);

/* For zombie.c and link.c: the list of a slot (NULL: there is no memory for it), the slot's lock. */
struct monitor **monitor_list(struct runtime *runtime, uint32_t slot, bool make);
struct lock *monitor_lock(struct runtime *runtime, uint32_t slot);
/* Under the slot's lock. */
void monitor_link(struct monitor **first, struct monitor *monitor);
void monitor_unlink(struct monitor **first, struct monitor *monitor);

/* Monitors a process that is not ready yet, so that no other thread knows it; state_monitor_newborn marks it. 0 or WEFT_ENOMEM. */
int monitor_newborn(struct local *local, weft_pid pid, struct monitor *monitor);
/* The process in this slot has ended and is monitored: tells all monitors. True: its result is kept, and its block with it (zombie.h).
 * Not `last`: a zombie is not told yet, so the slot stays the ender's, which calls this again. */
bool monitor_tell(struct local *local, struct worker *self, uint32_t slot, const struct reason *reason, bool last);
void monitor_destroy_all(struct runtime *runtime);

#endif
