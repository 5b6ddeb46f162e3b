/* The queue of the thread-queue scheduler (000), as its document prints it, for the scenarios that show what is wrong
 * with the rest of that scheduler. weft's own queue of this kind is src/queue/line.h.
 *
 * A queue is locked by swapping its head for the sentinel. Everything but head and state is touched under that lock
 * only, hence relaxed; head and state are seq_cst, the order a reader of the document would assume, so that what a
 * scenario shows is a fault of the algorithm and not of a memory order. */
#ifndef WEFT_CHECK_FLAWS_THREAD_QUEUE_H
#define WEFT_CHECK_FLAWS_THREAD_QUEUE_H

#include "base/atom.h"
#include "base/spin.h"
#include "chk.h"
#include "sys/sys.h"

enum { SLEEPING, QUEUED, RUNNING };

struct thread;

struct process {
    atom_u32 state;
    ATOM_PTR(struct thread) owner;
    ATOM_PTR(struct process) next, previous;
    atom_u32 runs; /* ours: how often it was run */
};

struct thread {
    ATOM_PTR(struct process) head, tail;
    ATOM_PTR(struct thread) below; /* the next one on the idle stack */
    atom_u32 bell;                 /* sysmon: a count of notifications */
};

static struct process sentinel;

static inline void process_run(struct process *p) {
    chk_assert(atom_add_rlx(&p->runs, 1) == 0, "a process that was queued once runs once");
}

static inline bool process_change_state(struct process *p, uint32_t from, uint32_t to) {
    if (from == RUNNING) {
        atom_store_sc(&p->state, to);
        return true;
    }
    uint32_t s = atom_load_sc(&p->state);
    while (s == from)
        if (atom_cas_sc_sc(&p->state, &s, to)) return true;
    return false;
}

/* The loop that begins all three operations. On false, *head is the sentinel or, unless `even_empty`, NULL. */
static inline bool thread_lock(struct thread *t, struct process **head, bool even_empty) {
    struct process *h = atom_load_sc(&t->head);
    do {
        *head = h;
        if (h == &sentinel || (h == NULL && !even_empty)) return false;
    } while (!atom_cas_sc_sc(&t->head, &h, &sentinel));
    *head = h;
    return true;
}

static inline bool thread_try_enqueue(struct thread *t, struct process *p, bool *was_empty) {
    struct process *h;
    if (!thread_lock(t, &h, true)) return false;
    atom_store_rlx(&p->owner, t);
    if (h != NULL) {
        struct process *tail = atom_load_rlx(&t->tail);
        chk_assert(tail != NULL, "a queue with a head has a tail");
        atom_store_rlx(&tail->next, p);
        atom_store_rlx(&p->previous, tail);
        atom_store_rlx(&t->tail, p);
        atom_store_sc(&t->head, h);
    } else {
        atom_store_rlx(&t->tail, p);
        atom_store_sc(&t->head, p);
    }
    *was_empty = h == NULL;
    return true;
}

/* False: the queue was locked. */
static inline bool thread_try_dequeue(struct thread *t, struct process **out) {
    struct process *h;
    *out = NULL;
    if (!thread_lock(t, &h, false)) return h == NULL;
    if (atom_load_rlx(&t->tail) == h) atom_store_rlx(&t->tail, NULL);
    struct process *next = atom_load_rlx(&h->next);
    if (next != NULL) atom_store_rlx(&next->previous, NULL);
    process_change_state(h, QUEUED, RUNNING);
    atom_store_rlx(&h->owner, NULL);
    atom_store_rlx(&h->next, NULL);
    atom_store_sc(&t->head, next);
    *out = h;
    return true;
}

static inline bool thread_is_empty(struct thread *t) { return atom_load_sc(&t->head) == NULL; }

/* The document's monitor, without its lock: the thread that changes the queue rings afterwards, a thread that waits read the bell
 * before looking at the queue. */
static inline void thread_wakeup(struct thread *t) {
    atom_add_sc(&t->bell, 1);
    sys->futex_wake(&t->bell, 1);
}

static inline void thread_wait(struct thread *t) {
    for (;;) {
        uint32_t heard = atom_load_sc(&t->bell);
        if (!thread_is_empty(t)) return;
        sys->futex_wait(&t->bell, heard, SYS_FOREVER);
    }
}

/* For the scenarios' own setup and finish, where no other thread runs. */
static inline void thread_fill(struct thread *t, struct process *p) {
    bool was_empty;
    atom_store_rlx(&p->state, QUEUED);
    chk_assert(thread_try_enqueue(t, p, &was_empty), "no thread holds the lock");
}

static inline struct process *thread_drain(struct thread *t) {
    struct process *p;
    chk_assert(thread_try_dequeue(t, &p), "no thread holds the lock");
    return p;
}

#endif
