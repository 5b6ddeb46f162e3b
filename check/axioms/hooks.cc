/* Where instrumented code meets the enumerator: the calls that -fsanitize=thread puts at every access, and chk.h. */
#include "program.hh"

#include <cstdio>
#include <cstdlib>

extern "C" {

void __tsan_init(void) {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}

#define PLAIN_ACCESS(name, size, write)                                                                                \
    void __tsan_##name(void *address) { program_plain(uintptr_t(address), size, write); }
#define PLAIN_SIZES(prefix)                                                                                            \
    PLAIN_ACCESS(prefix##read1, 1, false)                                                                              \
    PLAIN_ACCESS(prefix##read2, 2, false)                                                                              \
    PLAIN_ACCESS(prefix##read4, 4, false)                                                                              \
    PLAIN_ACCESS(prefix##read8, 8, false)                                                                              \
    PLAIN_ACCESS(prefix##write1, 1, true)                                                                              \
    PLAIN_ACCESS(prefix##write2, 2, true)                                                                              \
    PLAIN_ACCESS(prefix##write4, 4, true)                                                                              \
    PLAIN_ACCESS(prefix##write8, 8, true)
PLAIN_SIZES()
PLAIN_SIZES(unaligned_)
PLAIN_SIZES(volatile_)

#define READ_WRITE(size)                                                                                               \
    void __tsan_read_write##size(void *address) {                                                                      \
        program_plain(uintptr_t(address), size, false);                                                                \
        program_plain(uintptr_t(address), size, true);                                                                 \
    }
READ_WRITE(1)
READ_WRITE(2)
READ_WRITE(4)
READ_WRITE(8)

/* Whole structs: well only where no other thread looks. */
#define WIDE_ACCESS(name, write)                                                                                       \
    void __tsan_##name##16(void *address) {                                                                            \
        program_plain(uintptr_t(address), 8, write);                                                                   \
        program_plain(uintptr_t(address) + 8, 8, write);                                                               \
    }                                                                                                                  \
    void __tsan_##name##_range(void *address, size_t size) {                                                           \
        for (size_t i = 0; i < size; i++)                                                                              \
            program_plain(uintptr_t(address) + i, 1, write);                                                           \
    }
WIDE_ACCESS(read, false)
WIDE_ACCESS(write, true)

#define RMW(bits, name, operation)                                                                                     \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *a, uint##bits##_t v, int order) {             \
        return uint##bits##_t(program_atomic(operation, uintptr_t(a), bits / 8, v, Order(order)));                     \
    }
#define ATOMIC(bits)                                                                                                   \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *a, int order) {                           \
        return uint##bits##_t(program_atomic(LOAD, uintptr_t(a), bits / 8, 0, Order(order)));                          \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *a, uint##bits##_t v, int order) {                        \
        program_atomic(STORE, uintptr_t(a), bits / 8, v, Order(order));                                                \
    }                                                                                                                  \
    RMW(bits, exchange, SWAP)                                                                                          \
    RMW(bits, fetch_add, ADD)                                                                                          \
    RMW(bits, fetch_sub, SUB)                                                                                          \
    RMW(bits, fetch_and, AND)                                                                                          \
    RMW(bits, fetch_or, OR)                                                                                            \
    RMW(bits, fetch_xor, XOR)                                                                                          \
    RMW(bits, fetch_nand, NAND)                                                                                        \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t *a, uint##bits##_t expected,     \
                                                              uint##bits##_t v, int success, int failure) {            \
        return uint##bits##_t(                                                                                         \
            program_atomic(CAS, uintptr_t(a), bits / 8, v, Order(success), expected, Order(failure)));                 \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *a, uint##bits##_t *expected,            \
                                                      uint##bits##_t v, int success, int failure) {                    \
        uint##bits##_t wanted = *expected;                                                                             \
        *expected = __tsan_atomic##bits##_compare_exchange_val(a, wanted, v, success, failure);                        \
        return *expected == wanted;                                                                                    \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t *a, uint##bits##_t *expected,              \
                                                    uint##bits##_t v, int success, int failure) {                      \
        return __tsan_atomic##bits##_compare_exchange_strong(a, expected, v, success, failure);                        \
    }
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order) { program_fence(Order(order)); }
void __tsan_atomic_signal_fence(int) {}

/* ---- chk.h and base/spin.h ---------------------------------------------------------------------------------------- */

void chk_fail(const char *what, const char *) { program_leave(FAILED, what); }
unsigned chk_choose(unsigned n) { return program_choose(n); }
void chk_stop(void) { program_leave(STOPPED, ""); }
void chk_name(const volatile void *, const char *) {}
unsigned chk_self(void) { return program_self(); }

void chk_fence_sc(void) { program_fence(SC); }
void chk_fence_acq(void) { program_fence(ACQ); }
void chk_fence_rel(void) { program_fence(REL); }
void chk_fence_acqrel(void) { program_fence(ACQREL); }
void chk_fence_light(void) { program_fence(LIGHT); }
void chk_fence_heavy(void) { program_fence(HEAVY); }

void chk_lock(struct chk_mutex *mutex) {
    uint64_t position = program_position();
    if (program_atomic(CAS, uintptr_t(&mutex->word), 4, 1, ACQ, 0, RLX) != 0) program_wait(position);
}
void chk_unlock(struct chk_mutex *mutex) { program_atomic(STORE, uintptr_t(&mutex->word), 4, 0, REL); }

/* The mark: where the round began, and the rounds so far above it. */
enum { ROUNDS_MAX = 4 };
uint32_t chk_spin_begin(void) { return uint32_t(program_position()); }
uint32_t chk_spin_wait(uint32_t mark) {
    program_wait(mark & 0xffff);
    uint32_t rounds = (mark >> 16) + 1;
    if (rounds == ROUNDS_MAX) program_leave(STOPPED, "");
    return rounds << 16 | chk_spin_begin();
}

/* For outside.c, and for the fuzzer's programs. */
void axioms_refuse(const char *why) { program_refuse(why); }
void fuzz_outcome(unsigned, uint64_t value) { program_outcome(value); }
}
