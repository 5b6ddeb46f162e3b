/* A process that has run goes on to its next state: to sleep, or back into the queues. */
#include "sched/sched.h"

/* Every process that parks passes here. `for_mail`: it waits for a message, among other things; its mailbox is empty then (mpsc
 * M7). A stackful process that is BLOCKED waits for something else, and may have unread messages. */
void commit_park(struct worker *worker, struct proc *proc, enum state_name name, bool for_mail) {
    if (for_mail) mpsc_expect_emptied(&proc->box);
    else mpsc_forget_look(&proc->box);
#if !WEFT_CHECK
    proc->since = atom_load_rlx(&worker->coarse); /* rlx: an approximate time */
#endif
    struct state_next next = state_park(&proc->state, name);
    if (next.verdict == STATE_LOOK && !mpsc_is_clear(&proc->box)) next = state_wake(&proc->state);
    if (next.verdict == STATE_ENQUEUE) ready_again(worker->runtime, worker, proc, next, READY_YIELDED);
}

void commit_requeue(struct worker *worker, struct proc *proc) {
    mpsc_forget_look(&proc->box);
    ready_again(worker->runtime, worker, proc, state_requeue(&proc->state), READY_YIELDED);
}

/* Each of the three in its own place, so that the compiler knows there what becomes of the process: 9 instructions of a message. */
void step_commit(struct worker *worker, struct proc *proc, enum weft_status status) {
    if (status == WEFT_STEP_IDLE) commit_park(worker, proc, STATE_IDLE, true);
    else if (status == WEFT_STEP_CONTINUE) commit_requeue(worker, proc);
    else commit_park(worker, proc, STATE_BLOCKED, false);
}
