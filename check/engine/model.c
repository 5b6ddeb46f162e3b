#include "model.h"

#include "futex.h"
#include "wide.h"

#include <string.h>

enum chk_model model = CHK_C11;

static bool acquires(enum order order) {
    return model != CHK_C11 || order == O_ACQ || order == O_CONSUME || order == O_ACQREL || order >= O_SC;
}
static bool releases(enum order order) { return model != CHK_C11 || order == O_REL || order == O_ACQREL || order >= O_SC; }

/* ---- coherence -------------------------------------------------------------------------------------------------- */

eid model_floor(struct graph *g, unsigned cell, vclock hb) {
    /* Candidates: writes that happen before, and writes seen by reads that happen before. Mark the latter, then walk. */
    eid w = g->cell[cell].mo_last;
    for (; graph_at(g, w)->mo_prev != EID_NONE && !clock_sees(hb, w); w = graph_at(g, w)->mo_prev) {
        for (eid r = g->cell[cell].reads; r != EID_NONE; r = graph_at(g, r)->next_read)
            if (graph_at(g, r)->rf == w && clock_sees(hb, r)) return w;
    }
    return w;
}

bool model_mo_reaches(struct graph *g, eid earlier, eid later) {
    for (eid w = earlier; w != EID_NONE; w = graph_at(g, w)->mo_next)
        if (w == later) return true;
    return false;
}

/* The event's clock without itself. */
static vclock before(struct graph *g, eid e) {
    vclock hb = graph_at(g, e)->hb;
    hb[eid_thread(e)]--;
    return hb;
}

unsigned model_readable(struct graph *g, eid read, eid out[]) {
    unsigned cell = graph_at(g, read)->cell, n = 0;
    eid floor = model_floor(g, cell, before(g, read)), w = g->cell[cell].mo_last;
    for (; w != floor; w = graph_at(g, w)->mo_prev)
        out[n++] = w;
    out[n++] = floor;
    return n;
}

void model_read(struct graph *g, eid read, eid write) {
    struct event *r = graph_at(g, read), *w = graph_at(g, write);
    if (eid_index(read) > 0) {
        r->hb = r[-1].hb;
        r->porf = r[-1].porf;
    } else {
        r->hb = r->porf = (vclock){0};
    }
    r->hb[eid_thread(read)] = r->porf[eid_thread(read)] = (uint16_t)(eid_index(read) + 1);
    r->rf = write;
    r->value = w->value;
    if (r->op != OP_NONE) {
        bool writes = r->op != OP_CAS || r->value == r->expected;
        r->order = writes ? r->order_success : r->order_failure;
        r->flags = (uint8_t)(F_FENCED | (writes ? F_RMW : 0));
    }
    r->porf = clock_join(r->porf, w->porf);
    if (acquires(r->order)) r->hb = clock_join(r->hb, w->view);
}

static uint64_t size_mask(unsigned size) { return size >= 8 ? ~UINT64_C(0) : (UINT64_C(1) << 8 * size) - 1; }

uint64_t model_rmw_value(const struct event *r) {
    uint64_t v = r->value, x = r->operand;
    if (wide_size(r->size)) return wide_rmw((enum op)r->op, v, x);
    switch ((enum op)r->op) {
    case OP_CAS:
    case OP_SWAP: v = x; break;
    case OP_ADD: v += x; break;
    case OP_SUB: v -= x; break;
    case OP_AND: v &= x; break;
    case OP_OR: v |= x; break;
    case OP_XOR: v ^= x; break;
    case OP_NAND: v = ~(v & x); break;
    case OP_FUTEX_WAKE: return futex_queue_after_wake(v, (unsigned)x);
    case OP_NONE: break;
    }
    return v & size_mask(r->size);
}

static vclock release_fence_before(struct graph *g, eid write) {
    struct event *thread = g->event[eid_thread(write)];
    for (unsigned i = eid_index(write); i-- > 0;)
        if (thread[i].kind == K_FENCE && thread[i].order != O_LIGHT && releases(thread[i].order)) return thread[i].hb;
    return (vclock){0};
}

void model_write(struct graph *g, eid write, uint64_t value) {
    struct event *w = graph_at(g, write);
    w->value = value;
    w->view = releases(w->order) ? w->hb : release_fence_before(g, write);
    if (w->flags & F_RMW) w->view = clock_join(w->view, graph_at(g, w[-1].rf)->view);
}

