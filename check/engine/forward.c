/* Forward searches: events are added one at a time by a chosen thread, and nothing is ever revisited.
 *
 * With few preemptions or at random they reach into scenarios too large to exhaust; without a bound they are a second, naive
 * enumeration against which the first is tested; and one of them runs along a given graph or a given string of choices.
 *
 * The state of a scenario is its graph, so a search that comes to a graph it has been in (with the same preemptions left)
 * turns back. */
#include "futex.h"
#include "memory.h"
#include "model.h"
#include "search.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- choosing --------------------------------------------------------------------------------------------------- */

static enum { BY_DEPTH, BY_CHANCE, BY_GRAPH, BY_STRING } way;

/* By depth: the choices so far; backtracking changes the last that can be changed. */
struct level {
    uint16_t taken, of;
    eid write; /* a read: what it sees; a write: what it comes after */
};
static struct level level[8 * T_MAX * E_MAX];
static unsigned depth, levels;

/* By chance. */
static uint64_t random_state;
static uint32_t priority[T_MAX];
static unsigned change_at[3], step_number, steps_seen;

/* By graph or by string. */
static const struct graph *target;
static unsigned violator; /* goes on when the target has nothing more: its next access was the violation */
static const char *string, *string_error;
static char letter;
static struct trace *trace_out;

static unsigned bound, preemptions, last_thread;
static bool bounded;

