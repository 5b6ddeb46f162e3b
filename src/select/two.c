/* weft_select, and the short ways of a select of two cases, which most are.
 *
 * A message beside something else has its own (beside_message.c), and so has one case beside a moment that is to come (beside_moment.c). Two channels are
 * tried, one after the other, as plain calls would, the first of the two chosen at random: no other thread knows of this select yet, so what happens is
 * one case. All others go the long way, from the beginning: a case that could not be tried here would never be chosen beside one that is ready. */
#include "select/select.h"

enum { TWO_NOT_READY = 1 };

/* ---- two channels ---------------------------------------------------------------------------------------------------------------- */

static inline int two_try(weft_case *one) {
    struct chan *chan = chan_of(one->chan);
    struct waiter *other;
    if (!chan) return TWO_NOT_READY;
    lock_take(&chan->lock);
    int error = one->kind == WEFT_CASE_SEND ? chan_send_now(chan, one->element, &other) : chan_recv_now(chan, one->element, &other);
    lock_drop(&chan->lock);
    if (other) waiter_wake(other);
    return error == WEFT_EAGAIN ? TWO_NOT_READY : error;
}

static int two_channels(weft_case *cases, struct worker *worker, uint64_t deadline) {
    unsigned number = select_first(worker);
    for (unsigned i = 0; i < 2; i++, number ^= 1) {
        int error = two_try(&cases[number]);
        if (error == TWO_NOT_READY) continue;
        cases[number].error = error;
        return (int)number;
    }
    return select_any(cases, 2, false, deadline);
}

/* ---- any ------------------------------------------------------------------------------------------------------------------------- */

static inline bool two_is_letter(const weft_case *letter, const weft_case *one, const struct worker *worker) {
    struct proc *proc = worker ? worker->current : NULL;
    return select_is(letter, SELECT_LETTERS) && select_is(one, SELECT_BESIDE) && one->chan && proc && proc->stackful == PROC_STACKFUL;
}
/* Two channels are tried by calls that the checker explores elsewhere: here it would have ten times as much to do. */
static inline bool two_are_channels(const weft_case *cases) {
    return !WEFT_CHECK && cases[0].kind <= WEFT_CASE_RECV && cases[1].kind <= WEFT_CASE_RECV;
}

static __attribute__((noinline)) int two_others(weft_case *cases, struct worker *worker, uint64_t deadline) {
    if (two_are_channels(cases)) return two_channels(cases, worker, deadline);
    return beside_moment_may(cases, deadline) ? beside_moment(cases, deadline) : select_any(cases, 2, false, deadline);
}

static inline int two(weft_case *cases, struct worker *worker, uint64_t deadline) {
    bool second = select_is(&cases[1], SELECT_LETTERS);
    weft_case *letter = second ? &cases[1] : &cases[0], *one = second ? &cases[0] : &cases[1];
    if (two_is_letter(letter, one, worker)) return beside_message(letter, one, deadline, worker);
    return two_others(cases, worker, deadline);
}

/* ---- the call -------------------------------------------------------------------------------------------------------------------- */

/* Whether it polls, with no budget left, and goes on all the same (fiber_take_turns_slow): so a loop that polls does not take the long way there. */
static inline bool select_polls(struct worker *worker, uint64_t deadline) {
    struct proc *proc = worker && deadline == 0 && !fiber_is_closed(worker) && budget_is_over(worker) ? worker->current : NULL;
    return proc && !state_condemned(&proc->state) && !worker_shall_give_way(worker);
}
/* More cases than two, no worker, or no budget left. */
static __attribute__((noinline)) int select_otherwise(weft_case *cases, size_t count, uint64_t deadline) {
    struct worker *worker = my_worker;
    if (!select_polls(worker, deadline)) {
        fiber_spend(worker, deadline);
        worker = worker_here(); /* it may have yielded */
    }
    return count == 2 ? two(cases, worker, deadline) : select_any(cases, count, false, deadline);
}

/* All is a tail call: so a wait needs no frame of this function's. */
int weft_select(weft_case *cases, size_t count, uint64_t deadline) {
    struct worker *worker = my_worker;
    if (__builtin_expect(count != 2 || !worker || fiber_is_closed(worker) || budget_spend(worker), 0))
        return select_otherwise(cases, count, deadline);
    return two(cases, worker, deadline);
}
