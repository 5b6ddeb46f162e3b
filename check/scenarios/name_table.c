/* The table of names: look-ups beside one writer that adds, removes, moves names up and grows the table.
 *
 * A name that is there all the time is always found, with its own value. One that comes or goes is found with its own value or not at all. */
#include "registry/name_table.h"
#include "base/spin.h"
#include "chk.h"

enum { A = 1, B, C, D };

SHARED struct name_table table;
SHARED int note;

/* All names have the same tag, so that only their words tell them apart; A, B and C have the same first place. */
static struct name_key key_of(unsigned name) {
    uint64_t first = name == D ? 1 : 0;
    return (struct name_key){.hash = UINT64_C(0x77) << 40 | first, .count = 1, .words = {name}};
}
static void add(unsigned name, uint64_t value) {
    struct name_key key = key_of(name);
    chk_assert(name_table_add(&table, &key, value, &note) == 0, "there is memory");
}
static void removes(unsigned name) {
    struct name_key key = key_of(name);
    name_table_remove(&table, &key);
}
static uint64_t find(unsigned name) {
    struct name_key key = key_of(name);
    return name_table_find(&table, &key);
}

/* Four slots: A is in the first, B in the second. */
static void two_names(void) {
    add(A, 10);
    add(B, 20);
    struct name_array *array = atom_load_rlx(&table.array);
    chk_assert(array->mask == 3, "four slots");
    static const char *const heads[] = {"head[0]", "head[1]", "head[2]", "head[3]"};
    for (unsigned i = 0; i < 4; i++)
        chk_name(&array->slots[i].head, heads[i]);
    chk_name(&array->moves, "moves");
}
/* Eight slots: A, D, B one behind the other; D is in its first place. */
static void three_names(void) {
    add(A, 10);
    add(D, 40);
    add(B, 20);
}
static void the_end(void) { name_table_destroy(&table); }

static void finds_a(void) {
    uint64_t found = find(A);
    chk_assert(found == 0 || found == 10, "it is there, or has gone");
}
static void finds_a_old_or_new(void) {
    uint64_t found = find(A);
    chk_assert(found == 0 || found == 10 || found == 11, "one of its values");
}
static void finds_b(void) { chk_assert(find(B) == 20, "it is there all the time"); }
static void finds_c(void) {
    uint64_t found = find(C);
    chk_assert(found == 0 || found == 30, "it is not there yet, or it is");
}
static void finds_b_and_d(void) {
    finds_b();
    chk_assert(find(D) == 40, "it is there all the time");
}

static void adds_c(void) { add(C, 30); }
static void removes_a(void) { removes(A); }
static void replaces_a_by_c(void) {
    removes(A);
    add(C, 30);
}
static void renews_a(void) {
    removes(A);
    add(A, 11);
}
static void finds_a_and_c(void) {
    finds_a();
    finds_c();
}

SCENARIO(names_move, .about = "A is removed, so that B moves up || B is looked up", .setup = two_names, .threads = {removes_a, finds_b},
         .finish = the_end)
SCENARIO(names_move_past, .about = "A is removed: B passes D, which stays || both are looked up", .setup = three_names,
         .threads = {removes_a, finds_b_and_d}, .finish = the_end)
SCENARIO(names_reuse, .about = "A is removed and C comes into its slot or B's || A and C are looked up", .setup = two_names,
         .threads = {replaces_a_by_c, finds_a_and_c}, .finish = the_end)
SCENARIO(names_reuse_beside, .about = "A is removed and C comes || B is looked up", .setup = two_names,
         .threads = {replaces_a_by_c, finds_b}, .finish = the_end)
SCENARIO(names_renew, .about = "A is removed and added with another value || looked up", .setup = two_names,
         .threads = {renews_a, finds_a_old_or_new}, .finish = the_end)
SCENARIO(names_grow, .about = "C is added, and the table grows || B and C are looked up by two", .setup = two_names,
         .threads = {adds_c, finds_b, finds_c}, .finish = the_end)
static void grows_and_moves(void) {
    add(C, 30);
    removes(A);
}
SCENARIO(names_grow_move, .about = "the table grows, then A is removed and B moves up || B is looked up", .setup = two_names,
         .threads = {grows_and_moves, finds_b}, .finish = the_end)

/* A thread that knows of the first change sees it, whatever it saw before. */
SHARED atom_bool told;
static void removes_a_and_tells(void) {
    removes(A);
    atom_store_rel(&told, true);
}
static void looks_up_when_told(void) {
    bool knows = atom_load_acq(&told);
    uint64_t found = find(A);
    chk_assert(found == (knows ? 0 : found) && (found == 0 || found == 10), "a name that is known to have gone is not found");
}
SCENARIO(names_told, .about = "A is removed, and that is told || A is looked up", .setup = two_names,
         .threads = {removes_a_and_tells, looks_up_when_told}, .finish = the_end)

