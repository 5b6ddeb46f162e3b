/* Mutual exclusion from loads and stores, continued: Dekker, where a thread takes its flag back while it waits, and Lamport's
 * bakery. */
#include "base/atom.h"
#include "base/spin.h"
#include "chk.h"

SHARED atom_u32 flag[2], turn, choosing[2], number[2];
SHARED uint32_t count;

static void names(void) {
    chk_name(&flag[0], "flag[0]");
    chk_name(&flag[1], "flag[1]");
    chk_name(&turn, "turn");
    chk_name(&choosing[0], "choosing[0]");
    chk_name(&choosing[1], "choosing[1]");
    chk_name(&number[0], "number[0]");
    chk_name(&number[1], "number[1]");
    chk_name(&count, "count");
}
static void counted(void) { chk_assert(count == 2, "both critical sections counted"); }

#define SIDES(protocol)                                                                                                                    \
    static void protocol##_0(void) { protocol(0); }                                                                                        \
    static void protocol##_1(void) { protocol(1); }

/* Dekker. */

static void dekker_sc(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_sc(&flag[me], 1);
    while (atom_load_sc(&flag[1 - me]) == 1) {
        if (atom_load_sc(&turn) != me) {
            atom_store_sc(&flag[me], 0);
            struct spin inner = spin_begin();
            while (atom_load_sc(&turn) != me)
                spin_wait(&inner);
            atom_store_sc(&flag[me], 1);
        }
        spin_wait(&spin);
    }
    count++;
    atom_store_sc(&turn, 1 - me);
    atom_store_sc(&flag[me], 0);
}
SIDES(dekker_sc)
SCENARIO(dekker_sc, .about = "Dekker's lock, seq_cst", .setup = names, .threads = {dekker_sc_0, dekker_sc_1}, .finish = counted)

static void dekker_relacq(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_rel(&flag[me], 1);
    while (atom_load_acq(&flag[1 - me]) == 1) {
        if (atom_load_acq(&turn) != me) {
            atom_store_rel(&flag[me], 0);
            struct spin inner = spin_begin();
            while (atom_load_acq(&turn) != me)
                spin_wait(&inner);
            atom_store_rel(&flag[me], 1);
        }
        spin_wait(&spin);
    }
    count++;
    atom_store_rel(&turn, 1 - me);
    atom_store_rel(&flag[me], 0);
}
SIDES(dekker_relacq)
SCENARIO(dekker_relacq, .about = "Dekker's lock as printed, without a fence", .setup = names, .threads = {dekker_relacq_0, dekker_relacq_1},
         .finish = counted, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_RACE)

static void dekker_fences(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_rlx(&flag[me], 1);
    chk_fence_sc();
    while (atom_load_acq(&flag[1 - me]) == 1) {
        if (atom_load_rlx(&turn) != me) {
            atom_store_rlx(&flag[me], 0);
            struct spin inner = spin_begin();
            while (atom_load_rlx(&turn) != me)
                spin_wait(&inner);
            atom_store_rlx(&flag[me], 1);
            chk_fence_sc();
        }
        spin_wait(&spin);
    }
    count++;
    atom_store_rel(&turn, 1 - me);
    atom_store_rel(&flag[me], 0);
}
SIDES(dekker_fences)
SCENARIO(dekker_fences, .about = "Dekker's lock, a full fence wherever a flag goes up", .setup = names,
         .threads = {dekker_fences_0, dekker_fences_1}, .finish = counted)

/* The doorway alone: a thread that finds the other's flag up stays out. */

static void doorway_sc(unsigned me) {
    atom_store_sc(&flag[me], 1);
    if (atom_load_sc(&flag[1 - me]) == 0) count++;
}
SIDES(doorway_sc)
static void at_most_one(void) { chk_assert(count <= 1, "at most one got in"); }
SCENARIO(doorway_sc, .about = "Dekker's doorway, seq_cst", .setup = names, .threads = {doorway_sc_0, doorway_sc_1}, .finish = at_most_one)
static void doorway_relacq(unsigned me) {
    atom_store_rel(&flag[me], 1);
    if (atom_load_acq(&flag[1 - me]) == 0) count++;
}
SIDES(doorway_relacq)
SCENARIO(doorway_relacq, .about = "Dekker's doorway, release and acquire", .setup = names, .threads = {doorway_relacq_0, doorway_relacq_1},
         .finish = at_most_one, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_RACE)

/* The bakery, two customers. */

static bool before(uint32_t theirs, uint32_t mine, unsigned me) { return theirs != 0 && (theirs < mine || (theirs == mine && me == 1)); }

static void bakery_sc(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_sc(&choosing[me], 1);
    uint32_t mine = 1 + atom_load_sc(&number[1 - me]);
    atom_store_sc(&number[me], mine);
    atom_store_sc(&choosing[me], 0);
    while (atom_load_sc(&choosing[1 - me]) == 1)
        spin_wait(&spin);
    spin = spin_begin();
    while (before(atom_load_sc(&number[1 - me]), mine, me))
        spin_wait(&spin);
    count++;
    atom_store_rel(&number[me], 0);
}
SIDES(bakery_sc)
SCENARIO(bakery_sc, .about = "Lamport's bakery, seq_cst", .setup = names, .threads = {bakery_sc_0, bakery_sc_1}, .finish = counted)

static void bakery_relacq(unsigned me) {
    struct spin spin = spin_begin();
    atom_store_rel(&choosing[me], 1);
    uint32_t mine = 1 + atom_load_acq(&number[1 - me]);
    atom_store_rel(&number[me], mine);
    atom_store_rel(&choosing[me], 0);
    while (atom_load_acq(&choosing[1 - me]) == 1)
        spin_wait(&spin);
    spin = spin_begin();
    while (before(atom_load_acq(&number[1 - me]), mine, me))
        spin_wait(&spin);
    count++;
    atom_store_rel(&number[me], 0);
}
SIDES(bakery_relacq)
SCENARIO(bakery_relacq, .about = "Lamport's bakery as printed, without a fence", .setup = names,
         .threads = {bakery_relacq_0, bakery_relacq_1}, .finish = counted, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_RACE)

/* Without the mark "I am choosing": a number taken early and shown late passes another. */
static void bakery_hasty(unsigned me) {
    struct spin spin = spin_begin();
    uint32_t mine = 1 + atom_load_sc(&number[1 - me]);
    atom_store_sc(&number[me], mine);
    while (before(atom_load_sc(&number[1 - me]), mine, me))
        spin_wait(&spin);
    count++;
    atom_store_rel(&number[me], 0);
}
SIDES(bakery_hasty)
SCENARIO(bakery_hasty, .about = "Lamport's bakery without the choosing marks: wrong in every model", .setup = names,
         .threads = {bakery_hasty_0, bakery_hasty_1}, .finish = counted, .flawed_in = CHK_ALL, .flaw = CHK_RACE)
