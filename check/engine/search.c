/* Every execution graph, each exactly once.
 *
 * The method is TruSt (Kokologiannakis, Marmanis, Gladstein, Vafeiadis, "Truly stateless, optimal dynamic partial order
 * reduction", POPL 2022). Threads are run on, in any order, adding events to the graph. A new read branches over the writes it
 * may see. A new write branches over its places in mo, and besides, every read of the cell that is not what the write was
 * built on may be *revisited*: it sees the new write after all, and what was added after the read, except for what the write
 * was built on, is taken back and will be added again. Of the many ways to get to the same graph only one revisits:
 * the one where everything taken back had seen, or been, the newest at the time (`taken_back_is_maximal`). */
#include "search.h"

#include "futex.h"
#include "memory.h"
#include "model.h"

#include <stdio.h>
#include <string.h>

static struct graph_stack stack;
static struct graph scratch;

/* ---- revisiting ------------------------------------------------------------------------------------------------- */

/* Added no later than `e`, or part of what the write `w` was built on. */
static bool is_previous(struct graph *g, eid x, const struct event *e, const struct event *w) {
    return graph_at(g, x)->stamp <= e->stamp || clock_sees(w->porf, x);
}

static bool is_maximal(struct graph *g, eid name, const struct event *w) {
    const struct event *e = graph_at(g, name);
    if (e->kind == K_FENCE) return true;
    if (e->kind == K_CHOICE) return e->value == 0;
    eid write = name;
    if (e->kind == K_READ) {
        write = e->rf;
        if (!is_previous(g, write, e, w)) return false;
    } else {
        for (eid r = g->cell[e->cell].reads; r != EID_NONE; r = graph_at(g, r)->next_read)
            if (graph_at(g, r)->rf == name && is_previous(g, r, e, w)) return false;
    }
    for (eid later = graph_at(g, write)->mo_next; later != EID_NONE; later = graph_at(g, later)->mo_next)
        if (is_previous(g, later, e, w)) return false;
    return true;
}

/* Fills in how much of each thread stays when `read` is revisited by `write`. */
static bool taken_back_is_maximal(struct graph *g, eid read, eid write, uint16_t keep[T_MAX]) {
    const struct event *r = graph_at(g, read), *w = graph_at(g, write);
    if (!is_maximal(g, read, w)) return false;
    keep[0] = g->count[0];
    for (unsigned t = 1; t < T_MAX; t++) {
        unsigned stays = w->porf[t];
        while (stays < g->count[t] && g->event[t][stays].stamp <= r->stamp)
            stays++;
        if (t == eid_thread(write)) stays = g->count[t];
        keep[t] = (uint16_t)stays;
        for (unsigned i = stays; i < g->count[t]; i++)
            if (!is_maximal(g, EID(t, i), w)) return false;
    }
    return true;
}

/* Puts the write at one place of the restricted graph and keeps that for a later visit if it is possible. */
static void push_revisit(struct graph *h, eid read, eid write, eid place) {
    graph_mo_insert(h, write, place);
    model_read(h, read, write);
    vclock before = graph_at(h, read)->hb;
    before[eid_thread(read)]--;
    eid floor = model_floor(h, graph_at(h, read)->cell, before);
    if (model_mo_reaches(h, floor, write) && model_consistent(h, write) && model_consistent(h, read)) graph_push(&stack, h);
    graph_mo_remove(h, write);
}

/* All revisits by a write that was just appended and is not in mo yet. For the write of a read-modify-write the place is
 * fixed, and must be free once the rest is taken back. */
static void revisit(struct graph *g, eid write) {
    const struct event *w = graph_at(g, write);
    for (eid read = g->cell[w->cell].reads; read != EID_NONE; read = graph_at(g, read)->next_read) {
        uint16_t keep[T_MAX];
        if (clock_sees(w->porf, read) || !taken_back_is_maximal(g, read, write, keep)) continue;
        graph_restrict(&scratch, g, keep);
        if (w->flags & F_RMW) {
            eid place = w[-1].rf;
            if (graph_rmw_after(&scratch, place) == EID_NONE) push_revisit(&scratch, read, write, place);
        } else {
            eid place[T_MAX * E_MAX];
            unsigned n = model_places(&scratch, write, place);
            for (unsigned i = 0; i < n; i++)
                push_revisit(&scratch, read, write, place[i]);
        }
    }
}

/* ---- the strategy ----------------------------------------------------------------------------------------------- */

/* The other half of a read-modify-write, for a look at what would follow; taken away again by retract_write. */
static eid append_rmw_write(struct graph *g, eid read) {
    unsigned t = eid_thread(read);
    const struct event *r = graph_at(g, read);
    eid write = graph_append(g, t, K_WRITE, (enum order)r->order_success, r->cell);
    graph_at(g, write)->flags = F_RMW | F_FENCED;
    model_write(g, write, model_rmw_value(r));
    return write;
}

