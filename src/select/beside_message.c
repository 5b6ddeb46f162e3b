/* A select of two cases, a message and something else: the steps of select.c without the loops. (A message in a process that has all its
 * messages in the box, beside a channel, is two.c's.)
 *
 * A semaphore, and a channel beside a message by its tag: the other case is tried, unless there is a message and the lot falls on that. Then the select waits in the other's list.
 *
 * The end of a process, or a descriptor to be read: if there is a message, the other case is looked at, so that each has its chance. If there is
 * none, the select goes into the other's list at once: for the end of a process that tells whether it has ended already. After a deadline or a
 * cancellation the long way looks at both once more (select.h, X4). */
#include "fiber/ret_jump.h"
#include "sched/external_wait.h"
#include "select/select.h"

enum { BESIDE_NOT_READY = 1, BESIDE_AGAIN = 1 << 30 };

/* The message is received: its number. */
static inline int beside_took(weft_case *cases, unsigned letter, struct proc *proc) {
    letter_take(&cases[letter], proc);
    return (int)letter;
}

/* ---- a semaphore, or a channel -------------------------------------------------------------------------------------------------- */

/* With the lock held. `queue`: the caller waits if it is not ready (WEFT_EAGAIN). */
static inline int beside_now(weft_case *one, struct waiter **other, bool queue) {
    *other = NULL;
    if (one->kind == WEFT_CASE_ACQUIRE) return sem_take(sem_of(one->sem), one->permits, queue) ? 0 : WEFT_EAGAIN;
    if (one->kind == WEFT_CASE_SEND) return chan_send_now(chan_of(one->chan), one->element, other);
    return chan_recv_now(chan_of(one->chan), one->element, other);
}

static int beside_try_locked(weft_case *one) {
    struct waiter *other;
    lock_take(select_lock_of(one));
    int error = beside_now(one, &other, false);
    lock_drop(select_lock_of(one));
    if (other) waiter_wake(other);
    return error == WEFT_EAGAIN ? BESIDE_NOT_READY : error;
}
static inline int beside_try(weft_case *one) {
    if (one->kind != WEFT_CASE_ACQUIRE) return beside_try_locked(one);
    if (atom_load_rlx(&sem_of(one->sem)->word) >> 1 < one->permits) return BESIDE_NOT_READY; /* rlx: a hint; before it waits it locks */
    return sem_try(sem_of(one->sem), one->permits) ? 0 : beside_try_locked(one);
}

/* With the lock held, which it drops: waits in the list, and for a message. */
static inline int beside_sleep(weft_case *one, struct lock *lock, struct match *match, uint64_t deadline) {
    struct turn turn;
    struct waiter *waiter = turn_begin(&turn, one->chan, select_why(0));
    waiter->item = one->element;
    waiter->amount = one->permits;
    waiters_add(select_list(one), waiter);
    lock_drop(lock);
    int why = wait_for_any(&turn.wait, deadline, "weft_select", letter_wake, match);
    if (why < 0 || select_number(why) != 0) select_leave_one(one, lock, waiter); /* else the object may be freed by now */
    return why;
}

FIBER_SLOW int beside_locked_slow(weft_case *cases, unsigned letter, uint64_t deadline);
FIBER_RET_JUMP(beside_locked_jump, beside_locked_slow);
FIBER_SLOW int beside_locked_slow(weft_case *cases, unsigned letter, uint64_t deadline) {
    weft_case *one = &cases[letter ^ 1];
    struct proc *proc = worker_here()->current;
    struct match match = letter_match(&cases[letter], proc);
    struct lock *lock = select_lock_of(one);
    struct waiter *other = NULL;
    lock_take(lock);
    int error = beside_now(one, &other, true), why = select_why(0);
    if (error == WEFT_EAGAIN) {
        why = beside_sleep(one, lock, &match, deadline);
        error = why & CHAN_SHUT ? WEFT_ECLOSED : 0;
    } else {
        lock_drop(lock);
        if (other) waiter_wake(other);
    }
    if (why > 0 && select_number(why) == 0) {
        one->error = error;
        return (int)(letter ^ 1);
    }
    /* Its deadline has passed, or it was cancelled: a message that is there is received all the same (select.h, X4). */
    return why > 0 || search_look(&match) ? beside_took(cases, letter, proc) : why;
}

