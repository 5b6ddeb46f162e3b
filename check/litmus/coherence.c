/* Coherence: all threads agree on the order of the stores to one cell, and no thread sees it run backwards. True in
 * every model even for relaxed accesses. Then the two-cell shapes in which that order of stores takes part: 2+2W, R
 * and S. */
#include "base/atom.h"
#include "chk.h"

SHARED atom_u32 x, y;
SHARED uint32_t r0, r1, r2, r3;

static void names(void) {
    chk_name(&x, "x");
    chk_name(&y, "y");
}

static void store_1(void) { atom_store_rlx(&x, 1); }
static void store_2(void) { atom_store_rlx(&x, 2); }

/* CoRR: two reads of one cell. */
static void read_twice(void) {
    r0 = atom_load_rlx(&x);
    r1 = atom_load_rlx(&x);
}
static void read_twice_too(void) {
    r2 = atom_load_rlx(&x);
    r3 = atom_load_rlx(&x);
}
static void went_back(void) { chk_assert(!(r0 == 1 && r1 == 0), "a cell does not run backwards"); }
SCENARIO(corr, .about = "CoRR: new, then old", .setup = names, .threads = {store_1, read_twice}, .finish = went_back)

static void disagreed(void) { chk_assert(!(r0 == 1 && r1 == 2 && r2 == 2 && r3 == 1), "two readers agree on the order of two stores"); }
SCENARIO(corr2, .about = "CoRR2: two readers see two stores in opposite orders", .setup = names,
         .threads = {store_1, store_2, read_twice, read_twice_too}, .finish = disagreed)

/* CoWW: two stores by one thread. */
static void store_1_then_2(void) {
    atom_store_rlx(&x, 1);
    atom_store_rlx(&x, 2);
}
static void first_won(void) { chk_assert(atom_load_rlx(&x) == 2, "the later store of a thread stays"); }
SCENARIO(coww, .about = "CoWW: a thread's second store is overwritten by its first", .setup = names, .threads = {store_1_then_2},
         .finish = first_won)

/* CoRW1: a read does not see the thread's own later store. */
static void read_then_store(void) {
    r0 = atom_load_rlx(&x);
    atom_store_rlx(&x, 1);
}
static void saw_own_future(void) { chk_assert(r0 == 0, "a read does not see the thread's own later store"); }
SCENARIO(corw1, .about = "CoRW1: a read sees its own thread's later store", .setup = names, .threads = {read_then_store},
         .finish = saw_own_future)

/* CoRW2: a store comes after what the thread has read. */
static void corw2_outcome(void) { chk_assert(!(r0 == 2 && atom_load_rlx(&x) == 2), "a store comes after the one its thread has read"); }
SCENARIO(corw2, .about = "CoRW2: a store goes before the one its thread has read", .setup = names, .threads = {read_then_store, store_2},
         .finish = corw2_outcome)

/* CoWR: after its own store a thread does not see an older one. */
static void store_then_read(void) {
    atom_store_rlx(&x, 1);
    r0 = atom_load_rlx(&x);
}
static void cowr_outcome(void) {
    chk_assert(!(r0 == 2 && atom_load_rlx(&x) == 1), "a store once overwritten by the thread is not seen by it again");
}
SCENARIO(cowr, .about = "CoWR: a thread stores and then sees an older store", .setup = names, .threads = {store_then_read, store_2},
         .finish = cowr_outcome)
static void cowr_init(void) { chk_assert(r0 != 0, "a thread does not miss its own store"); }
SCENARIO(cowr0, .about = "CoWR0: a thread stores and then sees the initial value", .setup = names, .threads = {store_then_read, store_2},
         .finish = cowr_init)

/* n5: each thread sees the other's store after its own. */
static void store_then_read_too(void) {
    atom_store_rlx(&x, 2);
    r1 = atom_load_rlx(&x);
}
static void n5_outcome(void) { chk_assert(!(r0 == 2 && r1 == 1), "one of two stores is the last"); }
SCENARIO(n5, .about = "n5: two threads each see the other's store replace their own", .setup = names,
         .threads = {store_then_read, store_then_read_too}, .finish = n5_outcome)

/* 2+2W: two threads store to two cells in opposite orders; the outcome is that both first stores stay. */

