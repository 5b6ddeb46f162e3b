/* Also the functions for such objects that compilers call: __tsan_atomic128_... for 16 bytes, and libatomic's for any size. */
#include "wide.h"

#include "loops.h"
#include "memory.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PC ((uintptr_t)__builtin_return_address(0))

struct wide {
    unsigned char bytes[WIDE_MAX]; /* zeros behind the value */
};
static struct wide *values;
static size_t value_count, value_room;

static void make_room(void) {
    if (value_count < value_room) return;
    value_room = value_room ? 2 * value_room : 64;
    values = realloc(values, value_room * sizeof *values);
    if (values) return;
    fprintf(stderr, "weft check: out of memory\n");
    exit(3);
}

/* A scenario has few different values. */
uint64_t wide_number(const void *bytes, unsigned size) {
    struct wide value = {{0}};
    memcpy(value.bytes, bytes, size);
    for (size_t i = 0; i < value_count; i++)
        if (memcmp(&values[i], &value, sizeof value) == 0) return i;
    make_room();
    values[value_count] = value;
    return value_count++;
}

void wide_bytes(uint64_t number, void *bytes, unsigned size) { memcpy(bytes, values[number].bytes, size); }

/* ---- 16 bytes ------------------------------------------------------------------------------------------------------- */

typedef unsigned __int128 uint128;

static uint128 to_value(uint64_t number) {
    uint128 value;
    wide_bytes(number, &value, sizeof value);
    return value;
}
static uint64_t to_number(uint128 value) { return wide_number(&value, sizeof value); }

static uint128 combine(enum op op, uint128 value, uint128 operand) {
    switch (op) {
    case OP_ADD: return value + operand;
    case OP_SUB: return value - operand;
    case OP_AND: return value & operand;
    case OP_OR: return value | operand;
    case OP_XOR: return value ^ operand;
    case OP_NAND: return ~(value & operand);
    default: return operand;
    }
}

uint64_t wide_rmw(enum op op, uint64_t value, uint64_t operand) {
    return op == OP_CAS || op == OP_SWAP ? operand : to_number(combine(op, to_value(value), to_value(operand)));
}

#define CELL(address, size) memory_cell((uintptr_t)(address), size)

#define RMW(name, operation)                                                                                                               \
    LOOPS_ENTRY(__tsan_atomic128_##name, entered_atomic128_##name)                                                                         \
    uint128 entered_atomic128_##name(volatile uint128 *a, uint128 v, int order);                                                           \
    uint128 entered_atomic128_##name(volatile uint128 *a, uint128 v, int order) {                                                          \
        if (run.current == 0) {                                                                                                            \
            uint128 old = *a;                                                                                                              \
            *a = combine(operation, old, v);                                                                                               \
            return old;                                                                                                                    \
        }                                                                                                                                  \
        loops_read(PC, (uintptr_t)a, to_number(v), 0);                                                                                     \
        return to_value(run_rmw(CELL(a, 16), operation, to_number(v), 0, (enum order)order, O_RLX, PC));                                   \
    }
RMW(exchange, OP_SWAP)
RMW(fetch_add, OP_ADD)
RMW(fetch_sub, OP_SUB)
RMW(fetch_and, OP_AND)
RMW(fetch_or, OP_OR)
RMW(fetch_xor, OP_XOR)
RMW(fetch_nand, OP_NAND)

/* ---- any size --------------------------------------------------------------------------------------------------------- */

static void check_size(size_t size) {
    if (size <= WIDE_MAX) return;
    fprintf(stderr, "weft check: %s: an atomic object of %zu bytes; at most %d are supported\n", run.scenario->name, size, WIDE_MAX);
    exit(3);
}

/* Sizes that have functions of their own come here as well, from clang for objects that may be misaligned. */
static uint64_t number_of(const void *bytes, size_t size) {
    return wide_size((unsigned)size) ? wide_number(bytes, (unsigned)size) : memory_peek((uintptr_t)bytes, (unsigned)size);
}
static void bytes_of(uint64_t number, void *bytes, size_t size) {
    if (wide_size((unsigned)size)) wide_bytes(number, bytes, (unsigned)size);
    else memory_poke((uintptr_t)bytes, (unsigned)size, number);
}

