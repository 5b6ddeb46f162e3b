/* Mutual exclusion from loads and stores alone: Dekker, Peterson, Lamport's bakery. All of them need a store to come
 * before a later load of another cell, so all of them break on x86 as printed, and in C11 unless the orders are strong
 * enough. The critical section adds to a plain counter: two threads inside at once are a data race. */
#include "base/atom.h"
#include "base/spin.h"
#include "chk.h"

SHARED atom_u32 flag[2], turn;
SHARED uint32_t count;

static void names(void) {
    chk_name(&flag[0], "flag[0]");
    chk_name(&flag[1], "flag[1]");
    chk_name(&turn, "turn");
    chk_name(&count, "count");
}
static void counted(void) { chk_assert(count == 2, "both critical sections counted"); }

/* Two threads from a function of the thread's number. */
#define SIDES(protocol)                                                                                                                    \
    static void protocol##_0(void) { protocol(0); }                                                                                        \
    static void protocol##_1(void) { protocol(1); }

/* Peterson, all seq_cst. */
static void peterson_sc(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_sc(&flag[me], 1);
    atom_store_sc(&turn, 1 - me);
    while (atom_load_sc(&flag[1 - me]) == 1 && atom_load_sc(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rel(&flag[me], 0);
}
SIDES(peterson_sc)
SCENARIO(peterson_sc, .about = "Peterson's lock, seq_cst", .setup = names, .threads = {peterson_sc_0, peterson_sc_1}, .finish = counted)

/* As it is printed in textbooks: on x86 that means plain moves. */
static void peterson_printed(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_rel(&flag[me], 1);
    atom_store_rel(&turn, 1 - me);
    while (atom_load_acq(&flag[1 - me]) == 1 && atom_load_acq(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rel(&flag[me], 0);
}
SIDES(peterson_printed)
SCENARIO(peterson_printed, .about = "Peterson's lock as printed, without a fence", .setup = names,
         .threads = {peterson_printed_0, peterson_printed_1}, .finish = counted, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_RACE)

/* One order at a time weaker than seq_cst. */

static void peterson_flag_rel(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_rel(&flag[me], 1);
    atom_store_sc(&turn, 1 - me);
    while (atom_load_sc(&flag[1 - me]) == 1 && atom_load_sc(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rel(&flag[me], 0);
}
SIDES(peterson_flag_rel)
SCENARIO(peterson_flag_rel, .about = "Peterson's lock, the flag raised by a release store", .setup = names,
         .threads = {peterson_flag_rel_0, peterson_flag_rel_1}, .finish = counted, .flawed_in = CHK_C11, .flaw = CHK_RACE)

static void peterson_turn_rel(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_sc(&flag[me], 1);
    atom_store_rel(&turn, 1 - me);
    while (atom_load_sc(&flag[1 - me]) == 1 && atom_load_sc(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rel(&flag[me], 0);
}
SIDES(peterson_turn_rel)
SCENARIO(peterson_turn_rel, .about = "Peterson's lock, the turn given away by a release store", .setup = names,
         .threads = {peterson_turn_rel_0, peterson_turn_rel_1}, .finish = counted, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_RACE)

static void peterson_flag_acq(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_sc(&flag[me], 1);
    atom_store_sc(&turn, 1 - me);
    while (atom_load_acq(&flag[1 - me]) == 1 && atom_load_sc(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rel(&flag[me], 0);
}
SIDES(peterson_flag_acq)
SCENARIO(peterson_flag_acq, .about = "Peterson's lock, the other flag read by an acquire load", .setup = names,
         .threads = {peterson_flag_acq_0, peterson_flag_acq_1}, .finish = counted, .flawed_in = CHK_C11, .flaw = CHK_RACE)

static void peterson_turn_rlx(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_sc(&flag[me], 1);
    atom_store_sc(&turn, 1 - me);
    while (atom_load_sc(&flag[1 - me]) == 1 && atom_load_rlx(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rel(&flag[me], 0);
}
SIDES(peterson_turn_rlx)
SCENARIO(peterson_turn_rlx, .about = "Peterson's lock, the turn read relaxed: enough when each thread enters once", .setup = names,
         .threads = {peterson_turn_rlx_0, peterson_turn_rlx_1}, .finish = counted)

static void peterson_leave_rlx(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_sc(&flag[me], 1);
    atom_store_sc(&turn, 1 - me);
    while (atom_load_sc(&flag[1 - me]) == 1 && atom_load_sc(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rlx(&flag[me], 0);
}
SIDES(peterson_leave_rlx)
SCENARIO(peterson_leave_rlx, .about = "Peterson's lock, left by a relaxed store", .setup = names,
         .threads = {peterson_leave_rlx_0, peterson_leave_rlx_1}, .finish = counted, .flawed_in = CHK_C11, .flaw = CHK_RACE)

/* The turn given away by a read-modify-write: the second one reads from the first, and that is the order needed. (What
 * the swap returns is used: compilers may turn a swap into a store when the result is not used.) */

static void peterson_swap(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_rlx(&flag[me], 1);
    chk_assert(atom_swap_acqrel(&turn, 1 - me) <= 1, "a turn is 0 or 1");
    while (atom_load_acq(&flag[1 - me]) == 1 && atom_load_rlx(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rel(&flag[me], 0);
}
SIDES(peterson_swap)
SCENARIO(peterson_swap, .about = "Peterson's lock with an acq_rel swap of the turn: no seq_cst at all", .setup = names,
         .threads = {peterson_swap_0, peterson_swap_1}, .finish = counted)

static void peterson_swap_rel(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_rlx(&flag[me], 1);
    chk_assert(atom_swap_rel(&turn, 1 - me) <= 1, "a turn is 0 or 1");
    while (atom_load_acq(&flag[1 - me]) == 1 && atom_load_rlx(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rel(&flag[me], 0);
}
SIDES(peterson_swap_rel)
SCENARIO(peterson_swap_rel, .about = "the same, the swap does not acquire", .setup = names,
         .threads = {peterson_swap_rel_0, peterson_swap_rel_1}, .finish = counted, .flawed_in = CHK_C11, .flaw = CHK_RACE)

static void peterson_swap_acq(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_rlx(&flag[me], 1);
    chk_assert(atom_swap_acq(&turn, 1 - me) <= 1, "a turn is 0 or 1");
    while (atom_load_acq(&flag[1 - me]) == 1 && atom_load_rlx(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rel(&flag[me], 0);
}
SIDES(peterson_swap_acq)
SCENARIO(peterson_swap_acq, .about = "the same, the swap does not release", .setup = names,
         .threads = {peterson_swap_acq_0, peterson_swap_acq_1}, .finish = counted, .flawed_in = CHK_C11, .flaw = CHK_RACE)

/* Fences: x86 needs one after the turn; C11 a second one, because the two stores themselves may change places. */

static void peterson_one_fence(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_rlx(&flag[me], 1);
    atom_store_rel(&turn, 1 - me);
    chk_fence_sc();
    while (atom_load_acq(&flag[1 - me]) == 1 && atom_load_acq(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rel(&flag[me], 0);
}
SIDES(peterson_one_fence)
SCENARIO(peterson_one_fence, .about = "Peterson's lock, a full fence after the turn: enough on x86, not in C11", .setup = names,
         .threads = {peterson_one_fence_0, peterson_one_fence_1}, .finish = counted, .flawed_in = CHK_C11, .flaw = CHK_RACE)

static void peterson_two_fences(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_rlx(&flag[me], 1);
    chk_fence_sc();
    atom_store_rlx(&turn, 1 - me);
    chk_fence_sc();
    while (atom_load_acq(&flag[1 - me]) == 1 && atom_load_acq(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rel(&flag[me], 0);
}
SIDES(peterson_two_fences)
SCENARIO(peterson_two_fences, .about = "Peterson's lock, full fences after the flag and after the turn", .setup = names,
         .threads = {peterson_two_fences_0, peterson_two_fences_1}, .finish = counted)

static void peterson_early_fence(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_rlx(&flag[me], 1);
    chk_fence_sc();
    atom_store_rel(&turn, 1 - me);
    while (atom_load_acq(&flag[1 - me]) == 1 && atom_load_acq(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rel(&flag[me], 0);
}
SIDES(peterson_early_fence)
SCENARIO(peterson_early_fence, .about = "Peterson's lock, the fence only after the flag", .setup = names,
         .threads = {peterson_early_fence_0, peterson_early_fence_1}, .finish = counted, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_RACE)

/* The stores in the wrong order: wrong in every model. */
static void peterson_swapped(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_sc(&turn, 1 - me);
    atom_store_sc(&flag[me], 1);
    while (atom_load_sc(&flag[1 - me]) == 1 && atom_load_sc(&turn) == 1 - me)
        spin_wait(&spin);
    count++;
    atom_store_rel(&flag[me], 0);
}
SIDES(peterson_swapped)
SCENARIO(peterson_swapped, .about = "Peterson's lock, the turn given away before the flag is raised", .setup = names,
         .threads = {peterson_swapped_0, peterson_swapped_1}, .finish = counted, .flawed_in = CHK_ALL, .flaw = CHK_RACE)
