/* What each thread of a scenario may do by itself.
 *
 * A thread is run alone, and every value it reads is *guessed*: any value that some thread may write to that cell. Each way of
 * guessing gives a trace. What guesses are right is decided later, when the traces of all threads are put together
 * (enumerate.cc), so nothing here knows of memory models. The values that may be written are found in rounds: first the initial
 * ones, then those written by threads that read these, and so on. */
#pragma once

#include "execution.hh"

#include <string>
#include <utility>
#include <vector>

extern "C" {
#include "chk.h"
}

struct Cell {
    uintptr_t address;
    unsigned size;
    bool plain;
    uint64_t initial;
};

enum End { DONE, FAILED, WAITS, STOPPED /* by chk_stop, or for going round too often */ };

struct Trace {
    std::vector<Event> events;
    End end = DONE;
    unsigned waits_from = 0;                              /* WAITS: its round began at this event */
    std::vector<std::pair<size_t, unsigned char>> memory; /* bytes of shared data that no other thread touches */
};

struct Program {
    std::vector<Cell> cells;
    std::vector<std::vector<Trace>> threads;
    std::string refused; /* not empty: why the enumerator cannot judge this scenario */
};

Program program_of(const chk_scenario *scenario);

/* Runs `finish` with these final values of the cells. */
struct Finish {
    End end; /* FAILED: an assertion; STOPPED: not to be counted */
    const char *why;
    bool refused;
    uint64_t outcome; /* what it handed to fuzz_outcome */
};
Finish program_finish(const chk_scenario *scenario, const Program &program, const std::vector<const Trace *> &traces,
                      const std::vector<uint64_t> &values);

/* ---- for hooks.cc: what the instrumented code does ---------------------------------------------------------------- */

enum Operation { LOAD, STORE, SWAP, ADD, SUB, AND, OR, XOR, NAND, CAS };

/* An atomic access; the value read. `expected` and `failure` are for CAS. */
uint64_t program_atomic(Operation operation, uintptr_t address, unsigned size, uint64_t operand, Order order,
                        uint64_t expected = 0, Order failure = RLX);
/* A plain access is about to be made. */
void program_plain(uintptr_t address, unsigned size, bool write);
void program_fence(Order order);
unsigned program_choose(unsigned n);
unsigned program_self();
uint64_t program_position();
[[noreturn]] void program_leave(End end, const char *why);
/* A round of a waiting loop that began at this position led to nothing. Returns only if it wrote or chose something, so that
 * the next round may differ. */
void program_wait(uint64_t position);
void program_outcome(uint64_t value);
/* This scenario does something the enumerator cannot judge. */
[[noreturn]] void program_refuse(const char *why);
