/* A select of two cases, a message and something else: the steps of select.c without the loops.
 *
 * It looks into the mailbox. If there is a message, and the lot falls on it, that is all; else the other case is tried, and the message is taken if that is
 * not ready: no other thread knows of this select yet, so what happens is one case. If there is none, the other case is tried and then waited for in its
 * list, and the mailbox is looked into before each sleep (select.h, X1). A semaphore or a channel stays locked between the try and the list; a descriptor
 * counts its edges (readiness.h); the end of a process is tried by going into its list.
 *
 * After a deadline or a cancellation what is there happens all the same (select.h, X4). The reason of the wait is select_why(1) for the message, and
 * select_why(0) for the other case, whatever their numbers are. */
#include "fiber/ret_jump.h"
#include "sched/external_wait.h"
#include "select/select.h"

/* ---- the message ---------------------------------------------------------------------------------------------------------------- */

/* Whether all its messages are in the box, and any will do. */
static inline bool letter_is_plain(const weft_case *one, const struct proc *proc) {
    return __builtin_expect(one->kind == WEFT_CASE_MESSAGE && !(proc->extras & (PROC_MAILBOX | PROC_BOUNDED)), 1);
}
static inline struct match letter_match(const weft_case *one, struct proc *proc) {
    return (struct match){.tag = one->tag, .any = one->kind == WEFT_CASE_MESSAGE, .proc = proc};
}
static __attribute__((noinline, flatten)) bool letter_look_aside(const weft_case *one, struct proc *proc) {
    struct match match = letter_match(one, proc);
    return search_look_aside(&match);
}
/* False: there is none, and the box is empty. */
static inline bool letter_look(const weft_case *one, struct proc *proc) {
    return letter_is_plain(one, proc) ? !mpsc_is_empty(&proc->box) : letter_look_aside(one, proc);
}

static __attribute__((noinline, flatten)) struct message *letter_take_aside(const weft_case *one, struct proc *proc) {
    struct match match = letter_match(one, proc);
    return (struct message *)search_take(&match);
}
static inline int letter_took(weft_case *letter, const weft_case *one, struct message *message) {
    *letter->message = (weft_msg *)message;
    letter->error = 0;
    if (MESSAGE_CHECKED) message_given(message, weft_self());
    sim_note("receive", message->from);
    return letter > one;
}
/* After letter_look has found one: the number of the case. */
static inline int letter_take(weft_case *letter, const weft_case *one, struct proc *proc) {
    return letter_took(letter, one,
                       letter_is_plain(letter, proc) ? message_of(mpsc_pop_direct(&proc->box)) : letter_take_aside(letter, proc));
}

/* A wait_look. */
static uint32_t letter_wake(void *letter) { return letter_look(letter, worker_here()->current) ? select_why(1) : 0; }
/* The last look has found none. */
static inline __attribute__((always_inline)) int letter_wait(weft_case *letter, struct proc *proc, struct wait *wait, struct worker *worker,
                                                             uint64_t deadline) {
    uint32_t claimed = WAIT_PENDING;
    if (deadline == WEFT_FOREVER && !fiber_is_cancelled(proc)) {
        claimed = wait_for_mail(wait, worker, proc, "weft_select");
        if (!claimed && letter_look(letter, proc)) claimed = wait_give_up(wait, select_why(1));
    }
    return __builtin_expect(claimed != WAIT_PENDING, 1) ? (int)claimed : wait_for_any(wait, deadline, "weft_select", letter_wake, letter);
}

/* ---- the other case --------------------------------------------------------------------------------------------------------------- */

/* It has happened: its number. */
static inline int beside_done(weft_case *letter, weft_case *one, int error) {
    one->error = error;
    return one > letter;
}
/* The long way. */
static int beside_any(weft_case *letter, weft_case *one, uint64_t deadline) {
    return select_any(letter < one ? letter : one, 2, false, deadline);
}

/* ---- a semaphore, or a channel -------------------------------------------------------------------------------------------------- */

/* With the lock held, which it drops: performs the case, or WEFT_EAGAIN: the waits of all that it could have been with were over. They are out of the
 * list now. */
