/* Release sequences as C++20 has them: a release store, and the read-modify-writes that follow it in the cell, whichever thread
 * makes them. An acquire load that sees any of these synchronises with the release. A plain store, even by the
 * releasing thread, ends the sequence (C++11 still let the thread's own stores continue it). */
#include "base/atom.h"
#include "chk.h"

SHARED atom_u32 data, flag;
SHARED uint32_t r0, r1, r2, r3;

static void names(void) {
    chk_name(&data, "data");
    chk_name(&flag, "flag");
}

static void read_acq(void) {
    r0 = atom_load_acq(&flag);
    r1 = atom_load_rlx(&data);
}
static void read_fence(void) {
    r0 = atom_load_rlx(&flag);
    chk_fence_acq();
    r1 = atom_load_rlx(&data);
}
static void stale_at_1(void) { chk_assert(!(r0 == 1 && r1 == 0), "a thread that sees the released value sees the data"); }
static void stale_at_2(void) { chk_assert(!(r0 == 2 && r1 == 0), "a thread that sees the second value sees the data"); }
static void stale_at_3(void) { chk_assert(!(r0 == 3 && r1 == 0), "a thread that sees the third value sees the data"); }
/* r2 and r3: what the threads in the middle found. */
static void stale_after_1(void) {
    chk_assert(!(r2 == 1 && r0 == 2 && r1 == 0), "a thread that sees the value written over the release sees the data");
}

static void release_1(void) {
    atom_store_rlx(&data, 1);
    atom_store_rel(&flag, 1);
}
static void add_rlx(void) { r2 = atom_add_rlx(&flag, 1); }
SCENARIO(rs_rmw_other, .about = "a release sequence continued by another thread's relaxed fetch_add", .setup = names,
         .threads = {release_1, add_rlx, read_acq}, .finish = stale_at_2)
SCENARIO(rs_rmw_other_fence, .about = "the same, seen by a relaxed load and an acquire fence", .setup = names,
         .threads = {release_1, add_rlx, read_fence}, .finish = stale_at_2)
SCENARIO(rs_ambiguous, .about = "the value 1 may also come from a fetch_add that was first", .setup = names,
         .threads = {release_1, add_rlx, read_acq}, .finish = stale_at_1, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

static void add_rlx_too(void) { r3 = atom_add_rlx(&flag, 1); }
SCENARIO(rs_rmw_chain, .about = "a release sequence continued by two threads", .setup = names,
         .threads = {release_1, add_rlx, add_rlx_too, read_acq}, .finish = stale_at_3)

static void swap_2(void) { r2 = atom_swap_rlx(&flag, 2); }
SCENARIO(rs_swap_other, .about = "a release sequence continued by a swap that keeps nothing of the old value", .setup = names,
         .threads = {release_1, swap_2, read_acq}, .finish = stale_after_1)

static void cas_2(void) {
    uint32_t seen = 1;
    r2 = atom_cas_rlx_rlx(&flag, &seen, 2);
}
SCENARIO(rs_cas_other, .about = "a release sequence continued by a relaxed compare-and-swap", .setup = names,
         .threads = {release_1, cas_2, read_acq}, .finish = stale_at_2)

static void store_over(void) {
    r2 = atom_load_rlx(&flag);
    atom_store_rlx(&flag, 2);
}
SCENARIO(rs_store_other, .about = "a plain store of another thread breaks the release sequence", .setup = names,
         .threads = {release_1, store_over, read_acq}, .finish = stale_after_1, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void release_then_store(void) {
    atom_store_rlx(&data, 1);
    atom_store_rel(&flag, 1);
    atom_store_rlx(&flag, 2);
}
SCENARIO(rs_store_same, .about = "C++20: even the releasing thread's own later store is not part of the sequence", .setup = names,
         .threads = {release_then_store, read_acq}, .finish = stale_at_2, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void release_then_add(void) {
    atom_store_rlx(&data, 1);
    atom_store_rel(&flag, 1);
    atom_add_rlx(&flag, 1);
}
SCENARIO(rs_rmw_same, .about = "the releasing thread's own later fetch_add is part of the sequence", .setup = names,
         .threads = {release_then_add, read_acq}, .finish = stale_at_2)

static void no_release(void) {
    atom_store_rlx(&data, 1);
    atom_store_rlx(&flag, 1);
}
SCENARIO(rs_no_head, .about = "a fetch_add after a relaxed store continues nothing", .setup = names,
         .threads = {no_release, add_rlx, read_acq}, .finish = stale_at_2, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void fence_head(void) {
    atom_store_rlx(&data, 1);
    chk_fence_rel();
    atom_store_rlx(&flag, 1);
}
SCENARIO(rs_fence_head, .about = "a relaxed store after a release fence heads a sequence too", .setup = names,
         .threads = {fence_head, add_rlx, read_acq}, .finish = stale_at_2)
static void fence_then_stores(void) {
    atom_store_rlx(&data, 1);
    chk_fence_rel();
    atom_store_rlx(&flag, 1);
    atom_store_rlx(&flag, 2);
}
SCENARIO(rs_fence_two_stores, .about = "a release fence covers every later store of its thread", .setup = names,
         .threads = {fence_then_stores, read_acq}, .finish = stale_at_2)

/* The sequence carries the head's release, not the acquisitions of the thread that continued it. */
SHARED atom_u32 early;
static void put_early(void) { atom_store_rlx(&early, 1); }
static void add_after_early(void) {
    r2 = atom_load_rlx(&early);
    atom_add_rlx(&flag, 1);
}
static void add_rel_after_early(void) {
    r2 = atom_load_rlx(&early);
    atom_add_rel(&flag, 1);
}
static void read_flag_early(void) {
    r0 = atom_load_acq(&flag);
    r1 = atom_load_rlx(&early);
}
static void early_missed(void) { chk_assert(!(r2 == 1 && r0 == 1 && r1 == 0), "what the adder saw is seen"); }
SCENARIO(rs_adder_rlx, .about = "a relaxed fetch_add does not release what its own thread did", .setup = names,
         .threads = {put_early, add_after_early, read_flag_early}, .finish = early_missed, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(rs_adder_rel, .about = "a release fetch_add does", .setup = names, .threads = {put_early, add_rel_after_early, read_flag_early},
         .finish = early_missed)