/* Another way for a new read: keep it for later. If it is a read-modify-write and another one has taken the place behind what
 * it sees, the only future is a revisit that takes the other one back. */
static void push_read(struct graph *g, eid read, eid seen) {
    model_read(g, read, seen);
    const struct event *r = graph_at(g, read);
    if (!(r->flags & F_RMW)) {
        if (model_consistent(g, read)) graph_push(&stack, g);
        return;
    }
    eid taken = graph_rmw_after(g, seen);
    if (taken != EID_NONE && clock_sees(r->porf, taken)) return;
    eid write = append_rmw_write(g, read);
    bool possible = true;
    if (taken != EID_NONE) {
        revisit(g, write);
        possible = false;
    } else {
        graph_mo_insert(g, write, seen);
        possible = model_consistent(g, read) && model_consistent(g, write);
        graph_mo_remove(g, write);
    }
    graph_retract(g, eid_thread(write));
    g->stamp--;
    if (possible) graph_push(&stack, g);
}

static void all_read(struct graph *g, eid read) {
    eid seen[T_MAX * E_MAX];
    unsigned n = model_readable(g, read, seen);
    for (unsigned i = n; i-- > 1;)
        push_read(g, read, seen[i]);
    model_read(g, read, seen[0]);
}

static void all_write(struct graph *g, eid write) {
    revisit(g, write);
    const struct event *w = graph_at(g, write);
    if (w->flags & F_RMW) {
        graph_mo_insert(g, write, w[-1].rf);
        if (!model_consistent(g, write)) run_discard();
        return;
    }
    eid place[T_MAX * E_MAX];
    unsigned n = model_places(g, write, place);
    for (unsigned i = n; i-- > 1;) {
        graph_mo_insert(g, write, place[i]);
        if (model_consistent(g, write)) graph_push(&stack, g);
        graph_mo_remove(g, write);
    }
    graph_mo_insert(g, write, place[0]);
}

static void all_choose(struct graph *g, eid choice, unsigned n) {
    for (unsigned i = n; i-- > 1;) {
        graph_at(g, choice)->value = i;
        graph_push(&stack, g);
    }
    graph_at(g, choice)->value = 0;
}

/* A read-modify-write is completed before anything else happens; apart from that any order would do. */
static unsigned all_pick(struct graph *g, unsigned threads) {
    for (unsigned t = 1; t < T_MAX; t++) {
        const struct event *last = &g->event[t][g->count[t] - 1];
        if ((threads & 1u << t) && g->count[t] > 0 && last->kind == K_READ && (last->flags & F_RMW)) return t;
    }
    return (unsigned)__builtin_ctz(threads);
}

static const struct strategy all = {
    .read = all_read,
    .write = all_write,
    .choose = all_choose,
    .pick = all_pick,
};

void search_count(struct search_result *result, enum run_end end) {
    result->complete += end == RUN_COMPLETE;
    result->blocked += end == RUN_BLOCKED;
    result->cut += end == RUN_CUT;
    result->discarded += end == RUN_DISCARDED;
}

/* 0: go on; 1: the search is over; 2: begin again. */
static int judge_run(const struct search_limits *limits, struct search_result *result) {
    switch (run.end) {
    case RUN_VIOLATION:
        result->verdict = V_VIOLATION;
        result->flaw = run.flaw;
        result->violator = run.violator;
        memcpy(result->what, run.what, sizeof result->what);
        return 1;
    case RUN_TOO_LONG:
        result->verdict = V_CAPPED;
        result->capped_by = "a thread has too many events";
        return 1;
    case RUN_RESTART: return 2;
    default: search_count(result, run.end);
    }
    if (result->complete + result->blocked + result->cut < limits->executions || stack.count == 0) return 0;
    result->verdict = V_CAPPED;
    result->capped_by = "the limit on executions";
    return 1;
}

void search_all(const struct chk_scenario *scenario, const struct search_limits *limits, struct search_result *result) {
    static struct graph g;
    memory_new_search();
    futex_several = false;
    for (int over = 2; over == 2;) {
        *result = (struct search_result){.verdict = V_EXHAUSTED, .graph = &g};
        stack.count = 0;
        stack.used = 0;
        graph_clear(&g);
        graph_push(&stack, &g);
        for (over = 0; over == 0 && graph_pop(&stack, &g);) {
            while (g.count[0] < cell_count)
                graph_add_cell(&g, cells[g.count[0]].initial);
            run_once(scenario, &g, &all);
            over = judge_run(limits, result);
            if (limits->progress && result->complete % 65536 == 65535) search_progress(scenario, result);
        }
    }
}
