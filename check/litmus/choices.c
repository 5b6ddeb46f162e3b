/* What a scenario may leave to the checker: chk_choose explores every value, chk_assume leaves behaviours out, and
 * setup and finish run alone. */
#include "base/atom.h"
#include "chk.h"

SHARED atom_u32 x;
SHARED uint32_t r0 = 9, r1 = 9, total = 5;

static void names(void) { chk_name(&x, "x"); }

static void choose_3(void) { r0 = chk_choose(3); }
static void choose_2(void) { r1 = chk_choose(2); }

static void below_3(void) { chk_assert(r0 < 3, "a choice of three is 0, 1 or 2"); }
static void never_0(void) { chk_assert(r0 != 0, "0 is not chosen"); }
static void never_1(void) { chk_assert(r0 != 1, "1 is not chosen"); }
static void never_2(void) { chk_assert(r0 != 2, "2 is not chosen"); }
SCENARIO(choose_in_range, .about = "a choice of three: 3 executions", .threads = {choose_3}, .finish = below_3)
SCENARIO(choose_first, .about = "a choice explores the first value", .threads = {choose_3}, .finish = never_0, .flawed_in = CHK_ALL,
         .flaw = CHK_ASSERT)
SCENARIO(choose_middle, .about = "a choice explores a value in the middle", .threads = {choose_3}, .finish = never_1, .flawed_in = CHK_ALL,
         .flaw = CHK_ASSERT)
SCENARIO(choose_last, .about = "a choice explores the last value", .threads = {choose_3}, .finish = never_2, .flawed_in = CHK_ALL,
         .flaw = CHK_ASSERT)

static void never_2_1(void) { chk_assert(!(r0 == 2 && r1 == 1), "2 and 1 do not come together"); }
SCENARIO(choose_pair, .about = "two threads choose: 6 executions", .threads = {choose_3, choose_2}, .finish = below_3)
SCENARIO(choose_pair_last, .about = "two threads choose: every pair is explored", .threads = {choose_3, choose_2}, .finish = never_2_1,
         .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

static void choose_and_assume(void) {
    r0 = chk_choose(3);
    chk_assume(r0 != 1);
}
SCENARIO(assume, .about = "what is assumed away does not happen", .threads = {choose_and_assume}, .finish = never_1)
SCENARIO(assume_keeps, .about = "what is not assumed away does happen", .threads = {choose_and_assume}, .finish = never_2,
         .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* A choice that decides what is stored, and a thread that sees the store. */
static void store_choice(void) { atom_store_rlx(&x, 1 + chk_choose(3)); }
static void load_choice(void) { r1 = atom_load_rlx(&x); }
static void up_to_3(void) { chk_assert(r1 <= 3, "what is loaded was stored"); }
static void never_3(void) { chk_assert(r1 != 3, "the last choice is not seen by another thread"); }
SCENARIO(choose_and_store, .about = "a choice stored and loaded: 6 executions", .setup = names, .threads = {store_choice, load_choice},
         .finish = up_to_3)
SCENARIO(choose_and_see, .about = "a choice seen by another thread", .setup = names, .threads = {store_choice, load_choice},
         .finish = never_3, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* Static data comes back, setup comes first, thread numbers count from 0. */
static void prepare(void) {
    total += 1;
    atom_store_rlx(&x, 3);
}
static void number_0(void) { r0 = chk_self() + 10 * atom_add_rlx(&x, 1); }
static void number_1(void) { r1 = chk_self() + 10 * atom_add_rlx(&x, 1); }
static void prepared(void) {
    chk_assert(total == 6, "static data is put back before every run");
    chk_assert(r0 % 10 == 0 && r1 % 10 == 1, "threads are numbered from 0");
    chk_assert((r0 == 30 && r1 == 41) || (r0 == 40 && r1 == 31), "setup comes before the threads");
    chk_assert(atom_load_rlx(&x) == 5, "finish sees the last values");
}
SCENARIO(setup_and_finish, .about = "setup, threads and finish see one another's work", .setup = prepare, .threads = {number_0, number_1},
         .finish = prepared)

/* An assertion in a thread counts as one in finish does. */
static void assert_in_thread(void) { chk_assert(atom_load_rlx(&x) == 0, "the store is not seen"); }
static void store_5(void) { atom_store_rlx(&x, 5); }
SCENARIO(assert_in_thread, .about = "an assertion inside a thread", .setup = names, .threads = {assert_in_thread, store_5},
         .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