static uint64_t random_next(void) {
    uint64_t z = (random_state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Backtracking has changed the last level alone: the choices ahead of it stand, and what they were made from need not be found again. */
static bool stands(void) { return way == BY_DEPTH && depth + 1 < levels; }

static eid keep(eid write) {
    if (way == BY_DEPTH) level[depth - 1].write = write;
    return write;
}

static unsigned choose(unsigned n) {
    switch (way) {
    case BY_DEPTH:
        if (depth == sizeof level / sizeof level[0]) run_discard();
        if (depth == levels) level[levels++] = (struct level){.of = (uint16_t)n};
        return level[depth++].taken;
    case BY_CHANCE:
        /* The newest half of the time: a run that sees only stale values gets nowhere. */
        // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there is always a choice, a read sees at least the initial value
        return random_next() % 2 ? 0 : (unsigned)(random_next() % n);
    case BY_STRING:
        if (letter && (unsigned)(letter - 'a') >= n) {
            string_error = "a choice letter beyond what the scenario offers at that point";
            run_discard();
        }
        return letter ? (unsigned)(letter - 'a') : 0;
    case BY_GRAPH: break;
    }
    return 0;
}

static void record(eid name, unsigned choice) {
    if (!trace_out) return;
    size_t length = strlen(trace_out->string);
    if (trace_out->steps == sizeof trace_out->step / sizeof trace_out->step[0]) return;
    trace_out->step[trace_out->steps++] = name;
    trace_out->string[length++] = (char)('0' + eid_thread(name) - 1);
    if (choice > 0) trace_out->string[length++] = (char)('a' + choice);
    trace_out->string[length] = 0;
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

static bool possible_read(struct graph *g, eid read, eid seen) {
    model_read(g, read, seen);
    const struct event *r = graph_at(g, read);
    if (!(r->flags & F_RMW)) return model_consistent(g, read);
    if (graph_rmw_after(g, seen) != EID_NONE) return false;
    eid write = graph_append(g, eid_thread(read), K_WRITE, (enum order)r->order_success, r->cell);
    graph_at(g, write)->flags = F_RMW | F_FENCED;
    model_write(g, write, model_rmw_value(r));
    graph_mo_insert(g, write, seen);
    bool possible = model_consistent(g, read) && model_consistent(g, write);
    graph_mo_remove(g, write);
    graph_retract(g, eid_thread(write));
    return possible;
}

static unsigned index_of(eid wanted, const eid list[], unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (list[i] == wanted) return i;
    fprintf(stderr, "weft check: internal error: the graph of a violation cannot be rebuilt\n");
    exit(3);
}

static void forward_read(struct graph *g, eid read) {
    if (stands()) {
        model_read(g, read, level[depth++].write);
        return;
    }
    eid seen[T_MAX * E_MAX];
    unsigned all = model_readable(g, read, seen), n = 0;
    for (unsigned i = 0; i < all; i++)
        if (possible_read(g, read, seen[i])) seen[n++] = seen[i];
    unsigned pick = way == BY_GRAPH ? index_of(graph_at((struct graph *)target, read)->rf, seen, n) : choose(n);
    model_read(g, read, keep(seen[pick]));
    record(read, pick);
}

/* In the target graph, the last write before this one that is here already. */
static eid target_place(struct graph *g, eid write) {
    eid w = graph_at((struct graph *)target, write)->mo_prev;
    while (eid_thread(w) != 0 && g->count[eid_thread(w)] <= eid_index(w))
        w = graph_at((struct graph *)target, w)->mo_prev;
    return w;
}

static void forward_write(struct graph *g, eid write) {
    const struct event *w = graph_at(g, write);
    if (w->flags & F_RMW) {
        graph_mo_insert(g, write, w[-1].rf);
        if (trace_out) trace_out->step[trace_out->steps++] = write;
        return;
    }
    if (stands()) {
        graph_mo_insert(g, write, level[depth++].write);
        return;
    }
    eid place[T_MAX * E_MAX];
    unsigned all = model_places(g, write, place), n = 0;
    for (unsigned i = 0; i < all; i++) {
        graph_mo_insert(g, write, place[i]);
        if (model_consistent(g, write)) place[n++] = place[i];
        graph_mo_remove(g, write);
    }
    unsigned pick = way == BY_GRAPH ? index_of(target_place(g, write), place, n) : choose(n);
    graph_mo_insert(g, write, keep(place[pick]));
    record(write, pick);
}

static void forward_choose(struct graph *g, eid choice, unsigned n) {
    unsigned pick = way == BY_GRAPH ? (unsigned)graph_at((struct graph *)target, choice)->value : choose(n);
    graph_at(g, choice)->value = pick;
    record(choice, pick);
}

static void forward_fence(struct graph *g, eid fence) {
    (void)g;
    record(fence, 0);
}

/* ---- graphs already visited --------------------------------------------------------------------------------------- */

static uint64_t *visited;
static size_t visited_room, visited_count;

static uint64_t mix(uint64_t h, uint64_t v) {
    h ^= v + UINT64_C(0x9e3779b97f4a7c15) + (h << 6) + (h >> 2);
    return h * UINT64_C(0xff51afd7ed558ccd) ^ (h >> 32);
}

/* Every event by itself, with its name in it, so that the processor need not end one before it begins the next. The order of the writes of a cell is in what
 * each comes after. */
static uint64_t event_hash(const struct event *e, eid name) {
    uint64_t h = mix(mix(name, (uint64_t)e->kind << 32 | e->cell), e->kind == K_READ ? e->rf : e->value);
    return e->kind == K_WRITE ? mix(h, e->mo_prev) : h;
}

static uint64_t graph_hash(struct graph *g, uint64_t extra) {
    uint64_t h = mix(1, extra);
    for (unsigned t = 1; t <= run.threads; t++)
        for (unsigned i = 0; i < g->count[t]; i++)
            h += event_hash(&g->event[t][i], EID(t, i));
    return h | 1;
}

static bool visit_new(uint64_t hash) {
    if (visited_count * 2 >= visited_room) {
        size_t room = visited_room ? visited_room * 2 : 1 << 16;
        uint64_t *bigger = calloc(room, sizeof *bigger);
        if (!bigger) {
            fprintf(stderr, "weft check: out of memory\n");
            exit(3);
        }
        for (size_t i = 0; i < visited_room; i++)
            if (visited[i]) {
                size_t at = visited[i] >> 1 & (room - 1);
                while (bigger[at])
                    at = (at + 1) & (room - 1);
                bigger[at] = visited[i];
            }
        free(visited);
        visited = bigger;
        visited_room = room;
    }
    size_t at = hash >> 1 & (visited_room - 1);
    for (; visited[at]; at = (at + 1) & (visited_room - 1))
        if (visited[at] == hash) return false;
    visited[at] = hash;
    visited_count++;
    return true;
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

static unsigned pick_by_depth(struct graph *g, unsigned threads) {
    bool last_ready = threads & 1u << last_thread;
    uint64_t extra = bounded ? (uint64_t)preemptions << 8 | (last_ready ? last_thread : 0) : 0;
    if (depth == levels && !visit_new(graph_hash(g, extra))) return 0;
    unsigned order[T_MAX], n = 0;
    if (last_ready) order[n++] = last_thread;
    if (!(bounded && last_ready && preemptions == bound))
        for (unsigned t = 1; t < T_MAX; t++)
            if ((threads & 1u << t) && !(last_ready && t == last_thread)) order[n++] = t;
    unsigned t = order[choose(n)];
    preemptions += last_ready && t != last_thread;
    return last_thread = t;
}

/* Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): fixed random priorities, lowered at a few random steps. */
static unsigned pick_by_chance(unsigned threads) {
    unsigned best = 0;
    for (unsigned i = 0; i < 3; i++)
        if (step_number == change_at[i] && (threads & 1u << last_thread)) priority[last_thread] = i;
    for (unsigned t = 1; t < T_MAX; t++)
        if ((threads & 1u << t) && (best == 0 || priority[t] > priority[best])) best = t;
    /* A waiting thread that is offered again and again must not keep out the one it waits for. */
    if (run.thread[best].state == RUN_BLOCKED_HERE) priority[best] = (uint32_t)(random_next() >> 40) + 3;
    if (++step_number > 4 * T_MAX * E_MAX) return 0;
    return last_thread = best;
}

static unsigned pick_by_graph(struct graph *g, unsigned threads) {
    for (unsigned i = 0; i < T_MAX; i++) {
        unsigned t = (last_thread + i) % T_MAX;
        if (!(threads & 1u << t) || g->count[t] >= target->count[t]) continue;
        const struct event *e = &target->event[t][g->count[t]];
        if (e->kind == K_READ && eid_thread(e->rf) != 0 && g->count[eid_thread(e->rf)] <= eid_index(e->rf)) continue;
        return last_thread = t;
    }
    unsigned t = violator;
    violator = 0;
    if (t == 0 || !(threads & 1u << t)) return 0;
    size_t length = strlen(trace_out->string);
    trace_out->string[length] = (char)('0' + t - 1);
    trace_out->string[length + 1] = 0;
    return t;
}

static unsigned pick_by_string(unsigned threads) {
    if (*string == 0) return 0;
    unsigned t = (unsigned)(*string++ - '0') + 1;
    letter = islower((unsigned char)*string) ? *string++ : 0;
    if (t < T_MAX && (threads & 1u << t)) return t;
    string_error = "a step of a thread that cannot go on at that point";
    return 0;
}

static unsigned forward_pick(struct graph *g, unsigned threads) {
    switch (way) {
    case BY_DEPTH: return pick_by_depth(g, threads);
    case BY_CHANCE: return pick_by_chance(threads);
    case BY_GRAPH: return pick_by_graph(g, threads);
    case BY_STRING: return pick_by_string(threads);
    }
    return 0;
}

static struct strategy forward = {
    .read = forward_read,
    .write = forward_write,
    .choose = forward_choose,
    .fence = forward_fence,
    .pick = forward_pick,
    .every_event = true,
};

static enum run_end run_forward(const struct chk_scenario *scenario, struct graph *g) {
    graph_clear(g);
    while (g->count[0] < cell_count)
        graph_add_cell(g, cells[g->count[0]].initial);
    depth = preemptions = last_thread = step_number = 0;
    return run_once(scenario, g, &forward);
}

/* ---- searching -------------------------------------------------------------------------------------------------- */

static bool backtrack(void) {
    while (levels > 0 && level[levels - 1].taken + 1 == level[levels - 1].of)
        levels--;
    if (levels == 0) return false;
    level[levels - 1].taken++;
    return true;
}

static void begin_random_run(void) {
    for (unsigned t = 1; t < T_MAX; t++)
        priority[t] = (uint32_t)(random_next() >> 40) + 3;
    unsigned length = steps_seen > 16 ? steps_seen : 16;
    for (unsigned i = 0; i < 3; i++)
        change_at[i] = (unsigned)(random_next() % length);
}

static bool search_run(const struct chk_scenario *scenario, struct graph *g, struct search_result *result) {
    enum run_end end = run_forward(scenario, g);
    if (step_number > steps_seen && end == RUN_COMPLETE) steps_seen = step_number;
    if (end == RUN_VIOLATION) {
        result->verdict = V_VIOLATION;
        result->flaw = run.flaw;
        result->violator = run.violator;
        memcpy(result->what, run.what, sizeof result->what);
        return false;
    }
    if (end == RUN_TOO_LONG) {
        result->verdict = V_CAPPED;
        result->capped_by = "a thread has too many events";
        return way == BY_CHANCE;
    }
    if (end == RUN_RESTART) return false;
    bool new = way != BY_DEPTH || end == RUN_DISCARDED || visit_new(graph_hash(g, 1 << 20));
    search_count(result, new ? end : RUN_DISCARDED);
    return true;
}

static void begin_search(const struct search_limits *limits, struct search_result *result) {
    static struct graph g;
    *result = (struct search_result){.verdict = V_EXHAUSTED, .graph = &g};
    trace_out = NULL;
    levels = 0;
    steps_seen = 0;
    free(visited);
    visited = NULL;
    visited_room = visited_count = 0;
    random_state = limits->seed;
    way = limits->random_runs ? BY_CHANCE : BY_DEPTH;
    bounded = !limits->oracle;
    bound = limits->preemptions;
    forward.retry = bounded;
}

void search_forward(const struct chk_scenario *scenario, const struct search_limits *limits, struct search_result *result) {
    memory_new_search();
    futex_several = false;
    begin_search(limits, result);
    for (uint64_t i = 0;; i++) {
        if (way == BY_CHANCE) begin_random_run();
        if (!search_run(scenario, result->graph, result)) {
            if (run.end != RUN_RESTART) return;
            begin_search(limits, result);
            i = 0;
            continue;
        }
        if (limits->progress && i % 65536 == 65535) search_progress(scenario, result);
        if (way == BY_CHANCE ? i + 1 >= limits->random_runs : !backtrack()) break;
        if (way == BY_DEPTH && i >= limits->executions) {
            result->verdict = V_CAPPED;
            result->capped_by = "the limit on executions";
            return;
        }
    }
    if (limits->random_runs || bounded) {
        result->verdict = V_CAPPED;
        result->capped_by = limits->random_runs ? "random executions only" : "the preemption bound";
    }
}

/* ---- following -------------------------------------------------------------------------------------------------- */

enum run_end forward_follow(const struct chk_scenario *scenario, const struct search_result *violation, struct graph *out,
                            struct trace *trace) {
    *trace = (struct trace){.string = {futex_several ? '*' : 0}};
    trace_out = trace;
    way = BY_GRAPH;
    target = violation->graph;
    violator = violation->violator;
    forward.retry = false;
    enum run_end end = run_forward(scenario, out);
    trace_out = NULL;
    return end;
}

const char *forward_replay(const struct chk_scenario *scenario, const char *steps, struct graph *out, struct trace *trace,
                           enum run_end *end) {
    futex_several = *steps == '*';
    *trace = (struct trace){.string = {futex_several ? '*' : 0}};
    trace_out = trace;
    way = BY_STRING;
    string = steps + futex_several;
    string_error = NULL;
    forward.retry = false;
    memory_new_search();
    *end = run_forward(scenario, out);
    trace_out = NULL;
    if (*end == RUN_RESTART) string_error = "a * is missing before the first step: several threads sleep on one futex";
    if (!string_error && *string && *end != RUN_VIOLATION) string_error = "more steps than the scenario has";
    return string_error;
}
