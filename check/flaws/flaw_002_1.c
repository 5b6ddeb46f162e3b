/* 002.1: taking half of a work-stealing deque in one CAS. */
#include "base/atom.h"
#include "chk.h"

enum { SLOTS = 4, ITEMS = 5 };

SHARED atom_u32 slots[SLOTS], top, bottom;
SHARED uint8_t owned[ITEMS], stolen[ITEMS];

/* Chase and Lev's deque, everything seq_cst as in the document's language. -------------------------------------- */

static void deque_push(uint32_t item) {
    uint32_t b = atom_load_sc(&bottom);
    atom_store_rlx(&slots[b % SLOTS], item);
    atom_store_sc(&bottom, b + 1);
}
static bool deque_pop(uint32_t *item) {
    uint32_t b = atom_load_sc(&bottom) - 1;
    atom_store_sc(&bottom, b);
    uint32_t t = atom_load_sc(&top);
    bool taken = (int32_t)(b - t) >= 0;
    *item = atom_load_rlx(&slots[b % SLOTS]);
    if (b == t) taken = atom_cas_sc_sc(&top, &t, t + 1); /* the last one: only here does the owner compete */
    if (b == t || !taken) atom_store_sc(&bottom, b + 1);
    return taken;
}
static bool deque_steal(uint32_t *item) {
    uint32_t t = atom_load_sc(&top);
    uint32_t b = atom_load_sc(&bottom);
    if ((int32_t)(b - t) <= 0) return false;
    *item = atom_load_rlx(&slots[t % SLOTS]);
    return atom_cas_sc_sc(&top, &t, t + 1);
}
/* StealHalfInto: "takes half the items in one CAS operation". */
static uint32_t deque_steal_half(uint32_t *items) {
    uint32_t t = atom_load_sc(&top);
    uint32_t b = atom_load_sc(&bottom);
    if ((int32_t)(b - t) <= 0) return 0;
    uint32_t n = (b - t + 1) / 2;
    for (uint32_t i = 0; i < n; i++)
        items[i] = atom_load_rlx(&slots[(t + i) % SLOTS]);
    return atom_cas_sc_sc(&top, &t, t + n) ? n : 0;
}

static void setup(void) {
    for (uint32_t i = 0; i < 3; i++)
        deque_push(i);
}
static void pop_one(void) {
    uint32_t item;
    if (deque_pop(&item)) owned[item]++;
}
static void pop_two(void) {
    pop_one();
    pop_one();
}
static void pop_two_push_one(void) {
    pop_two();
    deque_push(3);
}
static void thief_of_half(void) {
    uint32_t items[SLOTS];
    uint32_t n = deque_steal_half(items);
    for (uint32_t i = 0; i < n; i++)
        stolen[items[i]]++;
}
/* Up to half, one at a time. */
static void thief_of_singles(void) {
    uint32_t n = (atom_load_sc(&bottom) - atom_load_sc(&top) + 1) / 2;
    if (n > SLOTS) n = 0;
    for (uint32_t item; n > 0 && deque_steal(&item); n--)
        stolen[item]++;
}
static void drain(void) {
    for (uint32_t item; deque_steal(&item);)
        owned[item]++;
}
static void none_lost(void) {
    drain();
    for (uint32_t i = 0; i < 4; i++)
        chk_assert(owned[i] + stolen[i] >= 1, "no item is lost");
}
static void none_doubled(void) {
    for (uint32_t i = 0; i < 3; i++)
        chk_assert(owned[i] + stolen[i] <= 1, "no item is taken twice");
}
static void each_once(void) {
    drain();
    for (uint32_t i = 0; i < 4; i++)
        chk_assert(owned[i] + stolen[i] == 1, "each item is taken once");
}

SCENARIO(flaw_002_1_half_in_one_cas_loses, .about = "the thief's CAS jumps over the owner, which then pushes behind top", .setup = setup,
         .threads = {pop_two_push_one, thief_of_half}, .finish = none_lost, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
SCENARIO(flaw_002_1_half_in_one_cas_duplicates, .about = "the owner pops without CAS what lies inside the half that the thief's CAS takes",
         .setup = setup, .threads = {pop_two, thief_of_half}, .finish = none_doubled, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
SCENARIO(fixed_002_1_single_steals, .about = "up to half, by single steals", .setup = setup,
         .threads = {pop_two_push_one, thief_of_singles}, .finish = each_once)

/* One packed word: top, bottom and, corrected, a tag that every push changes. ----------------------------------- */

SHARED atom_u32 packed;
enum { PACKED_TOP = 1, PACKED_BOTTOM = 1 << 8, PACKED_TAG = 1 << 16 };

static uint32_t packed_top(uint32_t word) { return word & 255; }
static uint32_t packed_bottom(uint32_t word) { return word >> 8 & 255; }

static void packed_push(uint32_t item, uint32_t tag) {
    uint32_t w = atom_load_sc(&packed);
    do
        atom_store_rlx(&slots[packed_bottom(w) % SLOTS], item);
    while (!atom_cas_sc_sc(&packed, &w, w + PACKED_BOTTOM + tag));
}
static bool packed_pop(uint32_t *item) {
    uint32_t w = atom_load_sc(&packed);
    do {
        if (packed_top(w) == packed_bottom(w)) return false;
        *item = atom_load_rlx(&slots[(packed_bottom(w) - 1) % SLOTS]);
    } while (!atom_cas_sc_sc(&packed, &w, w - PACKED_BOTTOM));
    return true;
}
static void packed_steal_half(void) {
    uint32_t items[SLOTS], w = atom_load_sc(&packed);
    uint32_t n = (packed_bottom(w) - packed_top(w) + 1) / 2;
    for (uint32_t i = 0; i < n; i++)
        items[i] = atom_load_rlx(&slots[(packed_top(w) + i) % SLOTS]);
    if (n == 0 || !atom_cas_sc_sc(&packed, &w, w + n * PACKED_TOP)) return;
    for (uint32_t i = 0; i < n; i++)
        stolen[items[i]]++;
}
static void packed_exchange(uint32_t tag) {
    for (uint32_t item; packed_pop(&item);)
        owned[item]++;
    packed_push(2, tag);
    packed_push(3, tag);
}
static void setup_untagged(void) {
    packed_push(0, 0);
    packed_push(1, 0);
}
static void setup_tagged(void) {
    packed_push(0, PACKED_TAG);
    packed_push(1, PACKED_TAG);
}
static void owner_untagged(void) { packed_exchange(0); }
static void owner_tagged(void) { packed_exchange(PACKED_TAG); }
static void packed_each_once(void) {
    for (uint32_t item; packed_pop(&item);)
        owned[item]++;
    for (uint32_t i = 0; i < 4; i++)
        chk_assert(owned[i] + stolen[i] == 1, "each item is taken once");
}

SCENARIO(flaw_002_1_untagged_word_has_aba, .about = "popped and pushed again: the word is as it was, the items are not",
         .setup = setup_untagged, .threads = {owner_untagged, packed_steal_half}, .finish = packed_each_once, .flawed_in = CHK_ALL,
         .flaw = CHK_ASSERT)
SCENARIO(fixed_002_1_tagged_word, .about = "half in one CAS, on one word of top, bottom and tag", .setup = setup_tagged,
         .threads = {owner_tagged, packed_steal_half}, .finish = packed_each_once)
