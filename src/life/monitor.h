/* Who wants to know when a process ends.
 *
 *     a watcher                                    whoever ends the process
 *     1  under the slot's lock: into the list      1  the word becomes COMPLETE
 *     2  WATCHED set                               2  WATCHED?
 *     3  COMPLETE? then out again, and "no such"   3  then under the lock: tells all in the list
 *
 *   H1  One of them sees the other (all four are seq_cst): a process that was watched in time tells, exactly once.
 *       One that is born watched (spawn_watched) has WATCHED from the first.
 *   H2  Telling and taking back are under the same lock: after watch_remove nobody is about to be told.
 *
 * Lists are kept beside the table of control blocks, made when the first process of a chunk is watched: most never are. */
#ifndef WEFT_LIFE_MONITOR_H
#define WEFT_LIFE_MONITOR_H

#include "sched/sched.h"

/* Embedded in whatever waits. */
struct watcher {
    struct watcher *next, *prev;
    bool told;
    bool joins; /* it takes the result: nothing need be kept */
    bool keeps; /* a struct kept's, which has no `tell`: first in its list, and stays there if nobody takes the result (zombie.h) */
    /* Under the slot's lock: short. `self` is the worker whose thread this is, if any. */
    void (*tell)(struct actor *actor, struct worker *self, struct watcher *watcher, int reason);
};

/* 0, or WEFT_ENOPROC (it has ended), WEFT_ENOMEM. The actor is one of the process's own runtime. */
int watch_add(struct actor *actor, weft_pid pid, struct watcher *watcher);
/* The same for one that takes the result, which may have been kept: then WATCH_ENDED and *reason. */
enum { WATCH_ENDED = 1 };
int watch_join(struct actor *actor, weft_pid pid, struct watcher *watcher, int *reason);
/* True: it was not told and will not be. */
bool watch_remove(struct actor *actor, weft_pid pid, struct watcher *watcher);

/* For zombie.c: the list of a slot, the records that its tenant owns (NULL: there is no memory for them), the slot's lock. */
struct kept;
struct watcher **watch_list(struct runtime *runtime, uint32_t slot, bool make);
struct kept **watch_owned(struct runtime *runtime, uint32_t slot);
struct lock *watch_lock(struct runtime *runtime, uint32_t slot);
void watch_unlink(struct watcher **first, struct watcher *watcher);

/* A process that nobody knows yet is watched; its state says so when it is made ready. 0 or WEFT_ENOMEM. */
int watch_newborn(struct actor *actor, weft_pid pid, struct watcher *watcher);
/* The process in this slot has ended and somebody watches. True: its result is kept, and its block with it (zombie.h). */
bool watch_tell(struct actor *actor, struct worker *self, uint32_t slot, int reason);
void watch_destroy_all(struct runtime *runtime);

#endif
