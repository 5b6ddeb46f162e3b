/* Atomic cells: the only place that includes <stdatomic.h>.
 *
 * A cell is a struct around one atomic value, so that a plain assignment or comparison does not compile, and the memory
 * order is part of the operation's name, so that a reader sees it and a tool can weaken it (tools/mutants does).
 *
 *   rlx     no order; only the cell itself is coherent
 *   acq     what follows stays behind this read; pairs with a rel write of the same cell
 *   rel     what came before stays before this write; pairs with an acq read of the same cell
 *   acqrel  both, for a read-modify-write
 *   sc      as acq/rel, and one total order over all sc operations: only where a store must come before a later load
 *
 * A compare-and-swap names two orders, success then failure, and is never spurious.
 *
 * There are no bare fences, because race detectors cannot see them. The one pair that exists is asymmetric:
 * atom_fence_light() on the side that runs often, sys_fence_heavy() (sys/sys.h) on the side that is about to sleep
 * anyway. One light and one heavy fence order a store before a later load on both sides as two full fences would; two
 * light ones order nothing, not even when a heavy one comes between them (a third thread needs sc, see idle_found). */
#ifndef WEFT_BASE_ATOM_H
#define WEFT_BASE_ATOM_H

#include "base/sim_hooks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    _Atomic(bool) cell;
} atom_bool;
typedef struct {
    _Atomic(uint32_t) cell;
} atom_u32;
typedef struct {
    _Atomic(uint64_t) cell;
} atom_u64;

/* A cell that holds a pointer to T; use it in a typedef or a member declaration. */
#define ATOM_PTR(T)                                                                                                                        \
    struct {                                                                                                                               \
        _Atomic(T *) cell;                                                                                                                 \
    }

#define atom_load_rlx(a) (sim_point(), atomic_load_explicit(&(a)->cell, memory_order_relaxed))
#define atom_load_acq(a) (sim_point(), atomic_load_explicit(&(a)->cell, memory_order_acquire))
#define atom_load_sc(a) (sim_point(), atomic_load_explicit(&(a)->cell, memory_order_seq_cst))

#define atom_store_rlx(a, v) (sim_point(), atomic_store_explicit(&(a)->cell, (v), memory_order_relaxed))
#define atom_store_rel(a, v) (sim_point(), atomic_store_explicit(&(a)->cell, (v), memory_order_release))
#define atom_store_sc(a, v) (sim_point(), atomic_store_explicit(&(a)->cell, (v), memory_order_seq_cst))

/* The old value is always used, if only by the empty asm: clang turns a swap whose result is unused into a plain store, and a
 * store does not continue a release sequence. */
