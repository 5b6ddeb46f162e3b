/* Select, inside: one wait for several things.
 *
 * Cases are of two sorts. *Locked* ones are objects with a lock and a list (channels, semaphores): what they wait for is claimed by a waker
 * under that lock. *Other* ones are a mailbox, which only its own process looks into; descriptors and ends of processes, whose wakers claim
 * the wait; and moments, for which there is its timer.
 *
 *     1  looks at the other cases, without any effect
 *     2  locks all locked ones, in the order of the locks' addresses; looks at them; chooses one of all that are ready, and performs it.
 *        That was all
 *     3  none is ready: under the locks goes into all the lists, with one wait; drops the locks
 *     4  goes into the lists of descriptors and processes; what has happened there since 1 makes it claim the wait itself
 *     5  waits (wait.h). Before each sleep it looks into the mailbox; if there is a message for it, it claims the wait itself
 *     6  leaves all the lists that it is still in; performs what the claim was for
 *
 *   X1  The wait is claimed once (wait.h, W1). A case is performed by the waker that has claimed the wait for it, or by the select itself: in
 *       step 2, when no other thread knows of the wait yet, or after the claim was its own. So one case happens, and the others have no
 *       effect: nothing is taken from a mailbox, and no result of a process, before the claim.
 *   X2  Two selects do not wait for each other's locks: each takes them in the order of addresses, each once, and takes no other lock
 *       meanwhile.
 *   X3  A claim for a descriptor says that it may be ready: the select looks at that descriptor first, and if it is not ready begins again. No
 *       other case can have happened meanwhile.
 *   X4  After its deadline, or a cancellation, a select with other cases looks at all once more: what is there at once happens (weft/stackful.h).
 *       Locked cases alone need not: had one been ready, its waker would have claimed the wait. */
#ifndef WEFT_SELECT_SELECT_H
#define WEFT_SELECT_SELECT_H

#include "life/monitor.h"
#include "mail/search.h"
#include "net/op.h"
#include "sync/chan.h"
#include "sync/sem.h"

#include <weft/select.h>

/* The reason that a claim carries: the number of the case plus 1, and two bits of the case's own (CHAN_SHUT, READINESS_EDGE and so on). */
enum { SELECT_WHY_BITS = 2 };
static inline uint32_t select_why(size_t number) { return (uint32_t)(number + 1) << SELECT_WHY_BITS; }
static inline size_t select_number(int why) { return ((size_t)why >> SELECT_WHY_BITS) - 1; }

struct select_fd {
    struct waiter waiter;
    struct desc *desc; /* NULL: there is none */
    uint64_t seen;     /* readiness.h */
    int ready;         /* what the last look said: -EAGAIN, an error, or more */
};

struct select_end {
    struct monitor monitor; /* first */
    struct wait *wait;
    uint32_t why;
    bool added;           /* the monitor was */
    bool taken;           /* the wait was claimed by it */
    atom_bool left;       /* it has come too late to claim the wait, and is done with this record */
    struct reason reason; /* with a reference, once it is taken */
};

/* What a select has for each case. */
struct select_room {
    /* Not of this case, but in the order of locks and of locked cases: */
    struct lock *lock;
    uint32_t number; /* of the locked case with an object that has this place */
    /* Of this case: */
    bool gone; /* of a reply: when it was last asked, none would come but for one in the box */
    union {
        struct waiter waiter;
        struct select_fd fd;
        struct select_end end;
    };
};

struct select {
    weft_case *cases;
    size_t count;
    struct select_room *room;
    bool in_order;
    uint32_t locked, locks; /* locked cases with an object; different locks */
    uint32_t letters;       /* cases of the mailbox */
    unsigned has;           /* a set of 1 << kind */
    struct match letter;    /* if there is one case of the mailbox, and it is not a reply: the message that it is for */
    size_t letter_number;   /* and its number */
    struct op_pause pause;  /* op.h */
    struct wait wait;
};

