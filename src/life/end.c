/* The end of a process: what is freed and which monitors are told; and whether a PID still means one. */
#include "life/block.h"
#include "life/context.h"
#include "life/spawn.h"
#include "life/zombie.h"
#include "sched/door.h"

/* The rest of the end of a process that is monitored or owns zombies; its state is COMPLETE. */
static __attribute__((noinline)) void proc_leave(struct local *local, struct proc *proc, uint32_t left, int reason) {
    if (left & STATE_OWNS) zombie_forget_all(local, proc->slot);
    if (!(left & STATE_MONITORED) || !monitor_tell(local, my_worker, proc->slot, reason)) magazine_retire(&local->magazine, proc);
}

void proc_end(struct local *local, struct proc *proc, int reason) {
    struct runtime *runtime = local->runtime;
    sim_note("end", spawn_pid(runtime, proc));
    const weft_behavior *behavior = atom_load_rlx(&proc->behavior);
    if (behavior->close) {
        local_leave(local); /* it is the program's, and may call weft */
        behavior->close(proc->self);
        local_begin(local);
    }
    self_free(local, proc);
    context_take(local, proc);
    block_uncount(runtime);
    /* rel: pairs with the acq in proc_find. From here on its PID is no process's. */
    atom_store_rel(&proc->generation, atom_load_rlx(&proc->generation) + 1);
    for (struct mpsc_node *node = mpsc_close(&proc->box), *next; node; node = next) {
        next = node->next;
        message_free(&local->cache, message_of(node));
    }
    uint32_t left = state_complete(&proc->state);
    if (__builtin_expect(left == 0, 1)) magazine_retire(&local->magazine, proc);
    else proc_leave(local, proc, left, reason);
    /* rel: pairs with the acq in living: a thread that sees the end sees the birth. One writer. */
    atom_store_rel(&local->counters.ended, atom_load_rlx(&local->counters.ended) + 1);
    atom_fence_light(); /* pairs with the heavy one in stop_wait */
    /* rlx: behind the fence. The process that ends last while the stopper waits wakes it. */
    if (__builtin_expect(atom_load_rlx(&runtime->stopping), 0)) parker_unpark(&runtime->stopper);
}

bool weft_alive(weft_pid pid) {
    struct worker *self = my_worker;
    unsigned door, instance = pid_instance(pid);
    bool inside = self && instance == self->runtime->instance;
    struct local *local = inside ? &self->local : door_enter(instance, &door);
    if (!local) return false;
    struct proc *proc = table_at(&local->runtime->table, pid_slot(pid));
    /* acq: as in proc_find. */
    bool alive =
        proc && atom_load_acq(&proc->generation) == pid_generation(pid) && pid_generation(pid) % 2 == 1 && !mpsc_is_closed(&proc->box);
    if (!inside) door_leave(instance, door);
    return alive;
}

weft_pid weft_self(void) {
    struct worker *self = my_worker;
    return self ? worker_pid(self) : WEFT_NOBODY;
}
