/* Locks that step processes hold: see held_locks.h. */
#include "fiber/held_locks.h"

/* Beside the block of a step process; the thread that runs the process uses it. */
struct step_locks {
    uint32_t generation; /* of the process that it is about */
    unsigned count;
    const void *last;
};

static struct step_locks *step_locks_of(struct runtime *runtime, struct proc *proc, bool make) {
    struct step_locks *locks = side_of(&runtime->sides.step_locks, proc_slot(proc), sizeof *locks, make);
    uint32_t generation = proc_generation(proc); /* rlx: the process runs */
    if (locks && locks->generation != generation) *locks = (struct step_locks){.generation = generation};
    return locks;
}

void held_lock_step_entered(struct worker *self, const void *lock) {
    if (!self || !self->current) return;
    struct step_locks *locks = step_locks_of(self->runtime, self->current, true);
    if (!locks) {
        atom_store_rlx(&self->runtime->sides.step_locks_lost, true); /* rlx: a flag that stays */
        return;
    }
    locks->count++;
    locks->last = lock;
}

void held_lock_step_left(struct worker *self) {
    if (!self || !self->current) return;
    struct step_locks *locks = step_locks_of(self->runtime, self->current, false);
    if (locks && locks->count > 0) locks->count--;
}

unsigned held_lock_step_count(struct runtime *runtime, struct proc *proc, const void **last) {
    struct step_locks *locks = step_locks_of(runtime, proc, false);
    *last = locks ? locks->last : NULL;
    if (locks && locks->count > 0) return locks->count;
    return atom_load_rlx(&runtime->sides.step_locks_lost); /* rlx: as above */
}

void held_locks_destroy(struct runtime *runtime) { side_destroy(&runtime->sides.step_locks, sizeof(struct step_locks)); }
