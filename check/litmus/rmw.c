/* Read-modify-writes: nothing comes between the read and the write, whatever the order; and what a compare-and-swap
 * promises. */
#include "base/atom.h"
#include "chk.h"

SHARED atom_u32 x, y;
SHARED atom_u64 wide;
SHARED atom_bool bit;
SHARED uint32_t r0, r1, r2;

static void names(void) {
    chk_name(&x, "x");
    chk_name(&y, "y");
    chk_name(&wide, "wide");
    chk_name(&bit, "bit");
}

/* Additions are not lost. */

static void add_0(void) { r0 = atom_add_rlx(&x, 1); }
static void add_1(void) { r1 = atom_add_rlx(&x, 1); }
static void add_2(void) { r2 = atom_add_rlx(&x, 1); }
static void sum_3(void) {
    chk_assert(atom_load_rlx(&x) == 3, "no addition is lost");
    chk_assert(r0 + r1 + r2 == 3 && r0 != r1 && r1 != r2, "each addition sees another value");
}
SCENARIO(rmw_adds, .about = "three relaxed fetch_adds", .setup = names, .threads = {add_0, add_1, add_2}, .finish = sum_3)

static void split_add_0(void) {
    r0 = atom_load_sc(&x);
    atom_store_sc(&x, r0 + 1);
}
static void split_add_1(void) {
    r1 = atom_load_sc(&x);
    atom_store_sc(&x, r1 + 1);
}
static void sum_2(void) { chk_assert(atom_load_rlx(&x) == 2, "no addition is lost"); }
SCENARIO(rmw_split, .about = "additions by a load and a store lose one, seq_cst or not", .setup = names,
         .threads = {split_add_0, split_add_1}, .finish = sum_2, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

static void store_10(void) { atom_store_rlx(&x, 10); }
static void store_stays(void) { chk_assert(atom_load_rlx(&x) >= 10, "no store comes between read and write"); }
SCENARIO(rmw_store_between, .about = "a store does not slip between the halves of a fetch_add", .setup = names,
         .threads = {add_0, store_10}, .finish = store_stays)

/* The other operations. */
static void bits_0(void) {
    atom_or_rlx(&x, 5);
    atom_and_rlx(&x, ~1u);
}
static void bits_1(void) {
    atom_or_rlx(&x, 8);
    atom_sub_rlx(&x, 8);
}
static void bits_result(void) { chk_assert(atom_load_rlx(&x) == 4, "or, and, sub: each is applied once"); }
SCENARIO(rmw_operations, .about = "fetch_or, fetch_and and fetch_sub together", .setup = names, .threads = {bits_0, bits_1},
         .finish = bits_result)

static void wide_0(void) { atom_add_rlx(&wide, 0x100000000); }
static void wide_1(void) { atom_add_rlx(&wide, 0xffffffff); }
static void wide_result(void) { chk_assert(atom_load_rlx(&wide) == 0x1ffffffff, "all 64 bits take part"); }
SCENARIO(rmw_64_bits, .about = "64-bit additions that carry across the halves", .setup = names, .threads = {wide_0, wide_1},
         .finish = wide_result)

static void flip_0(void) { r0 = atom_swap_rlx(&bit, true); }
static void flip_1(void) { r1 = atom_swap_rlx(&bit, true); }
static void one_flipped(void) { chk_assert(r0 + r1 == 1 && atom_load_rlx(&bit), "one swap finds the bit clear"); }
SCENARIO(rmw_swap_bool, .about = "two swaps of a one-byte cell: one is first", .setup = names, .threads = {flip_0, flip_1},
         .finish = one_flipped)

/* Compare-and-swap. */

static void cas_0(void) {
    uint32_t expected = 0;
    r0 = atom_cas_rlx_rlx(&x, &expected, 1);
    if (r0 == 0) chk_assert(expected == 2, "a failed compare-and-swap reports what it found");
}
static void cas_1(void) {
    uint32_t expected = 0;
    r1 = atom_cas_rlx_rlx(&x, &expected, 2);
    if (r1 == 0) chk_assert(expected == 1, "a failed compare-and-swap reports what it found");
}
static void one_winner(void) {
    chk_assert(r0 + r1 == 1, "exactly one compare-and-swap wins");
    chk_assert(atom_load_rlx(&x) == (r0 ? 1 : 2), "the winner's value stays");
}
SCENARIO(cas_one_winner, .about = "two relaxed compare-and-swaps from one value", .setup = names, .threads = {cas_0, cas_1},
         .finish = one_winner)

static void cas_alone(void) {
    uint32_t expected = 0;
    r0 = atom_cas_rlx_rlx(&x, &expected, 1);
}
static void cas_won(void) { chk_assert(r0 == 1, "a compare-and-swap does not fail for no reason"); }
SCENARIO(cas_not_spurious, .about = "compare-and-swap never fails spuriously", .setup = names, .threads = {cas_alone}, .finish = cas_won)

/* A value that went away and came back is taken for the old one. */
static void aba_mover(void) {
    atom_store_sc(&x, 1);
    atom_store_sc(&x, 0);
    atom_store_sc(&y, 1);
}
static void aba_taker(void) {
    uint32_t seen = atom_load_sc(&x);
    r0 = atom_load_sc(&y);
    r1 = atom_cas_sc_sc(&x, &seen, 5);
    r2 = atom_load_sc(&y);
}
static void aba_outcome(void) { chk_assert(!(r0 == 0 && r1 == 1 && r2 == 1), "nothing happened in between"); }
SCENARIO(cas_aba, .about = "a compare-and-swap succeeds although the cell changed and changed back", .setup = names,
         .threads = {aba_mover, aba_taker}, .finish = aba_outcome, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* The loop every lock-free part is made of. */
static void cas_loop(void) {
    uint32_t seen = atom_load_rlx(&x);
    while (!atom_cas_rlx_rlx(&x, &seen, seen + 1)) {}
}
SCENARIO(cas_loop_adds, .about = "two compare-and-swap loops lose nothing and end", .setup = names, .threads = {cas_loop, cas_loop},
         .finish = sum_2)