int beside_locked(weft_case *cases, unsigned letter, struct worker *worker, uint64_t deadline) {
    weft_case *one = &cases[letter ^ 1];
    struct proc *proc = worker->current;
    bool message = letter_look(&cases[letter], proc);
    if (message && select_first(worker) == 0) return beside_took(cases, letter, proc);
    int error = beside_try(one);
    if (error != BESIDE_NOT_READY) {
        one->error = error;
        return (int)(letter ^ 1);
    }
    if (message) return beside_took(cases, letter, proc);
    if (deadline != 0) return beside_locked_jump(cases, letter, deadline);
    return select_any(cases, 2, false, 0);
}

/* ---- the end of a process ------------------------------------------------------------------------------------------------------- */

/* There is a message, and perhaps the other case is ready too. True: that one is chosen. */
static bool beside_draws_other(bool ready) { return ready && select_first(worker_here()) == 0; }

static int beside_ended(weft_case *cases, unsigned letter, struct select_end *room) {
    cases[letter ^ 1].error = end_case_take(&cases[letter ^ 1], room);
    return (int)(letter ^ 1);
}

FIBER_SLOW int beside_end_slow(weft_case *cases, unsigned letter, uint64_t deadline);
FIBER_RET_JUMP(beside_end_jump, beside_end_slow);
/* There is no message yet. */
FIBER_SLOW int beside_end_slow(weft_case *cases, unsigned letter, uint64_t deadline) {
    weft_pid pid = cases[letter ^ 1].pid;
    struct proc *proc = worker_here()->current;
    struct match match = letter_match(&cases[letter], proc);
    struct select_end room;
    struct wait wait;
    wait_begin(&wait);
    end_case_begin(&room, &wait, select_why(0));
    if (!end_case_join(pid, &room)) return beside_ended(cases, letter, &room);
    int why = wait_for_any(&wait, deadline, "weft_select", letter_wake, &match);
    end_case_leave(pid, &room);
    if (why == (int)select_why(1)) return beside_took(cases, letter, proc);
    return why > 0 ? beside_ended(cases, letter, &room) : select_any(cases, 2, false, 0);
}

int beside_end(weft_case *cases, unsigned letter, struct worker *worker, uint64_t deadline) {
    struct proc *proc = worker->current;
    weft_pid pid = cases[letter ^ 1].pid;
    struct select_end room;
    if (deadline == 0 || weft_self() == pid) return select_any(cases, 2, false, deadline); /* which refuses the latter */
    if (!letter_look(&cases[letter], proc)) return beside_end_jump(cases, letter, deadline);
    room.taken = false;
    return beside_draws_other(end_case_look(pid)) ? beside_ended(cases, letter, &room) : beside_took(cases, letter, proc);
}

/* ---- a descriptor ---------------------------------------------------------------------------------------------------------------- */

/* Neither is ready. The number of the case that has happened, or BESIDE_AGAIN, or an error. */
static inline int beside_fd_wait(weft_case *cases, unsigned letter, struct select_fd *room, struct match *match, uint64_t deadline) {
    weft_case *one = &cases[letter ^ 1];
    struct wait wait;
    wait_begin(&wait);
    int news = fd_case_join(one, room, &wait, select_why(0));
    if (news) wait_claim_own(&wait, select_why(0) | (uint32_t)news);
    external_wait_begin(&worker_here()->local);
    int why = wait_for_any(&wait, deadline, "weft_select", letter_wake, match);
    external_wait_end(&worker_here()->local);
    fd_case_leave(room);
    if (why < 0) return why;
    if (select_number(why) == 1) return beside_took(cases, letter, match->proc);
    return fd_case_woken(one, room, why) ? (int)(letter ^ 1) : BESIDE_AGAIN;
}

static int beside_fd_round(weft_case *cases, unsigned letter, struct select_fd *room, struct match *match, uint64_t deadline) {
    weft_case *one = &cases[letter ^ 1];
    bool ready = fd_case_look(one, room, true), message = search_look(match);
    if (message && !beside_draws_other(ready)) return beside_took(cases, letter, match->proc);
    if (!ready) return beside_fd_wait(cases, letter, room, match, deadline);
    one->error = fd_case_error(room);
    return (int)(letter ^ 1);
}

__attribute__((flatten)) int beside_fd(weft_case *cases, unsigned letter, struct worker *worker, uint64_t deadline) {
    struct match match = letter_match(&cases[letter], worker->current);
    weft_case *one = &cases[letter ^ 1];
    struct select_fd room;
    int result;
    if (deadline == 0) return select_any(cases, 2, false, 0);
    fd_case_begin(one, &room);
    do
        result = beside_fd_round(cases, letter, &room, &match, deadline);
    while (result == BESIDE_AGAIN);
    fd_case_finish(one, &room);
    return result < 0 ? select_any(cases, 2, false, 0) : result;
}
