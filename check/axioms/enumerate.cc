#include "enumerate.hh"

#include <algorithm>
#include <bitset>
#include <map>

namespace {

enum { MAX_FACTS = 256, MAX_STEPS = 5000000 };

/* "This cell holds this value", for all that occur: quick to tell whether traces can go together at all. */
typedef std::bitset<MAX_FACTS> Facts;
struct Needs {
    Facts reads, writes;
};

class Enumerator {
  public:
    Enumerator(const chk_scenario *s, const Program &p, Verdict *v) : scenario(s), program(p), verdict(v) {}
    void run();
    std::string refused;

  private:
    const chk_scenario *scenario;
    const Program &program;
    Verdict *verdict;
    uint64_t steps = 0;

    std::map<std::pair<unsigned, uint64_t>, unsigned> facts;
    std::vector<std::vector<Needs>> needs;
    std::vector<Facts> writes_from; /* what threads t, t + 1, ... may write at all */

    /* The combination being tried. */
    std::vector<const Trace *> traces;
    std::vector<unsigned> first; /* each thread's first event */
    std::vector<unsigned> used;  /* cells that occur, and their initial writes, by number */
    std::vector<unsigned> initial;
    std::vector<uint64_t> finals;

    bool tired();
    unsigned fact(unsigned cell, uint64_t value);
    void collect_facts();
    void choose_traces(size_t thread, Facts reads, Facts writes);
    Execution combine();
    void choose_writes(Execution &x, unsigned event);
    bool may_see(const Execution &x, unsigned write, unsigned read) const;
    void choose_orders(Execution &x, size_t cell);
    void extend_order(Execution &x, size_t cell, unsigned last, Set placed, Set left);
    void judge(const Execution &x);
    bool ended(End end) const;
    bool waits_for_ever(const Execution &x) const;
};

/* ---- traces that may go together --------------------------------------------------------------------------------- */

/* Enough is enough: counts combinations of traces and of reads. */
bool Enumerator::tired() {
    if (++steps > MAX_STEPS) refused = "too large to try everything";
    return !refused.empty();
}

unsigned Enumerator::fact(unsigned cell, uint64_t value) {
    unsigned number = facts.insert({{cell, value}, unsigned(facts.size())}).first->second;
    if (number >= MAX_FACTS) refused = "very many values";
    return number % MAX_FACTS;
}

void Enumerator::collect_facts() {
    needs.resize(program.threads.size());
    writes_from.resize(program.threads.size() + 1);
    for (size_t t = program.threads.size(); t-- > 0;) {
        writes_from[t] = writes_from[t + 1];
        for (const Trace &trace : program.threads[t]) {
            Needs n;
            for (const Event &e : trace.events) {
                if (e.kind == READ || e.kind == UPDATE) n.reads.set(fact(e.cell, e.read));
                if (e.kind == WRITE || e.kind == UPDATE) n.writes.set(fact(e.cell, e.written));
            }
            needs[t].push_back(n);
            writes_from[t] |= n.writes;
        }
    }
}

void Enumerator::choose_traces(size_t thread, Facts reads, Facts writes) {
    if (tired() || (reads & ~(writes | writes_from[thread])).any()) return;
    if (thread == program.threads.size()) {
        Execution x = combine();
        choose_writes(x, 0);
        return;
    }
    for (size_t i = 0; i < program.threads[thread].size(); i++) {
        traces[thread] = &program.threads[thread][i];
        choose_traces(thread + 1, reads | needs[thread][i].reads, writes | needs[thread][i].writes);
    }
}

Execution Enumerator::combine() {
    std::vector<Event> events;
    used.clear();
    initial.clear();
    for (unsigned c = 0; c < program.cells.size(); c++) {
        finals[c] = program.cells[c].initial;
        bool occurs = false;
        for (const Trace *t : traces)
            for (const Event &e : t->events)
                occurs |= e.kind != FENCE && e.cell == c;
        if (!occurs) continue;
        used.push_back(c);
        initial.push_back(unsigned(events.size()));
        Order order = program.cells[c].plain ? PLAIN : RLX;
        events.push_back({WRITE, order, c, 0, program.cells[c].initial, false, INITIAL});
    }
    first.clear();
    for (const Trace *t : traces) {
        first.push_back(unsigned(events.size()));
        events.insert(events.end(), t->events.begin(), t->events.end());
    }
    if (events.size() > MAX_EVENTS) {
        refused = "very many events";
        events.clear();
    }
    return execution_of(events);
}

/* ---- reads-from -------------------------------------------------------------------------------------------------- */

/* Values must agree. The rest only spares work, since no model would allow it: seeing a write to come, or one that the thread
 * itself has since overwritten. */
bool Enumerator::may_see(const Execution &x, unsigned write, unsigned read) const {
    const Event &w = x.events[write], &r = x.events[read];
    if (write == read || w.cell != r.cell || w.written != r.read || x.po(read, write)) return false;
    for (unsigned k = 0; k < x.size(); k++)
        if (has(x.W, k) && x.events[k].cell == r.cell && x.po(write, k) && x.po(k, read)) return false;
    return true;
}

void Enumerator::choose_writes(Execution &x, unsigned event) {
    while (event < x.size() && !has(x.R, event))
        event++;
    if (tired()) return;
    if (event == x.size()) {
        choose_orders(x, 0);
        return;
    }
    for (unsigned w = 0; w < x.size(); w++) {
        if (!has(x.W, w) || !may_see(x, w, event)) continue;
        x.rf.to[w] |= just(event);
        choose_writes(x, event + 1);
        x.rf.to[w] &= ~just(event);
    }
}

/* ---- modification order ------------------------------------------------------------------------------------------ */

void Enumerator::choose_orders(Execution &x, size_t cell) {
    if (tired()) return;
    if (cell == used.size()) {
        judge(x);
        return;
    }
    Set writes = x.same_cell.to[initial[cell]] & x.W & ~just(initial[cell]);
    extend_order(x, cell, initial[cell], just(initial[cell]), writes);
}

/* `placed` ends with `last`. Program order is kept here because every model keeps it. */
void Enumerator::extend_order(Execution &x, size_t cell, unsigned last, Set placed, Set left) {
    if (!left) {
        finals[used[cell]] = x.events[last].written;
        choose_orders(x, cell + 1);
        return;
    }
    for (unsigned w = 0; w < x.size(); w++) {
        if (!has(left, w)) continue;
        bool in_order = true;
        for (unsigned k = 0; k < x.size(); k++)
            if (has(left, k) && x.po(k, w)) in_order = false;
        if (!in_order) continue;
        for (unsigned k = 0; k < x.size(); k++)
            if (has(placed, k)) x.mo.add(k, w);
        extend_order(x, cell, w, placed | just(w), left & ~just(w));
        for (unsigned k = 0; k < x.size(); k++)
            x.mo.to[k] &= ~just(w);
    }
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

bool races(const Execution &x, const Relation &hb) {
    for (unsigned a = 0; a < x.size(); a++)
        for (unsigned b = a + 1; b < x.size(); b++)
            if (has(x.plain, a) && has(x.plain, b) && x.same_cell(a, b) && (has(x.W, a) || has(x.W, b)) && !hb(a, b) &&
                !hb(b, a) && x.events[a].thread != x.events[b].thread)
                return true;
    return false;
}

bool Enumerator::ended(End end) const {
    return std::any_of(traces.begin(), traces.end(), [=](const Trace *t) { return t->end == end; });
}

/* Every thread that waits has seen the newest of all it looked at in its last round. */
bool Enumerator::waits_for_ever(const Execution &x) const {
    for (size_t t = 0; t < traces.size(); t++) {
        if (traces[t]->end != WAITS) continue;
        for (size_t i = traces[t]->waits_from; i < traces[t]->events.size(); i++) {
            unsigned read = first[t] + unsigned(i);
            if (!has(x.R & ~x.plain, read)) continue;
            for (unsigned w = 0; w < x.size(); w++)
                for (unsigned newer = 0; newer < x.size(); newer++)
                    if (x.rf(w, read) && x.mo(w, newer) && x.events[newer].thread != int(t)) return false;
        }
    }
    return true;
}

void Enumerator::judge(const Execution &x) {
    bool failed = ended(FAILED), stopped = ended(STOPPED), waits = ended(WAITS);
    bool complete = !failed && !stopped && !waits, for_ever = waits && !failed && !stopped && waits_for_ever(x);
    Finish finish = {DONE, "", false, 0};
    bool finished = false;
    for (int m = 0; m < MODELS; m++) {
        Relation hb(x.size());
        if (!consistent(Model(m), x, hb)) continue;
        Verdict &v = verdict[m];
        v.race |= races(x, hb);
        v.assertion |= failed;
        v.deadlock |= for_ever;
        if (!complete) continue;
        if (!finished) finish = program_finish(scenario, program, traces, finals);
        finished = true;
        if (finish.refused) refused = finish.why;
        v.assertion |= finish.end == FAILED;
        if (finish.end != DONE) continue;
        v.executions++;
        v.outcomes += finish.outcome;
    }
}

void Enumerator::run() {
    collect_facts();
    finals.resize(program.cells.size());
    Facts from_setup;
    for (unsigned c = 0; c < program.cells.size(); c++)
        from_setup.set(fact(c, program.cells[c].initial));
    traces.resize(program.threads.size());
    choose_traces(0, Facts(), from_setup);
}

} // namespace

bool enumerate(const chk_scenario *scenario, Verdict verdict[MODELS], std::string &refused) {
    Program program = program_of(scenario);
    refused = program.refused;
    if (!refused.empty()) return false;
    Enumerator all(scenario, program, verdict);
    all.run();
    refused = all.refused;
    return refused.empty();
}