#define ATOM_SWAP(a, v, order)                                                                                                             \
    ({                                                                                                                                     \
        sim_point();                                                                                                                       \
        __typeof__(atomic_load_explicit(&(a)->cell, memory_order_relaxed)) atom_old =                                                      \
            atomic_exchange_explicit(&(a)->cell, (v), memory_order_##order);                                                               \
        __asm__ volatile("" ::"r"(atom_old));                                                                                              \
        atom_old;                                                                                                                          \
    })
#define atom_swap_rlx(a, v) ATOM_SWAP(a, v, relaxed)
#define atom_swap_acq(a, v) ATOM_SWAP(a, v, acquire)
#define atom_swap_rel(a, v) ATOM_SWAP(a, v, release)
#define atom_swap_acqrel(a, v) ATOM_SWAP(a, v, acq_rel)
#define atom_swap_sc(a, v) ATOM_SWAP(a, v, seq_cst)

#define atom_add_rlx(a, v) (sim_point(), atomic_fetch_add_explicit(&(a)->cell, (v), memory_order_relaxed))
#define atom_add_acq(a, v) (sim_point(), atomic_fetch_add_explicit(&(a)->cell, (v), memory_order_acquire))
#define atom_add_rel(a, v) (sim_point(), atomic_fetch_add_explicit(&(a)->cell, (v), memory_order_release))
#define atom_add_acqrel(a, v) (sim_point(), atomic_fetch_add_explicit(&(a)->cell, (v), memory_order_acq_rel))
#define atom_add_sc(a, v) (sim_point(), atomic_fetch_add_explicit(&(a)->cell, (v), memory_order_seq_cst))

#define atom_sub_rlx(a, v) (sim_point(), atomic_fetch_sub_explicit(&(a)->cell, (v), memory_order_relaxed))
#define atom_sub_acq(a, v) (sim_point(), atomic_fetch_sub_explicit(&(a)->cell, (v), memory_order_acquire))
#define atom_sub_rel(a, v) (sim_point(), atomic_fetch_sub_explicit(&(a)->cell, (v), memory_order_release))
#define atom_sub_acqrel(a, v) (sim_point(), atomic_fetch_sub_explicit(&(a)->cell, (v), memory_order_acq_rel))
#define atom_sub_sc(a, v) (sim_point(), atomic_fetch_sub_explicit(&(a)->cell, (v), memory_order_seq_cst))

#define atom_or_rlx(a, v) (sim_point(), atomic_fetch_or_explicit(&(a)->cell, (v), memory_order_relaxed))
#define atom_or_acq(a, v) (sim_point(), atomic_fetch_or_explicit(&(a)->cell, (v), memory_order_acquire))
#define atom_or_rel(a, v) (sim_point(), atomic_fetch_or_explicit(&(a)->cell, (v), memory_order_release))
#define atom_or_acqrel(a, v) (sim_point(), atomic_fetch_or_explicit(&(a)->cell, (v), memory_order_acq_rel))
#define atom_or_sc(a, v) (sim_point(), atomic_fetch_or_explicit(&(a)->cell, (v), memory_order_seq_cst))

#define atom_and_rlx(a, v) (sim_point(), atomic_fetch_and_explicit(&(a)->cell, (v), memory_order_relaxed))
#define atom_and_acq(a, v) (sim_point(), atomic_fetch_and_explicit(&(a)->cell, (v), memory_order_acquire))
#define atom_and_rel(a, v) (sim_point(), atomic_fetch_and_explicit(&(a)->cell, (v), memory_order_release))
#define atom_and_acqrel(a, v) (sim_point(), atomic_fetch_and_explicit(&(a)->cell, (v), memory_order_acq_rel))
#define atom_and_sc(a, v) (sim_point(), atomic_fetch_and_explicit(&(a)->cell, (v), memory_order_seq_cst))

/* *expected receives what was found when the swap fails. */
#define ATOM_CAS(a, expected, v, success, failure)                                                                                         \
    (sim_point(), atomic_compare_exchange_strong_explicit(&(a)->cell, (expected), (v), memory_order_##success, memory_order_##failure))
#define atom_cas_rlx_rlx(a, expected, v) ATOM_CAS(a, expected, v, relaxed, relaxed)
#define atom_cas_acq_rlx(a, expected, v) ATOM_CAS(a, expected, v, acquire, relaxed)
#define atom_cas_acq_acq(a, expected, v) ATOM_CAS(a, expected, v, acquire, acquire)
#define atom_cas_rel_rlx(a, expected, v) ATOM_CAS(a, expected, v, release, relaxed)
#define atom_cas_rel_acq(a, expected, v) ATOM_CAS(a, expected, v, release, acquire)
#define atom_cas_acqrel_rlx(a, expected, v) ATOM_CAS(a, expected, v, acq_rel, relaxed)
#define atom_cas_acqrel_acq(a, expected, v) ATOM_CAS(a, expected, v, acq_rel, acquire)
#define atom_cas_sc_rlx(a, expected, v) ATOM_CAS(a, expected, v, seq_cst, relaxed)
#define atom_cas_sc_acq(a, expected, v) ATOM_CAS(a, expected, v, seq_cst, acquire)
#define atom_cas_sc_sc(a, expected, v) ATOM_CAS(a, expected, v, seq_cst, seq_cst)

/* One more, by the only thread that writes the cell: a load and a store. On x86 one instruction, without a lock, which compilers do not make of two
 * atomic accesses; every store there is a release. Not where a tool has to see the accesses. A message counts four times: 8 instructions of 365. */
#if defined(__x86_64__) && !WEFT_CHECK && !WEFT_SIM && !defined(__SANITIZE_THREAD__) && !defined(__clang_analyzer__)
#define ATOM_BY_HAND 1
#else
#define ATOM_BY_HAND 0
#endif
#if ATOM_BY_HAND
#define ATOM_COUNT(a, order) __asm__ volatile("addq $1, %0" : "+m"(*(uint64_t *)(uintptr_t) & (a)->cell)::"memory", "cc")
#else
#define ATOM_COUNT(a, order) atom_store_##order(a, atom_load_rlx(a) + 1)
#endif
#define atom_count_rlx(a) ATOM_COUNT(a, rlx)
#define atom_count_rel(a) ATOM_COUNT(a, rel)

/* Whether the cell has this value, or (atom_any) any of these bits: a load and a comparison. On x86 one instruction, where gcc makes two of an
 * atomic load; every load there is an acquire. A message asks nine times: 9 instructions of 265. */
#if ATOM_BY_HAND && defined(__GNUC__) && !defined(__clang__)
#define ATOM_VALUE(a) (*(const __typeof__(atomic_load_explicit(&(a)->cell, memory_order_relaxed)) *)(uintptr_t) & (a)->cell)
#define ATOM_FLAG(instruction, flag, a, v, ...)                                                                                            \
    ({                                                                                                                                     \
        bool atom_flag;                                                                                                                    \
        __asm__ volatile(instruction "%z1 %2, %1" : "=@cc" flag(atom_flag) : "m"(ATOM_VALUE(a)), "re"(v) : __VA_ARGS__);                   \
        atom_flag;                                                                                                                         \
    })
#define atom_is_rlx(a, v) ATOM_FLAG("cmp", "e", a, v)
#define atom_is_acq(a, v) ATOM_FLAG("cmp", "e", a, v, "memory")
#define atom_any_rlx(a, bits) ATOM_FLAG("test", "nz", a, bits)
#define atom_any_acq(a, bits) ATOM_FLAG("test", "nz", a, bits, "memory")
#else
#define atom_is_rlx(a, v) (atom_load_rlx(a) == (v))
#define atom_is_acq(a, v) (atom_load_acq(a) == (v))
#define atom_any_rlx(a, bits) ((atom_load_rlx(a) & (bits)) != 0)
#define atom_any_acq(a, bits) ((atom_load_acq(a) & (bits)) != 0)
#endif

#if WEFT_CHECK
void chk_fence_light(void);
static inline void atom_fence_light(void) { chk_fence_light(); }
#else
/* True until the kernel has granted membarrier, and for good if it refuses: then the light side has to be a full fence
 * too. Set by sys/fence.c, which says how it may change while threads run. For that, the caller's earlier stores come before the
 * read of the flag (a compiler barrier), and its later loads come after it (acquire). */
extern atom_bool atom_fence_light_is_full;
static inline void atom_fence_light(void) {
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(!atom_is_acq(&atom_fence_light_is_full, false), 0)) atomic_thread_fence(memory_order_seq_cst);
    else atomic_signal_fence(memory_order_seq_cst);
}
#endif

#endif
