/* Counting edges, and waiting for them; the protocol is in readiness.h. */
#include "net/readiness.h"

#include "sched/external_wait.h"

void readiness_open(struct readiness *readiness, uint64_t generation) {
    lock_take(&readiness->lock); /* a poller may deliver an old event just now */
    readiness->open = true;
    readiness->generation = generation;
    atom_store_rlx(&readiness->ended, false); /* rlx, both: published with the descriptor */
    atom_store_rlx(&readiness->drained, 0);
    lock_drop(&readiness->lock);
}

/* Under the lock. */
static bool readiness_claim(struct waiter *waiter, uint32_t why) {
    waiter->why = (waiter->why & ~(uint32_t)READINESS_WHY) | why;
    return waiter_claim(waiter);
}

/* Under the lock. */
static void readiness_claim_one(struct cell *cell, struct wakes *wakes) {
    while (cell->waiters.first) {
        struct waiter *waiter = cell->waiters.first;
        if (!readiness_claim(waiter, waiter->next ? READINESS_EDGE_MORE : READINESS_EDGE)) continue;
        wakes_add(wakes, waiter);
        return;
    }
}

/* Under the lock. */
static void readiness_claim_all(struct readiness *readiness, uint32_t why, struct wakes *wakes) {
    for (unsigned side = READINESS_IN; side <= READINESS_OUT; side++)
        while (readiness->cells[side].waiters.first) {
            struct waiter *waiter = readiness->cells[side].waiters.first;
            if (readiness_claim(waiter, why)) wakes_add(wakes, waiter);
        }
}

void readiness_shut(struct readiness *readiness) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&readiness->lock);
    readiness->open = false; /* N4, N5 */
    readiness_claim_all(readiness, READINESS_CLOSED, &wakes);
    lock_drop(&readiness->lock);
    wakes_run(&wakes, wait_wake_inside);
}

unsigned readiness_forget(struct readiness *readiness, const struct runtime *runtime) {
    unsigned count = 0;
    lock_take(&readiness->lock);
    for (unsigned side = READINESS_IN; side <= READINESS_OUT; side++)
        for (struct waiter *waiter = readiness->cells[side].waiters.first, *next; waiter; waiter = next) {
            struct wait *wait = waiter->wait;
            next = waiter->next;
            if (wait->runtime != runtime) continue;
            waiters_remove(waiter);
            count += wait->proc != NULL;
            wait->proc = NULL; /* so that it is counted once if it is in the other list too (N7) */
        }
    lock_drop(&readiness->lock);
    return count;
}

/* Under the lock. rel: pairs with the acq in readiness_seen. rlx: written under the lock. */
static void readiness_count(struct cell *cell) { atom_store_rel(&cell->edges, atom_load_rlx(&cell->edges) + 1); }

void readiness_retry(struct readiness *readiness) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&readiness->lock);
    for (unsigned side = READINESS_IN; side <= READINESS_OUT; side++)
        readiness_count(&readiness->cells[side]);
    readiness_claim_all(readiness, READINESS_EDGE, &wakes);
    lock_drop(&readiness->lock);
    wakes_run(&wakes, wait_wake_inside);
}

bool readiness_edge(struct readiness *readiness, uint64_t generation, unsigned sides, bool ended, bool urgent) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&readiness->lock);
    if (readiness->open && readiness->generation == generation) {     /* N5 */
        if (ended || urgent) atom_store_rlx(&readiness->ended, true); /* rlx: before the rel */
        if (ended) sides = READINESS_BOTH;
        for (unsigned side = READINESS_IN; side <= READINESS_OUT; side++) {
            struct cell *cell = &readiness->cells[side];
            if (!(sides & 1u << side)) continue;
            readiness_count(cell);
            if (!ended) readiness_claim_one(cell, &wakes); /* N2 */
        }
        if (ended) readiness_claim_all(readiness, READINESS_EDGE, &wakes); /* N3 */
    }
    lock_drop(&readiness->lock);
    wakes_run(&wakes, wait_wake_inside);
    return wakes.first != NULL;
}

void readiness_pass(struct readiness *readiness, enum readiness_side side) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&readiness->lock);
    readiness_claim_one(&readiness->cells[side], &wakes);
    lock_drop(&readiness->lock);
    wakes_run(&wakes, wait_wake_inside);
}