static int beside_happens(weft_case *one) {
    struct waiter *other;
    int error = select_happens(one, &other);
    lock_drop(select_lock_of(one));
    if (other) waiter_wake(other);
    return error;
}
FIBER_SLOW int beside_locked_slow(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker, struct lock *lock);
FIBER_RET_JUMP(beside_locked_jump, beside_locked_slow);
/* With the lock held, which it drops. */
FIBER_SLOW int beside_locked_slow(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker, struct lock *lock) {
    struct proc *proc = worker->current;
    struct turn turn;
    select_join_one(one, turn_begin_in(&turn, worker, one->chan, select_why(0)));
    lock_drop(lock);
    int why = letter_wait(letter, proc, &turn.wait, worker, deadline);
    if (why > 0 && select_number(why) == 0)
        return beside_done(letter, one, why & CHAN_SHUT ? WEFT_ECLOSED : 0); /* the object may be freed by now */
    select_leave_one(one, lock, &turn.waiter);
    return why > 0 || letter_look(letter, proc) ? letter_take(letter, one, proc) : why;
}

/* With the lock held if `held`: the other case is ready, or seems to be; or it is locked by another thread. */
static __attribute__((noinline)) int beside_locked_again(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker,
                                                         bool held) {
    struct lock *lock = select_lock_of(one);
    for (;; held = false) {
        if (!held) lock_take(lock);
        if (select_queues(one)) return beside_locked_jump(letter, one, deadline, worker, lock);
        int error = beside_happens(one);
        if (error != WEFT_EAGAIN) return beside_done(letter, one, error);
    }
}

static inline int beside_locked(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker) {
    struct lock *lock = select_lock_of(one);
    bool held = lock_try(lock);
    if (__builtin_expect(held && select_queues(one), 1)) return beside_locked_jump(letter, one, deadline, worker, lock);
    return beside_locked_again(letter, one, deadline, worker, held);
}

/* ---- the end of a process ------------------------------------------------------------------------------------------------------- */

FIBER_SLOW int beside_end_slow(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker);
FIBER_RET_JUMP(beside_end_jump, beside_end_slow);
FIBER_SLOW int beside_end_slow(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker) {
    struct proc *proc = worker->current;
    struct select_end room;
    struct wait wait;
    wait_begin_in(&wait, worker->runtime, proc);
    end_case_begin(&room, &wait, select_why(0));
    if (!end_case_join_on(worker, one->pid, &room)) return beside_done(letter, one, end_case_take(one, &room));
    int why = letter_wait(letter, proc, &wait, worker, deadline);
    end_case_leave_on(worker_here(), one->pid, &room);
    if (why == (int)select_why(1)) return letter_take(letter, one, proc);
    return why > 0 ? beside_done(letter, one, end_case_take(one, &room)) : beside_any(letter, one, 0);
}

/* ---- a descriptor: not used while it is waited for (readiness.h, N8) ------------------------------------------------------------------ */

/* The wait was claimed with this reason. */
static __attribute__((noinline)) int beside_fd_woken(weft_case *letter, weft_case *one, uint64_t deadline, int why) {
    struct select_fd room;
    fd_case_begin(one, &room);
    if (!room.desc) return beside_done(letter, one, WEFT_ECLOSED);
    bool happened = fd_case_woken(one, &room, why);
    fd_case_finish(one, &room);
    return happened ? one > letter : beside_any(letter, one, deadline);
}

FIBER_SLOW int beside_fd_slow(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker, struct desc *desc,
                              uint64_t seen);
