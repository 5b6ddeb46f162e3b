/* Causality across three and four threads: WRC, ISA2, RWC, W+RWC, IRIW. Release and acquire carry causes along a chain
 * of threads; they do not make independent stores appear in one order to everybody. Only seq_cst does that. */
#include "base/atom.h"
#include "chk.h"

SHARED atom_u32 x, y, z;
SHARED uint32_t r0, r1, r2;

static void names(void) {
    chk_name(&x, "x");
    chk_name(&y, "y");
    chk_name(&z, "z");
}

static void x_rlx(void) { atom_store_rlx(&x, 1); }
static void x_rel(void) { atom_store_rel(&x, 1); }
static void x_sc(void) { atom_store_sc(&x, 1); }

/* WRC, write to read causality: T1 sees T0's x and stores y; T2 sees y and misses x. */

static void wrc_middle_rlx(void) {
    r0 = atom_load_rlx(&x);
    atom_store_rlx(&y, 1);
}
static void wrc_middle_rel(void) {
    r0 = atom_load_rlx(&x);
    atom_store_rel(&y, 1);
}
static void wrc_middle_relacq(void) {
    r0 = atom_load_acq(&x);
    atom_store_rel(&y, 1);
}
static void wrc_last_rlx(void) {
    r1 = atom_load_rlx(&y);
    r2 = atom_load_rlx(&x);
}
static void wrc_last_acq(void) {
    r1 = atom_load_acq(&y);
    r2 = atom_load_rlx(&x);
}
static void wrc_outcome(void) {
    chk_assert(!(r0 == 1 && r1 == 1 && r2 == 0), "what the middle thread saw is seen by a thread that sees the middle thread");
}
SCENARIO(wrc_rlx, .about = "WRC, relaxed", .setup = names, .threads = {x_rlx, wrc_middle_rlx, wrc_last_rlx}, .finish = wrc_outcome,
         .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(wrc_relacq, .about = "WRC, release and acquire", .setup = names, .threads = {x_rel, wrc_middle_relacq, wrc_last_acq},
         .finish = wrc_outcome)
SCENARIO(wrc_rlx_first, .about = "WRC, the first hop relaxed: the reads of x are still coherent", .setup = names,
         .threads = {x_rlx, wrc_middle_rel, wrc_last_acq}, .finish = wrc_outcome)
SCENARIO(wrc_rlx_middle, .about = "WRC, the middle store relaxed", .setup = names, .threads = {x_rel, wrc_middle_rlx, wrc_last_acq},
         .finish = wrc_outcome, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(wrc_rlx_last, .about = "WRC, the last acquire missing", .setup = names, .threads = {x_rel, wrc_middle_relacq, wrc_last_rlx},
         .finish = wrc_outcome, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* ISA2: data handed through two flags. */

static void isa2_first(void) {
    atom_store_rlx(&x, 1);
    atom_store_rel(&y, 1);
}
static void isa2_middle(void) {
    r0 = atom_load_acq(&y);
    atom_store_rel(&z, 1);
}
static void isa2_middle_rlx(void) {
    r0 = atom_load_rlx(&y);
    atom_store_rel(&z, 1);
}
static void isa2_last(void) {
    r1 = atom_load_acq(&z);
    r2 = atom_load_rlx(&x);
}
static void isa2_outcome(void) { chk_assert(!(r0 == 1 && r1 == 1 && r2 == 0), "a cause travels along two flags"); }
SCENARIO(isa2_relacq, .about = "ISA2, release and acquire", .setup = names, .threads = {isa2_first, isa2_middle, isa2_last},
         .finish = isa2_outcome)
SCENARIO(isa2_rlx_middle, .about = "ISA2, the middle thread's acquire is missing", .setup = names,
         .threads = {isa2_first, isa2_middle_rlx, isa2_last}, .finish = isa2_outcome, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* RWC: T1 sees x and misses y; T2 stores y and misses x. */

static void rwc_read_acq(void) {
    r0 = atom_load_acq(&x);
    r1 = atom_load_acq(&y);
}
static void rwc_read_sc(void) {
    r0 = atom_load_sc(&x);
    r1 = atom_load_sc(&y);
}
static void rwc_read_fence(void) {
    r0 = atom_load_rlx(&x);
    chk_fence_sc();
    r1 = atom_load_rlx(&y);
}
static void rwc_last_relacq(void) {
    atom_store_rel(&y, 1);
    r2 = atom_load_acq(&x);
}
static void rwc_last_sc(void) {
    atom_store_sc(&y, 1);
    r2 = atom_load_sc(&x);
}
static void rwc_last_fence(void) {
    atom_store_rlx(&y, 1);
    chk_fence_sc();
    r2 = atom_load_rlx(&x);
}
static void rwc_outcome(void) { chk_assert(!(r0 == 1 && r1 == 0 && r2 == 0), "x before y for one thread is not y before x for another"); }
SCENARIO(rwc_relacq, .about = "RWC, release and acquire", .setup = names, .threads = {x_rel, rwc_read_acq, rwc_last_relacq},
         .finish = rwc_outcome, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)
SCENARIO(rwc_sc, .about = "RWC, seq_cst", .setup = names, .threads = {x_sc, rwc_read_sc, rwc_last_sc}, .finish = rwc_outcome)
SCENARIO(rwc_fences, .about = "RWC, full fences: forbidden by RC11, allowed by C11 as first printed", .setup = names,
         .threads = {x_rlx, rwc_read_fence, rwc_last_fence}, .finish = rwc_outcome)
SCENARIO(rwc_one_fence, .about = "RWC, acquire loads in the middle, a full fence only in the last thread", .setup = names,
         .threads = {x_rel, rwc_read_acq, rwc_last_fence}, .finish = rwc_outcome, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(rwc_rel_store, .about = "RWC, all seq_cst but the store of x", .setup = names, .threads = {x_rel, rwc_read_sc, rwc_last_sc},
         .finish = rwc_outcome, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* W+RWC: the same, x announced through z. */

static void wrwc_first(void) {
    atom_store_rlx(&x, 1);
    atom_store_rel(&z, 1);
}
static void wrwc_first_sc(void) {
    atom_store_sc(&x, 1);
    atom_store_rel(&z, 1);
}
static void wrwc_read_fence(void) {
    r0 = atom_load_acq(&z);
    chk_fence_sc();
    r1 = atom_load_rlx(&y);
}
static void wrwc_read_sc(void) {
    r0 = atom_load_acq(&z);
    r1 = atom_load_sc(&y);
}
static void wrwc_read_acq(void) {
    r0 = atom_load_acq(&z);
    r1 = atom_load_acq(&y);
}
SCENARIO(w_rwc_fences, .about = "W+RWC, full fences in the two readers", .setup = names,
         .threads = {wrwc_first, wrwc_read_fence, rwc_last_fence}, .finish = rwc_outcome)
SCENARIO(w_rwc_mixed, .about = "W+RWC, seq_cst on x and y, release and acquire on z", .setup = names,
         .threads = {wrwc_first_sc, wrwc_read_sc, rwc_last_sc}, .finish = rwc_outcome)
SCENARIO(w_rwc_mixed_acq, .about = "W+RWC, the middle load of y only acquire", .setup = names,
         .threads = {wrwc_first_sc, wrwc_read_acq, rwc_last_sc}, .finish = rwc_outcome, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(w_rwc_mixed_rlx, .about = "W+RWC, the store of x only relaxed", .setup = names, .threads = {wrwc_first, wrwc_read_sc, rwc_last_sc},
         .finish = rwc_outcome, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* Announced through x itself: to count, the way from the seq_cst store of x to the seq_cst load of y must leave x and
 * come to y from another cell (RC11's "different location" condition). */
static void wrwc_first_same(void) {
    atom_store_sc(&x, 1);
    atom_store_rel(&x, 2);
}
static void wrwc_read_same(void) {
    r0 = atom_load_acq(&x);
    r1 = atom_load_sc(&y);
}
static void wrwc_same_outcome(void) {
    chk_assert(!(r0 == 2 && r1 == 0 && r2 == 0), "x before y for one thread is not y before x for another");
}
SCENARIO(w_rwc_same_cell, .about = "W+RWC, x announced by a second store to x", .setup = names,
         .threads = {wrwc_first_same, wrwc_read_same, rwc_last_sc}, .finish = wrwc_same_outcome, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* Z6.U (Lahav et al., PLDI 2017): C11 as first printed forbids it, POWER shows it, RC11 allows it: a seq_cst order
 * between two seq_cst accesses that only a mixture of orders connects is too much to ask. */

static void z6_first(void) {
    atom_store_sc(&x, 1);
    atom_store_rel(&y, 1);
}
static void z6_middle(void) {
    r0 = atom_add_sc(&y, 1);
    r1 = atom_load_rlx(&y);
}
static void z6_last(void) {
    atom_store_sc(&y, 3);
    r2 = atom_load_sc(&x);
}
static void z6_outcome(void) { chk_assert(!(r0 == 1 && r1 == 3 && r2 == 0), "a thread that replaces y after the addition sees x"); }
SCENARIO(z6_u, .about = "Z6.U: seq_cst accesses tied together by release and relaxed ones", .setup = names,
         .threads = {z6_first, z6_middle, z6_last}, .finish = z6_outcome, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
static void z6_first_sc(void) {
    atom_store_sc(&x, 1);
    atom_store_sc(&y, 1);
}
SCENARIO(z6_u_sc, .about = "Z6.U with every store seq_cst", .setup = names, .threads = {z6_first_sc, z6_middle, z6_last},
         .finish = z6_outcome)

static void z6_middle_same(void) {
    r0 = atom_load_acq(&y);
    r1 = atom_load_sc(&y);
}
static void z6_same_outcome(void) {
    chk_assert(!(r0 == 1 && r1 == 1 && r2 == 0 && atom_load_rlx(&y) == 3), "a thread that replaces y after it was seen sees x");
}
SCENARIO(z6_same_cell, .about = "Z6.U with two loads of y, acquire and seq_cst, in the middle", .setup = names,
         .threads = {z6_first, z6_middle_same, z6_last}, .finish = z6_same_outcome, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
