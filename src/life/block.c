/* The control block of a process: taking one for a process that is to be born, and giving it back if it is not. */
#include "life/block.h"

#include "life/context.h"
#include "life/monitor.h"
#include "life/spawn.h"
#include "sched/parts.h"

/* Aligned to 64 bytes, as larger ones are. */
static unsigned self_class(size_t size) {
    return size > pool_class_size(POOL_CLASSES - 1) ? (unsigned)POOL_CLASSES : pool_class_of((size + 63) & ~(size_t)63);
}

void *self_new(struct local *local, struct proc *proc, size_t size) {
    if (size <= PROC_INLINE_STATE) {
        memset(proc->inline_state, 0, sizeof proc->inline_state);
        return proc->inline_state;
    }
    unsigned class = self_class(size);
    void *self = class < POOL_CLASSES ? pool_take(&local->blocks, class) : sys->alloc(size);
    if (self) memset(self, 0, size);
    return self;
}

void self_free_apart(struct local *local, struct proc *proc, size_t size) {
    unsigned class = self_class(size);
    if (class < POOL_CLASSES) pool_give(&local->blocks, class, proc->self);
    else sys->free(proc->self, size);
}

/* Reserves room in the global queue for this process, by its slot: then no later push of it can fail for want of memory. Twice as much,
 * because stale entries lie there too for a while. */
static int block_reserve(struct runtime *runtime, uint32_t slot) {
    if (__builtin_expect(slot < atom_load_rlx(&runtime->reserved), 1)) return 0; /* rlx: only grows, after the fact */
    uint32_t wanted = slot < RESERVE_LEAST / 2 ? RESERVE_LEAST : slot * 2;
    int error = inject_reserve(&runtime->inject, (size_t)wanted * 2);
    if (error) return WEFT_ENOMEM;
    lock_take(&runtime->lock);
    if (wanted > atom_load_rlx(&runtime->reserved)) atom_store_rlx(&runtime->reserved, wanted);
    lock_drop(&runtime->lock);
    return 0;
}

/* Counts a process where their number is limited: 0 or WEFT_ENOBUFS. rlx: a number, which orders nothing. */
static int block_admit(struct runtime *runtime) {
    if (__builtin_expect(!runtime->most, 1) || atom_add_rlx(&runtime->living, 1) < runtime->most) return 0;
    atom_sub_rlx(&runtime->living, 1);
    return WEFT_ENOBUFS;
}

struct proc *block_take(struct local *local, const weft_behavior *behavior, unsigned flags, int *error) {
    struct runtime *runtime = local->runtime;
    /* rlx: an early exit; the check that counts is behind the fence in spawn_open. */
    if (__builtin_expect(atom_load_rlx(&runtime->stopping) && !(flags & SPAWN_LATE), 0)) {
        *error = WEFT_ESTOPPING;
        return NULL;
    }
    int refused = block_admit(runtime);
    if (__builtin_expect(refused, 0)) {
        *error = refused;
        return NULL;
    }
    struct proc *proc = magazine_take(&local->magazine, error);
    if (__builtin_expect(!proc, 0)) {
        block_uncount(runtime);
        return NULL;
    }
    refused = block_reserve(runtime, proc_slot(proc));
    if (__builtin_expect(refused, 0)) {
        *error = refused;
        block_return(local, proc);
        return NULL;
    }
    atom_store_rlx(&proc->behavior, behavior);
    proc->state.told = false;
    proc->stackful = PROC_STEPS;
    proc->waits = WEFT_STEP_CONTINUE;
    return proc;
}

void block_return(struct local *local, struct proc *proc) {
    magazine_return(&local->magazine, proc);
    block_uncount(local->runtime);
}

void block_undo(struct local *local, struct proc *proc, struct monitor *monitor) {
    if (proc->self) self_free(local, proc);
    mpsc_close(&proc->box); /* if it was diverted */
    context_take(local, proc);
    if (monitor) monitor_remove(local, proc_slot(proc), monitor);
    if (state_has_to_give(&proc->state)) parts.registry_end(local, proc_slot(proc));
    block_return(local, proc);
}
