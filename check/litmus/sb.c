/* Store buffering: each thread stores to its own cell and then loads the other's. The outcome asked for is that both
 * loads miss both stores, as if the stores had sat in buffers. It is what every "publish, then look for the other
 * side" protocol must exclude, and the only weakness of x86. */
#include "base/atom.h"
#include "chk.h"

SHARED atom_u32 x, y, z;
SHARED uint32_t r0, r1, r2, r3; /* one writer each */

static void names(void) {
    chk_name(&x, "x");
    chk_name(&y, "y");
    chk_name(&z, "z");
}

static void both_missed(void) { chk_assert(!(r0 == 0 && r1 == 0), "one load at least sees the other thread's store"); }

static void left_rlx(void) {
    atom_store_rlx(&x, 1);
    r0 = atom_load_rlx(&y);
}
static void right_rlx(void) {
    atom_store_rlx(&y, 1);
    r1 = atom_load_rlx(&x);
}
SCENARIO(sb_rlx, .about = "SB, relaxed", .setup = names, .threads = {left_rlx, right_rlx}, .finish = both_missed,
         .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)

static void left_relacq(void) {
    atom_store_rel(&x, 1);
    r0 = atom_load_acq(&y);
}
static void right_relacq(void) {
    atom_store_rel(&y, 1);
    r1 = atom_load_acq(&x);
}
SCENARIO(sb_relacq, .about = "SB, release stores and acquire loads", .setup = names, .threads = {left_relacq, right_relacq},
         .finish = both_missed, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)

static void left_sc(void) {
    atom_store_sc(&x, 1);
    r0 = atom_load_sc(&y);
}
static void right_sc(void) {
    atom_store_sc(&y, 1);
    r1 = atom_load_sc(&x);
}
SCENARIO(sb_sc, .about = "SB, all seq_cst", .setup = names, .threads = {left_sc, right_sc}, .finish = both_missed)
SCENARIO(sb_one_sided_sc, .about = "SB, one thread seq_cst and the other relaxed", .setup = names, .threads = {left_sc, right_rlx},
         .finish = both_missed, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)

