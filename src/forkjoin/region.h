/* The stack of fork/join tasks of one process: private at the upper end, open to thieves at the lower.
 *
 * After Wool's direct task stack and Lace's split: a fork writes a task to the next free place, a join takes it back. As long as no thief
 * asks, the only synchronisation is one relaxed load of the word that says whether a thief asks. When asked, the owner opens the older
 * half of its private tasks: those are the largest in a tree. An open task belongs to the first compare-and-swap on its state, a
 * thief's or the owner's.
 *
 *   operation                              caller
 *   region_init                            the thread that makes the region, before others know of it
 *   region_begin, region_end               the process that took it from the free list
 *   region_open, region_open_all           owner: the process that forks and joins; it may move from thread to thread
 *   region_take_back                       owner
 *   task_await, task_joined                owner, for a task that it could not take back
 *   region_steal, region_has_open          any thread
 *   region_ask                             any thread
 *   task_complete                          the thief that took the task
 *
 *   T1  A place's state is what thieves see of it. IDLE: nothing; OPEN: to be taken; TAKEN by a thief; WAITED for by the owner; DONE.
 *       The owner alone changes IDLE to OPEN and DONE to IDLE. From OPEN the first to come changes it: the owner to IDLE, or a thief to
 *       TAKEN. TAKEN and WAITED are the thief's to change, but for the owner's step from TAKEN to WAITED.
 *   T2  What was written to a task before it was opened is visible to the thief that takes it; what the thief wrote before it
 *       completed it, to the owner that joins it.
 *   T3  Places below `split` have been opened; from `split` on all are IDLE, and `run` is the owner's mark for a task there. An owner
 *       that has joined place i sets `split` to i, if i was below. Tasks are joined newest first, so no private task is below an open one.
 *   T4  `bottom` is a hint where the lowest open place may be. It is above an open place only for as long as it takes the owner to join
 *       one place, or a thief to write `bottom`; meanwhile thieves overlook that task, and its owner runs it.
 *   T5  A worker that finds nothing open and asks before it sleeps, with a full fence between publishing that it goes to sleep and its
 *       check, is woken by the owner's next fork, or a join with older tasks left: that opens a task, and looks for sleepers after a fence.
 *   T6  A region's memory stays a region for as long as its runtime lives: a thief may read any region at any time. */
#ifndef WEFT_FORKJOIN_REGION_H
#define WEFT_FORKJOIN_REGION_H

#include "base/atom.h"
#include "base/config.h"

#include <weft/fork.h>

enum task_state { TASK_IDLE, TASK_OPEN, TASK_TAKEN, TASK_WAITED, TASK_DONE };
/* Beside the state: the task's function and the class of the stack that it needs; or its waiter. Addresses have 52 bits at most. */
#define TASK_STATE_BITS 3
#define TASK_STATE_MASK UINT64_C(7)
#define TASK_CLASS_SHIFT 56
#define TASK_ADDRESS_MASK (((UINT64_C(1) << TASK_CLASS_SHIFT) - 1) & ~TASK_STATE_MASK)

#if WEFT_CHECK
enum { REGION_LOOKS = 2 };
#else
enum { REGION_LOOKS = 8 }; /* most places that a thief checks */
#endif
enum { REGION_OPENS = 64 }; /* most tasks that are opened at once: an open task costs its owner more */

struct runtime;
struct proc;

/* In the first places of its stack. */
struct region {
    /* Read at every fork. Thieves write 0. */
    _Alignas(64) atom_u64 limit; /* weft/fork.h: the address from which on a fork asks */
    atom_bool active;            /* thieves look here: it has had an open task */
    /* Thieves. */
    _Alignas(64) atom_u32 bottom; /* place, T4 */
    /* The owner. */
    _Alignas(64) uint32_t split; /* place, T3 */
    bool grown;                  /* beyond the first part of its memory */
    uint8_t stack_class;         /* of its process */
    unsigned may_wait;
    const char *name;     /* of the task that the region was taken for */
    struct proc *root;    /* the process that called WEFT_RUN, in its regions and in those of all thieves of its tasks */
    struct region *outer; /* the next outer one of the same process */
    struct runtime *runtime;
    struct region *next; /* while it is free */
};

enum { REGION_FIRST = (sizeof(struct region) + sizeof(weft_task) - 1) / sizeof(weft_task) }; /* place of the first task */
enum { REGION_SOFT = 1024 };                                                                 /* a fork from here on asks, once */
#define REGION_PLACES ((uint32_t)(WEFT_TASKS_BYTES / sizeof(weft_task)))

static inline struct region *region_of(weft_task *task) { return (struct region *)((uintptr_t)task & ~(WEFT_TASKS_BYTES - 1)); }
static inline weft_task *region_task(struct region *region, uint32_t place) { return (weft_task *)region + place; }
static inline uint32_t region_place(struct region *region, weft_task *task) { return (uint32_t)(task - (weft_task *)region); }
/* The last place may be written but never holds a task: a fork writes first and asks then. */
static inline bool region_is_full(struct region *region, weft_task *at) { return region_place(region, at) >= REGION_PLACES - 1; }

static inline atom_u64 *task_cell(weft_task *task) { return (atom_u64 *)&task->state; }
static inline enum task_state task_state_of(uint64_t word) { return (enum task_state)(word & TASK_STATE_MASK); }
static inline uint64_t task_word(uintptr_t address, unsigned class, enum task_state state) {
    return (uint64_t) class << TASK_CLASS_SHIFT | (uint64_t)address << TASK_STATE_BITS | (uint64_t)state;
}
static inline uintptr_t task_address(uint64_t word) { return (uintptr_t)((word & TASK_ADDRESS_MASK) >> TASK_STATE_BITS); }
static inline unsigned task_class(uint64_t word) { return (unsigned)(word >> TASK_CLASS_SHIFT); }

/* Zeroed memory, aligned to its size. */
void region_init(struct region *region);

/* For a new owner, whose first fork asks. */
void region_begin(struct region *region);
/* False: a task was forked and not joined. */
bool region_end(struct region *region);

/* A thief asked, or this is the first fork, or the limit is reached: opens the older half of the private tasks below `end`, of which there
 * is at least one. The caller then looks for sleepers, after a fence. `limit` is the place from which on forks and joins ask. */
void region_open(struct region *region, weft_task *end, uint32_t limit);
/* Opens all private tasks below `end`. How many were opened. */
uint32_t region_open_all(struct region *region, weft_task *end);

enum region_taken { REGION_MINE, REGION_DONE, REGION_STOLEN };
/* Joins the newest task, which was opened. MINE: the caller runs it, and its place is IDLE. DONE: its result is there and the task is
 * joined. STOLEN: a thief runs it; task_await is next. */
enum region_taken region_take_back(struct region *own, weft_task *at);
/* True: the thief that completes it gets `waiter`, and the caller waits to be woken. False: it is done. */
bool task_await(weft_task *at, void *waiter);
/* The result has been waited for. */
void task_joined(struct region *own, weft_task *at);

/* Takes a task for which a stack of this class is enough; its function is in *run. NULL: there was none. */
weft_task *region_steal(struct region *victim, unsigned class, weft_task_run **run);
/* The class of the stack that an open task needs, or REGION_NONE. */
enum { REGION_NONE = -1 };
int region_has_open(struct region *victim);
/* Asks the owner: it opens tasks at its next fork or join, if it has any. */
void region_ask(struct region *victim);

/* The result is in its place. Returns the `waiter` to wake, or NULL. The task may be gone afterwards. */
void *task_complete(weft_task *task);

#endif
