/* The table of names: searching without a lock; adding and removing under one. */
#include "registry/name_table.h"

#include "base/assert.h"
#include "base/spin.h"
#include "sys/sys.h"

#include <weft/errors.h>

#include <string.h>

/* ---- keys ------------------------------------------------------------------------------------------------------------------ */

static inline uint64_t name_mix(uint64_t hash, uint64_t word) {
    __uint128_t product = (__uint128_t)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t name_word(const char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* The string's last size % 8 bytes, and zeroes. Reads no byte beyond it, and those before it twice rather than one by one. */
static inline uint64_t name_last_word(const char *name, size_t size) {
    size_t rest = size % 8;
    uint32_t low, high;
    if (rest == 0) return 0;
    if (size > 8) return name_word(name + size - 8) >> (8 * (8 - rest));
    if (rest < 4)
        return (unsigned char)name[0] | (uint64_t)(unsigned char)name[rest / 2] << (8 * (rest / 2)) |
               (uint64_t)(unsigned char)name[rest - 1] << (8 * (rest - 1));
    memcpy(&low, name, sizeof low);
    memcpy(&high, name + rest - 4, sizeof high);
    return low | (uint64_t)high << (8 * (rest - 4));
}

bool name_key_make(struct name_key *key, const char *name, uint64_t seed) {
    size_t most = sizeof key->words, size = name ? strnlen(name, most) : 0;
    if (size == 0 || size == most) return false;
    unsigned last = (unsigned)(size / 8);
    uint64_t hash = seed | 1;
    for (unsigned i = 0; i < last; i++)
        hash = name_mix(hash, key->words[i] = name_word(name + (size_t)i * 8));
    key->words[last] = name_last_word(name, size);
    key->hash = name_mix(hash, key->words[last]);
    key->count = last + 1;
    return true;
}

/* ---- slots ----------------------------------------------------------------------------------------------------------------- */

/* By the writer: T1. */
static void name_vacate(struct name_slot *slot, uint64_t tag) {
    uint64_t version = (atom_load_rlx(&slot->head) >> NAME_TAG_BITS) + 1; /* rlx: only the writer writes */
    /* rel: pairs with the acq in name_search: a reader that does not find the former name here sees `moves` (T3). */
    atom_store_rel(&slot->head, version << NAME_TAG_BITS | tag);
}

/* Into a slot that is EMPTY or BUSY. */
static void name_fill(struct name_slot *slot, const struct name_key *key, uint64_t value) {
    uint64_t version = atom_load_rlx(&slot->head) >> NAME_TAG_BITS; /* rlx: only the writer writes */
    /* rel, all: pair with the acqs in name_matches: a reader that sees one of these sees that the slot was vacated (T1). */
    for (unsigned i = 0; i < key->count; i++)
        atom_store_rel(&slot->words[i], key->words[i]);
    atom_store_rel(&slot->value, value);
    /* rel: pairs with the acq in name_search: a reader that sees the tag sees name and value. */
    atom_store_rel(&slot->head, version << NAME_TAG_BITS | name_tag(key->hash));
}

/* ---- searching --------------------------------------------------------------------------------------------------------------- */

static inline bool name_matches(struct name_slot *slot, const struct name_key *key) {
    for (unsigned i = 0; i < key->count; i++)
        if (atom_load_acq(&slot->words[i]) != key->words[i]) return false; /* acq: pairs with the rel in name_fill */
    return true;
}

enum name_found { NAME_ABSENT, NAME_FOUND, NAME_CHANGED };

/* One search in one array: T2. A slot whose name is just being written does not match and is passed by: T3 covers that. */
static inline enum name_found name_search(struct name_array *array, const struct name_key *key, uint64_t *value) {
    uint64_t tag = name_tag(key->hash);
    for (size_t n = 0, at = key->hash & array->mask; n <= array->mask; n++, at = (at + 1) & array->mask) {
        struct name_slot *slot = &array->slots[at];
        uint64_t head = atom_load_acq(&slot->head); /* acq: pairs with the rels in name_fill and name_vacate */
        if ((head & NAME_TAG) == NAME_EMPTY) return NAME_ABSENT;
        if ((head & NAME_TAG) != tag || !name_matches(slot, key)) continue;
        *value = atom_load_acq(&slot->value);                                  /* acq: as in name_matches */
        return atom_load_rlx(&slot->head) == head ? NAME_FOUND : NAME_CHANGED; /* rlx: behind the acqs (T1) */
    }
    return NAME_ABSENT;
}

uint64_t name_table_find(struct name_table *table, const struct name_key *key) {
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        struct name_array *array = atom_load_acq(&table->array); /* acq: pairs with the rel in name_table_grow (T4) */
        if (!array) return 0;
        uint64_t value, moves = atom_load_acq(&array->moves); /* acq: pairs with the rel in name_move (T3) */
        enum name_found found = name_search(array, key, &value);
        if (found == NAME_FOUND) return value;
        if (found == NAME_ABSENT && atom_load_rlx(&array->moves) == moves) return 0; /* rlx: behind the acqs of the search (T3) */
    }
}

/* ---- the writer ---------------------------------------------------------------------------------------------------------------- */

/* rlx, here and in what follows: only the writer writes, under the owner's lock. */
static inline uint64_t slot_tag(struct name_slot *slot) { return atom_load_rlx(&slot->head) & NAME_TAG; }

static bool name_is(struct name_slot *slot, const struct name_key *key) {
    bool same = slot_tag(slot) == name_tag(key->hash);
    for (unsigned i = 0; same && i < key->count; i++)
        same = atom_load_rlx(&slot->words[i]) == key->words[i];
    return same;
}

/* Where the name is, or the EMPTY slot where it would be. */
static size_t name_place(struct name_array *array, const struct name_key *key) {
    size_t at = key->hash & array->mask;
    while (slot_tag(&array->slots[at]) != NAME_EMPTY && !name_is(&array->slots[at], key))
        at = (at + 1) & array->mask;
    return at;
}

void *name_table_note(struct name_table *table, const struct name_key *key, uint64_t *value) {
    struct name_array *array = atom_load_rlx(&table->array);
    if (!array) return NULL;
    size_t at = name_place(array, key);
    if (slot_tag(&array->slots[at]) == NAME_EMPTY) return NULL;
    *value = atom_load_rlx(&array->slots[at].value);
    return array->extras[at].note;
}

static void name_put(struct name_array *array, const struct name_key *key, uint64_t value, void *note) {
    size_t at = name_place(array, key);
    array->extras[at] = (struct name_extra){.hash = key->hash, .count = key->count, .note = note};
    name_fill(&array->slots[at], key, value);
}

static struct name_array *name_array_new(size_t slots) {
    size_t head = (sizeof(struct name_array) + slots * sizeof(struct name_slot)), bytes = head + slots * sizeof(struct name_extra);
    struct name_array *array = sys->alloc(bytes);
    if (!array) return NULL;
    array->mask = slots - 1;
    array->bytes = bytes;
    array->extras = (struct name_extra *)((unsigned char *)array + head);
    return array;
}

/* By the writer: the key and the value of a slot that has a name. */
static uint64_t name_read(struct name_array *array, size_t at, struct name_key *key) {
    key->hash = array->extras[at].hash;
    key->count = array->extras[at].count;
    for (unsigned i = 0; i < key->count; i++)
        key->words[i] = atom_load_rlx(&array->slots[at].words[i]);
    return atom_load_rlx(&array->slots[at].value);
}

static bool name_table_grow(struct name_table *table) {
    struct name_array *old = atom_load_rlx(&table->array);
    struct name_array *array = name_array_new(old ? (old->mask + 1) * 2 : NAME_TABLE_LEAST);
    struct name_key key;
    if (!array) return false;
    array->old = old;
    for (size_t i = 0; old && i <= old->mask; i++) {
        if (slot_tag(&old->slots[i]) == NAME_EMPTY) continue;
        uint64_t value = name_read(old, i, &key);
        name_put(array, &key, value, old->extras[i].note);
    }
    atom_store_rel(&table->array, array); /* rel: pairs with the acq in name_table_find (T4) */
    return true;
}

int name_table_add(struct name_table *table, const struct name_key *key, uint64_t value, void *note) {
    struct name_array *array = atom_load_rlx(&table->array);
    if ((!array || (table->count + 1) * 2 > array->mask + 1) && !name_table_grow(table)) return WEFT_ENOMEM;
    name_put(atom_load_rlx(&table->array), key, value, note);
    table->count++;
    return 0;
}

/* Moves a name up into a slot whose own name has been removed or has moved up itself: T3. */
static void name_move(struct name_array *array, size_t from, size_t to) {
    struct name_key key;
    uint64_t value = name_read(array, from, &key);
    name_vacate(&array->slots[to], NAME_BUSY);
    name_fill(&array->slots[to], &key, value);
    array->extras[to] = array->extras[from];
    /* rel: pairs with the acq in name_table_find: a search that begins behind this sees the name in its new slot. */
    atom_store_rel(&array->moves, atom_load_rlx(&array->moves) + 1);
}

/* Whether a search for the name in slot `at` passes `hole`. */
static bool name_passes(struct name_array *array, size_t hole, size_t at) {
    size_t first = array->extras[at].hash & array->mask;
    return ((at - first) & array->mask) >= ((at - hole) & array->mask);
}

void name_table_remove(struct name_table *table, const struct name_key *key) {
    struct name_array *array = atom_load_rlx(&table->array);
    size_t hole = name_place(array, key);
    WEFT_ASSERT(slot_tag(&array->slots[hole]) != NAME_EMPTY, "a name is removed that is not there");
    for (size_t at = (hole + 1) & array->mask; slot_tag(&array->slots[at]) != NAME_EMPTY; at = (at + 1) & array->mask) {
        if (!name_passes(array, hole, at)) continue;
        name_move(array, at, hole);
        hole = at;
    }
    name_vacate(&array->slots[hole], NAME_EMPTY);
    table->count--;
}

void name_table_each(struct name_table *table, void (*visit)(const char *name, uint64_t value, void *user), void *user) {
    struct name_array *array = atom_load_rlx(&table->array);
    struct name_key key;
    for (size_t i = 0; array && i <= array->mask; i++) {
        if (slot_tag(&array->slots[i]) == NAME_EMPTY) continue;
        uint64_t value = name_read(array, i, &key);
        visit((const char *)key.words, value, user);
    }
}

void name_table_destroy(struct name_table *table) {
    for (struct name_array *array = atom_load_rlx(&table->array), *old; array; array = old) {
        old = array->old;
        sys->free(array, array->bytes);
    }
}
