/* Where instrumented code meets the checker: the compiler puts these calls at every access of files compiled with
 * -fsanitize=thread. In setup and finish they act on memory directly. */
#include "memory.h"
#include "run.h"

#include <string.h>

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
        if (run.current != 0) memory_plain((uintptr_t)address, size, write);                                                               \
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

static void reads(const void *address, size_t size) {
    if (run.current != 0) memory_plain((uintptr_t)address, size, false);
}
static void writes(void *address, size_t size) {
    if (run.current != 0) memory_plain((uintptr_t)address, size, true);
}
void __tsan_read_range(void *address, size_t size);
void __tsan_read_range(void *address, size_t size) { reads(address, size); }
void __tsan_write_range(void *address, size_t size);
void __tsan_write_range(void *address, size_t size) { writes(address, size); }

/* What instrumented files call instead of the C library's (cmake/checker.cmake): the compiler reports no access inside them. */
void *chk_memcpy(void *to, const void *from, size_t size);
void *chk_memcpy(void *to, const void *from, size_t size) {
    reads(from, size);
    writes(to, size);
    return memcpy(to, from, size);
}
void *chk_memmove(void *to, const void *from, size_t size);
void *chk_memmove(void *to, const void *from, size_t size) {
    reads(from, size);
    writes(to, size);
    return memmove(to, from, size);
}
void *chk_memset(void *to, int byte, size_t size);
void *chk_memset(void *to, int byte, size_t size) {
    writes(to, size);
    return memset(to, byte, size);
}
int chk_memcmp(const void *a, const void *b, size_t size);
int chk_memcmp(const void *a, const void *b, size_t size) {
    reads(a, size);
    reads(b, size);
    return memcmp(a, b, size);
}

#define RMW(bits, name, operation, direct)                                                                                                 \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *a, uint##bits##_t v, int order);                                  \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *a, uint##bits##_t v, int order) {                                 \
        if (run.current == 0) return direct(a, v, __ATOMIC_SEQ_CST);                                                                       \
        return (uint##bits##_t)run_rmw(cell_at(a, bits / 8), operation, v, 0, (enum order)order, O_RLX, PC);                               \
    }

#define CAS(bits, name)                                                                                                                    \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile uint##bits##_t *a, uint##bits##_t *expected, uint##bits##_t v, int success, \
                                                      int failure);                                                                        \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile uint##bits##_t *a, uint##bits##_t *expected, uint##bits##_t v, int success, \
                                                      int failure) {                                                                       \
        if (run.current == 0) return __atomic_compare_exchange_n(a, expected, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
        uint##bits##_t wanted = *expected;                                                                                                 \
        *expected = (uint##bits##_t)run_rmw(cell_at(a, bits / 8), OP_CAS, v, wanted, (enum order)success, (enum order)failure, PC);        \
        return *expected == wanted;                                                                                                        \
    }

#define ATOMIC(bits)                                                                                                                       \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *a, int order);                                                \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *a, int order) {                                               \
        if (run.current == 0) return *a;                                                                                                   \
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
    CAS(bits, strong)                                                                                                                      \
    CAS(bits, weak)                                                                                                                        \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t *a, uint##bits##_t expected, uint##bits##_t v,       \
                                                              int success, int failure);                                                   \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t *a, uint##bits##_t expected, uint##bits##_t v,       \
                                                              int success, int failure) {                                                  \
        __tsan_atomic##bits##_compare_exchange_strong(a, &expected, v, success, failure);                                                  \
        return expected;                                                                                                                   \
    }
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