static void xy_rlx(void) {
    atom_store_rlx(&x, 1);
    atom_store_rlx(&y, 2);
}
static void yx_rlx(void) {
    atom_store_rlx(&y, 1);
    atom_store_rlx(&x, 2);
}
static void xy_rel(void) {
    atom_store_rel(&x, 1);
    atom_store_rel(&y, 2);
}
static void yx_rel(void) {
    atom_store_rel(&y, 1);
    atom_store_rel(&x, 2);
}
static void xy_sc(void) {
    atom_store_sc(&x, 1);
    atom_store_sc(&y, 2);
}
static void yx_sc(void) {
    atom_store_sc(&y, 1);
    atom_store_sc(&x, 2);
}
static void xy_fence(void) {
    atom_store_rlx(&x, 1);
    chk_fence_sc();
    atom_store_rlx(&y, 2);
}
static void yx_fence(void) {
    atom_store_rlx(&y, 1);
    chk_fence_sc();
    atom_store_rlx(&x, 2);
}
static void firsts_stay(void) { chk_assert(!(atom_load_rlx(&x) == 1 && atom_load_rlx(&y) == 1), "not both first stores come last"); }
SCENARIO(w2plus2_rlx, .about = "2+2W, relaxed", .setup = names, .threads = {xy_rlx, yx_rlx}, .finish = firsts_stay, .flawed_in = CHK_C11,
         .flaw = CHK_ASSERT)
SCENARIO(w2plus2_rel, .about = "2+2W, release: no thread reads, so nothing is ordered", .setup = names, .threads = {xy_rel, yx_rel},
         .finish = firsts_stay, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(w2plus2_sc, .about = "2+2W, seq_cst", .setup = names, .threads = {xy_sc, yx_sc}, .finish = firsts_stay)
SCENARIO(w2plus2_fences, .about = "2+2W, full fences: forbidden by RC11, allowed by C11 as first printed", .setup = names,
         .threads = {xy_fence, yx_fence}, .finish = firsts_stay)
SCENARIO(w2plus2_one_rel, .about = "2+2W, one thread seq_cst, the other release", .setup = names, .threads = {xy_sc, yx_rel},
         .finish = firsts_stay, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* R: a store overwritten by a thread that then misses an earlier store of the same thread. */

static void r_write_rlx(void) {
    atom_store_rlx(&x, 1);
    atom_store_rlx(&y, 1);
}
static void r_read_rlx(void) {
    atom_store_rlx(&y, 2);
    r0 = atom_load_rlx(&x);
}
static void r_write_sc(void) {
    atom_store_sc(&x, 1);
    atom_store_sc(&y, 1);
}
static void r_write_sc_rel(void) {
    atom_store_sc(&x, 1);
    atom_store_rel(&y, 1);
}
static void r_read_sc(void) {
    atom_store_sc(&y, 2);
    r0 = atom_load_sc(&x);
}
static void r_write_fence(void) {
    atom_store_rlx(&x, 1);
    chk_fence_sc();
    atom_store_rlx(&y, 1);
}
static void r_read_fence(void) {
    atom_store_rlx(&y, 2);
    chk_fence_sc();
    r0 = atom_load_rlx(&x);
}
static void r_outcome(void) {
    chk_assert(!(r0 == 0 && atom_load_rlx(&y) == 2), "a thread that overwrites y afterwards sees the x stored before it");
}
SCENARIO(r_rlx, .about = "R, relaxed", .setup = names, .threads = {r_write_rlx, r_read_rlx}, .finish = r_outcome,
         .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)
SCENARIO(r_sc, .about = "R, seq_cst", .setup = names, .threads = {r_write_sc, r_read_sc}, .finish = r_outcome)
SCENARIO(r_fences, .about = "R, full fences", .setup = names, .threads = {r_write_fence, r_read_fence}, .finish = r_outcome)
SCENARIO(r_one_rel, .about = "R, all seq_cst but the middle store: in C11 a seq_cst store does not order later ones", .setup = names,
         .threads = {r_write_sc_rel, r_read_sc}, .finish = r_outcome, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(r_fence_reader, .about = "R, the fence only where a store comes before a load", .setup = names,
         .threads = {r_write_rlx, r_read_fence}, .finish = r_outcome, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* S: a thread sees a store and then stores to a cell that was written before it; its store comes first all the same. */

static void s_write_rlx(void) {
    atom_store_rlx(&x, 2);
    atom_store_rlx(&y, 1);
}
static void s_read_rlx(void) {
    r0 = atom_load_rlx(&y);
    atom_store_rlx(&x, 1);
}
static void s_write_rel(void) {
    atom_store_rlx(&x, 2);
    atom_store_rel(&y, 1);
}
static void s_read_acq(void) {
    r0 = atom_load_acq(&y);
    atom_store_rlx(&x, 1);
}
static void s_outcome(void) {
    chk_assert(!(r0 == 1 && atom_load_rlx(&x) == 2), "a store made after seeing y comes after the x stored before y");
}
SCENARIO(s_rlx, .about = "S, relaxed", .setup = names, .threads = {s_write_rlx, s_read_rlx}, .finish = s_outcome, .flawed_in = CHK_C11,
         .flaw = CHK_ASSERT)
SCENARIO(s_relacq, .about = "S, release and acquire", .setup = names, .threads = {s_write_rel, s_read_acq}, .finish = s_outcome)
SCENARIO(s_rel_rlx, .about = "S, the acquire is missing", .setup = names, .threads = {s_write_rel, s_read_rlx}, .finish = s_outcome,
         .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
