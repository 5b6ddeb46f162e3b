/* The reference count of a descriptor's place: one word with its generation, whether it is being closed, and the number of users.
 *
 *   operation         caller
 *   fdref_reserve     any thread that wants the place; one of them gets it, if it is free
 *   fdref_begin       that thread: the place can be used from now on (or fdref_forgo: it is free again)
 *   fdref_use         any thread with a generation. True: it is the present one, and stays until this user's fdref_done
 *   fdref_is_open     any thread; true: fdref_use would have been so a moment ago
 *   fdref_close       a user; true for one of them, the closer: no new use begins
 *   fdref_close_alone the same, if it is the only user
 *   fdref_done        a user, once. True: it was the last one; the place is its own until it calls fdref_end
 *
 *   D1  An open place counts as one user; the closer takes that one away, besides its own.
 *   D2  From reserve to begin and from the last done to end the place is one thread's.
 *   D3  What was written before begin is visible to every user, and what users wrote to the thread that ends it. */
#ifndef WEFT_NET_FDREF_H
#define WEFT_NET_FDREF_H

#include "base/atom.h"
#include "base/config.h"

struct fdref {
    atom_u64 word; /* users, CLOSING, generation */
};

#define FDREF_USERS UINT64_C(0xffffff)
#define FDREF_CLOSING UINT64_C(0x1000000)
#define FDREF_SHIFT 25
/* One less than the rest of the word can hold, so that no generation is 0. */
#define FDREF_GENERATIONS ((UINT64_C(1) << (64 - FDREF_SHIFT)) - 1)

static inline uint64_t fdref_generation(uint64_t word) { return (word >> FDREF_SHIFT) + 1; }

static inline bool fdref_reserve(struct fdref *fdref, uint64_t *generation) {
    uint64_t word = atom_load_rlx(&fdref->word); /* rlx: the swap decides */
    *generation = fdref_generation(word);
    if (word & (FDREF_USERS | FDREF_CLOSING)) return false;
    return atom_cas_acq_rlx(&fdref->word, &word, word | FDREF_CLOSING); /* acq: pairs with the rel in fdref_end (D2) */
}
static inline void fdref_begin(struct fdref *fdref) {
    uint64_t word = atom_load_rlx(&fdref->word);               /* rlx: reserved, so no other thread writes it (D2) */
    atom_store_rel(&fdref->word, (word & ~FDREF_CLOSING) + 1); /* rel: pairs with the acq in fdref_use (D3) */
}
static inline void fdref_forgo(struct fdref *fdref) {
    uint64_t word = atom_load_rlx(&fdref->word);         /* rlx: likewise */
    atom_store_rel(&fdref->word, word & ~FDREF_CLOSING); /* rel: pairs with the acq in fdref_reserve (D2) */
}

static inline bool fdref_allows(uint64_t word, uint64_t generation) {
    return (word & FDREF_USERS) != 0 && !(word & FDREF_CLOSING) && fdref_generation(word) == generation;
}
static inline bool fdref_is_open(struct fdref *fdref, uint64_t generation) {
    return fdref_allows(atom_load_acq(&fdref->word), generation); /* acq: as in fdref_use */
}
static inline bool fdref_use(struct fdref *fdref, uint64_t generation) {
    uint64_t word = atom_load_rlx(&fdref->word); /* rlx: the swap decides */
    do {
        if (!fdref_allows(word, generation)) return false;
    } while (!atom_cas_acq_rlx(&fdref->word, &word, word + 1)); /* acq: pairs with the rel in fdref_begin (D3) */
    return true;
}
static inline bool fdref_done(struct fdref *fdref) {
    /* acqrel: the last user's acq pairs with the rel of the other users (D3). */
    return __builtin_expect((atom_sub_acqrel(&fdref->word, 1) & FDREF_USERS) == 1, 0);
}
static inline bool fdref_close(struct fdref *fdref) {
    if (atom_or_rlx(&fdref->word, FDREF_CLOSING) & FDREF_CLOSING) return false; /* rlx: only decides which user is the closer */
    atom_sub_rlx(&fdref->word, 1); /* rlx: not the last user, since the caller is one too (D1) */
    return true;
}
static inline bool fdref_close_alone(struct fdref *fdref) {
    uint64_t word = atom_load_rlx(&fdref->word); /* rlx, all: as in fdref_close */
    do {
        if ((word & FDREF_USERS) != 2 || (word & FDREF_CLOSING)) return false; /* it is open, and used by the caller (D1) */
    } while (!atom_cas_rlx_rlx(&fdref->word, &word, (word | FDREF_CLOSING) - 1));
    return true;
}
static inline void fdref_end(struct fdref *fdref) {
    uint64_t word = atom_load_rlx(&fdref->word); /* rlx: no other thread writes it (D2) */
    /* rel: pairs with the acq in fdref_reserve (D2), and in fdref_of. */
    atom_store_rel(&fdref->word, fdref_generation(word) % FDREF_GENERATIONS << FDREF_SHIFT);
}

/* The present generation, or 0: the place is free. acq: pairs with the rel in fdref_end, for callers that wait for a generation's end. */
static inline uint64_t fdref_of(struct fdref *fdref) {
    uint64_t word = atom_load_acq(&fdref->word);
    return word & (FDREF_USERS | FDREF_CLOSING) ? fdref_generation(word) : 0;
}

#endif
