/* weft_select, and the short way of a select of two cases, a channel and a message or two channels, which most are.
 *
 * It tries both, one after the other, as plain calls would, the first of the two chosen at random: no other thread knows of this select yet, so
 * what happens is one case. If neither is ready, a channel and a message are waited for in the channel's list alone, and the mailbox is looked
 * into before each sleep, as there (select.h, X1): the same steps as those of select.c, without the loops. A message beside something else has its own short
 * ways: beside_message.c. One case beside a moment that is to come is that case's own call (beside_moment.c). All others go the long way, from the beginning: a
 * case that could not be tried here would never be chosen beside one that is ready. */
#include "fiber/ret_jump.h"
#include "select/select.h"

enum { TWO_NOT_READY = 1 };

/* ---- trying ------------------------------------------------------------------------------------------------------------------ */

static inline int two_chan_now(weft_case *one, struct waiter **other) {
    struct chan *chan = chan_of(one->chan);
    if (one->kind == WEFT_CASE_SEND) return chan_send_now(chan, one->element, other);
    return chan_recv_now(chan, one->element, other);
}

static inline int two_try_chan(weft_case *one) {
    struct chan *chan = chan_of(one->chan);
    struct waiter *other;
    if (!chan) return TWO_NOT_READY;
    lock_take(&chan->lock);
    int error = two_chan_now(one, &other);
    lock_drop(&chan->lock);
    if (other) waiter_wake(other);
    return error == WEFT_EAGAIN ? TWO_NOT_READY : error;
}

/* Whether the caller is a stackful process that has all its messages in the box. */
static inline bool two_is_plain(const struct worker *worker) {
    struct proc *proc = worker ? worker->current : NULL;
    return proc && proc->stackful == PROC_STACKFUL && !(proc->extras & (PROC_MAILBOX | PROC_BOUNDED));
}

static inline int two_take(weft_case *one, struct proc *proc) {
    struct mpsc_node *node = mpsc_pop_direct(&proc->box);
    if (!node) return TWO_NOT_READY;
    *one->message = (weft_msg *)message_of(node);
    if (MESSAGE_CHECKED) message_given(message_of(node), weft_self());
    sim_note("receive", message_of(node)->from);
    return 0;
}

/* Whether both can be tried: channels, and messages of a plain process. */
static inline bool two_may_try(const weft_case *cases, const struct worker *worker) {
    enum weft_case_kind a = cases[0].kind, b = cases[1].kind;
    if (a == WEFT_CASE_MESSAGE) return b <= WEFT_CASE_MESSAGE && two_is_plain(worker);
    return a <= WEFT_CASE_RECV && (b <= WEFT_CASE_RECV || (b == WEFT_CASE_MESSAGE && two_is_plain(worker)));
}

static inline int two_try(weft_case *one, struct worker *worker) {
    return one->kind == WEFT_CASE_MESSAGE ? two_take(one, worker->current) : two_try_chan(one);
}

/* ---- waiting for a message and a channel ----------------------------------------------------------------------------------------- */

static uint32_t two_letter(void *proc) { return mpsc_is_empty(&((struct proc *)proc)->box) ? 0 : select_why(1); }

static inline void two_leave(struct chan *chan, struct waiter *waiter) {
    lock_take(&chan->lock);
    if (waiter->in) waiters_remove(waiter);
    lock_drop(&chan->lock);
}

/* With the channel's lock held: waits in its list, and for a message. */
static inline int two_sleep(weft_case *one, struct chan *chan, struct proc *proc, uint64_t deadline) {
    struct turn turn;
    turn_begin(&turn, chan, select_why(0))->item = one->element;
    waiters_add(one->kind == WEFT_CASE_SEND ? &chan->senders : &chan->receivers, &turn.waiter);
    lock_drop(&chan->lock);
    int why = wait_for_any(&turn.wait, deadline, "weft_select", two_letter, proc);
    if (why < 0 || select_number(why) != 0) two_leave(chan, &turn.waiter); /* else the channel may be freed by now */
    return why;
}

