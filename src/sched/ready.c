/* Making processes ready: every waker puts its process into a run queue here (message, completion, cancellation, spawn, yield), and
 * wakes a worker for it. */
#include "sched/brisk.h"
#include "sched/netpoll.h"
#include "sched/sched.h"

static __attribute__((noinline)) void ready_unpark(struct runtime *runtime, struct worker *self, int sleeper) {
    netpoll_unpark(atom_load_rlx(&runtime->workers[sleeper])); /* rlx: a worker that sleeps was published long ago */
    if (self) count(&self->local.counters.wakeups);
}

void ready_wake(struct runtime *runtime, struct worker *self) {
    int sleeper = idle_wake(&runtime->idle);
    if (__builtin_expect(sleeper != IDLE_NOBODY, 0)) ready_unpark(runtime, self, sleeper);
}

/* The look at brisk comes behind the fence in idle_wake, and after the look for a sleeper, of whom there is mostly none. */
void ready_tell(struct worker *own) {
    struct idle *idle = &own->runtime->idle;
    if (__builtin_expect(!idle_may_wake(idle), 1) || brisk_left_alone(own)) return;
    int sleeper = idle_rouse(idle);
    if (sleeper != IDLE_NOBODY) ready_unpark(own->runtime, own, sleeper);
}

void ready_not_brisk(struct worker *worker) {
    atom_store_rlx(&worker->brisk, false); /* rlx: the fence */
    sys_fence_heavy();
    if (!policy_is_empty(worker)) ready_wake(worker->runtime, NULL);
}

void ready_wake_one(struct runtime *runtime, struct worker *worker) {
    if (idle_wake_one(&runtime->idle, worker->index)) netpoll_unpark(worker);
}

static __attribute__((noinline)) void ready_inject(struct runtime *runtime, struct proc *proc, uint16_t ticket) {
    /* Cannot fail: room for every process was reserved when it was spawned. */
    int error = inject_push(&runtime->inject, entry_make(proc, ticket));
    WEFT_ENSURE(error == 0, "no room in the global queue: %d", error);
}

__attribute__((noinline, cold)) void ready_pinned(struct runtime *runtime, struct worker *self, struct proc *proc, unsigned pinned_to) {
    (void)atom_load_acq(&proc->state.word); /* acq: pairs with the rel that parked the process, so that its worker is seen */
    struct worker *worker = atom_load_rlx(&runtime->workers[pinned_to]); /* rlx: as above */
    mpsc_push(&worker->pinned_ready, &proc->pinned_node);
    if (worker == self) return; /* it is awake, and checks its pinned queue before it sleeps */
    if (idle_wake_one(&runtime->idle, pinned_to)) ready_unpark(runtime, self, (int)pinned_to);
}

void ready(struct runtime *runtime, struct worker *self, struct proc *proc, uint16_t ticket, enum ready_why why) {
    /* A caller that has called a function of the program, or waited, since it read `self` may be on another thread by now. */
    WEFT_ASSERT(WEFT_CHECK || !self || self == my_worker, "a worker was kept across something that may wait");
    if (__builtin_expect(self != NULL, 1)) {
        if (policy_push(self, proc, ticket, why)) ready_tell(self);
        return;
    }
    ready_inject(runtime, proc, ticket);
    ready_wake(runtime, NULL);
}

void proc_wake(struct runtime *runtime, struct worker *self, struct proc *proc) {
    struct state_next next = state_wake(&proc->state);
    if (next.verdict == STATE_ENQUEUE) ready_again(runtime, self, proc, next, READY_WOKEN);
}
