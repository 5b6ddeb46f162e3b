/* What could slip past the checker: accesses inside memcpy and its like, and static data that no scenario marks. */
#include "base/atom.h"
#include "base/spin.h"
#include "chk.h"

#include <string.h>

enum { LETTER = 40 };
SHARED atom_u32 ready;
SHARED char letter[LETTER], copy[LETTER];
static size_t length; /* not a constant: the compiler would see through the call */

static void setup(void) {
    length = LETTER;
    chk_name(letter, "letter");
    chk_name(copy, "copy");
}
static void fill_rel(void) {
    memset(letter, 7, length);
    atom_store_rel(&ready, 1);
}
static void fill_rlx(void) {
    memset(letter, 7, length);
    atom_store_rlx(&ready, 1);
}
static void fill_late(void) {
    atom_store_rel(&ready, 1);
    memset(letter, 7, length);
}
static void copy_acq(void) {
    if (atom_load_acq(&ready)) memcpy(copy, letter, length);
}
static void move_acq(void) {
    if (atom_load_acq(&ready)) memmove(copy, letter, length);
}
static void compare_acq(void) {
    if (atom_load_acq(&ready)) chk_assert(memcmp(letter, letter + 1, length - 1) == 0, "the letter is whole");
}
static void whole(void) { chk_assert(copy[0] == copy[LETTER - 1] && (copy[0] == 0 || copy[0] == 7), "the copy is whole"); }

SCENARIO(memory_copy_relacq, .about = "a letter filled with memset, copied with memcpy, release and acquire", .setup = setup,
         .threads = {fill_rel, copy_acq}, .finish = whole)
SCENARIO(memory_copy_rlx, .about = "the same, the release is missing", .setup = setup, .threads = {fill_rlx, copy_acq}, .finish = whole,
         .flawed_in = CHK_C11, .flaw = CHK_RACE)
SCENARIO(memory_copy_late, .about = "memset after the flag, and memcpy", .setup = setup, .threads = {fill_late, copy_acq},
         .flawed_in = CHK_ALL, .flaw = CHK_RACE)
SCENARIO(memory_move_late, .about = "memset after the flag, and memmove", .setup = setup, .threads = {fill_late, move_acq},
         .flawed_in = CHK_ALL, .flaw = CHK_RACE)
SCENARIO(memory_compare_late, .about = "memset after the flag, and memcmp", .setup = setup, .threads = {fill_late, compare_acq},
         .flawed_in = CHK_ALL, .flaw = CHK_RACE)

static void copy_into(void) { memcpy(copy, letter, length); }
SCENARIO(memory_copy_twice, .about = "two threads copy to the same place", .setup = setup, .threads = {copy_into, copy_into},
         .flawed_in = CHK_ALL, .flaw = CHK_RACE)
static void copy_first_half(void) { memcpy(copy, letter, length / 2); }
static void copy_second_half(void) { memcpy(copy + length / 2, letter + length / 2, length / 2); }
SCENARIO(memory_copy_halves, .about = "two threads copy to the two halves of a place", .setup = setup,
         .threads = {copy_first_half, copy_second_half}, .finish = whole)

/* Not marked, and set nowhere: each run, in each model, begins with its initial bytes all the same. */
static unsigned winners, told = 3;
static atom_u32 turn;

static void win(void) {
    if (atom_load_sc(&turn) == 0) winners++;
    atom_store_sc(&turn, 1);
}
static void tell(void) {
    chk_assert(told == 3, "static data begins with its initializer");
    told = 4;
}
SCENARIO(static_race, .about = "two threads may both find their turn, and count in static data that is not marked", .threads = {win, win},
         .flawed_in = CHK_ALL, .flaw = CHK_RACE)
static void one_winner(void) { chk_assert(winners == 1 && atom_load_rlx(&turn) == 1, "one has won"); }
SCENARIO(static_fresh, .about = "one thread alone: static data that is not marked is fresh in every run", .threads = {win},
         .finish = one_winner)
SCENARIO(static_initializer, .about = "the same of data with an initializer", .threads = {tell})