static void left_sc_store(void) {
    atom_store_sc(&x, 1);
    r0 = atom_load_acq(&y);
}
static void right_sc_store(void) {
    atom_store_sc(&y, 1);
    r1 = atom_load_acq(&x);
}
SCENARIO(sb_sc_stores, .about = "SB, seq_cst stores but acquire loads: x86 puts its fence at the store, C11 nowhere", .setup = names,
         .threads = {left_sc_store, right_sc_store}, .finish = both_missed, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(sb_sc_one_load_acq, .about = "SB, all seq_cst but for one load", .setup = names, .threads = {left_sc_store, right_sc},
         .finish = both_missed, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void left_sc_load(void) {
    atom_store_rel(&x, 1);
    r0 = atom_load_sc(&y);
}
static void right_sc_load(void) {
    atom_store_rel(&y, 1);
    r1 = atom_load_sc(&x);
}
SCENARIO(sb_sc_loads, .about = "SB, seq_cst loads but release stores", .setup = names, .threads = {left_sc_load, right_sc_load},
         .finish = both_missed, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)
SCENARIO(sb_sc_one_store_rel, .about = "SB, all seq_cst but for one store", .setup = names, .threads = {left_sc_load, right_sc},
         .finish = both_missed, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)

/* Fences. */

static void left_fence_sc(void) {
    atom_store_rlx(&x, 1);
    chk_fence_sc();
    r0 = atom_load_rlx(&y);
}
static void right_fence_sc(void) {
    atom_store_rlx(&y, 1);
    chk_fence_sc();
    r1 = atom_load_rlx(&x);
}
SCENARIO(sb_fences_sc, .about = "SB, relaxed with a full fence on each side", .setup = names, .threads = {left_fence_sc, right_fence_sc},
         .finish = both_missed)
SCENARIO(sb_one_fence_sc, .about = "SB, a full fence on one side only", .setup = names, .threads = {left_fence_sc, right_rlx},
         .finish = both_missed, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)
SCENARIO(sb_fence_sc_and_sc, .about = "SB, a full fence on one side, seq_cst accesses on the other", .setup = names,
         .threads = {left_fence_sc, right_sc}, .finish = both_missed)
SCENARIO(sb_fence_sc_and_sc_store, .about = "SB, a full fence on one side, only the store seq_cst on the other", .setup = names,
         .threads = {left_fence_sc, right_sc_store}, .finish = both_missed, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void left_fence_acqrel(void) {
    atom_store_rlx(&x, 1);
    chk_fence_acqrel();
    r0 = atom_load_rlx(&y);
}
static void right_fence_acqrel(void) {
    atom_store_rlx(&y, 1);
    chk_fence_acqrel();
    r1 = atom_load_rlx(&x);
}
SCENARIO(sb_fences_acqrel, .about = "SB, acquire-release fences: they never order a store before a later load", .setup = names,
         .threads = {left_fence_acqrel, right_fence_acqrel}, .finish = both_missed, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)

static void left_light(void) {
    atom_store_rlx(&x, 1);
    chk_fence_light();
    r0 = atom_load_rlx(&y);
}
static void right_light(void) {
    atom_store_rlx(&y, 1);
    chk_fence_light();
    r1 = atom_load_rlx(&x);
}
static void right_heavy(void) {
    atom_store_rlx(&y, 1);
    chk_fence_heavy();
    r1 = atom_load_rlx(&x);
}
static void left_heavy(void) {
    atom_store_rlx(&x, 1);
    chk_fence_heavy();
    r0 = atom_load_rlx(&y);
}
SCENARIO(sb_light_heavy, .about = "SB, the asymmetric pair of fences", .setup = names, .threads = {left_light, right_heavy},
         .finish = both_missed)
SCENARIO(sb_light_light, .about = "SB, two light fences order nothing", .setup = names, .threads = {left_light, right_light},
         .finish = both_missed, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)
SCENARIO(sb_heavy_heavy, .about = "SB, two heavy fences", .setup = names, .threads = {left_heavy, right_heavy}, .finish = both_missed)
SCENARIO(sb_light_fence_sc, .about = "SB, a light fence against an ordinary full one: no pair", .setup = names,
         .threads = {left_light, right_fence_sc}, .finish = both_missed, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)
SCENARIO(sb_heavy_fence_sc, .about = "SB, a heavy fence against an ordinary full one", .setup = names,
         .threads = {left_heavy, right_fence_sc}, .finish = both_missed)
SCENARIO(sb_heavy_rlx, .about = "SB, a heavy fence without the light one: nothing is promised", .setup = names,
         .threads = {left_heavy, right_rlx}, .finish = both_missed, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)

/* Read-modify-writes. */

static void left_swap_acqrel(void) {
    atom_swap_acqrel(&x, 1);
    r0 = atom_load_acq(&y);
}
static void right_swap_acqrel(void) {
    atom_swap_acqrel(&y, 1);
    r1 = atom_load_acq(&x);
}
SCENARIO(sb_swap_acqrel, .about = "SB, stores by acq_rel swap: locked on x86, no fence in C11", .setup = names,
         .threads = {left_swap_acqrel, right_swap_acqrel}, .finish = both_missed, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void left_swap_sc(void) {
    atom_swap_sc(&x, 1);
    r0 = atom_load_sc(&y);
}
static void right_swap_sc(void) {
    atom_swap_sc(&y, 1);
    r1 = atom_load_sc(&x);
}
SCENARIO(sb_swap_sc, .about = "SB, stores by seq_cst swap, seq_cst loads", .setup = names, .threads = {left_swap_sc, right_swap_sc},
         .finish = both_missed)

static void left_swap_sc_load_acq(void) {
    atom_swap_sc(&x, 1);
    r0 = atom_load_acq(&y);
}
static void right_swap_sc_load_acq(void) {
    atom_swap_sc(&y, 1);
    r1 = atom_load_acq(&x);
}
SCENARIO(sb_swap_sc_load_acq, .about = "SB, stores by seq_cst swap, acquire loads: a seq_cst swap is no fence in C11", .setup = names,
         .threads = {left_swap_sc_load_acq, right_swap_sc_load_acq}, .finish = both_missed, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void left_read_by_add(void) {
    atom_store_rlx(&x, 1);
    r0 = atom_add_acqrel(&y, 2);
}
static void right_read_by_add(void) {
    atom_store_rlx(&y, 1);
    r1 = atom_add_acqrel(&x, 2);
}
SCENARIO(sb_read_by_rmw, .about = "SB, plain stores, loads by fetch_add: nothing reads from it, so C11 allows", .setup = names,
         .threads = {left_read_by_add, right_read_by_add}, .finish = both_missed, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void left_all_rmw(void) {
    atom_swap_acqrel(&x, 1);
    r0 = atom_add_acqrel(&y, 2);
}
static void right_all_rmw(void) {
    atom_swap_acqrel(&y, 1);
    r1 = atom_add_acqrel(&x, 2);
}
SCENARIO(sb_all_rmw, .about = "SB, stores and loads by acq_rel read-modify-writes: the later one reads the earlier", .setup = names,
         .threads = {left_all_rmw, right_all_rmw}, .finish = both_missed)

static void left_common_cell(void) {
    atom_store_rlx(&x, 1);
    atom_add_acqrel(&z, 1);
    r0 = atom_load_rlx(&y);
}
static void right_common_cell(void) {
    atom_store_rlx(&y, 1);
    atom_add_acqrel(&z, 1);
    r1 = atom_load_rlx(&x);
}
SCENARIO(sb_common_rmw, .about = "SB, an acq_rel fetch_add on one common cell stands in for the fence", .setup = names,
         .threads = {left_common_cell, right_common_cell}, .finish = both_missed)

/* Store forwarding: a thread sees its own store before the others do (Intel's example 2.4). */

static void left_forward(void) {
    atom_store_rlx(&x, 1);
    r2 = atom_load_acq(&x);
    r0 = atom_load_acq(&y);
}
static void right_forward(void) {
    atom_store_rlx(&y, 1);
    r3 = atom_load_acq(&y);
    r1 = atom_load_acq(&x);
}
static void forwarded_and_missed(void) {
    chk_assert(!(r2 == 1 && r3 == 1 && r0 == 0 && r1 == 0), "own stores seen, the other's missed by both");
}
SCENARIO(sb_forwarding, .about = "SB, each thread first reads back its own store", .setup = names, .threads = {left_forward, right_forward},
         .finish = forwarded_and_missed, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)

static void own_store_seen(void) { chk_assert(r2 == 1 && r3 == 1, "a thread sees its own store"); }
SCENARIO(sb_own_store, .about = "a thread never misses its own store, buffered or not", .setup = names,
         .threads = {left_forward, right_forward}, .finish = own_store_seen)

/* n6 of the x86-TSO paper: a store seen early by its own thread although it is overwritten later than another's. */

static void n6_reader(void) {
    atom_store_rlx(&x, 1);
    r0 = atom_load_acq(&x);
    r1 = atom_load_acq(&y);
}
static void n6_writer(void) {
    atom_store_rel(&y, 2);
    atom_store_rel(&x, 2);
}
static void n6_outcome(void) { chk_assert(!(r0 == 1 && r1 == 0 && atom_load_rlx(&x) == 1), "x = 1 is old when y is still missed"); }
SCENARIO(n6, .about = "n6 (Owens, Sarkar, Sewell 2009): forwarding with a final value", .setup = names, .threads = {n6_reader, n6_writer},
         .finish = n6_outcome, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)

/* Three threads in a ring. */

static void ring_0(void) {
    atom_store_sc(&x, 1);
    r0 = atom_load_sc(&y);
}
static void ring_1(void) {
    atom_store_sc(&y, 1);
    r1 = atom_load_sc(&z);
}
static void ring_2(void) {
    atom_store_sc(&z, 1);
    r2 = atom_load_sc(&x);
}
static void ring_2_rlx(void) {
    atom_store_rlx(&z, 1);
    r2 = atom_load_rlx(&x);
}
static void all_missed(void) { chk_assert(!(r0 == 0 && r1 == 0 && r2 == 0), "one load at least sees a store"); }
SCENARIO(sb3_sc, .about = "SB of three threads in a ring, seq_cst", .setup = names, .threads = {ring_0, ring_1, ring_2},
         .finish = all_missed)
SCENARIO(sb3_one_rlx, .about = "SB of three threads in a ring, one of them relaxed", .setup = names,
         .threads = {ring_0, ring_1, ring_2_rlx}, .finish = all_missed, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)

/* One heavy fence between two light ones. The kernel's membarrier forbids the outcome; the pairwise promise of the two
 * fences does not, and that is all that the checker (and the code it checks) may rely on. */
static void ring_0_light(void) {
    atom_store_rlx(&x, 1);
    chk_fence_light();
    r0 = atom_load_rlx(&y);
}
static void ring_1_heavy(void) {
    atom_store_rlx(&y, 1);
    chk_fence_heavy();
    r1 = atom_load_rlx(&z);
}
static void ring_2_light(void) {
    atom_store_rlx(&z, 1);
    chk_fence_light();
    r2 = atom_load_rlx(&x);
}
static void ring_2_heavy(void) {
    atom_store_rlx(&z, 1);
    chk_fence_heavy();
    r2 = atom_load_rlx(&x);
}
SCENARIO(sb3_light_heavy_light, .about = "SB of three threads, two light fences next to each other in the ring", .setup = names,
         .threads = {ring_0_light, ring_1_heavy, ring_2_light}, .finish = all_missed, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_ASSERT)
SCENARIO(sb3_light_heavy_heavy, .about = "SB of three threads, no two light fences next to each other in the ring", .setup = names,
         .threads = {ring_0_light, ring_1_heavy, ring_2_heavy}, .finish = all_missed)
