/* Delivering a message: into the mailbox of a process, which is woken if it waits.
 *
 *   a sender that finds the process Idle             any other sender
 *   1  the box holds nothing                         1  pushes the message onto the box (mpsc_push)
 *   2  state_hold: Idle -> Running, by one CAS       2  if it was the first: state_wake
 *   3  the message becomes the consumer's list
 *   4  queues the process (state_let_go), or puts it into its slot as it is (queue/slot.h)
 *
 * An Idle process has emptied its box (mpsc M7), and the sender that holds it is the box's consumer: it needs no push, and the receiver no
 * swap to take the message out. So a message to a process that waits takes one read-modify-write in place of three.
 *
 *   V1  The sender looks into the box before it holds the process: a message that it pushed before, unheard, is older, and a box with bounds
 *       takes no message this way. What other senders push after that look was sent at the same time, and may come later.
 *   V2  From state_hold to state_let_go no other thread runs the process or touches its consumer's side: a hand-off that would claim a
 *       Ready process does not find it Ready before the message is there.
 *   V3  A process that ends looks into its box when it is COMPLETE. If it finds nothing, it leaves the box open: to close it would take one more
 *       read-modify-write. A sender that pushes later is told so by its wake (STATE_DEAD), shuts the box, and frees what lies there. What was pushed unheard and
 *       woken for by no sender is found when the block is used again (magazine_take).
 *   V4  STATE_DEAD may also mean that the process is just being born, if the sender knows its PID already. Then the PID is still that of the block; of a process
 *       that has ended it is not. */
#ifndef WEFT_PROC_DELIVER_H
#define WEFT_PROC_DELIVER_H

#include "proc/proc.h"

/* In a section, after the look-up: the sender's first three steps. False: nothing was done, the process does not wait for a message, or is pinned. */
static inline bool deliver_unpinned(struct proc *proc, struct mpsc_node *node, struct state_next *next) {
    if (!mpsc_is_clear(&proc->box) || !state_hold_unpinned(&proc->state, next)) return false; /* V1 */
    mpsc_hand_over(&proc->box, node);
    return true;
}

/* In a section, after the look-up. `trail`: the sender's. *next is what the caller has to do, besides with a message that was refused. STATE_RUN: it holds the
 * process, and queues it. STATE_ENQUEUE: it has woken it. Else nothing. */
static inline enum mpsc_pushed deliver(struct proc *proc, struct mpsc_node *node, struct ahead_trail *trail, struct state_next *next) {
    if (mpsc_is_clear(&proc->box) && state_hold(&proc->state, next)) { /* V1 */
        mpsc_hand_over(&proc->box, node);
        return MPSC_PUSHED;
    }
    *next = (struct state_next){.verdict = STATE_NOTHING};
    enum mpsc_pushed pushed = mpsc_push_trailing(&proc->box, node, trail);
    if (pushed == MPSC_PUSHED_FIRST) *next = state_wake_for_mail(&proc->state);
    return pushed;
}

/* By a process whose box was bare when it began to end: state_complete, whose answer is *left. True: that was all. Else the box is to be closed: V3. */
static inline bool deliver_end_bare(struct proc *proc, uint32_t *left) {
    *left = state_complete(&proc->state);
    return __builtin_expect(*left == 0 && mpsc_is_clear(&proc->box), 1);
}
/* By the process, at its end: state_complete, whose answer it returns, and what the box holds, to be freed. A box that holds messages, or is diverted, is closed
 * before (mail/send_bounded.c relies on it); so is, behind, that of a process with more to give up: those that are told of its end push without a look at the
 * verdict (life/tie.c). */
static inline uint32_t deliver_end(struct proc *proc, struct mpsc_node **rest) {
    uint32_t left;
    if (mpsc_is_bare(&proc->box)) {
        *rest = deliver_end_bare(proc, &left) ? NULL : mpsc_close(&proc->box);
    } else {
        *rest = mpsc_close(&proc->box);
        left = state_complete(&proc->state);
    }
    return left;
}

/* In the section in which it has pushed, by a sender whose wake said STATE_DEAD: what the box of the ended process holds, to be freed outside of the section. */
static inline struct mpsc_node *deliver_too_late(struct proc *proc, weft_pid to) {
    (void)atom_load_acq(
        &proc->state.word); /* acq: pairs with the swap in state_complete. A process that has ended has no PID any more: V4 */
    return proc_pid(proc) == to ? NULL : mpsc_shut(&proc->box);
}

/* Hand-off: the same by a caller that runs the process next, if it can claim it. True: it has. False: nothing was done. `ready_too`: also one
 * that is queued. It may have messages that it has not read: then this one is pushed like any other. */
static inline bool deliver_and_claim(struct proc *proc, struct mpsc_node *node, bool ready_too) {
    if (!mpsc_is_clear(&proc->box) || !state_take(&proc->state, ready_too)) return false; /* V1 */
    if (mpsc_is_empty(&proc->box)) mpsc_hand_over(&proc->box, node);
    else mpsc_push(&proc->box, node);
    return true;
}

#endif