enum {
    SELECT_CHANNELS = 1 << WEFT_CASE_SEND | 1 << WEFT_CASE_RECV,
    SELECT_LOCKED = SELECT_CHANNELS | 1 << WEFT_CASE_ACQUIRE,
    SELECT_MAIL = 1 << WEFT_CASE_MESSAGE | 1 << WEFT_CASE_TAG | 1 << WEFT_CASE_REPLY,
    SELECT_LETTERS = 1 << WEFT_CASE_MESSAGE | 1 << WEFT_CASE_TAG,
    SELECT_FD = 1 << WEFT_CASE_READABLE | 1 << WEFT_CASE_WRITABLE,
    SELECT_END = 1 << WEFT_CASE_END,
    SELECT_SLOW = SELECT_FD | SELECT_END | 1 << WEFT_CASE_MOMENT,
};
static inline bool select_is(const weft_case *one, unsigned kinds) { return kinds >> one->kind & 1; }

/* The lock of a locked case that has an object, and the list that it waits in. */
static inline struct lock *select_lock_of(const weft_case *one) {
    return one->kind == WEFT_CASE_ACQUIRE ? &sem_of(one->sem)->lock : &chan_of(one->chan)->lock;
}
static inline struct waiters *select_list(const weft_case *one) {
    if (one->kind == WEFT_CASE_ACQUIRE) return &sem_of(one->sem)->waiting;
    return one->kind == WEFT_CASE_SEND ? &chan_of(one->chan)->senders : &chan_of(one->chan)->receivers;
}
/* Under the lock: whether a locked case could happen; claims no waiter. A listed waiter whose wait is over makes it look ready when it is not. */
static inline bool select_looks_ready(const weft_case *one) {
    struct chan *chan = chan_of(one->chan);
    if (one->kind == WEFT_CASE_ACQUIRE) return sem_looks_ready(sem_of(one->sem), one->permits);
    if (chan->closed) return true;
    if (one->kind == WEFT_CASE_SEND) return chan->receivers.first || chan->count < chan->capacity;
    return chan->senders.first || chan->count > 0;
}
/* Under the lock: performs it, or WEFT_EAGAIN: it is not ready after all. The caller wakes *other, if not NULL. */
int select_happens(weft_case *one, struct waiter **other);

/* Under the lock: whether it is not ready; a semaphore knows then that there is a waiter. */
static inline bool select_queues(const weft_case *one) {
    return one->kind == WEFT_CASE_ACQUIRE ? sem_queue(sem_of(one->sem), one->permits) : !select_looks_ready(one);
}
/* Under the lock: the wait goes into the list. */
static inline void select_join_one(const weft_case *one, struct waiter *waiter) {
    waiter->item = one->element;
    waiter->amount = one->permits;
    waiters_add(select_list(one), waiter);
}
/* Out of the list, where the waiter may be no longer. */
static inline void select_leave_one(const weft_case *one, struct lock *lock, struct waiter *waiter) {
    struct wakes wakes = {NULL, NULL};
    lock_take(lock);
    if (waiter->in) {
        waiters_remove(waiter);
        if (one->kind == WEFT_CASE_ACQUIRE) sem_left(sem_of(one->sem), &wakes);
    }
    lock_drop(lock);
    if (one->kind == WEFT_CASE_ACQUIRE) wakes_run(&wakes, wait_wake);
}

/* The case that is chosen of those that are ready: each with the same probability, or the first. */
struct select_draw {
    uint32_t ready;
    int chosen; /* -1: none is ready */
};
void select_draw(const struct select *select, struct select_draw *draw, size_t number);
/* One of 0 ... n-1, each with the same probability. */
uint32_t select_below(uint32_t n);

/* Which of two comes first: 0 or 1. The checker explores all orders of the other threads, so it need not be drawn there. */
static inline unsigned select_first(struct worker *worker) {
    if (WEFT_CHECK) return 0;
    return worker ? rng_coin(&worker->coin) : select_below(2);
}