/* ---- twins that are wrong ------------------------------------------------------------------------------------------------------- */

static struct name_slot *slot_of(unsigned at) { return &atom_load_rlx(&table.array)->slots[at]; }

/* A search as the real one, but for what is named. */
static uint64_t twin_search(unsigned name, bool version, bool moves) {
    struct name_key key = key_of(name);
    struct name_array *array = atom_load_acq(&table.array);
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint64_t before = atom_load_acq(&array->moves);
        for (unsigned at = 0; at <= array->mask; at++) {
            struct name_slot *slot = &array->slots[at];
            uint64_t head = atom_load_acq(&slot->head);
            if ((head & NAME_TAG) == NAME_EMPTY) break;
            if ((head & NAME_TAG) != name_tag(key.hash) || atom_load_acq(&slot->words[0]) != name) continue;
            uint64_t value = atom_load_acq(&slot->value);
            if (!version || atom_load_rlx(&slot->head) == head) return value;
        }
        if (!moves || atom_load_rlx(&array->moves) == before) return 0;
    }
}
static void finds_b_without_moves(void) { chk_assert(twin_search(B, true, false) == 20, "it is there all the time"); }
SCENARIO(names_no_moves, .about = "broken: a search that finds nothing does not look whether names have moved", .setup = two_names,
         .threads = {removes_a, finds_b_without_moves}, .finish = the_end, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
static void finds_a_without_version(void) {
    uint64_t found = twin_search(A, false, true);
    chk_assert(found == 0 || found == 10, "it is there, or has gone");
}
SCENARIO(names_no_version, .about = "broken: a search does not look at the head again", .setup = two_names,
         .threads = {replaces_a_by_c, finds_a_without_version}, .finish = the_end, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* The writer's steps when A goes and B moves up from the second slot. */
static void head_becomes(unsigned at, uint64_t tag) {
    uint64_t version = (atom_load_rlx(&slot_of(at)->head) >> NAME_TAG_BITS) + 1;
    atom_store_rel(&slot_of(at)->head, version << NAME_TAG_BITS | tag);
}
static void b_into_the_first(bool rel) {
    if (rel) atom_store_rel(&slot_of(0)->words[0], B), atom_store_rel(&slot_of(0)->value, 20);
    else atom_store_rlx(&slot_of(0)->words[0], B), atom_store_rlx(&slot_of(0)->value, 20);
}
static void first_has_a_tag(void) {
    atom_store_rel(&slot_of(0)->head, (atom_load_rlx(&slot_of(0)->head) & ~NAME_TAG) | name_tag(key_of(B).hash));
}
static void moves_rise(void) {
    struct name_array *array = atom_load_rlx(&table.array);
    atom_store_rel(&array->moves, atom_load_rlx(&array->moves) + 1);
}

static void moves_up_through_empty(void) {
    head_becomes(0, NAME_EMPTY);
    b_into_the_first(true);
    first_has_a_tag();
    moves_rise();
    head_becomes(1, NAME_EMPTY);
}
SCENARIO(names_hole, .about = "broken: the slot that is moved into is EMPTY meanwhile", .setup = two_names,
         .threads = {moves_up_through_empty, finds_b}, .finish = the_end, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
static void moves_rise_too_late(void) {
    head_becomes(0, NAME_BUSY);
    b_into_the_first(true);
    first_has_a_tag();
    head_becomes(1, NAME_EMPTY);
    moves_rise();
}
SCENARIO(names_moves_late, .about = "broken: moves rises after the old slot is vacated", .setup = two_names,
         .threads = {moves_rise_too_late, finds_b}, .finish = the_end, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
static void moves_rise_too_early(void) {
    head_becomes(0, NAME_BUSY);
    moves_rise();
    b_into_the_first(true);
    first_has_a_tag();
    head_becomes(1, NAME_EMPTY);
}
SCENARIO(names_moves_early, .about = "broken: moves rises before the name is in its new slot", .setup = two_names,
         .threads = {moves_rise_too_early, finds_b}, .finish = the_end, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
static void moves_up_weakly(void) {
    head_becomes(0, NAME_BUSY);
    b_into_the_first(false);
    first_has_a_tag();
    moves_rise();
    head_becomes(1, NAME_EMPTY);
}
static void finds_a_in_place(void) { chk_assert(find(A) != 20, "never with the value of another"); }
SCENARIO(names_weak_words, .about = "broken: name and value are written relaxed", .setup = two_names,
         .threads = {moves_up_weakly, finds_a_in_place}, .finish = the_end, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
static void moves_up_without_version(void) {
    b_into_the_first(true);
    first_has_a_tag();
    moves_rise();
    head_becomes(1, NAME_EMPTY);
}
SCENARIO(names_overwritten, .about = "broken: a slot is overwritten and keeps its version", .setup = two_names,
         .threads = {moves_up_without_version, finds_a_in_place}, .finish = the_end, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
