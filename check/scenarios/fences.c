/* Light fences become full ones while threads run, and light again: the argument of sys/fence.c, step by step (the numbers are the same).
 *
 * Played, because the fences of the checker are not made of flags. What the machine does not do by itself, but the compiler is kept from
 * reordering, is a light fence here: where a thread was interrupted by a membarrier falls before or after it. */
#include "chk.h"

#include "base/atom.h"

static atom_u32 left, right;
static atom_bool light_is_full, heavy_is_full;
SHARED unsigned left_sees, right_sees;

static void begin(bool full) {
    atom_store_rlx(&left, 0);
    atom_store_rlx(&right, 0);
    atom_store_rlx(&light_is_full, full);
    atom_store_rlx(&heavy_is_full, full);
    chk_name(&left, "left");
    chk_name(&right, "right");
    chk_name(&light_is_full, "light is full");
    chk_name(&heavy_is_full, "heavy is full");
}
static void begin_light(void) { begin(false); }
static void begin_full(void) { begin(true); }
static void one_sees_the_other(void) { chk_assert(left_sees || right_sees, "one of the two sees the other"); }

/* As atom_fence_light. */
static void fence_light(void) {
    chk_fence_light();
    if (atom_load_acq(&light_is_full)) chk_fence_sc();
    else chk_fence_light();
}
/* As linux_fence_heavy; it is called through a table, which the compiler does not look into. */
static void fence_heavy(void) {
    chk_fence_light();
    if (!atom_load_acq(&heavy_is_full)) chk_fence_heavy();
    else fence_light();
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static void brings(void) {
    atom_store_rlx(&left, 1);
    fence_light();
    left_sees = atom_load_rlx(&right);
}
static void falls_asleep(void) {
    atom_store_rlx(&right, 1);
    fence_heavy();
    right_sees = atom_load_rlx(&left);
}
static void makes_full(void) {
    atom_store_rlx(&light_is_full, true); /* 1 */
    chk_fence_heavy();                    /* 2 */
    atom_store_rel(&heavy_is_full, true); /* 3 */
}
static void makes_light(void) {
    atom_store_rlx(&heavy_is_full, false); /* 4 */
    chk_fence_heavy();                     /* 5 */
    atom_store_rel(&light_is_full, false); /* 6 */
}

SCENARIO(fences_full, .about = "one brings || another falls asleep || light fences become full ones", .setup = begin_light,
         .threads = {brings, falls_asleep, makes_full}, .finish = one_sees_the_other)
SCENARIO(fences_light, .about = "one brings || another falls asleep || full fences become light ones", .setup = begin_full,
         .threads = {brings, falls_asleep, makes_light}, .finish = one_sees_the_other)

/* ---- broken twins ------------------------------------------------------------------------------------------------- */

static void makes_full_at_once(void) {
    atom_store_rlx(&light_is_full, true);
    atom_store_rel(&heavy_is_full, true);
}
SCENARIO(fences_twin_full_at_once, .about = "as fences_full, without the membarrier (2)", .setup = begin_light,
         .threads = {brings, falls_asleep, makes_full_at_once}, .finish = one_sees_the_other, .flawed_in = CHK_TSO | CHK_C11,
         .flaw = CHK_ASSERT)
static void makes_light_at_once(void) {
    atom_store_rlx(&heavy_is_full, false);
    atom_store_rlx(&light_is_full, false);
}
SCENARIO(fences_twin_light_at_once, .about = "as fences_light, without the membarrier (5)", .setup = begin_full,
         .threads = {brings, falls_asleep, makes_light_at_once}, .finish = one_sees_the_other, .flawed_in = CHK_TSO | CHK_C11,
         .flaw = CHK_ASSERT)
static void makes_heavy_full_first(void) {
    atom_store_rlx(&heavy_is_full, true);
    chk_fence_heavy();
    atom_store_rel(&light_is_full, true);
}
SCENARIO(fences_twin_heavy_first, .about = "as fences_full, but heavy fences become full ones first", .setup = begin_light,
         .threads = {brings, falls_asleep, makes_heavy_full_first}, .finish = one_sees_the_other, .flawed_in = CHK_TSO | CHK_C11,
         .flaw = CHK_ASSERT)
/* What the compiler must not make of atom_fence_light. */
static void brings_late(void) {
    bool full = atom_load_rlx(&light_is_full);
    atom_store_rlx(&left, 1);
    if (full) chk_fence_sc();
    else chk_fence_light();
    left_sees = atom_load_rlx(&right);
}
SCENARIO(fences_twin_flag_first, .about = "as fences_full, but the flag is read before anything is brought", .setup = begin_light,
         .threads = {brings_late, falls_asleep, makes_full}, .finish = one_sees_the_other, .flawed_in = CHK_TSO | CHK_C11,
         .flaw = CHK_ASSERT)
/* And what a machine that reorders loads would make of it, were the flag read relaxed. */
static void brings_relaxed(void) {
    atom_store_rlx(&left, 1);
    chk_fence_light();
    if (atom_load_rlx(&light_is_full)) chk_fence_sc();
    else chk_fence_light();
    left_sees = atom_load_rlx(&right);
}
SCENARIO(fences_twin_relaxed, .about = "as fences_light, but the flag is read relaxed", .setup = begin_full,
         .threads = {brings_relaxed, falls_asleep, makes_light}, .finish = one_sees_the_other, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
