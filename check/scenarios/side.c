/* Records beside the table: a chunk of them is made once, whichever thread is first, and is zeroed for both. */
#include "proc/side.h"
#include "chk.h"

enum { RECORDS = 2 };
struct record {
    unsigned value; /* plain: one thread's alone */
};
SHARED struct side side;
static struct record *found[RECORDS];

static void set_up(void) {
    for (unsigned i = 0; i < TABLE_CHUNKS; i++)
        atom_store_rlx(&side.chunks[i], NULL);
    found[0] = found[1] = NULL;
    chk_name(&side.chunks[0], "chunk");
}
static void use(unsigned slot) {
    struct record *record = side_of(&side, slot, sizeof *record, true);
    chk_assert(record && record->value == 0, "it is zeroed");
    record->value = slot + 1;
    found[slot] = record;
}
static void use_0(void) { use(0); }
static void use_1(void) { use(1); }
static void look_at_0(void) {
    struct record *record = side_of(&side, 1, sizeof *record, false);
    chk_assert(!record || record->value == 0, "it is zeroed, if it is there");
}
static void finish(void) {
    for (unsigned slot = 0; slot < RECORDS; slot++) {
        struct record *record = side_of(&side, slot, sizeof *record, false);
        chk_assert(record && (!found[slot] || (found[slot] == record && record->value == slot + 1)), "there is one record for each slot");
    }
    side_destroy(&side, sizeof(struct record));
}
SCENARIO(side_made_by_two, .about = "two threads need the first records of a chunk", .setup = set_up, .threads = {use_0, use_1},
         .finish = finish)
SCENARIO(side_found, .about = "a chunk is made || a thread looks for a record of it", .setup = set_up, .threads = {use_0, look_at_0},
         .finish = finish)
