/* A select of any number of cases; the protocol is in select.h. */
#include "select/select.h"

#include "sched/external_wait.h"
#include "sys/deadline.h"
#include "sys/sys.h"

/* ---- locks ----------------------------------------------------------------------------------------------------------- */

/* Shell sort: a few entries most of the time, and no memory of its own. */
static void select_sort(struct select_room *room, size_t count) {
    size_t gap = 1;
    while (gap < count / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (size_t i = gap; i < count; i++) {
            struct lock *lock = room[i].lock;
            size_t at = i;
            for (; at >= gap && (uintptr_t)room[at - gap].lock > (uintptr_t)lock; at -= gap)
                room[at].lock = room[at - gap].lock;
            room[at].lock = lock;
        }
}

/* Of two, which most selects of locked cases have. */
static inline void select_order_two(struct select *select) {
    struct lock *first = select->room[0].lock, *second = select->room[1].lock;
    select->locks = first == second ? 1 : 2;
    if ((uintptr_t)first <= (uintptr_t)second) return;
    select->room[0].lock = second;
    select->room[1].lock = first;
}

/* The different locks, in the order of their addresses. */
static inline void select_order(struct select *select) {
    struct select_room *room = select->room;
    select->locks = select->locked;
    if (select->locked < 2) return;
    if (select->locked == 2) {
        select_order_two(select);
        return;
    }
    select_sort(room, select->locked);
    select->locks = 0;
    for (size_t i = 0; i < select->locked; i++)
        if (i == 0 || room[i].lock != room[select->locks - 1].lock) room[select->locks++].lock = room[i].lock;
}

static inline void select_lock(struct select *select) {
    for (size_t i = 0; i < select->locks; i++)
        lock_take(select->room[i].lock);
}
static inline void select_unlock(struct select *select) {
    for (size_t i = select->locks; i-- > 0;)
        lock_drop(select->room[i].lock);
}

/* ---- what is ready --------------------------------------------------------------------------------------------------- */

/* A random number from the worker's own generator, or from the thread's. */
uint32_t select_below(uint32_t n) {
#if !WEFT_CHECK
    static _Thread_local struct rng mine;
    static atom_u32 streams;
    struct worker *self = worker_here();
    if (self) return rng_below(&self->rng, n);
    if (!(mine.s[0] | mine.s[1] | mine.s[2] | mine.s[3])) rng_seed(&mine, 1, atom_add_rlx(&streams, 1)); /* rlx: a number */
    return rng_below(&mine, n);
#else
    uint32_t select_choose(uint32_t n); /* check/scenarios/small_fiber.c */
    return select_choose(n);
#endif
}

/* The n-th that is ready takes the place of the choice with probability 1/n: uniform, and no list of them. */
void select_draw(const struct select *select, struct select_draw *draw, size_t number) {
    draw->ready++;
    bool takes = select->in_order ? draw->ready == 1 || (int)number < draw->chosen : draw->ready == 1 || select_below(draw->ready) == 0;
    if (takes) draw->chosen = (int)number;
}

int select_happens(weft_case *one, struct waiter **other) {
    *other = NULL;
    if (one->kind == WEFT_CASE_SEND) return chan_send_now(chan_of(one->chan), one->element, other);
    if (one->kind == WEFT_CASE_RECV) return chan_recv_now(chan_of(one->chan), one->element, other);
    return sem_take(sem_of(one->sem), one->permits, false) ? 0 : WEFT_EAGAIN;
}

/* With all locks held: chooses one of the ready cases, the other ones that `others` has chosen from included, and performs it if it is a
 * locked one. -1: none is ready. */
static inline int select_now(struct select *select, const struct select_draw *others, struct waiter **other) {
    *other = NULL;
    for (;;) {
        struct select_draw draw = *others;
        for (size_t k = 0; k < select->locked; k++)
            if (select_looks_ready(&select->cases[select->room[k].number])) select_draw(select, &draw, select->room[k].number);
        if (draw.chosen < 0 || !select_is(&select->cases[draw.chosen], SELECT_LOCKED)) return draw.chosen;
        int error = select_happens(&select->cases[draw.chosen], other);
        /* Those waits were all over; the waiters are out of the list now, so fewer cases look ready. Or a caller was quicker. */
        if (error == WEFT_EAGAIN) continue;
        select->cases[draw.chosen].error = error;
        return draw.chosen;
    }
}

/* ---- other cases ------------------------------------------------------------------------------------------------------- */

static bool select_has_come(uint64_t moment) {
    if (moment > sys->now()) return false;
    deadline_check(moment, "weft_select");
    return true;
}

static bool select_look_one(weft_case *one, struct select_room *room, bool waits) {
    switch (one->kind) {
    case WEFT_CASE_MOMENT: return select_has_come(one->moment);
    case WEFT_CASE_READABLE:
    case WEFT_CASE_WRITABLE: return fd_case_look(one, &room->fd, waits);
    case WEFT_CASE_END: return end_case_look(one->pid);
    default: return false; /* it is of another sort */
    }
}

/* `waits`: if none is ready, the select waits. */
static struct select_draw select_look(struct select *select, bool waits) {
    struct select_draw draw = {0, -1};
    if (select->letters > 0) mail_cases_look(select, &draw);
    if (select->has & SELECT_SLOW)
        for (size_t i = 0; i < select->count; i++)
            if (select_look_one(&select->cases[i], &select->room[i], waits)) select_draw(select, &draw, i);
    return draw;
}

/* The case is ready, or the wait was claimed for it. */
static int select_perform(struct select *select, int chosen) {
    weft_case *one = &select->cases[chosen];
    struct select_room *room = &select->room[chosen];
    one->error = 0;
    if (select_is(one, SELECT_MAIL)) one->error = mail_case_take(select, one);
    if (select_is(one, SELECT_FD)) one->error = fd_case_error(&room->fd);
    if (select_is(one, SELECT_END)) one->error = end_case_take(one, &room->end);
    return chosen;
}

/* ---- waiting --------------------------------------------------------------------------------------------------------- */

/* With all locks held: the semaphores know that there is a waiter, or the permits are there after all. The number of that case, or -1. */
static int select_queue(struct select *select) {
    for (size_t k = 0; k < select->locked; k++) {
        weft_case *one = &select->cases[select->room[k].number];
        if (one->kind != WEFT_CASE_ACQUIRE || !sem_take(sem_of(one->sem), one->permits, true)) continue;
        one->error = 0;
        return (int)select->room[k].number;
    }
    return -1;
}

/* With all locks held. */
static inline void select_join(struct select *select) {
    for (size_t k = 0; k < select->locked; k++) {
        uint32_t number = select->room[k].number;
        weft_case *one = &select->cases[number];
        struct waiter *waiter = &select->room[number].waiter;
        waiter_init(waiter, &select->wait, select_why(number));
        select_join_one(one, waiter);
    }
}

/* Goes into the lists of descriptors and processes. False: there is news, and the wait is claimed, by the select or by a waker. */
static bool select_join_others(struct select *select) {
    for (size_t i = 0; i < select->count; i++) {
        weft_case *one = &select->cases[i];
        struct select_room *room = &select->room[i];
        uint32_t why = select_why(i), news = 0;
        if (select_is(one, SELECT_FD)) news = (uint32_t)fd_case_join(one, &room->fd, &select->wait, why);
        if (select_is(one, SELECT_END) && !end_case_join(one->pid, &room->end)) news = why;
        if (news) return (void)wait_claim_own(&select->wait, why | news), false;
    }
    return true;
}

/* Leaves all the lists that it is still in. The waiter of the locked case that happened is out already, and that object may be freed by now. */
static inline void select_leave(struct select *select, size_t happened) {
    for (size_t k = 0; k < select->locked; k++) {
        uint32_t number = select->room[k].number;
        if (number != happened)
            select_leave_one(&select->cases[number], select_lock_of(&select->cases[number]), &select->room[number].waiter);
    }
    if (!(select->has & (SELECT_FD | SELECT_END))) return;
    for (size_t i = 0; i < select->count; i++) {
        weft_case *one = &select->cases[i];
        if (select_is(one, SELECT_FD)) fd_case_leave(&select->room[i].fd);
        if (select_is(one, SELECT_END)) end_case_leave(one->pid, &select->room[i].end);
    }
}

/* Until when to wait: the deadline, the first moment, or a look at descriptors of which the kernel does not tell all. */
static inline uint64_t select_until(struct select *select, uint64_t deadline) {
    if (!(select->has & SELECT_SLOW)) return deadline;
    for (size_t i = 0; i < select->count; i++) {
        weft_case *one = &select->cases[i];
        if (one->kind == WEFT_CASE_MOMENT && one->moment < deadline) deadline = one->moment;
        if (one->kind == WEFT_CASE_WRITABLE && select->room[i].fd.desc)
            deadline = op_until(select->room[i].fd.desc, &select->pause, deadline);
    }
    return deadline;
}

static inline void select_external(const struct select *select, void (*tell)(struct local *)) {
    if (!(select->has & SELECT_FD)) return;
    struct worker *worker = worker_here();
    if (worker) tell(&worker->local);
}

enum { SELECT_AGAIN = 1 << 30, SELECT_FEW = 4 };

/* The wait was claimed with this reason. The number of the case that has happened; SELECT_AGAIN: it has not. */
static int select_woken(struct select *select, int why) {
    size_t number = select_number(why);
    weft_case *one = &select->cases[number];
    if (select_is(one, SELECT_FD)) return fd_case_woken(one, &select->room[number].fd, why) ? (int)number : SELECT_AGAIN;
    if (!select_is(one, SELECT_LOCKED)) return select_perform(select, (int)number);
    one->error = why & CHAN_SHUT ? WEFT_ECLOSED : 0;
    return (int)number;
}

/* With all locks held, which it drops. The number of the case that has happened, or SELECT_AGAIN, or an error. *deadline becomes 0 when it has
 * passed, or the process was cancelled (X4). */
static inline int select_wait(struct select *select, uint64_t *deadline) {
    wait_begin(&select->wait);
    int taken = select->has & 1 << WEFT_CASE_ACQUIRE ? select_queue(select) : -1;
    if (taken < 0) select_join(select);
    select_unlock(select);
    if (taken >= 0) return taken;
    bool waits = !(select->has & (SELECT_FD | SELECT_END)) || select_join_others(select);
    uint64_t until = waits ? select_until(select, *deadline) : WEFT_FOREVER;
    select_external(select, external_wait_begin);
    int why = wait_for_any(&select->wait, until, "weft_select", select->letters > 0 ? mail_cases_wake : NULL, select);
    select_external(select, external_wait_end);
    select_leave(select, why > 0 ? select_number(why) : SIZE_MAX);
    if (why > 0) return select_woken(select, why);
    if (!(select->has & ~(unsigned)SELECT_LOCKED)) return why;
    if (why == WEFT_ECANCELED || until == *deadline) *deadline = 0;
    return SELECT_AGAIN;
}

/* ---- the call ---------------------------------------------------------------------------------------------------------- */

/* One round: the number of the case that has happened, or SELECT_AGAIN, or an error. */
static inline int select_round(struct select *select, uint64_t *deadline) {
    struct waiter *other;
    bool others = select->has & ~(unsigned)SELECT_LOCKED;
    struct select_draw draw = {0, -1};
    if (others) draw = select_look(select, *deadline != 0);
    select_lock(select);
    int chosen = select_now(select, &draw, &other);
    if (chosen < 0 && *deadline != 0) return select_wait(select, deadline);
    select_unlock(select);
    if (other) waiter_wake(other);
    if (chosen < 0 && others && select->locks > 0)
        chosen = select_look(select, false).chosen; /* one came before the locked ones had gone */
    if (chosen < 0) return wait_late();
    return select_is(&select->cases[chosen], SELECT_LOCKED) ? chosen : select_perform(select, chosen);
}

/* Notes which kinds there are. */
static inline void select_sort_out(struct select *select) {
    for (size_t i = 0; i < select->count; i++) {
        weft_case *one = &select->cases[i];
        if (one->kind > WEFT_CASE_END) WEFT_REFUSE("weft_select", "a case of an unknown kind", "make cases by weft_case_recv and the like");
        if (select_is(one, SELECT_LOCKED)) {
            if (!one->chan) continue; /* never ready */
            select->room[select->locked].number = (uint32_t)i;
            select->room[select->locked++].lock = select_lock_of(one);
        } else if (select_is(one, SELECT_MAIL)) {
            select->letters++;
            select->letter_number = i;
        }
        select->has |= 1u << one->kind;
    }
}

/* Before the first round, if there are descriptors or ends of processes. */
static void select_begin_slow(struct select *select) {
    select->pause = op_pause_unix;
    for (size_t i = 0; i < select->count; i++) {
        weft_case *one = &select->cases[i];
        if (select_is(one, SELECT_FD)) fd_case_begin(one, &select->room[i].fd);
        if (select_is(one, SELECT_END)) end_case_begin(&select->room[i].end, &select->wait, select_why(i));
    }
}

static void select_finish_slow(struct select *select) {
    for (size_t i = 0; i < select->count; i++)
        if (select_is(&select->cases[i], SELECT_FD)) fd_case_finish(&select->cases[i], &select->room[i].fd);
}

static inline int select_run(struct select *select, uint64_t deadline) {
    int result;
    select_sort_out(select);
    select_order(select);
    if (select->letters > 0) mail_cases_begin(select);
    if (select->has & SELECT_SLOW) select_begin_slow(select);
    do
        result = select_round(select, &deadline);
    while (result == SELECT_AGAIN);
    if (select->has & SELECT_SLOW) select_finish_slow(select);
    return result;
}

static inline int select_in(struct select_room *room, weft_case *cases, size_t count, bool in_order, uint64_t deadline) {
    struct select select;
    select.cases = cases;
    select.count = count;
    select.room = room;
    select.in_order = in_order;
    select.has = select.letters = select.locked = 0;
    return select_run(&select, deadline);
}

static __attribute__((noinline)) int select_many(weft_case *cases, size_t count, bool in_order, uint64_t deadline) {
    if (count >= SELECT_AGAIN >> SELECT_WHY_BITS) WEFT_REFUSE("weft_select", "too many cases", "fewer than 250 million");
    struct select_room *room = sys->alloc(count * sizeof *room);
    if (!room) return WEFT_ENOMEM;
    int result = select_in(room, cases, count, in_order, deadline);
    sys->free(room, count * sizeof *room);
    return result;
}

/* Most processes that select wait in one of these, so their frames are small. */
static __attribute__((noinline)) int select_few(weft_case *cases, size_t count, bool in_order, uint64_t deadline) {
    struct select_room room[SELECT_FEW];
    return select_in(room, cases, count, in_order, deadline);
}
static __attribute__((noinline)) int select_some(weft_case *cases, size_t count, bool in_order, uint64_t deadline) {
    struct select_room room[WEFT_SELECT_PLAIN];
    return select_in(room, cases, count, in_order, deadline);
}
int select_any(weft_case *cases, size_t count, bool in_order, uint64_t deadline) {
    if (count <= SELECT_FEW) return select_few(cases, count, in_order, deadline);
    return (count <= WEFT_SELECT_PLAIN ? select_some : select_many)(cases, count, in_order, deadline);
}

int weft_select_with(weft_case *cases, size_t count, unsigned flags, uint64_t deadline) {
    if (flags & ~(unsigned)WEFT_SELECT_IN_ORDER) return WEFT_EINVAL;
    fiber_spend(my_worker, deadline);
    return select_any(cases, count, flags & WEFT_SELECT_IN_ORDER, deadline);
}
