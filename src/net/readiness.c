#include "net/readiness.h"

#include "sched/external_wait.h"

/* What a wait is claimed with. */
enum { GATE_EDGE = 1, GATE_EDGE_MORE = 2, GATE_CLOSED = 3 };

void gate_open(struct gate *gate, uint64_t generation) {
    lock_take(&gate->lock); /* somebody may come by with an old event */
    gate->open = true;
    gate->generation = generation;
    atom_store_rlx(&gate->ended, false); /* rlx, both: published with the descriptor */
    atom_store_rlx(&gate->drained, 0);
    lock_drop(&gate->lock);
}

/* Under the lock. */
static void gate_claim_one(struct cell *cell, struct wakes *wakes) {
    while (cell->waiters.first) {
        struct waiter *waiter = cell->waiters.first;
        waiter->why = waiter->next ? GATE_EDGE_MORE : GATE_EDGE;
        if (!waiter_claim(waiter)) continue;
        wakes_add(wakes, waiter);
        return;
    }
}

/* Under the lock. */
static void gate_claim_all(struct gate *gate, uint32_t why, struct wakes *wakes) {
    for (unsigned side = GATE_IN; side <= GATE_OUT; side++)
        while (gate->cells[side].waiters.first) {
            struct waiter *waiter = gate->cells[side].waiters.first;
            waiter->why = why;
            if (waiter_claim(waiter)) wakes_add(wakes, waiter);
        }
}

void gate_shut(struct gate *gate) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&gate->lock);
    gate->open = false; /* N4, N5 */
    gate_claim_all(gate, GATE_CLOSED, &wakes);
    lock_drop(&gate->lock);
    wakes_run(&wakes);
}

unsigned gate_forget(struct gate *gate, const struct runtime *runtime) {
    unsigned count = 0;
    lock_take(&gate->lock);
    for (unsigned side = GATE_IN; side <= GATE_OUT; side++)
        for (struct waiter *waiter = gate->cells[side].waiters.first, *next; waiter; waiter = next) {
            struct wait *wait = waiter->wait;
            next = waiter->next;
            if (wait->runtime != runtime) continue;
            waiters_remove(waiter);
            count += wait->proc != NULL;
            wait->proc = NULL; /* counted, should it be in the other list too (N7) */
        }
    lock_drop(&gate->lock);
    return count;
}

/* Under the lock. rel: pairs with the acq in gate_seen. rlx: written under the lock. */
static void gate_count(struct cell *cell) { atom_store_rel(&cell->edges, atom_load_rlx(&cell->edges) + 1); }

void gate_retry(struct gate *gate) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&gate->lock);
    for (unsigned side = GATE_IN; side <= GATE_OUT; side++)
        gate_count(&gate->cells[side]);
    gate_claim_all(gate, GATE_EDGE, &wakes);
    lock_drop(&gate->lock);
    wakes_run(&wakes);
}

bool gate_edge(struct gate *gate, uint64_t generation, unsigned sides, bool ended, bool urgent) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&gate->lock);
    if (gate->open && gate->generation == generation) { /* N5 */
        if (ended || urgent) atom_store_rlx(&gate->ended, true); /* rlx: before the rel */
        if (ended) sides = GATE_BOTH;
        for (unsigned side = GATE_IN; side <= GATE_OUT; side++) {
            struct cell *cell = &gate->cells[side];
            if (!(sides & 1u << side)) continue;
            gate_count(cell);
            if (!ended) gate_claim_one(cell, &wakes); /* N2 */
        }
        if (ended) gate_claim_all(gate, GATE_EDGE, &wakes); /* N3 */
    }
    lock_drop(&gate->lock);
    wakes_run(&wakes);
    return wakes.first != NULL;
}

void gate_pass(struct gate *gate, enum gate_side side) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&gate->lock);
    gate_claim_one(&gate->cells[side], &wakes);
    lock_drop(&gate->lock);
    wakes_run(&wakes);
}

/* Before and after: the kernel may wake it, if nobody else does. */
static void gate_outside(bool begins) {
    struct worker *worker = worker_here();
    if (worker && begins) outside_begin(&worker->actor);
    if (worker && !begins) outside_end(&worker->actor);
}

int gate_wait(struct gate *gate, enum gate_side side, uint64_t seen, uint64_t deadline, const char *call) {
    struct cell *cell = &gate->cells[side];
    struct wait wait;
    struct waiter waiter;
    wait_begin(&wait);
    waiter_init(&waiter, &wait, GATE_EDGE);
    lock_take(&gate->lock);
    int why = 0;
    if (!gate->open) why = GATE_CLOSED; /* recheck */
    else if (atom_load_rlx(&cell->edges) != seen) why = GATE_EDGE; /* recheck */ /* rlx: written under the lock */
    if (why) {
        lock_drop(&gate->lock);
        return why == GATE_CLOSED ? WEFT_ECLOSED : GATE_AGAIN;
    }
    gate_outside(true);
    why = waiters_wait(&cell->waiters, &waiter, &gate->lock, deadline, call);
    gate_outside(false);
    if (why == GATE_EDGE) return GATE_AGAIN;
    if (why == GATE_EDGE_MORE) return GATE_MORE;
    if (why == GATE_CLOSED) return WEFT_ECLOSED;
    lock_drop(&gate->lock);
    return why;
}

/* ---- both directions at once (N7) ----------------------------------------------------------------------------------------------- */

/* Under the lock: out of both lists; and whoever is next in either, if the edge was for others too, or may have been. */
static void gate_leave_both(struct gate *gate, struct waiter waiters[2], bool more, struct wakes *wakes) {
    for (unsigned side = GATE_IN; side <= GATE_OUT; side++) {
        if (waiters[side].in) waiters_remove(&waiters[side]);
        if (more) gate_claim_one(&gate->cells[side], wakes);
    }
}

int gate_wait_either(struct gate *gate, const uint64_t seen[2], uint64_t deadline, const char *call) {
    struct wait wait;
    struct waiter waiters[2];
    struct wakes wakes = {NULL, NULL};
    wait_begin(&wait);
    lock_take(&gate->lock);
    bool open = gate->open, edge = false;
    for (unsigned side = GATE_IN; side <= GATE_OUT; side++)
        if (atom_load_rlx(&gate->cells[side].edges) != seen[side]) edge = true; /* recheck */ /* rlx: written under the lock */
    if (!open || edge) { /* recheck */
        lock_drop(&gate->lock);
        return open ? GATE_AGAIN : WEFT_ECLOSED;
    }
    for (unsigned side = GATE_IN; side <= GATE_OUT; side++) {
        waiter_init(&waiters[side], &wait, GATE_EDGE);
        waiters_add(&gate->cells[side].waiters, &waiters[side]);
    }
    lock_drop(&gate->lock);
    gate_outside(true);
    int why = wait_for(&wait, deadline, call);
    gate_outside(false);
    lock_take(&gate->lock);
    gate_leave_both(gate, waiters, why == GATE_EDGE_MORE, &wakes);
    lock_drop(&gate->lock);
    wakes_run(&wakes);
    return why < 0 ? why : why == GATE_CLOSED ? WEFT_ECLOSED : GATE_AGAIN;
}
