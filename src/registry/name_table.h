/* A table from names to words, for many readers and one writer at a time.
 *
 *   operation                                              caller
 *   name_table_find                                        any thread; lock-free: it waits for no other thread
 *   name_table_note, name_table_add, name_table_remove,
 *   name_table_each                                        under the owner's lock
 *   name_table_destroy                                     one thread, while no other uses the table
 *
 * An open-addressing table with linear probing, at most half full; a slot is one cache line and holds the name itself. A removal leaves no
 * mark behind: later names of the same run move up into the hole (Knuth's algorithm R), so that a table whose names come and go for ever
 * stays as short to search as a new one. A slot's head has a tag, from the name's hash, and a version:
 *
 *     EMPTY ──add: name, value; then the tag──> tag ──remove, nothing moves up──> EMPTY, next version
 *                                               │ ^
 *                    another name moves up: BUSY, next version; its name, value; then its tag
 *
 *   T1  A tag is written (rel) after name and value. BUSY or EMPTY, with a new version, is written before them. A reader that has read head,
 *       name and value, and then finds the same head, has read one entry whole.
 *   T2  No slot between a name's first place and the place where it is, is EMPTY: a search goes from the first place to the first EMPTY slot.
 *   T3  A name that moves up is written to its new slot first; then `moves` rises; then its old slot is vacated. A reader that finds
 *       nothing, and `moves` as it was before, has not been passed by the name. If `moves` has risen, it searches again.
 *   T4  When the table grows, the new array is complete before it is published. A reader that has the old one sees the names as they were
 *       then, after its search began. Old arrays are kept until the end: together they are smaller than the current one. */
#ifndef WEFT_REGISTRY_NAME_TABLE_H
#define WEFT_REGISTRY_NAME_TABLE_H

#include "base/atom.h"

#include <weft/registry.h>

#include <stddef.h>

#if WEFT_CHECK
enum { NAME_WORDS = 1, NAME_TABLE_LEAST = 2 };
#else
enum { NAME_WORDS = (WEFT_NAME_MOST + 1) / 8, NAME_TABLE_LEAST = 64 };
#endif

/* A name as words, the last of which has the 0 at the end of the string, and zeroes behind it. Those behind `count` are not set. */
struct name_key {
    uint64_t hash;
    unsigned count;
    uint64_t words[NAME_WORDS];
};

/* False: it is empty or too long. */
bool name_key_make(struct name_key *key, const char *name, uint64_t seed);

/* Low 24 bits of a head: the tag. The rest: the version, which rises whenever the slot is vacated. */
enum { NAME_EMPTY = 0, NAME_BUSY = 1, NAME_TAG_BITS = 24 };
#define NAME_TAG ((UINT64_C(1) << NAME_TAG_BITS) - 1)
/* From the top of the hash: the place in the table is from its low end. */
static inline uint64_t name_tag(uint64_t hash) { return hash >> (64 - NAME_TAG_BITS) | 2; }

struct name_slot {
    _Alignas(64) atom_u64 head;
    atom_u64 value;
    atom_u64 words[NAME_WORDS];
};

/* What only the writer needs of a slot. */
struct name_extra {
    uint64_t hash;
    unsigned count;
    void *note;
};

struct name_array {
    size_t mask, bytes;
    atom_u64 moves;         /* T3 */
    struct name_array *old; /* the one before */
    struct name_extra *extras;
    struct name_slot slots[];
};

struct name_table {
    ATOM_PTR(struct name_array) array; /* NULL: there has been no name yet */
    size_t count;                      /* under the lock */
};

/* The word, or 0: there is no such name. */
uint64_t name_table_find(struct name_table *table, const struct name_key *key);

/* What name_table_add was given with it, and *value; NULL: there is no such name. */
void *name_table_note(struct name_table *table, const struct name_key *key, uint64_t *value);
/* A name that is not there yet; `value` is not 0 and `note` not NULL. 0 or WEFT_ENOMEM. */
int name_table_add(struct name_table *table, const struct name_key *key, uint64_t value, void *note);
/* A name that is there. */
void name_table_remove(struct name_table *table, const struct name_key *key);
void name_table_each(struct name_table *table, void (*visit)(const char *name, uint64_t value, void *user), void *user);
void name_table_destroy(struct name_table *table);

#endif
