/* The axioms.
 *
 * Written to be compared with the literature line by line; nothing is clever, and nothing is shared with check/engine, which decides
 * the same questions by clocks and ranks while it builds a graph.
 *
 *   C11  Lahav, Vafeiadis, Kang, Hur, Dreyer: Repairing sequential consistency in C/C++11, PLDI 2017 (RC11), figure 1 and
 *        section 3, with the release sequences of C++20.
 *   TSO  Owens, Sarkar, Sewell: A better x86 memory model: x86-TSO, TPHOLs 2009, in the form of herd's x86tso.cat.
 *   SC   Lamport's, in the form of Shasha and Snir: no cycle of program order and communication. */
#include "axioms.hh"

#include <cstddef>
#include <utility>

/* From a read to the writes that come after the one it saw ("from-read", "reads-before"). */
static Relation rb_of(const Execution &x) { return seq(inverse(x.rf), x.mo) - x.on(x.all()); }

static Relation com_of(const Execution &x) { return x.rf | x.mo | rb_of(x); }

/* SC per location. Because an update is one event, this includes its atomicity: a write w between the update u and what it
 * saw would make u rb w, w mo u. */
static bool coherent_cells(const Execution &x) { return acyclic((x.po & x.same_cell) | com_of(x)); }

/* Happens-before in TSO and SC: every atomic access counts as release and acquire. */
static Relation hb_strong(const Execution &x) {
    Relation atomic_rf = x.rf - cross(x.size(), x.plain, x.all()) - cross(x.size(), x.all(), x.plain);
    return plus(x.po | atomic_rf);
}

/* ---- SC ---------------------------------------------------------------------------------------------------------- */

static bool sc(const Execution &x, Relation &hb) {
    hb = hb_strong(x);
    return acyclic(x.po | com_of(x));
}

/* ---- TSO --------------------------------------------------------------------------------------------------------- */

/* membarrier interrupts the light side somewhere: before its light fence or after it. Either everything ahead of the heavy
 * fence comes before everything behind the light one, or the other way round; some choice for every pair must do. */
static bool some_order(const Execution &x, const Relation &ghb, const std::vector<std::pair<unsigned, unsigned>> &pairs,
                       size_t from) {
    if (!acyclic(ghb)) return false;
    if (from == pairs.size()) return true;
    Relation l = x.on(just(pairs[from].first)), h = x.on(just(pairs[from].second));
    Relation between = cross(x.size(), just(pairs[from].first), just(pairs[from].second));
    return some_order(x, ghb | seq(x.po, l, between, h, x.po), pairs, from + 1) ||
           some_order(x, ghb | seq(x.po, h, inverse(between), l, x.po), pairs, from + 1);
}

static bool tso(const Execution &x, Relation &hb) {
    unsigned n = x.size();
    hb = hb_strong(x);
    if (!coherent_cells(x)) return false;

    /* A plain load overtakes earlier stores that are still in the buffer; nothing else is reordered. */
    Relation accesses = cross(n, ~x.F, ~x.F);
    Relation ppo = (x.po & accesses) - cross(n, x.W & ~x.U, x.R & ~x.locked);
    /* mfence; a seq_cst store has one behind it. */
    Relation fenced = seq(x.po, x.on((x.F & x.seq_cst) | x.heavy), x.po) | seq(x.on(x.W & x.seq_cst), x.po);
    Relation same_thread = x.po | inverse(x.po);
    Relation ghb = ppo | (fenced & accesses) | (x.rf - same_thread) | x.mo | rb_of(x);

    std::vector<std::pair<unsigned, unsigned>> pairs;
    for (unsigned l = 0; l < n; l++)
        for (unsigned h = 0; h < n; h++)
            if (has(x.light, l) && has(x.heavy, h) && x.events[l].thread != x.events[h].thread) pairs.push_back({l, h});
    return some_order(x, ghb, pairs, 0);
}

/* ---- C11 --------------------------------------------------------------------------------------------------------- */