unsigned model_places(struct graph *g, eid write, eid out[]) {
    unsigned cell = graph_at(g, write)->cell, n = 0;
    eid floor = model_floor(g, cell, before(g, write));
    for (eid w = g->cell[cell].mo_last;; w = graph_at(g, w)->mo_prev) {
        if (graph_rmw_after(g, w) == EID_NONE) out[n++] = w;
        if (w == floor) return n;
    }
}

void model_fence(struct graph *g, eid fence) {
    struct event *f = graph_at(g, fence);
    if (f->order == O_LIGHT || !acquires(f->order)) return;
    for (struct event *e = g->event[eid_thread(fence)]; e < f; e++)
        if (e->kind == K_READ) f->hb = clock_join(f->hb, graph_at(g, e->rf)->view);
}

/* ---- SC and TSO: no cycle of (preserved) program order, reads-from, mo and from-reads ----------------------------- */

static uint32_t seen_now;
static uint32_t seen[T_MAX][E_MAX + 1];
static eid todo[T_MAX * E_MAX];
static unsigned todo_count;

static void visit(eid e) {
    if (e == EID_NONE || eid_thread(e) == 0 || seen[eid_thread(e)][eid_index(e)] == seen_now) return;
    seen[eid_thread(e)][eid_index(e)] = seen_now;
    todo[todo_count++] = e;
}

static bool is_fence(const struct event *e) { return e->kind == K_FENCE && (model == CHK_SC || e->order == O_SC || e->order == O_HEAVY); }

/* A store that is still in the buffer orders only later stores, fences and locked operations; all else orders everything that
 * follows, but a plain store that follows does not pass the order on. */
static void visit_program_order(struct graph *g, eid from) {
    unsigned t = eid_thread(from);
    const struct event *e = graph_at(g, from);
    bool buffered = model == CHK_TSO && e->kind == K_WRITE && !(e->flags & F_FENCED);
    for (unsigned i = eid_index(from) + 1; i < g->count[t]; i++) {
        const struct event *next = &g->event[t][i];
        bool plain_store = next->kind == K_WRITE && !(next->flags & F_FENCED);
        bool full = is_fence(next) || (next->flags & F_FENCED);
        if (next->kind == K_CHOICE || (next->kind == K_FENCE && !full)) continue;
        if (buffered && next->kind == K_READ && !full) continue;
        visit(EID(t, i));
        if (model == CHK_SC || buffered || !plain_store) return;
    }
}

/* A light and a heavy fence in an order: all that is ahead of `first` comes before all that is behind `second`. Pairs beyond the
 * limit stay without an order, which allows more. */
enum { PAIRS_MAX = 256 };
struct pair {
    eid first, second;
};
static struct pair ordered_pair[PAIRS_MAX];
static unsigned ordered_pairs;

static void visit_behind(struct graph *g, eid fence) {
    for (unsigned i = eid_index(fence) + 1; i < g->count[eid_thread(fence)]; i++)
        visit(EID(eid_thread(fence), i));
}

static void visit_successors(struct graph *g, eid from) {
    visit_program_order(g, from);
    for (unsigned i = 0; i < ordered_pairs; i++)
        if (eid_thread(ordered_pair[i].first) == eid_thread(from) && from < ordered_pair[i].first) visit_behind(g, ordered_pair[i].second);
    struct event *e = graph_at(g, from);
    if (e->kind == K_WRITE) {
        visit(e->mo_next);
        for (eid r = g->cell[e->cell].reads; r != EID_NONE; r = graph_at(g, r)->next_read)
            if (graph_at(g, r)->rf == from && (model == CHK_SC || eid_thread(r) != eid_thread(from))) visit(r);
    } else if (e->kind == K_READ) {
        visit(graph_at(g, e->rf)->mo_next);
    }
}

static void reach_begin(void) {
    seen_now++;
    todo_count = 0;
}

static void reach_all(struct graph *g) {
    while (todo_count > 0)
        visit_successors(g, todo[--todo_count]);
}

/* Reaches through `e`'s own edges; has it come back to `e`? */
static bool on_cycle(struct graph *g, eid e) {
    reach_begin();
    visit_successors(g, e);
    while (todo_count > 0) {
        if (seen[eid_thread(e)][eid_index(e)] == seen_now) return true;
        visit_successors(g, todo[--todo_count]);
    }
    return seen[eid_thread(e)][eid_index(e)] == seen_now;
}

/* Does anything that follows `fence` reach anything before `other`, both in program order? */
static bool fence_reaches(struct graph *g, eid fence, eid other) {
    reach_begin();
    visit_behind(g, fence);
    reach_all(g);
    for (unsigned i = 0; i < eid_index(other); i++)
        if (seen[eid_thread(other)][i] == seen_now && g->event[eid_thread(other)][i].kind != K_FENCE) return true;
    return false;
}