/* weft_select_with, after it has spent its budget. */
int select_any(weft_case *cases, size_t count, bool in_order, uint64_t deadline);

/* ---- one case beside a moment: beside_moment.c. Whether the other is waited for by its own call; that call, with the select's result ------ */

bool beside_moment_may(const weft_case *cases, uint64_t deadline);
int beside_moment(weft_case *cases, uint64_t deadline);

/* ---- a message (SELECT_LETTERS) beside one other case with an object, which is locked, the end of a process, or a descriptor to be read:
 * beside_message.c ------------------------------------------------------------------------------------------------------------------ */

enum { SELECT_BESIDE = SELECT_LOCKED | SELECT_END | 1 << WEFT_CASE_READABLE };
/* The two are neighbours in the array. The caller is a stackful process, on this worker. */
int beside_message(weft_case *letter, weft_case *one, uint64_t deadline, struct worker *worker);
/* A case that is locked, the end of a process or a descriptor: 0 or an error: it was ready, and has happened. WEFT_EAGAIN: it is not. */
int beside_try(weft_case *one);

/* ---- cases of the mailbox: mail_case.c ------------------------------------------------------------------------------------- */

/* The calling process, which must be a stackful one, has such cases. */
void mail_cases_begin(struct select *select);
/* Draws from those that are ready. If there are none, the mailbox is empty. */
void mail_cases_look(struct select *select, struct select_draw *draw);
/* A wait_look: `arg` is the select. */
uint32_t mail_cases_wake(void *arg);
/* Of one that is ready. */
int mail_case_take(struct select *select, weft_case *one);

/* ---- descriptors: fd_case.c -------------------------------------------------------------------------------------------------- */

void fd_case_begin(weft_case *one, struct select_fd *room);
void fd_case_finish(weft_case *one, struct select_fd *room);
/* Whether it is ready, or has failed. `waits`: if it is not, the select waits for it. */
bool fd_case_look(weft_case *one, struct select_fd *room, bool waits);
int fd_case_error(const struct select_fd *room);
/* 0: the wait is in its list, if it has one. Else the bits of the reason to claim the wait with. */
int fd_case_join(weft_case *one, struct select_fd *room, struct wait *wait, uint32_t why);
void fd_case_leave(struct select_fd *room);
/* The wait was claimed with this reason. True: the case has happened. */
bool fd_case_woken(weft_case *one, struct select_fd *room, int why);

/* ---- ends of processes: end_case.c. Not inlined where a wait is flattened ------------------------------------------------------------------------------------------- */

void end_case_begin(struct select_end *room, struct wait *wait, uint32_t why);
bool end_case_look(weft_pid pid) __attribute__((noinline));
/* Takes the result, without waiting: of one that has ended, or was told. */
int end_case_take(weft_case *one, struct select_end *room) __attribute__((noinline));
/* True: the wait will be claimed when the process ends, or there is none to wait for. */
bool end_case_join(weft_pid pid, struct select_end *room) __attribute__((noinline));
void end_case_leave(weft_pid pid, struct select_end *room) __attribute__((noinline));
/* Both by a process on this worker, with a short way to the processes of its own runtime. */
static inline bool end_case_is_near(const struct worker *worker, weft_pid pid) { return worker->runtime->instance == pid_instance(pid); }
static inline bool end_case_join_on(struct worker *worker, weft_pid pid, struct select_end *room) {
    if (!end_case_is_near(worker, pid)) return end_case_join(pid, room);
    local_begin(&worker->local);
    room->added = monitor_join(&worker->local, pid, &room->monitor, NULL) == 0;
    local_leave(&worker->local);
    return room->added;
}
static inline void end_case_leave_on(struct worker *worker, weft_pid pid, struct select_end *room) {
    if (!end_case_is_near(worker, pid)) {
        end_case_leave(pid, room);
        return;
    }
    local_begin(&worker->local);
    monitor_remove(&worker->local, pid, &room->monitor);
    local_leave(&worker->local);
}

#endif
