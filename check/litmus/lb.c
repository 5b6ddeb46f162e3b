/* Load buffering: each thread loads one cell and then stores to the other. The outcome asked for is that each load sees
 * the other thread's later store.
 *
 * A limit of the checker: it builds executions from the past to the future, so that program order together with "reads
 * from" has no cycle. C11 allows the relaxed outcome and some ARM and POWER cores may show it; the checker never
 * does. These scenarios write the limit down: the outcome is absent in every model. */
#include "base/atom.h"
#include "chk.h"

SHARED atom_u32 x, y;
SHARED uint32_t r0, r1;

static void names(void) {
    chk_name(&x, "x");
    chk_name(&y, "y");
}

static void both_saw(void) { chk_assert(!(r0 == 1 && r1 == 1), "no load sees a store that comes after it"); }

static void left_rlx(void) {
    r0 = atom_load_rlx(&x);
    atom_store_rlx(&y, 1);
}
static void right_rlx(void) {
    r1 = atom_load_rlx(&y);
    atom_store_rlx(&x, 1);
}
SCENARIO(lb_rlx, .about = "LB, relaxed: allowed by C11, out of the checker's sight", .setup = names, .threads = {left_rlx, right_rlx},
         .finish = both_saw)

static void left_relacq(void) {
    r0 = atom_load_acq(&x);
    atom_store_rel(&y, 1);
}
static void right_relacq(void) {
    r1 = atom_load_acq(&y);
    atom_store_rel(&x, 1);
}
SCENARIO(lb_relacq, .about = "LB, acquire loads and release stores: forbidden by C11 too", .setup = names,
         .threads = {left_relacq, right_relacq}, .finish = both_saw)
SCENARIO(lb_one_side, .about = "LB, one side ordered: allowed by C11, out of the checker's sight", .setup = names,
         .threads = {left_relacq, right_rlx}, .finish = both_saw)

/* Out of thin air: the value would come from nowhere. No model and no machine has it; C11's text cannot say why. */

static void left_copy(void) {
    r0 = atom_load_rlx(&x);
    atom_store_rlx(&y, r0);
}
static void right_copy(void) {
    r1 = atom_load_rlx(&y);
    atom_store_rlx(&x, r1);
}
static void from_nothing(void) { chk_assert(r0 == 0 && r1 == 0, "values do not come from nowhere"); }
SCENARIO(lb_thin_air, .about = "LB, each store copies what was loaded", .setup = names, .threads = {left_copy, right_copy},
         .finish = from_nothing)

static void left_branch(void) {
    r0 = atom_load_rlx(&x);
    if (r0 == 1) atom_store_rlx(&y, 1);
}
static void right_branch(void) {
    r1 = atom_load_rlx(&y);
    if (r1 == 1) atom_store_rlx(&x, 1);
}
SCENARIO(lb_branches, .about = "LB, each store happens only if the load saw the other", .setup = names,
         .threads = {left_branch, right_branch}, .finish = from_nothing)
