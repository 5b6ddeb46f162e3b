/* The end of a process: what is freed and which monitors are told; and whether a PID still means one. */
#include "life/block.h"
#include "life/context.h"
#include "life/spawn.h"
#include "life/zombie.h"
#include "proc/deliver.h"
#include "sched/door.h"
#include "sched/heed.h"

/* The rest of the end of a process that is monitored or has ties; its state is COMPLETE. Its names and groups are given up first: a process
 * that is told of the end may use them at once. Its monitors are told before its other ties are given up. A zombie is told last, because
 * a join then takes the block. */
static __attribute__((noinline)) void proc_leave(struct local *local, struct proc *proc, uint32_t left, int code) {
    bool has_ties = left & STATE_OWNS, kept = left & STATE_MONITORED;
    if (left & STATE_CONDEMNED && (code == 0 || code == REASON_CONDEMNED)) code = ties_condemned(local->runtime, proc);
    struct reason reason = has_ties ? ties_reason(local->runtime, proc_slot(proc), code) : (struct reason){code, NULL};
    if (has_ties) parts.registry_end(local, proc_slot(proc));
    reason_detail_hold(reason.detail);
    if (kept) kept = monitor_tell(local, my_worker, proc_slot(proc), &reason, !has_ties);
    if (has_ties) ties_end(local, proc);
    if (has_ties && kept) kept = monitor_tell(local, my_worker, proc_slot(proc), &reason, true);
    reason_detail_drop(reason.detail);
    if (!kept) magazine_retire(&local->magazine, proc);
}

void proc_end(struct local *local, struct proc *proc, int reason) {
    const weft_behavior *behavior = atom_load_rlx(&proc->behavior);
    if (behavior->close) {
        local_leave(local); /* it is the program's, and may call weft */
        behavior->close(proc->self);
        local_begin(local);
    }
    self_free(local, proc);
    proc_end_closed(local, proc, reason);
}

static inline void proc_count_end(struct local *local) {
    struct runtime *runtime = local->runtime;
    /* rel: pairs with the acq in living: a thread that sees the end sees the birth. One writer. */
    atom_store_rel(&local->counters.ended, atom_load_rlx(&local->counters.ended) + 1);
    atom_fence_light(); /* pairs with the heavy one in stop_wait */
    /* rlx: behind the fence. The process that ends last while the stopper waits wakes it. */
    if (__builtin_expect(atom_load_rlx(&runtime->stopping), 0)) parker_unpark(&runtime->stopper);
}

/* Its state is COMPLETE, and `rest` is what was in its mailbox. */
static void proc_end_rest(struct local *local, struct proc *proc, int reason, uint32_t left, struct mpsc_node *rest) {
    message_free_list(&local->cache, rest);
    if (left == 0) magazine_retire(&local->magazine, proc);
    else proc_leave(local, proc, left, reason);
    proc_count_end(local);
}

/* One that has a context, messages, or a mailbox that is diverted. */
static __attribute__((noinline)) void proc_end_laden(struct local *local, struct proc *proc, int reason) {
    if (proc->member) context_take(local, proc);
    block_uncount(local->runtime);
    proc_end_pid(proc);
    struct mpsc_node *rest;
    uint32_t left = deliver_end(proc, &rest);
    proc_end_rest(local, proc, reason, left, rest);
}
/* One that is monitored or has ties, or was sent a message at its end. Its state is COMPLETE. */
static __attribute__((noinline)) void proc_end_tied(struct local *local, struct proc *proc, int reason, uint32_t left) {
    proc_end_rest(local, proc, reason, left, mpsc_close(&proc->box));
}
static __attribute__((noinline)) void proc_end_batch(struct local *local) {
    magazine_retire_batch(&local->magazine);
    proc_count_end(local);
}

/* Most processes end this way. All that is otherwise is a tail call: so no register is saved here (16 instructions). */
void proc_end_closed(struct local *local, struct proc *proc, int reason) {
    uint32_t left;
    sim_note("end", proc_pid(proc));
    if (__builtin_expect(proc->member || !mpsc_is_bare(&proc->box), 0)) {
        proc_end_laden(local, proc, reason);
        return;
    }
    block_uncount(local->runtime);
    proc_end_pid(proc);
    if (!deliver_end_bare(proc, &left)) proc_end_tied(local, proc, reason, left);
    else if (__builtin_expect(!magazine_put_aside(&local->magazine, proc), 0)) proc_end_batch(local);
    else proc_count_end(local);
}

bool weft_alive(weft_pid pid) {
    struct worker *self = my_worker;
    heed(self);
    unsigned door, instance = pid_instance(pid);
    bool inside = self && instance == self->runtime->instance;
    struct local *local = inside ? &self->local : door_enter(instance, &door);
    if (!local) return false;
    bool alive = pid_is_open(local->runtime, pid);
    if (!inside) door_leave(instance, door);
    return alive;
}

weft_pid weft_self(void) {
    struct worker *self = my_worker;
    struct proc *proc = self ? self->current : NULL;
    if (__builtin_expect(!proc, 0)) return WEFT_NOBODY;
    return proc_pid(proc);
}
