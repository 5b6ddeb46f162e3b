/* Where instrumented code meets the checker: the compiler puts these calls at every access of files compiled with
 * -fsanitize=thread. In setup and finish they act on memory directly. */
#include "intercept.h"

#include "loops.h"
#include "memory.h"
#include "run.h"

#define PC ((uintptr_t)__builtin_return_address(0))

static inline unsigned cell_at(const volatile void *address, unsigned size) { return memory_cell((uintptr_t)address, size); }

void __tsan_init(void);
void __tsan_init(void) {}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void);
void __tsan_func_exit(void) {}

#define PLAIN(name, size, write)                                                                                                           \
    void __tsan_##name(void *address);                                                                                                     \
    void __tsan_##name(void *address) {                                                                                                    \
        if (run.current == 0) return;                                                                                                      \
        run.pc = PC;                                                                                                                       \
        memory_plain((uintptr_t)address, size, write);                                                                                     \
    }
PLAIN(read1, 1, false)
PLAIN(read2, 2, false)
PLAIN(read4, 4, false)
PLAIN(read8, 8, false)
PLAIN(read16, 16, false)
PLAIN(write1, 1, true)
PLAIN(write2, 2, true)
PLAIN(write4, 4, true)
PLAIN(write8, 8, true)
PLAIN(write16, 16, true)
PLAIN(unaligned_read2, 2, false)
PLAIN(unaligned_read4, 4, false)
PLAIN(unaligned_read8, 8, false)
PLAIN(unaligned_read16, 16, false)
PLAIN(unaligned_write2, 2, true)
PLAIN(unaligned_write4, 4, true)
PLAIN(unaligned_write8, 8, true)
PLAIN(unaligned_write16, 16, true)
PLAIN(read_write1, 1, true)
PLAIN(read_write2, 2, true)
PLAIN(read_write4, 4, true)
PLAIN(read_write8, 8, true)
PLAIN(volatile_read1, 1, false)
PLAIN(volatile_read2, 2, false)
PLAIN(volatile_read4, 4, false)
PLAIN(volatile_read8, 8, false)
PLAIN(volatile_write1, 1, true)
PLAIN(volatile_write2, 2, true)
PLAIN(volatile_write4, 4, true)
PLAIN(volatile_write8, 8, true)

void intercept_reads(const void *address, size_t size, uintptr_t pc) {
    run.pc = pc;
    if (run.current != 0) memory_plain((uintptr_t)address, size, false);
}
void intercept_writes(void *address, size_t size, uintptr_t pc) {
    run.pc = pc;
    if (run.current != 0) memory_plain((uintptr_t)address, size, true);
}
void __tsan_read_range(void *address, size_t size);
void __tsan_read_range(void *address, size_t size) { intercept_reads(address, size, PC); }
void __tsan_write_range(void *address, size_t size);
void __tsan_write_range(void *address, size_t size) { intercept_writes(address, size, PC); }

#define RMW(bits, name, operation, direct)                                                                                                 \
    LOOPS_ENTRY(__tsan_atomic##bits##_##name, entered_atomic##bits##_##name)                                                               \
    uint##bits##_t entered_atomic##bits##_##name(volatile uint##bits##_t *a, uint##bits##_t v, int order);                                 \
    uint##bits##_t entered_atomic##bits##_##name(volatile uint##bits##_t *a, uint##bits##_t v, int order) {                                \
        if (run.current == 0) return direct(a, v, __ATOMIC_SEQ_CST);                                                                       \
        loops_read(PC, (uintptr_t)a, v, 0);                                                                                                \
        return (uint##bits##_t)run_rmw(cell_at(a, bits / 8), operation, v, 0, (enum order)order, O_RLX, PC);                               \
    }

#define CAS(bits, name, result, expected_argument, expected, returned)                                                                     \
    LOOPS_ENTRY(__tsan_atomic##bits##_compare_exchange_##name, entered_atomic##bits##_compare_exchange_##name)                             \
    result entered_atomic##bits##_compare_exchange_##name(volatile uint##bits##_t *a, expected_argument, uint##bits##_t v, int success,    \
                                                          int failure);                                                                    \
    result entered_atomic##bits##_compare_exchange_##name(volatile uint##bits##_t *a, expected_argument, uint##bits##_t v, int success,    \
                                                          int failure) {                                                                   \
        uint##bits##_t wanted = expected;                                                                                                  \
        if (run.current == 0) {                                                                                                            \
            __atomic_compare_exchange_n(a, &expected, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                                           \
        } else {                                                                                                                           \
            loops_read(PC, (uintptr_t)a, v, wanted);                                                                                       \
            expected = (uint##bits##_t)run_rmw(cell_at(a, bits / 8), OP_CAS, v, wanted, (enum order)success, (enum order)failure, PC);     \
        }                                                                                                                                  \
        return returned;                                                                                                                   \
    }

#define ATOMIC(bits)                                                                                                                       \
    LOOPS_ENTRY(__tsan_atomic##bits##_load, entered_atomic##bits##_load)                                                                   \
    uint##bits##_t entered_atomic##bits##_load(const volatile uint##bits##_t *a, int order);                                               \
    uint##bits##_t entered_atomic##bits##_load(const volatile uint##bits##_t *a, int order) {                                              \
        if (run.current == 0) return *a;                                                                                                   \
        loops_read(PC, (uintptr_t)a, 0, 0);                                                                                                \
        return (uint##bits##_t)run_load(cell_at(a, bits / 8), (enum order)order, PC);                                                      \
    }                                                                                                                                      \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *a, uint##bits##_t v, int order);                                             \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *a, uint##bits##_t v, int order) {                                            \
        if (run.current == 0) *a = v;                                                                                                      \
        else run_store(cell_at(a, bits / 8), (enum order)order, v, PC);                                                                    \
    }                                                                                                                                      \
    RMW(bits, exchange, OP_SWAP, __atomic_exchange_n)                                                                                      \
    RMW(bits, fetch_add, OP_ADD, __atomic_fetch_add)                                                                                       \
    RMW(bits, fetch_sub, OP_SUB, __atomic_fetch_sub)                                                                                       \
    RMW(bits, fetch_and, OP_AND, __atomic_fetch_and)                                                                                       \
    RMW(bits, fetch_or, OP_OR, __atomic_fetch_or)                                                                                          \
    RMW(bits, fetch_xor, OP_XOR, __atomic_fetch_xor)                                                                                       \
    RMW(bits, fetch_nand, OP_NAND, __atomic_fetch_nand)                                                                                    \
    CAS(bits, strong, int, uint##bits##_t *expected, *expected, *expected == wanted)                                                       \
    CAS(bits, weak, int, uint##bits##_t *expected, *expected, *expected == wanted)                                                         \
    CAS(bits, val, uint##bits##_t, uint##bits##_t expected, expected, expected)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order) {
    if (run.current != 0) run_fence((enum order)order, PC);
}
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order) { (void)order; }
