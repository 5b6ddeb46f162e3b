/* A candidate execution: what every thread did, which write each read saw, and the order of each cell's writes. Whether a memory
 * model has it is for axioms.cc to say.
 *
 * A read-modify-write is *one* event, an update, which is both a read and a write. The initial values are writes by a
 * thread of their own, before everything. */
#pragma once

#include "relation.hh"

#include <vector>

enum Kind { READ, WRITE, UPDATE, FENCE };
/* As the compiler numbers them, then the two asymmetric fences, then plain accesses. */
enum Order { RLX, CONSUME, ACQ, REL, ACQREL, SC, LIGHT, HEAVY, PLAIN };
enum { INITIAL = -1 };

struct Event {
    Kind kind;
    Order order;
    unsigned cell; /* not of a fence */
    uint64_t read, written;
    bool locked; /* an update, or a compare-and-swap that failed: a locked instruction on x86 */
    int thread;
};

struct Execution {
    std::vector<Event> events;
    Relation po, rf, mo;
    Relation same_cell;
    /* Sets of events; an update is in R, W and U. Orders are those written in the program: initial writes have none. */
    Set R, W, U, F, plain, locked;
    Set acquire, release, seq_cst, light, heavy;

    explicit Execution(unsigned n)
        : po(n), rf(n), mo(n), same_cell(n), R(0), W(0), U(0), F(0), plain(0), locked(0), acquire(0), release(0),
          seq_cst(0), light(0), heavy(0) {}
    unsigned size() const { return unsigned(events.size()); }
    Set all() const { return just(size()) - 1; }
    Relation on(Set set) const {
        Relation result(size());
        for (unsigned i = 0; i < size(); i++)
            if (has(set, i)) result.add(i, i);
        return result;
    }
};

/* The events of the threads with the initial writes in front: all sets, po and same_cell; rf and mo are left empty. */
Execution execution_of(const std::vector<Event> &events);