/* Around a wait: an event of the kernel may end it, so it is no deadlock. */
static void readiness_external(bool begins) {
    struct worker *worker = worker_here();
    if (worker && begins) external_wait_begin(&worker->local);
    if (worker && !begins) external_wait_end(&worker->local);
}

/* Under the lock. rlx: written under it. */
static int readiness_news(struct readiness *readiness, enum readiness_side side, uint64_t seen) {
    if (!readiness->open) return READINESS_CLOSED;                                   /* recheck */
    if (atom_load_rlx(&readiness->cells[side].edges) != seen) return READINESS_EDGE; /* recheck */
    return 0;
}

int readiness_join(struct readiness *readiness, uint64_t generation, enum readiness_side side, uint64_t seen, struct waiter *waiter) {
    lock_take(&readiness->lock);
    int why = readiness->generation == generation ? readiness_news(readiness, side, seen) : READINESS_CLOSED; /* N8 */
    if (!why) waiters_add(&readiness->cells[side].waiters, waiter);
    lock_drop(&readiness->lock);
    return why;
}

void readiness_leave(struct readiness *readiness, struct waiter *waiter) {
    lock_take(&readiness->lock);
    if (waiter->in) waiters_remove(waiter);
    lock_drop(&readiness->lock);
}

int readiness_wait(struct readiness *readiness, enum readiness_side side, uint64_t seen, uint64_t deadline, const char *call) {
    struct cell *cell = &readiness->cells[side];
    struct turn own, *turn = pack_room(worker_here(), &own, sizeof own);
    turn_begin(turn, NULL, READINESS_EDGE);
    lock_take(&readiness->lock);
    int why = readiness_news(readiness, side, seen);
    if (why) {
        lock_drop(&readiness->lock);
        return why == READINESS_CLOSED ? WEFT_ECLOSED : READINESS_AGAIN;
    }
    readiness_external(true);
    why = waiters_wait(&cell->waiters, &turn->waiter, &readiness->lock, deadline, call);
    readiness_external(false);
    if (why == READINESS_EDGE) return READINESS_AGAIN;
    if (why == READINESS_EDGE_MORE) return READINESS_MORE;
    if (why == READINESS_CLOSED) return WEFT_ECLOSED;
    lock_drop(&readiness->lock);
    return why;
}

/* ---- both directions at once (N7) ----------------------------------------------------------------------------------------------- */

/* Under the lock: leaves both lists. With `more` the edge may be for other waiters too: claims the next one in each list. */
static void readiness_leave_both(struct readiness *readiness, struct waiter waiters[2], bool more, struct wakes *wakes) {
    for (unsigned side = READINESS_IN; side <= READINESS_OUT; side++) {
        if (waiters[side].in) waiters_remove(&waiters[side]);
        if (more) readiness_claim_one(&readiness->cells[side], wakes);
    }
}

int readiness_wait_either(struct readiness *readiness, const uint64_t seen[2], uint64_t deadline, const char *call) {
    struct wait wait;
    struct waiter waiters[2];
    struct wakes wakes = {NULL, NULL};
    wait_begin(&wait);
    lock_take(&readiness->lock);
    bool open = readiness->open, edge = false;
    for (unsigned side = READINESS_IN; side <= READINESS_OUT; side++)
        if (atom_load_rlx(&readiness->cells[side].edges) != seen[side]) edge = true; /* recheck */ /* rlx: written under the lock */
    if (!open || edge) {                                                                           /* recheck */
        lock_drop(&readiness->lock);
        return open ? READINESS_AGAIN : WEFT_ECLOSED;
    }
    for (unsigned side = READINESS_IN; side <= READINESS_OUT; side++) {
        waiter_init(&waiters[side], &wait, READINESS_EDGE);
        waiters_add(&readiness->cells[side].waiters, &waiters[side]);
    }
    lock_drop(&readiness->lock);
    readiness_external(true);
    int why = wait_for(&wait, deadline, call);
    readiness_external(false);
    lock_take(&readiness->lock);
    readiness_leave_both(readiness, waiters, why == READINESS_EDGE_MORE, &wakes);
    lock_drop(&readiness->lock);
    wakes_run(&wakes, wait_wake_inside);
    return why < 0 ? why : why == READINESS_CLOSED ? WEFT_ECLOSED : READINESS_AGAIN;
}
