#include "program.hh"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <map>
#include <set>

extern "C" {
extern unsigned char __start_chk_shared[] __attribute__((weak)), __stop_chk_shared[] __attribute__((weak));
}

/* More is not for an enumerator that tries everything. */
enum { MAX_ACCESSES = 16, MAX_TRACES = 100000 };

namespace {

enum Mode { ALONE, THREAD }; /* setup and finish run alone: memory is memory */
Mode mode = ALONE;
unsigned self;
uintptr_t stack_base;
jmp_buf leave;
End left_by;
const char *why_left;
bool refused;
uint64_t outcome;

std::vector<unsigned char> image; /* shared data as the program file has it, then as setup leaves it */

/* One scenario. */
std::vector<Cell> cells;
std::map<uintptr_t, unsigned> cell_at;
std::map<uintptr_t, unsigned> toucher; /* of a byte of plain data: its only thread, or MANY */
enum { MANY = CHK_THREADS };
std::vector<std::set<uint64_t>> values, new_values; /* that each cell may hold: this round's and the next one's */
bool changed, shared_more;                          /* in this round */

/* One run of a thread. */
struct Guess {
    unsigned chosen, options;
};
std::vector<Guess> guesses;
size_t guessed;
Trace trace;
int pending = -1;         /* a plain write that is announced but not made yet */
uint64_t choice_position; /* behind the last chk_choose */

/* ---- memory ------------------------------------------------------------------------------------------------------ */

uint64_t peek(uintptr_t address, unsigned size) {
    uint64_t value = 0;
    memcpy(&value, reinterpret_cast<void *>(address), size);
    return value;
}

void poke(uintptr_t address, unsigned size, uint64_t value) { memcpy(reinterpret_cast<void *>(address), &value, size); }

void restore() {
    if (!image.empty()) memcpy(__start_chk_shared, image.data(), image.size());
}

bool is_shared(uintptr_t address) {
    return address >= uintptr_t(__start_chk_shared) && address < uintptr_t(__stop_chk_shared);
}

bool on_stack(uintptr_t address) { return address >= uintptr_t(__builtin_frame_address(0)) && address <= stack_base; }

unsigned cell_of(uintptr_t address, unsigned size, bool plain) {
    if (!is_shared(address)) program_refuse("a thread writes data that is not SHARED");
    auto next = cell_at.lower_bound(address);
    if (next != cell_at.end() && next->first == address) {
        const Cell &cell = cells[next->second];
        if (cell.size != size || cell.plain != plain)
            program_refuse("a cell is accessed in several sizes, or both atomically and plainly");
        return next->second;
    }
    if (next != cell_at.end() && next->first < address + size) program_refuse("cells overlap");
    if (next != cell_at.begin() && std::prev(next)->first + cells[std::prev(next)->second].size > address)
        program_refuse("cells overlap");
    uint64_t initial = 0;
    memcpy(&initial, &image[address - uintptr_t(__start_chk_shared)], size);
    cells.push_back({address, size, plain, initial});
    cell_at[address] = unsigned(cells.size() - 1);
    values.push_back({initial});
    new_values.push_back({initial});
    return unsigned(cells.size() - 1);
}

/* Plain data that one thread alone ever touches is left alone. */
bool only_mine(uintptr_t address, unsigned size) {
    bool mine = true;
    for (uintptr_t byte = address; byte < address + size; byte++) {
        unsigned &owner = toucher.insert({byte, self}).first->second;
        if (owner != self && owner != MANY) {
            owner = MANY;
            shared_more = true;
        }
        if (owner == MANY) mine = false;
    }
    if (!mine) /* a cell as a whole is one thread's or everybody's */
        for (uintptr_t byte = address; byte < address + size; byte++)
            if (toucher[byte] != MANY) {
                toucher[byte] = MANY;
                shared_more = true;
            }
    return mine;
}

/* ---- guessing ---------------------------------------------------------------------------------------------------- */

unsigned guess(unsigned options) {
    if (guessed == guesses.size()) guesses.push_back({0, options});
    guesses[guessed].options = options;
    return guesses[guessed++].chosen;
}

uint64_t guess_value(unsigned cell) {
    auto value = values[cell].begin();
    std::advance(value, guess(unsigned(values[cell].size())));
    return *value;
}

/* The next combination, or false after the last. */
bool next_guesses() {
    guesses.resize(guessed);
    while (!guesses.empty() && guesses.back().chosen + 1 == guesses.back().options)
        guesses.pop_back();
    if (guesses.empty()) return false;
    guesses.back().chosen++;
    return true;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

void may_hold(unsigned cell, uint64_t value) {
    if (new_values[cell].insert(value).second) changed = true;
}

/* The plain write announced last has been made by now. */
void settle() {
    if (pending < 0) return;
    Event &e = trace.events[size_t(pending)];
    e.written = peek(cells[e.cell].address, cells[e.cell].size);
    may_hold(e.cell, e.written);
    pending = -1;
}

void append(Kind kind, Order order, unsigned cell, uint64_t read, uint64_t written, bool locked) {
    if (trace.events.size() == MAX_ACCESSES) program_refuse("a thread makes very many accesses");
    trace.events.push_back({kind, order, cell, read, written, locked, int(self)});
    if (kind == WRITE || kind == UPDATE) may_hold(cell, written);
}

uint64_t result(Operation operation, uint64_t old, uint64_t operand, unsigned size) {
    uint64_t all = size == 8 ? ~uint64_t(0) : (uint64_t(1) << 8 * size) - 1;
    switch (operation) {
    case LOAD: return old;
    case ADD: return (old + operand) & all;
    case SUB: return (old - operand) & all;
    case AND: return old & operand;
    case OR: return old | operand;
    case XOR: return old ^ operand;
    case NAND: return ~(old & operand) & all;
    default: return operand;
    }
}

} // namespace

uint64_t program_atomic(Operation operation, uintptr_t address, unsigned size, uint64_t operand, Order order,
                        uint64_t expected, Order failure) {
    if (mode == ALONE) {
        uint64_t old = peek(address, size);
        if (operation != CAS || old == expected) poke(address, size, result(operation, old, operand, size));
        return old;
    }
    settle();
    unsigned cell = cell_of(address, size, false);
    if (operation == STORE) {
        append(WRITE, order, cell, 0, operand, false);
        return 0;
    }
    uint64_t old = guess_value(cell);
    if (operation == LOAD)
        append(READ, order, cell, old, 0, false);
    else if (operation == CAS && old != expected)
        append(READ, failure, cell, old, 0, true);
    else
        append(UPDATE, order, cell, old, result(operation, old, operand, size), true);
    return old;
}

void program_plain(uintptr_t address, unsigned size, bool write) {
    if (mode == ALONE || on_stack(address)) return;
    settle();
    if (!is_shared(address) && !write) return; /* constant, or never written */
    if (is_shared(address) && only_mine(address, size)) return;
    unsigned cell = cell_of(address, size, true);
    if (write) {
        append(WRITE, PLAIN, cell, 0, peek(address, size), false);
        pending = int(trace.events.size()) - 1;
    } else {
        uint64_t value = guess_value(cell);
        append(READ, PLAIN, cell, value, 0, false);
        poke(address, size, value); /* where the access that follows finds it */
    }
}

void program_fence(Order order) {
    if (mode == ALONE) return;
    settle();
    append(FENCE, order, 0, 0, 0, false);
}

unsigned program_choose(unsigned n) {
    if (mode == ALONE) return 0;
    settle();
    choice_position = trace.events.size() + 1;
    return guess(n);
}

unsigned program_self() { return self; }
uint64_t program_position() { return trace.events.size(); }
void program_outcome(uint64_t value) { outcome = value; }

/* Jumps out of the scenario's code. No function between here and the setjmp has anything to destroy. */
void program_leave(End end, const char *why) {
    if (mode == THREAD) settle();
    left_by = end;
    why_left = why;
    longjmp(leave, 1);
}

void program_refuse(const char *why) {
    refused = true;
    pending = -1;
    program_leave(STOPPED, why);
}

void program_wait(uint64_t position) {
    if (mode == ALONE) program_refuse("setup or finish waits");
    settle();
    for (size_t i = position; i < trace.events.size(); i++)
        if (trace.events[i].order != PLAIN && (trace.events[i].kind == WRITE || trace.events[i].kind == UPDATE)) return;
    if (choice_position > position) return;
    trace.waits_from = unsigned(position);
    program_leave(WAITS, "");
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Calls a part of the scenario; how it ended. */
static End call(void (*part)(), Mode as) {
    mode = as;
    stack_base = uintptr_t(__builtin_frame_address(0));
    left_by = DONE;
    why_left = "";
    if (setjmp(leave) == 0) part();
    if (mode == THREAD) settle();
    mode = ALONE;
    return left_by;
}

static void run_thread(void (*entry)()) {
    restore();
    trace = Trace();
    pending = -1;
    guessed = 0;
    choice_position = 0;
    trace.end = call(entry, THREAD);
    for (const auto &byte : toucher)
        if (byte.second == self)
            trace.memory.push_back(
                {byte.first - uintptr_t(__start_chk_shared), *reinterpret_cast<unsigned char *>(byte.first)});
}

static std::vector<Trace> traces_of(void (*entry)()) {
    std::vector<Trace> traces;
    guesses.clear();
    do {
        run_thread(entry);
        traces.push_back(trace);
        if (traces.size() == MAX_TRACES) {
            refused = true;
            why_left = "a thread has very many traces";
        }
    } while (!refused && next_guesses());
    return traces;
}

static size_t most_writes(const std::vector<Trace> &traces) {
    size_t most = 0;
    for (const Trace &t : traces)
        most = std::max(most, size_t(std::count_if(t.events.begin(), t.events.end(), [](const Event &e) {
                            return e.kind == WRITE || e.kind == UPDATE;
                        })));
    return most;
}

/* All traces of all threads. A value passes through at most as many writes as there are, so that many rounds are
 * enough where the guesses never settle (every fetch_add may see another's). */
static void run_rounds(const chk_scenario *scenario, Program &program) {
    size_t rounds = 1;
    for (size_t round = 0; round <= rounds; round++) {
        changed = shared_more = false;
        values = new_values;
        program.threads.clear();
        rounds = 1;
        for (self = 0; self < CHK_THREADS && scenario->threads[self] && !refused; self++) {
            program.threads.push_back(traces_of(scenario->threads[self]));
            rounds += most_writes(program.threads.back());
        }
        if ((!changed && !shared_more) || refused) return;
        if (shared_more) round = 0;
    }
}

Program program_of(const chk_scenario *scenario) {
    static const std::vector<unsigned char> original(__start_chk_shared, __stop_chk_shared);
    Program program;
    cells.clear();
    cell_at.clear();
    toucher.clear();
    values.clear();
    new_values.clear();
    refused = false;
    image = original;
    restore();
    if (scenario->setup) call(scenario->setup, ALONE);
    image.assign(__start_chk_shared, __stop_chk_shared);
    if (!refused) run_rounds(scenario, program);
    program.cells = cells;
    if (refused) program.refused = why_left;
    return program;
}

Finish program_finish(const chk_scenario *scenario, const Program &program, const std::vector<const Trace *> &traces,
                      const std::vector<uint64_t> &finals) {
    if (!scenario->finish) return {DONE, "", false, 0};
    restore();
    for (const Trace *t : traces)
        for (const auto &byte : t->memory)
            __start_chk_shared[byte.first] = byte.second;
    for (size_t i = 0; i < program.cells.size(); i++)
        poke(program.cells[i].address, program.cells[i].size, finals[i]);
    outcome = 0;
    End end = call(scenario->finish, ALONE);
    return {end, why_left, refused, outcome};
}