static void load(size_t size, void *a, void *to, int order, uintptr_t pc) {
    check_size(size);
    if (run.current == 0) {
        memcpy(to, a, size);
        return;
    }
    loops_read(pc, (uintptr_t)a, 0, 0);
    bytes_of(run_load(CELL(a, (unsigned)size), (enum order)order, pc), to, size);
}

static void store(size_t size, void *a, const void *from, int order, uintptr_t pc) {
    check_size(size);
    if (run.current == 0) memcpy(a, from, size);
    else run_store(CELL(a, (unsigned)size), (enum order)order, number_of(from, size), pc);
}

static bool compare_exchange(size_t size, void *a, void *expected, const void *desired, int success, int failure, uintptr_t pc) {
    check_size(size);
    if (run.current == 0) {
        bool same = memcmp(a, expected, size) == 0;
        memcpy(same ? a : expected, same ? desired : a, size);
        return same;
    }
    uint64_t wanted = number_of(expected, size), new = number_of(desired, size);
    loops_read(pc, (uintptr_t)a, new, wanted);
    uint64_t old = run_rmw(CELL(a, (unsigned)size), OP_CAS, new, wanted, (enum order)success, (enum order)failure, pc);
    bytes_of(old, expected, size);
    return old == wanted;
}

LOOPS_ENTRY(__tsan_atomic128_load, entered_atomic128_load)
uint128 entered_atomic128_load(uint128 *a, int order);
uint128 entered_atomic128_load(uint128 *a, int order) {
    uint128 value;
    load(sizeof value, a, &value, order, PC);
    return value;
}
void __tsan_atomic128_store(uint128 *a, uint128 v, int order);
void __tsan_atomic128_store(uint128 *a, uint128 v, int order) { store(sizeof v, a, &v, order, PC); }

#define CAS128(name, result, expected_argument, expected, returned)                                                                        \
    LOOPS_ENTRY(__tsan_atomic128_compare_exchange_##name, entered_atomic128_compare_exchange_##name)                                       \
    result entered_atomic128_compare_exchange_##name(uint128 *a, expected_argument, uint128 v, int success, int failure);                  \
    result entered_atomic128_compare_exchange_##name(uint128 *a, expected_argument, uint128 v, int success, int failure) {                 \
        bool same = compare_exchange(sizeof v, a, expected, &v, success, failure, PC);                                                     \
        (void)same;                                                                                                                        \
        return returned;                                                                                                                   \
    }
CAS128(strong, int, uint128 *expected, expected, same)
CAS128(weak, int, uint128 *expected, expected, same)
CAS128(val, uint128, uint128 expected, &expected, expected)

LOOPS_ENTRY(__atomic_load, entered_any_load)
void entered_any_load(size_t size, void *a, void *to, int order);
void entered_any_load(size_t size, void *a, void *to, int order) { load(size, a, to, order, PC); }
void any_store(size_t size, void *a, const void *from, int order) __asm__("__atomic_store");
void any_store(size_t size, void *a, const void *from, int order) { store(size, a, from, order, PC); }
LOOPS_ENTRY(__atomic_exchange, entered_any_exchange)
void entered_any_exchange(size_t size, void *a, const void *from, void *to, int order);
void entered_any_exchange(size_t size, void *a, const void *from, void *to, int order) {
    check_size(size);
    if (run.current == 0) {
        memcpy(to, a, size);
        memcpy(a, from, size);
        return;
    }
    loops_read(PC, (uintptr_t)a, number_of(from, size), 0);
    bytes_of(run_rmw(CELL(a, (unsigned)size), OP_SWAP, number_of(from, size), 0, (enum order)order, O_RLX, PC), to, size);
}
LOOPS_ENTRY(__atomic_compare_exchange, entered_any_compare_exchange)
int entered_any_compare_exchange(size_t size, void *a, void *expected, const void *desired, int success, int failure);
int entered_any_compare_exchange(size_t size, void *a, void *expected, const void *desired, int success, int failure) {
    return compare_exchange(size, a, expected, desired, success, failure, PC);
}

/* Of an operator on an atomic floating-point object: no exception is looked at. */
void any_feraiseexcept(int exceptions) __asm__("__atomic_feraiseexcept");
void any_feraiseexcept(int exceptions) { (void)exceptions; }
