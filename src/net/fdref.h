/* Whose a place is: one word that says which generation, whether it is being closed, and how many use it.
 *
 *   operation          who may call
 *   fdref_reserve     whoever wants the place; one of them gets it, if it is free
 *   fdref_begin       the same: it can be used from now on (or fdref_forgo: nothing came of it)
 *   fdref_use         anyone who knows a generation. True: it is the present one, and stays until this user's fdref_done
 *   fdref_close       a user; true for one of them: nobody begins to use it any more
 *   fdref_close_alone likewise, if it is the only user
 *   fdref_done        a user, once. True: it was the last one, and ends it: what was used is its own, then fdref_end
 *
 *   D1  Open is one user for itself; whoever closes it takes that away besides its own.
 *   D2  From reserve to begin and from the last done to end the place is one thread's.
 *   D3  What was made before begin is seen by whoever uses it, and what users did by the one that ends it. */
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
/* As many as the rest of the word can hold, but for one, so that no generation is 0. */
#define FDREF_GENERATIONS ((UINT64_C(1) << (64 - FDREF_SHIFT)) - 1)

static inline uint64_t fdref_generation(uint64_t word) { return (word >> FDREF_SHIFT) + 1; }

static inline bool fdref_reserve(struct fdref *fdref, uint64_t *generation) {
    uint64_t word = atom_load_rlx(&fdref->word); /* rlx: the swap decides */
    *generation = fdref_generation(word);
    if (word & (FDREF_USERS | FDREF_CLOSING)) return false;
    return atom_cas_acq_rlx(&fdref->word, &word, word | FDREF_CLOSING); /* acq: pairs with the rel in fdref_end (D2) */
}
static inline void fdref_begin(struct fdref *fdref) {
    uint64_t word = atom_load_rlx(&fdref->word);               /* rlx: reserved, so nobody else writes it (D2) */
    atom_store_rel(&fdref->word, (word & ~FDREF_CLOSING) + 1); /* rel: pairs with the acq in fdref_use (D3) */
}
static inline void fdref_forgo(struct fdref *fdref) {
    uint64_t word = atom_load_rlx(&fdref->word);         /* rlx: likewise */
    atom_store_rel(&fdref->word, word & ~FDREF_CLOSING); /* rel: pairs with the acq in fdref_reserve (D2) */
}

static inline bool fdref_use(struct fdref *fdref, uint64_t generation) {
    uint64_t word = atom_load_rlx(&fdref->word); /* rlx: the swap decides */
    do {
        if ((word & FDREF_USERS) == 0 || (word & FDREF_CLOSING) || fdref_generation(word) != generation) return false;
    } while (!atom_cas_acq_rlx(&fdref->word, &word, word + 1)); /* acq: pairs with the rel in fdref_begin (D3) */
    return true;
}
static inline bool fdref_done(struct fdref *fdref) {
    /* acqrel: the last one's acq pairs with the rel of the others (D3). */
    return __builtin_expect((atom_sub_acqrel(&fdref->word, 1) & FDREF_USERS) == 1, 0);
}
static inline bool fdref_close(struct fdref *fdref) {
    if (atom_or_rlx(&fdref->word, FDREF_CLOSING) & FDREF_CLOSING) return false; /* rlx: decides who it is */
    atom_sub_rlx(&fdref->word, 1); /* rlx: not the last one, since the caller uses it too (D1) */
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
    uint64_t word = atom_load_rlx(&fdref->word); /* rlx: nobody else writes it (D2) */
    /* rel: pairs with the acq in fdref_reserve (D2), and in fdref_of. */
    atom_store_rel(&fdref->word, fdref_generation(word) % FDREF_GENERATIONS << FDREF_SHIFT);
}

/* The present generation, or 0: nobody has it. acq: pairs with the rel in fdref_end, for whoever waits until a generation is over. */
static inline uint64_t fdref_of(struct fdref *fdref) {
    uint64_t word = atom_load_acq(&fdref->word);
    return word & (FDREF_USERS | FDREF_CLOSING) ? fdref_generation(word) : 0;
}

#endif