FIBER_RET_JUMP(beside_fd_jump, beside_fd_slow);
/* There was nothing to read after so many edges. */
FIBER_SLOW int beside_fd_slow(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker, struct desc *desc,
                              uint64_t seen) {
    struct proc *proc = worker->current;
    struct turn turn;
    turn_begin_in(&turn, worker, NULL, select_why(0));
    int news = readiness_join(&desc->readiness, desc_generation(one->fd), READINESS_IN, seen, &turn.waiter);
    if (news == READINESS_CLOSED) return beside_done(letter, one, WEFT_ECLOSED);
    if (news) return beside_any(letter, one, deadline);
    external_wait_begin(&worker->local);
    int why = letter_wait(letter, proc, &turn.wait, worker, deadline);
    external_wait_end(&worker_here()->local);
    if (why > 0 && select_number(why) == 0) return beside_fd_woken(letter, one, deadline, why);
    readiness_leave(&desc->readiness, &turn.waiter);
    return why > 0 ? letter_take(letter, one, proc) : beside_any(letter, one, 0);
}

/* Asks the kernel. */
static __attribute__((noinline)) int beside_fd_asks(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker) {
    struct select_fd room;
    fd_case_begin(one, &room);
    bool ready = fd_case_look(one, &room, true);
    fd_case_finish(one, &room);
    return ready ? beside_done(letter, one, fd_case_error(&room)) : beside_fd_jump(letter, one, deadline, worker, room.desc, room.seen);
}
static inline int beside_fd(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker) {
    struct desc *desc = desc_place(one->fd);
    uint64_t seen = desc ? readiness_seen(&desc->readiness, READINESS_IN) : 0;
    if (!desc || !readiness_is_drained(&desc->readiness, seen)) return beside_fd_asks(letter, one, deadline, worker);
    return beside_fd_jump(letter, one, deadline, worker, desc, seen);
}

/* ---- all -------------------------------------------------------------------------------------------------------------------------- */

int beside_try(weft_case *one) {
    struct select_fd fd;
    struct select_end end = {.taken = false};
    bool ready;
    switch (one->kind) {
    case WEFT_CASE_END: return end_case_look(one->pid) ? end_case_take(one, &end) : WEFT_EAGAIN;
    case WEFT_CASE_READABLE:
    case WEFT_CASE_WRITABLE:
        fd_case_begin(one, &fd);
        ready = fd_case_look(one, &fd, false);
        fd_case_finish(one, &fd);
        return ready ? fd_case_error(&fd) : WEFT_EAGAIN;
    default: lock_take(select_lock_of(one)); return beside_happens(one);
    }
}

/* There is no message. */
static inline int beside_wait(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker) {
    if (select_is(one, SELECT_LOCKED)) return beside_locked(letter, one, deadline, worker);
    if (one->kind == WEFT_CASE_READABLE) return beside_fd(letter, one, deadline, worker);
    if (one->pid == proc_pid(worker->current)) return beside_any(letter, one, deadline); /* which refuses it */
    return beside_end_jump(letter, one, deadline, worker);
}

/* The other case, if it is ready; else the message, if there is one. The select does not wait. */
static __attribute__((noinline)) int beside_now(weft_case *letter, weft_case *one, struct proc *proc, bool message) {
    int error = beside_try(one);
    if (error != WEFT_EAGAIN) return beside_done(letter, one, error);
    return message ? letter_take(letter, one, proc) : beside_any(letter, one, 0);
}

/* It cannot be told at once whether there is a message, or the select does not wait. */
static __attribute__((noinline)) int beside_otherwise(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker) {
    struct proc *proc = worker->current;
    bool message = letter_look(letter, proc);
    if (message && select_first(worker) == 0) return letter_take(letter, one, proc);
    return message || deadline == 0 ? beside_now(letter, one, proc, message) : beside_wait(letter, one, deadline, worker);
}

/* What most selects come to is here, and no register is saved for it: all that is rare is a tail call. */
int beside_message(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker) {
    struct proc *proc = worker->current;
    bool plain = letter_is_plain(letter, proc);
    if (plain && proc->box.taken && proc->box.taken != MPSC_LOOKED) {
        if (select_first(worker)) return beside_now(letter, one, proc, true);
        return letter_took(letter, one, message_of(mpsc_pop_taken(&proc->box)));
    }
    if (!plain || !mpsc_is_clear(&proc->box) || deadline == 0) return beside_otherwise(letter, one, deadline, worker);
    mpsc_looked(&proc->box);
    return beside_wait(letter, one, deadline, worker);
}
