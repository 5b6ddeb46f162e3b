/* IRIW, independent reads of independent writes: two threads store to two cells, two more read both in opposite orders.
 * The outcome asked for is that the readers disagree about which store came first. */
#include "base/atom.h"
#include "chk.h"

SHARED atom_u32 x, y;
SHARED uint32_t r0, r1, r2, r3;

static void names(void) {
    chk_name(&x, "x");
    chk_name(&y, "y");
}

static void disagree(void) { chk_assert(!(r0 == 1 && r1 == 0 && r2 == 1 && r3 == 0), "two readers agree which store came first"); }

static void x_rlx(void) { atom_store_rlx(&x, 1); }
static void y_rlx(void) { atom_store_rlx(&y, 1); }
static void x_rel(void) { atom_store_rel(&x, 1); }
static void y_rel(void) { atom_store_rel(&y, 1); }
static void x_sc(void) { atom_store_sc(&x, 1); }
static void y_sc(void) { atom_store_sc(&y, 1); }

static void xy_rlx(void) {
    r0 = atom_load_rlx(&x);
    r1 = atom_load_rlx(&y);
}
static void yx_rlx(void) {
    r2 = atom_load_rlx(&y);
    r3 = atom_load_rlx(&x);
}
static void xy_acq(void) {
    r0 = atom_load_acq(&x);
    r1 = atom_load_acq(&y);
}
static void yx_acq(void) {
    r2 = atom_load_acq(&y);
    r3 = atom_load_acq(&x);
}
static void xy_sc(void) {
    r0 = atom_load_sc(&x);
    r1 = atom_load_sc(&y);
}
static void yx_sc(void) {
    r2 = atom_load_sc(&y);
    r3 = atom_load_sc(&x);
}
SCENARIO(iriw_rlx, .about = "IRIW, relaxed", .setup = names, .threads = {x_rlx, y_rlx, xy_rlx, yx_rlx}, .finish = disagree,
         .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(iriw_acq, .about = "IRIW, release and acquire", .setup = names, .threads = {x_rel, y_rel, xy_acq, yx_acq}, .finish = disagree,
         .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(iriw_sc, .about = "IRIW, seq_cst", .setup = names, .threads = {x_sc, y_sc, xy_sc, yx_sc}, .finish = disagree)
SCENARIO(iriw_sc_loads, .about = "IRIW, seq_cst loads of release stores", .setup = names, .threads = {x_rel, y_rel, xy_sc, yx_sc},
         .finish = disagree, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(iriw_sc_stores, .about = "IRIW, acquire loads of seq_cst stores", .setup = names, .threads = {x_sc, y_sc, xy_acq, yx_acq},
         .finish = disagree, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(iriw_one_reader_acq, .about = "IRIW, seq_cst but for one reader", .setup = names, .threads = {x_sc, y_sc, xy_sc, yx_acq},
         .finish = disagree, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void xy_acq_sc(void) {
    r0 = atom_load_acq(&x);
    r1 = atom_load_sc(&y);
}
static void yx_acq_sc(void) {
    r2 = atom_load_acq(&y);
    r3 = atom_load_sc(&x);
}
SCENARIO(iriw_acq_sc, .about = "IRIW-acq-sc (Lahav et al., PLDI 2017): each reader's first load only acquire", .setup = names,
         .threads = {x_sc, y_sc, xy_acq_sc, yx_acq_sc}, .finish = disagree, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* Fences between the loads. */

static void xy_fence(void) {
    r0 = atom_load_rlx(&x);
    chk_fence_sc();
    r1 = atom_load_rlx(&y);
}
static void yx_fence(void) {
    r2 = atom_load_rlx(&y);
    chk_fence_sc();
    r3 = atom_load_rlx(&x);
}
SCENARIO(iriw_fences, .about = "IRIW, relaxed with full fences in the readers", .setup = names,
         .threads = {x_rlx, y_rlx, xy_fence, yx_fence}, .finish = disagree)
SCENARIO(iriw_one_fence, .about = "IRIW, a full fence in one reader only", .setup = names, .threads = {x_rel, y_rel, xy_fence, yx_acq},
         .finish = disagree, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void xy_fence_acqrel(void) {
    r0 = atom_load_rlx(&x);
    chk_fence_acqrel();
    r1 = atom_load_rlx(&y);
}
static void yx_fence_acqrel(void) {
    r2 = atom_load_rlx(&y);
    chk_fence_acqrel();
    r3 = atom_load_rlx(&x);
}
SCENARIO(iriw_fences_acqrel, .about = "IRIW, acquire-release fences", .setup = names,
         .threads = {x_rel, y_rel, xy_fence_acqrel, yx_fence_acqrel}, .finish = disagree, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

static void xy_light(void) {
    r0 = atom_load_rlx(&x);
    chk_fence_light();
    r1 = atom_load_rlx(&y);
}
static void yx_light(void) {
    r2 = atom_load_rlx(&y);
    chk_fence_light();
    r3 = atom_load_rlx(&x);
}
static void yx_heavy(void) {
    r2 = atom_load_rlx(&y);
    chk_fence_heavy();
    r3 = atom_load_rlx(&x);
}
SCENARIO(iriw_light_heavy, .about = "IRIW, the asymmetric pair of fences", .setup = names, .threads = {x_rlx, y_rlx, xy_light, yx_heavy},
         .finish = disagree)
SCENARIO(iriw_light_light, .about = "IRIW, two light fences", .setup = names, .threads = {x_rlx, y_rlx, xy_light, yx_light},
         .finish = disagree, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
