/* The idle threads of the thread-queue scheduler (000): as printed, and corrected.
 *
 * Two threads take part: `busy`, which is first in every scan and runs something long, so that what is queued on it
 * waits, and `dozer`, which looks for work. */
#ifndef WEFT_CHECK_FLAWS_IDLE_STACK_H
#define WEFT_CHECK_FLAWS_IDLE_STACK_H

#include "thread_queue.h"

struct idle {
    ATOM_PTR(struct thread) top;
};

/* As printed. ------------------------------------------------------------------------------------------------- */

static inline void idle_push(struct idle *idle, struct thread *t) {
    struct thread *top = atom_load_sc(&idle->top);
    do
        atom_store_rlx(&t->below, top);
    while (!atom_cas_sc_sc(&idle->top, &top, t));
}

static inline struct thread *idle_pop(struct idle *idle) {
    struct thread *top = atom_load_sc(&idle->top);
    while (top != NULL && !atom_cas_sc_sc(&idle->top, &top, atom_load_rlx(&top->below)))
        continue;
    return top;
}

static inline bool idle_try_enqueue(struct idle *idle, struct process *p) {
    for (;;) {
        struct thread *t = idle_pop(idle);
        bool was_empty;
        if (t == NULL) return false;
        if (!thread_try_enqueue(t, p, &was_empty)) continue;
        thread_wakeup(t);
        return true;
    }
}

static inline void enqueue_on_any(struct idle *idle, struct thread *threads[], int n, struct process *p) {
    if (idle_try_enqueue(idle, p)) return;
    for (struct spin spin = spin_begin();; spin_wait(&spin)) {
        for (int i = 0; i < n; i++) {
            bool was_empty;
            if (!thread_try_enqueue(threads[i], p, &was_empty)) continue;
            if (was_empty) thread_wakeup(threads[i]);
            return;
        }
    }
}

/* Corrected. ---------------------------------------------------------------------------------------------------
 *
 *     sleeper                                     submitter
 *     1  read the bell
 *     2  publish idle                             1  publish work
 *     3  rescan every queue                       2  look for a sleeper
 *     4  sleep until the bell changes             3  ring its bell
 *
 * The small lock is the full fence between 2 and 3 and between 1 and 2. Listing is idempotent: with one sleeper the
 * pointer is its own membership bit; with more there is a bit in each thread (flaw_000_5.c, src/queue/idle.h). */

struct roster {
    struct chk_mutex lock;
    struct thread *sleeper;
};

static inline struct thread *roster_set(struct roster *roster, struct thread *t) {
    chk_lock(&roster->lock);
    struct thread *was = roster->sleeper;
    roster->sleeper = t;
    chk_unlock(&roster->lock);
    return was;
}

/* Looks at every queue until each was either empty or gave something. */
static inline struct process *take_from_any(struct thread *threads[], int n) {
    for (struct spin spin = spin_begin();; spin_wait(&spin)) {
        bool locked = false;
        for (int i = 0; i < n; i++) {
            struct process *p;
            if (!thread_try_dequeue(threads[i], &p)) locked = true;
            if (p != NULL) return p;
        }
        if (!locked) return NULL;
    }
}

static inline struct process *find_or_sleep(struct roster *roster, struct thread *t, struct thread *threads[], int n) {
    for (;;) {
        uint32_t heard = atom_load_rlx(&t->bell);
        roster_set(roster, t);
        struct process *p = take_from_any(threads, n);
        if (p != NULL) {
            roster_set(roster, NULL);
            return p;
        }
        sys->futex_wait(&t->bell, heard, SYS_FOREVER);
    }
}

/* The work goes where there is room; the thread that was listed is woken even if the work went elsewhere. */
static inline void submit(struct roster *roster, struct thread *threads[], int n, struct process *p) {
    bool placed = false;
    for (struct spin spin = spin_begin(); !placed;) {
        for (int i = 0; i < n && !placed; i++) {
            bool was_empty;
            placed = thread_try_enqueue(threads[i], p, &was_empty);
        }
        if (!placed) spin_wait(&spin);
    }
    struct thread *t = roster_set(roster, NULL);
    if (t != NULL) thread_wakeup(t);
}

#endif