FIBER_SLOW int two_wait_slow(weft_case *cases, unsigned letter, uint64_t deadline);
FIBER_RET_JUMP(two_wait_jump, two_wait_slow);
/* The message is the case with the number `letter`, the channel the other. */
FIBER_SLOW int two_wait_slow(weft_case *cases, unsigned letter, uint64_t deadline) {
    weft_case *one = &cases[letter ^ 1];
    struct chan *chan = chan_of(one->chan);
    struct proc *proc = worker_here()->current;
    struct waiter *other = NULL;
    lock_take(&chan->lock);
    int error = two_chan_now(one, &other), why = select_why(0);
    if (error == WEFT_EAGAIN) {
        why = two_sleep(one, chan, proc, deadline);
        error = why & CHAN_SHUT ? WEFT_ECLOSED : 0;
    } else {
        lock_drop(&chan->lock);
        if (other) waiter_wake(other);
    }
    /* Its deadline has passed, or it was cancelled: a message that is there is received all the same (select.h, X4). */
    bool message = why < 0 || select_number(why) == 1;
    if (message && two_take(&cases[letter], proc) == TWO_NOT_READY) return why;
    cases[message ? letter : letter ^ 1].error = message ? 0 : error;
    return (int)(message ? letter : letter ^ 1);
}

/* Of two that may be tried. */
static inline bool two_may_wait(const weft_case *cases, unsigned letter) {
    const weft_case *one = &cases[letter ^ 1];
    return cases[letter].kind == WEFT_CASE_MESSAGE && one->kind <= WEFT_CASE_RECV && one->chan;
}

/* Two channels are tried by calls that the checker explores elsewhere: here it would have ten times as much to do. */
static inline bool two_is_explored(const weft_case *cases) {
    return WEFT_CHECK && !select_is(&cases[0], SELECT_LETTERS) && !select_is(&cases[1], SELECT_LETTERS);
}

/* A message beside a case that is not tried here, or in a process that is not plain. */
static inline bool two_is_letter(const weft_case *cases, unsigned letter, const struct worker *worker) {
    return select_is(&cases[letter], SELECT_LETTERS) && cases[letter ^ 1].chan && letter_may(worker);
}

/* Two that are not tried here. */
static __attribute__((noinline)) int two_any(weft_case *cases, struct worker *worker, uint64_t deadline) {
    unsigned letter = select_is(&cases[1], SELECT_LETTERS);
    if (two_is_letter(cases, letter, worker)) {
        const weft_case *one = &cases[letter ^ 1];
        if (select_is(one, SELECT_LOCKED)) return beside_locked(cases, letter, worker, deadline);
        if (one->kind == WEFT_CASE_END) return beside_end(cases, letter, worker, deadline);
        if (one->kind == WEFT_CASE_READABLE) return beside_fd(cases, letter, worker, deadline);
    }
    bool locked = select_is(&cases[0], SELECT_LOCKED) && select_is(&cases[1], SELECT_LOCKED);
    return !locked && beside_moment_may(cases, deadline) ? beside_moment(cases, deadline) : select_any(cases, 2, false, deadline);
}

/* ---- the call -------------------------------------------------------------------------------------------------------------------- */

int weft_select(weft_case *cases, size_t count, uint64_t deadline) {
    fiber_spend(my_worker, deadline);
    if (__builtin_expect(count != 2, 0) || two_is_explored(cases)) return select_any(cases, count, false, deadline);
    struct worker *worker = worker_here(); /* it may have yielded */
    if (!two_may_try(cases, worker)) return two_any(cases, worker, deadline);
    unsigned number = select_first(worker);
    for (unsigned i = 0; i < 2; i++, number ^= 1) {
        int error = two_try(&cases[number], worker);
        if (error == TWO_NOT_READY) continue;
        cases[number].error = error;
        return (int)number;
    }
    unsigned letter = cases[1].kind == WEFT_CASE_MESSAGE;
    if (deadline != 0 && two_may_wait(cases, letter)) return two_wait_jump(cases, letter, deadline);
    return select_any(cases, 2, false, deadline);
}