static struct pair pair[PAIRS_MAX];
static unsigned pairs;

static void collect_pairs(struct graph *g) {
    pairs = 0;
    for (unsigned t = 1; t < T_MAX; t++)
        for (unsigned i = 0; i < g->count[t]; i++) {
            if (g->event[t][i].kind != K_FENCE || g->event[t][i].order != O_LIGHT) continue;
            for (unsigned u = 1; u < T_MAX; u++)
                for (unsigned k = 0; k < g->count[u] && u != t; k++)
                    if (g->event[u][k].kind == K_FENCE && g->event[u][k].order == O_HEAVY && pairs < PAIRS_MAX)
                        pair[pairs++] = (struct pair){EID(t, i), EID(u, k)};
        }
}

/* A light fence is before or after a heavy one: is there a choice for every pair, so that all together make no cycle? */
static bool pairs_ordered(struct graph *g, unsigned from) {
    if (from == pairs) return true;
    for (unsigned swap = 0; swap < 2; swap++) {
        struct pair p = swap ? (struct pair){pair[from].second, pair[from].first} : pair[from];
        if (fence_reaches(g, p.second, p.first)) continue;
        ordered_pair[ordered_pairs++] = p;
        bool good = pairs_ordered(g, from + 1);
        ordered_pairs--;
        if (good) return true;
    }
    return false;
}

static bool tso_light_consistent(struct graph *g) {
    collect_pairs(g);
    return pairs_ordered(g, 0);
}

/* ---- C11: the seq_cst order ------------------------------------------------------------------------------------- */

/* A write has an even rank, its readers the next odd one: within a cell, a reaches b by reads-from, mo and from-reads
 * exactly when rank(a) < rank(b). */
static uint16_t mo_rank[T_MAX][E_MAX + 1];
static void rank_cell(struct graph *g, unsigned cell) {
    unsigned rank = 0;
    for (eid w = EID(0, cell); w != EID_NONE; w = graph_at(g, w)->mo_next)
        mo_rank[eid_thread(w)][eid_index(w)] = (uint16_t)rank++;
}
static unsigned rank_of(struct graph *g, eid name) {
    const struct event *e = graph_at(g, name);
    eid w = e->kind == K_WRITE ? name : e->rf;
    return 2u * mo_rank[eid_thread(w)][eid_index(w)] + (e->kind != K_WRITE);
}

enum { NODE_MAX = 256 };
struct node {
    eid name;
    bool fence, heavy;
    /* A light fence orders only across a heavy one: what follows it is behind the heavy fence that came before it, what precedes
     * it is ahead of the heavy fence that comes after it. By itself it says nothing. So it is two nodes: one that is
     * entered from a heavy fence only, and one that is left to a heavy fence only. */
    bool light_after, light_before;
    /* Fences: the least rank in each cell of what follows, and the greatest of what comes before (of all, of writes). */
    uint16_t *least_after, *most_before, *most_write_before;
};
static struct node node[NODE_MAX];
static unsigned node_count;

static void collect_nodes(struct graph *g) {
    node_count = 0;
    for (unsigned t = 1; t < T_MAX; t++)
        for (unsigned i = 0; i < g->count[t]; i++) {
            const struct event *e = &g->event[t][i];
            bool fence = e->kind == K_FENCE, light = fence && e->order == O_LIGHT;
            if (e->order < O_SC || e->kind == K_CHOICE || node_count + light >= NODE_MAX) continue;
            if (light && g->sc_fences == 0) continue; /* no heavy one to be a neighbour of */
            bool heavy = fence && e->order == O_HEAVY;
            node[node_count++] = (struct node){.name = EID(t, i), .fence = fence, .heavy = heavy, .light_after = light};
            if (light) node[node_count++] = (struct node){.name = EID(t, i), .fence = true, .light_before = true};
        }
}

/* a: program order to another cell, happens-before, program order from another cell. */
static bool through_other_cells(struct graph *g, eid a, eid b) {
    const struct event *x = graph_at(g, a), *y = graph_at(g, b);
    unsigned ta = eid_thread(a), first = eid_index(a) + 1, last = eid_index(b);
    while (first < g->count[ta] && g->event[ta][first].kind != K_FENCE && g->event[ta][first].cell == x->cell)
        first++;
    while (last > 0 && g->event[eid_thread(b)][last - 1].kind != K_FENCE && g->event[eid_thread(b)][last - 1].cell == y->cell)
        last--;
    return first < g->count[ta] && last > 0 && clock_sees(g->event[eid_thread(b)][last - 1].hb, EID(ta, first));
}

