/* Whose a place is: one word that says which generation, whether it is being closed, and how many use it.
 *
 *   operation          who may call
 *   tenure_reserve     whoever wants the place; one of them gets it, if it is free
 *   tenure_begin       the same: it can be used from now on (or tenure_forgo: nothing came of it)
 *   tenure_use         anyone who knows a generation. True: it is the present one, and stays until this user's tenure_done
 *   tenure_close       a user; true for one of them: nobody begins to use it any more
 *   tenure_close_alone likewise, if it is the only user
 *   tenure_done        a user, once. True: it was the last one, and ends it: what was used is its own, then tenure_end
 *
 *   D1  Open is one user for itself; whoever closes it takes that away besides its own.
 *   D2  From reserve to begin and from the last done to end the place is one thread's.
 *   D3  What was made before begin is seen by whoever uses it, and what users did by the one that ends it. */
#ifndef WEFT_NET_FDREF_H
#define WEFT_NET_FDREF_H

#include "base/atom.h"
#include "base/config.h"

struct tenure {
    atom_u64 word; /* users, CLOSING, generation */
};

#define TENURE_USERS UINT64_C(0xffffff)
#define TENURE_CLOSING UINT64_C(0x1000000)
#define TENURE_SHIFT 25
/* As many as the rest of the word can hold, but for one, so that no generation is 0. */
#define TENURE_GENERATIONS ((UINT64_C(1) << (64 - TENURE_SHIFT)) - 1)

static inline uint64_t tenure_generation(uint64_t word) { return (word >> TENURE_SHIFT) + 1; }

static inline bool tenure_reserve(struct tenure *tenure, uint64_t *generation) {
    uint64_t word = atom_load_rlx(&tenure->word); /* rlx: the swap decides */
    *generation = tenure_generation(word);
    if (word & (TENURE_USERS | TENURE_CLOSING)) return false;
    return atom_cas_acq_rlx(&tenure->word, &word, word | TENURE_CLOSING); /* acq: pairs with the rel in tenure_end (D2) */
}
static inline void tenure_begin(struct tenure *tenure) {
    uint64_t word = atom_load_rlx(&tenure->word);              /* rlx: reserved, so nobody else writes it (D2) */
    atom_store_rel(&tenure->word, (word & ~TENURE_CLOSING) + 1); /* rel: pairs with the acq in tenure_use (D3) */
}
static inline void tenure_forgo(struct tenure *tenure) {
    uint64_t word = atom_load_rlx(&tenure->word);          /* rlx: likewise */
    atom_store_rel(&tenure->word, word & ~TENURE_CLOSING); /* rel: pairs with the acq in tenure_reserve (D2) */
}

static inline bool tenure_use(struct tenure *tenure, uint64_t generation) {
    uint64_t word = atom_load_rlx(&tenure->word); /* rlx: the swap decides */
    do {
        if ((word & TENURE_USERS) == 0 || (word & TENURE_CLOSING) || tenure_generation(word) != generation) return false;
    } while (!atom_cas_acq_rlx(&tenure->word, &word, word + 1)); /* acq: pairs with the rel in tenure_begin (D3) */
    return true;
}
static inline bool tenure_done(struct tenure *tenure) {
    /* acqrel: the last one's acq pairs with the rel of the others (D3). */
    return __builtin_expect((atom_sub_acqrel(&tenure->word, 1) & TENURE_USERS) == 1, 0);
}
static inline bool tenure_close(struct tenure *tenure) {
    if (atom_or_rlx(&tenure->word, TENURE_CLOSING) & TENURE_CLOSING) return false; /* rlx: decides who it is */
    atom_sub_rlx(&tenure->word, 1); /* rlx: not the last one, since the caller uses it too (D1) */
    return true;
}
static inline bool tenure_close_alone(struct tenure *tenure) {
    uint64_t word = atom_load_rlx(&tenure->word); /* rlx, all: as in tenure_close */
    do {
        if ((word & TENURE_USERS) != 2 || (word & TENURE_CLOSING)) return false; /* it is open, and used by the caller (D1) */
    } while (!atom_cas_rlx_rlx(&tenure->word, &word, (word | TENURE_CLOSING) - 1));
    return true;
}
static inline void tenure_end(struct tenure *tenure) {
    uint64_t word = atom_load_rlx(&tenure->word); /* rlx: nobody else writes it (D2) */
    /* rel: pairs with the acq in tenure_reserve (D2), and in tenure_of. */
    atom_store_rel(&tenure->word, tenure_generation(word) % TENURE_GENERATIONS << TENURE_SHIFT);
}

/* The present generation, or 0: nobody has it. acq: pairs with the rel in tenure_end, for whoever waits until a generation is over. */
static inline uint64_t tenure_of(struct tenure *tenure) {
    uint64_t word = atom_load_acq(&tenure->word);
    return word & (TENURE_USERS | TENURE_CLOSING) ? tenure_generation(word) : 0;
}

#endif