/* psc, with the events of `fences` as the seq_cst fences. Plain accesses take no part in it: see the list in enumerator.cc. */
static Relation psc_of(const Execution &x, const Relation &hb, const Relation &eco, Set fences) {
    Relation po = x.po - cross(x.size(), x.plain, x.all()) - cross(x.size(), x.all(), x.plain);
    Relation po_other = po - x.same_cell;
    Relation Esc = x.on(x.seq_cst & ~x.F), Fsc = x.on(fences);
    Relation scb = po | seq(po_other, hb, po_other) | (hb & x.same_cell) | x.mo | rb_of(x);
    Relation base = seq(Esc | seq(Fsc, opt(hb)), scb, Esc | seq(opt(hb), Fsc));
    Relation between_fences = seq(Fsc, hb | seq(hb, eco, hb), Fsc);
    return base | between_fences;
}

static bool c11(const Execution &x, Relation &hb) {
    Relation F = x.on(x.F), eco = plus(com_of(x));
    Relation acquire = x.on(x.acquire), release = x.on(x.release);

    /* C++20: a release write and the updates that follow it; later stores of the same thread no longer belong to it. */
    Relation rs = seq(x.on(x.W & ~x.plain), star(seq(x.rf, x.on(x.U))));
    Relation sw = seq(release, opt(seq(F, x.po)), rs, x.rf, x.on(x.R & ~x.plain), opt(seq(x.po, F)), acquire);
    hb = plus(x.po | sw);

    /* Coherence. The second line is atomicity as well, see coherent_cells. */
    if (!irreflexive(hb) || !irreflexive(seq(hb, eco))) return false;
    if (!irreflexive(eco)) return false;
    /* No load buffering. */
    if (!acyclic(x.po | x.rf)) return false;

    /* seq_cst. A light fence takes part as a full one would, but only next to a heavy one: it is membarrier's interrupt that
     * makes a full fence of it. */
    Set full = (x.F & x.seq_cst) | x.heavy;
    Relation psc = psc_of(x, hb, eco, full | x.light);
    Relation light = x.on(x.light), heavy = x.on(x.heavy), strong = x.on(~x.light);
    Relation through = seq(heavy, psc, light, psc, strong) | seq(strong, psc, light, psc, heavy);
    return acyclic(seq(strong, psc, strong) | through);
}

bool consistent(Model model, const Execution &x, Relation &hb) {
    switch (model) {
    case MODEL_SC: return sc(x, hb);
    case MODEL_TSO: return tso(x, hb);
    default: return c11(x, hb);
    }
}

/* ---- events in, sets and program order out ----------------------------------------------------------------------- */

static void classify(Execution &x, unsigned i) {
    const Event &e = x.events[i];
    Set self = just(i);
    if (e.kind == READ || e.kind == UPDATE) x.R |= self;
    if (e.kind == WRITE || e.kind == UPDATE) x.W |= self;
    if (e.kind == UPDATE) x.U |= self;
    if (e.kind == FENCE) x.F |= self;
    if (e.locked) x.locked |= self;
    if (e.order == PLAIN) x.plain |= self;
    if (e.thread == INITIAL) return;
    bool reads = e.kind != WRITE, writes = e.kind != READ;
    bool both = e.order == ACQREL || e.order == SC || e.order == HEAVY;
    if (reads && (both || e.order == ACQ || e.order == CONSUME)) x.acquire |= self;
    if (writes && (both || e.order == REL)) x.release |= self;
    if (e.order == SC) x.seq_cst |= self;
    if (e.order == LIGHT) x.light |= self;
    if (e.order == HEAVY) x.heavy |= self;
}

Execution execution_of(const std::vector<Event> &events) {
    Execution x(unsigned(events.size()));
    x.events = events;
    for (unsigned i = 0; i < x.size(); i++) {
        classify(x, i);
        const Event &a = events[i];
        for (unsigned k = 0; k < x.size(); k++) {
            const Event &b = events[k];
            if (b.thread != INITIAL && (a.thread == INITIAL || (a.thread == b.thread && i < k))) x.po.add(i, k);
            if (a.kind != FENCE && b.kind != FENCE && a.cell == b.cell) x.same_cell.add(i, k);
        }
    }
    return x;
}