static bool accesses_ordered(struct graph *g, eid a, eid b) {
    const struct event *x = graph_at(g, a), *y = graph_at(g, b);
    if (eid_thread(a) == eid_thread(b)) return eid_index(a) < eid_index(b);
    if (x->cell == y->cell) {
        if (clock_sees(y->hb, a)) return true;
        if (y->kind == K_WRITE && rank_of(g, a) < rank_of(g, b)) return true;
    }
    return through_other_cells(g, a, b);
}

static uint16_t fence_ranks[3 * NODE_MAX][L_MAX];

static void rank_fence(struct graph *g, struct node *n, unsigned slot) {
    n->least_after = fence_ranks[slot];
    n->most_before = fence_ranks[slot + 1];
    n->most_write_before = fence_ranks[slot + 2];
    for (unsigned c = 0; c < g->count[0]; c++) {
        n->least_after[c] = UINT16_MAX;
        n->most_before[c] = n->most_write_before[c] = 0; /* the initial write is before everything, with rank 0 */
    }
    vclock hb = before(g, n->name);
    for (unsigned t = 1; t < T_MAX; t++)
        for (unsigned i = 0; i < g->count[t]; i++) {
            const struct event *e = &g->event[t][i];
            if (e->kind > K_WRITE || (e->kind == K_WRITE && e->mo_prev == EID_NONE)) continue;
            uint16_t rank = (uint16_t)rank_of(g, EID(t, i));
            if (clock_sees(e->hb, n->name) && rank < n->least_after[e->cell]) n->least_after[e->cell] = rank;
            if (!clock_sees(hb, EID(t, i))) continue;
            if (rank > n->most_before[e->cell]) n->most_before[e->cell] = rank;
            if (e->kind == K_WRITE && rank > n->most_write_before[e->cell]) n->most_write_before[e->cell] = rank;
        }
}

static bool nodes_ordered(struct graph *g, const struct node *a, const struct node *b) {
    struct event *x = graph_at(g, a->name), *y = graph_at(g, b->name);
    if ((a->light_before && !b->heavy) || (b->light_after && !a->heavy) || (a->light_after && b->light_before)) return false;
    if (a->fence && b->fence) {
        if (clock_sees(y->hb, a->name)) return true;
        for (unsigned c = 0; c < g->count[0]; c++)
            if (a->least_after[c] < b->most_before[c]) return true;
        return false;
    }
    if (a->fence) return clock_sees(y->hb, a->name) || (y->kind == K_WRITE && a->least_after[y->cell] < rank_of(g, b->name));
    if (b->fence) return clock_sees(y->hb, a->name) || rank_of(g, a->name) < b->most_write_before[x->cell];
    return accesses_ordered(g, a->name, b->name);
}

static bool node_seen[NODE_MAX];

/* Is there a path from node `from` back to node `start`? */
static bool nodes_reach(struct graph *g, unsigned from, unsigned start) {
    for (unsigned i = 0; i < node_count; i++) {
        if (node_seen[i] || i == from || !nodes_ordered(g, &node[from], &node[i])) continue;
        if (i == start) return true;
        node_seen[i] = true;
        if (nodes_reach(g, i, start)) return true;
    }
    return false;
}

static bool c11_consistent(struct graph *g, eid added) {
    bool fences = g->sc_fences > 0;
    if (!fences && graph_at(g, added)->order != O_SC) return true;
    collect_nodes(g);
    for (unsigned c = 0; c < g->count[0]; c++)
        rank_cell(g, c);
    if (fences)
        for (unsigned i = 0, slot = 0; i < node_count; i++)
            if (node[i].fence) rank_fence(g, &node[i], 3 * slot++);
    for (unsigned i = 0; i < node_count; i++) {
        if (!fences && node[i].name != added) continue;
        memset(node_seen, 0, node_count * sizeof node_seen[0]);
        if (nodes_reach(g, i, i)) return false;
    }
    return true;
}

bool model_consistent(struct graph *g, eid added) {
    /* The new event is the last of its thread and no event has read from it, so edges leave it only towards newer writes of its
     * cell; without them it closes no cycle. */
    const struct event *e = graph_at(g, added);
    eid next = e->kind == K_WRITE ? e->mo_next : e->kind == K_READ ? graph_at(g, e->rf)->mo_next : EID_NONE;
    if (next == EID_NONE) return true;
    if (model == CHK_C11) return c11_consistent(g, added);
    if (on_cycle(g, added)) return false;
    return model != CHK_TSO || g->light_fences == 0 || g->sc_fences == 0 || tso_light_consistent(g);
}
