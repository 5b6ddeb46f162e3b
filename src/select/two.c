/* weft_select, and the short ways of a select of two cases, which most are.
 *
 * A message beside something else has its own (beside_message.c), and so has one case beside a moment that is to come (beside_moment.c). Two channels, or a
 * descriptor beside something with a lock, are tried, one after the other, as plain calls would, the first of the two chosen at random: no other thread knows
 * of this select yet, so what happens is one case. Two objects with locks are waited for by the steps of select.c, without its arrays. All others go the long way, from the beginning: a
 * case that could not be tried here would never be chosen beside one that is ready. */
#include "fiber/ret_jump.h"
#include "select/select.h"

/* ---- two objects with locks -------------------------------------------------------------------------------------------------------- */

FIBER_SLOW int two_locked_slow(weft_case *cases, uint64_t deadline, struct lock *first, struct lock *second);
FIBER_RET_JUMP(two_locked_jump, two_locked_slow);
/* With both locks held, which it drops. */
FIBER_SLOW int two_locked_slow(weft_case *cases, uint64_t deadline, struct lock *first, struct lock *second) {
    struct wait wait;
    struct waiter waiters[2];
    wait_begin(&wait);
    for (unsigned i = 0; i < 2; i++) {
        waiter_init(&waiters[i], &wait, select_why(i));
        select_join_one(&cases[i], &waiters[i]);
    }
    lock_drop(second);
    lock_drop(first);
    int why = wait_for(&wait, deadline, "weft_select");
    unsigned happened = why > 0 ? (unsigned)select_number(why) : 2;
    for (unsigned i = 0; i < 2; i++)
        if (i != happened) select_leave_one(&cases[i], select_lock_of(&cases[i]), &waiters[i]); /* the other object may be freed by now */
    if (happened == 2) return why;
    cases[happened].error = why & CHAN_SHUT ? WEFT_ECLOSED : 0;
    return (int)happened;
}

/* With both locks held: performs one that is ready, the number'th rather than the other. Its number, or 2: neither is. */
static inline unsigned two_happens(weft_case *cases, unsigned number, struct waiter **other) {
    for (unsigned i = 0; i < 2; i++, number ^= 1) {
        int error = select_happens(&cases[number], other);
        if (error == WEFT_EAGAIN) continue;
        cases[number].error = error;
        return number;
    }
    return 2;
}

/* Two different objects: locks both in the order of the locks' addresses (select.h, X2), and tries both. */
static int two_locked(weft_case *cases, struct worker *worker, uint64_t deadline) {
    struct lock *first = select_lock_of(&cases[0]), *second = select_lock_of(&cases[1]), *both[] = {first, second};
    if ((uintptr_t)first > (uintptr_t)second) first = both[1], second = both[0];
    for (;;) {
        struct waiter *other;
        lock_take(first);
        lock_take(second);
        if (select_queues(&cases[0]) && select_queues(&cases[1])) return two_locked_jump(cases, deadline, first, second);
        unsigned number = two_happens(cases, select_first(worker), &other);
        lock_drop(second);
        lock_drop(first);
        if (number == 2) continue; /* those waits were all over, and are out of the lists now */
        if (other) waiter_wake(other);
        return (int)number;
    }
}

/* ---- any ------------------------------------------------------------------------------------------------------------------------- */

static inline bool two_is_letter(const weft_case *letter, const weft_case *one, const struct worker *worker) {
    struct proc *proc = worker ? worker->current : NULL;
    return select_is(letter, SELECT_LETTERS) && select_is(one, SELECT_BESIDE) && one->chan && proc && proc->stackful == PROC_STACKFUL;
}
/* Two with objects, of these kinds. */
static inline bool two_are(const weft_case *cases, unsigned kinds) {
    return select_is(&cases[0], kinds) && select_is(&cases[1], kinds) && cases[0].chan && cases[1].chan;
}

/* Whether the long way does not ask the kernel again after a try. Of those with objects. */
static inline bool two_is_tried(const weft_case *one) {
    struct desc *desc = one->kind == WEFT_CASE_READABLE ? desc_place(one->fd) : NULL;
    return select_is(one, SELECT_LOCKED) || (desc && readiness_may_drain(&desc->readiness));
}
/* Tries both. The number of the one that has happened, or -1. */
static __attribute__((flatten)) int two_try(weft_case *cases, struct worker *worker) {
    unsigned number = select_first(worker);
    for (unsigned i = 0; i < 2; i++, number ^= 1) {
        int error = beside_try(&cases[number]);
        if (error == WEFT_EAGAIN) continue;
        cases[number].error = error;
        return (int)number;
    }
    return -1;
}

static __attribute__((noinline)) int two_others(weft_case *cases, struct worker *worker, uint64_t deadline) {
    if (two_are(cases, SELECT_LOCKED | SELECT_FD)) {
        bool locked = two_are(cases, SELECT_LOCKED), channels = two_are(cases, SELECT_CHANNELS);
        /* The checker explores the tries of two channels elsewhere: here it would have ten times as much to do. */
        bool tries = locked ? channels && !WEFT_CHECK : two_is_tried(&cases[0]) && two_is_tried(&cases[1]);
        int number = tries ? two_try(cases, worker) : -1;
        if (number >= 0) return number;
        if (locked && deadline != 0 && cases[0].chan != cases[1].chan) return two_locked(cases, worker, deadline);
    } else if (beside_moment_may(cases, deadline)) {
        return beside_moment(cases, deadline);
    }
    return select_any(cases, 2, false, deadline);
}

static inline int two(weft_case *cases, struct worker *worker, uint64_t deadline) {
    bool second = select_is(&cases[1], SELECT_LETTERS);
    weft_case *letter = second ? &cases[1] : &cases[0], *one = second ? &cases[0] : &cases[1];
    if (two_is_letter(letter, one, worker)) return beside_message(letter, one, deadline, worker);
    return two_others(cases, worker, deadline);
}

/* ---- the call -------------------------------------------------------------------------------------------------------------------- */

/* There is no budget left. Whether it polls, and goes on all the same (fiber_take_turns_slow): so a loop that polls does not take the long way there. */
static inline bool select_polls(struct worker *worker, uint64_t deadline) {
    return deadline == 0 && worker->current && !state_is_condemned(&worker->current->state) && !worker_shall_give_way(worker);
}
/* More cases than two, no worker, or no budget left. */
static __attribute__((noinline)) int select_otherwise(weft_case *cases, size_t count, uint64_t deadline) {
    fiber_spend(my_worker, deadline);
    struct worker *worker = worker_here(); /* it may have yielded */
    return count == 2 ? two(cases, worker, deadline) : select_any(cases, count, false, deadline);
}

/* All is a tail call: so a wait needs no frame of this function's. */
int weft_select(weft_case *cases, size_t count, uint64_t deadline) {
    struct worker *worker = my_worker;
    if (__builtin_expect(count != 2 || !worker || fiber_is_closed(worker) || (budget_spend(worker) && !select_polls(worker, deadline)), 0))
        return select_otherwise(cases, count, deadline);
    return two(cases, worker, deadline);
}
