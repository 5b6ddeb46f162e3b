/* The newborn queue (policy ring): processes that have never run and for which their worker's ring had no room, the newest first.
 *
 * A tree of processes is walked depth-first that way. In order of age, as all other processes are served, all of one level would be
 * begun, each with its stack, before any of the next has ended: a tree with a million leaves had thirteen thousand stacks at a time, and
 * took twice as long.
 *
 *   newborn_put      the worker itself, when its ring is full
 *   newborn_newest   the worker itself, when its ring is empty
 *   newborn_eldest   the worker itself, now and then
 *   newborn_steal    another worker that has nothing to do: from the other end, where the largest trees begin
 *
 *   N1  No process starves, though younger ones come all the time. Of the looks round that a worker takes while its newborn queue is not
 *       empty, every 32nd is for the eldest; and every one, once the worker has taken so many without running out of work that the
 *       newborn would have no turn otherwise (GLOBAL_PATIENCE).
 *   N2  A worker that takes several out and keeps some announces them: find_adopt. */
#ifndef WEFT_SCHED_NEWBORN_H
#define WEFT_SCHED_NEWBORN_H

#include "sched/runtime.h"

/* Entries of newborn processes, oldest first. False: there is no memory. */
bool newborn_put(struct worker *own, const uint64_t *entries, size_t count);
/* A process, claimed; or NULL. */
struct proc *newborn_newest(struct worker *own);
struct proc *newborn_eldest(struct worker *own);
struct proc *newborn_steal(struct worker *own, struct worker *victim);
/* At a look round: whether the eldest runs now (N1). */
bool newborn_is_due(struct worker *own);

static inline bool newborn_is_empty(struct worker *worker) { return inject_size(&worker->newborn) == 0; }

#endif
