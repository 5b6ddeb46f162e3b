/* The control block of a process that is to be born: taking it, its `self` memory, and giving both back. */
#ifndef WEFT_LIFE_BLOCK_H
#define WEFT_LIFE_BLOCK_H

#include "sched/sched.h"

struct monitor;

/* A block for a new process, which is the caller's until it is made ready. The caller sets `self`, and may give a context (deadline and values). NULL: *error
 * says why. `flags`: SPAWN_LATE. */
struct proc *block_take(struct local *local, const weft_behavior *behavior, unsigned flags, int *error);
/* Notes by which process it is spawned; NULL: by a thread. No thread writes the spawner's PID while it lives. */
static inline void block_born_of(struct proc *proc, const struct proc *parent) { proc->parent = parent ? proc_pid(parent) : WEFT_NOBODY; }
/* The process will not be born: gives the block back. */
void block_return(struct local *local, struct proc *proc);
/* The same for a process that has been set up: frees all that it has. `monitor`: of monitor_newborn, or NULL. */
void block_undo(struct local *local, struct proc *proc, struct monitor *monitor);

/* The process's own state, which its functions get as `self`, zeroed: in the block if it fits. NULL: there is none. */
void *self_new(struct local *local, struct proc *proc, size_t size);
void self_free_apart(struct local *local, struct proc *proc, size_t size);
static inline void self_free(struct local *local, struct proc *proc) {
    size_t size = atom_load_rlx(&proc->behavior)->state_size;
    if (size > PROC_INLINE_STATE) self_free_apart(local, proc, size);
}
/* One process fewer, where their number is limited. rlx: a number, which orders nothing. */
static inline void block_uncount(struct runtime *runtime) {
    if (__builtin_expect(runtime->most != 0, 0)) atom_sub_rlx(&runtime->living, 1);
}

#endif
