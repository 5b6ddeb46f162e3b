/* The stack of tasks of one process: its own at the upper end, open to thieves at the lower.
 *
 * After Wool's direct task stack and Lace's split: a fork writes a task where the next free place is, a join takes it back, and as long as
 * nobody asks there is no other synchronisation than one relaxed look at a word that says whether somebody asks. Asked, the owner
 * opens the older half of what it has: those are the largest in a tree. From then on an open task belongs to whoever's compare-and-swap
 * on its state comes first, thief or owner.
 *
 *   operation                              who may call
 *   region_init                            nobody else knows the region yet
 *   region_begin, region_end               whoever has it from the free list
 *   region_open, region_open_all           owner: the process that forks and joins; it may move from thread to thread
 *   region_take_back                       owner
 *   task_await, task_joined                owner, for a task that it could not take back
 *   region_steal, region_has_open          any thread
 *   region_ask                             any thread
 *   task_complete                          the thief that took the task
 *
 *   T1  A place's state is what others know of it. IDLE: nothing; OPEN: to be taken; TAKEN by a thief; WAITED for by the owner; DONE.
 *       The owner alone leads from IDLE to OPEN and from DONE to IDLE. From OPEN whoever comes first: the owner to IDLE, a thief to
 *       TAKEN. From TAKEN and WAITED on it is the thief's, but for the owner's step from TAKEN to WAITED.
 *   T2  What was written to a task before it was opened is visible to the thief that takes it; what the thief wrote before it
 *       completed it, to the owner that joins it.
 *   T3  Open are places below `split`, from there on all are IDLE, and `run` is the owner's mark for a task there. An owner that has
 *       joined the place i makes it `split`, if it was below. Tasks are joined newest first, so what is private is never below what is open.
 *   T4  `bottom` is a hint where the lowest open place may be. It is never above one that is open for longer than it takes the owner
 *       to join one place, or a thief to write it down; if it is, thieves overlook a task, which then is its owner's.
 *   T5  Who finds nothing open and asks before it sleeps, with a full fence between its going to sleep being seen and its look, is
 *       woken by the owner's next fork, or a join with older tasks left: that opens something, and looks for sleepers behind a fence.
 *   T6  A region's memory is one for as long as its runtime lives: a thief may look at any of them at any time. */
#ifndef WEFT_FORKJOIN_REGION_H
#define WEFT_FORKJOIN_REGION_H

#include "base/atom.h"
#include "base/config.h"

#include <weft/fork.h>

enum task_state { TASK_IDLE, TASK_OPEN, TASK_TAKEN, TASK_WAITED, TASK_DONE };
/* Beside the state: what the task runs, and the class of the stack that it wants; or who waits for it. Addresses have 52 bits at most. */
#define TASK_STATE_BITS 3
#define TASK_STATE_MASK UINT64_C(7)
#define TASK_CLASS_SHIFT 56
#define TASK_ADDRESS_MASK (((UINT64_C(1) << TASK_CLASS_SHIFT) - 1) & ~TASK_STATE_MASK)

#if WEFT_CHECK
enum { REGION_LOOKS = 2 };
#else
enum { REGION_LOOKS = 8 }; /* most places that a thief looks at */
#endif
enum { REGION_OPENS = 64 }; /* most tasks that are opened at once: one that is open costs its owner more */

struct runtime;
struct proc;

/* In the first places of its stack. */
struct region {
    /* Read at every fork. Thieves write 0. */
    _Alignas(64) atom_u64 limit; /* weft/fork.h: the address from which on a fork asks */
    atom_bool active;            /* it is worth looking here */
    /* Thieves. */
    _Alignas(64) atom_u32 bottom; /* place, T4 */
    /* The owner. */
    _Alignas(64) uint32_t split; /* place, T3 */
    bool grown;                  /* beyond the first part of its memory */
    uint8_t stack_class;         /* of its process */
    unsigned may_wait;
    const char *name;     /* of the task that it was opened for */
    struct proc *root;    /* the process that called WEFT_RUN, for all regions that came of it */
    struct region *outer; /* of the same process */
    struct runtime *runtime;
    struct region *next; /* while it is free */
};

enum { REGION_FIRST = (sizeof(struct region) + sizeof(weft_task) - 1) / sizeof(weft_task) }; /* place of the first task */
enum { REGION_SOFT = 1024 };                                                                 /* a fork from here on asks, once */
#define REGION_PLACES ((uint32_t)(WEFT_TASKS_BYTES / sizeof(weft_task)))

static inline struct region *region_of(weft_task *task) { return (struct region *)((uintptr_t)task & ~(WEFT_TASKS_BYTES - 1)); }
static inline weft_task *region_task(struct region *region, uint32_t place) { return (weft_task *)region + place; }
static inline uint32_t region_place(struct region *region, weft_task *task) { return (uint32_t)(task - (weft_task *)region); }
/* The last place is there to be written and never counts: a fork writes first and asks then. */
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

/* A new tenant: its first fork asks. */
void region_begin(struct region *region);
/* False: something was forked and not joined. */
bool region_end(struct region *region);

/* Somebody asked, or this is the first fork, or the limit is reached: opens the older half of what is private below `end`, of which there
 * is some. The caller then looks for sleepers, behind a fence. `limit` is the place from which on forks and joins ask. */
void region_open(struct region *region, weft_task *end, uint32_t limit);
/* Everything below `end`. How many were opened. */
uint32_t region_open_all(struct region *region, weft_task *end);

enum region_taken { REGION_MINE, REGION_DONE, REGION_STOLEN };
/* The newest task, which was opened. MINE: the caller runs it, and its place is IDLE. DONE: its result is there; task_joined. STOLEN:
 * task_await. */
enum region_taken region_take_back(struct region *own, weft_task *at);
/* True: whoever completes it gets `waiter`, and the caller waits for that. False: it is done. */
bool task_await(weft_task *at, void *waiter);
/* The result has been waited for. */
void task_joined(struct region *own, weft_task *at);

/* Takes a task that makes do with a stack of this class, and tells in *run what it runs; NULL: there was none. */
weft_task *region_steal(struct region *victim, unsigned class, weft_task_run **run);
/* The class of the stack that an open task wants, or REGION_NONE. */
enum { REGION_NONE = -1 };
int region_has_open(struct region *victim);
/* The owner opens something at its next fork or join, if it has something. */
void region_ask(struct region *victim);

/* The result is in its place. Whom to wake: a `waiter`, or NULL. The task may be gone. */
void *task_complete(weft_task *task);

#endif
