#include "net/gate.h"

#include "sched/outside.h"

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

bool gate_edge(struct gate *gate, uint64_t generation, unsigned sides, bool ended, bool urgent) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&gate->lock);
    if (gate->open && gate->generation == generation) { /* N5 */
        if (ended || urgent) atom_store_rlx(&gate->ended, true); /* rlx: before the rel */
        if (ended) sides = GATE_BOTH;
        for (unsigned side = GATE_IN; side <= GATE_OUT; side++) {
            struct cell *cell = &gate->cells[side];
            if (!(sides & 1u << side)) continue;
            /* rel: pairs with the acq in gate_seen. */
            atom_store_rel(&cell->edges, atom_load_rlx(&cell->edges) + 1); /* rlx: written under the lock */
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
    struct worker *worker = worker_here();
    if (worker) outside_begin(&worker->actor); /* the kernel may wake it, if nobody else does */
    why = waiters_wait(&cell->waiters, &waiter, &gate->lock, deadline, call);
    if ((worker = worker_here()) != NULL) outside_end(&worker->actor);
    if (why == GATE_EDGE) return GATE_AGAIN;
    if (why == GATE_EDGE_MORE) return GATE_MORE;
    if (why == GATE_CLOSED) return WEFT_ECLOSED;
    lock_drop(&gate->lock);
    return why;
}
