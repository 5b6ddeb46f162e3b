/* A place for one process that is claimed already and runs next on this worker (policy `ring`): its owner fills and empties it without a
 * read-modify-write, and needs no second claim for what it takes out.
 *
 *   operation               caller
 *   slot_init               one thread, before the slot is shared
 *   slot_put, _fill, _take, _look, _clear   owner: the one thread that drives the worker now, as in queue/ring.h
 *   slot_steal              any thread
 *   slot_is_empty           any thread; a hint, unless behind a fence
 *
 *   owner                              thief
 *   1  place: the entry -> none        1  thieves: one more
 *      fence B (light)                    fence A (heavy)
 *   2  looks at thieves                2  looks at place, and swaps the entry for none
 *                                      3  thieves: one less at work
 *
 *   T1  Either the owner sees the thief, or the thief sees that the place is empty (fences A and B). So an entry that the owner has got, and
 *       is `sure` of, is had by no thief. If it is not sure, a thief may have the same entry, and the state word decides: thieves always, and
 *       the owner then, call state_confirm.
 *   T2  `seen` is a value of `thieves` with none at work. As long as it is the present one, no thief has come since.
 *   T3  An entry that was put is got by the owner or by a thief. A thief that takes an entry out has it, or the owner has.
 *   T4  What was written before an entry was put is visible to the thread that gets it.
 *
 * The price is the thief's: a heavy fence is a system call. So thieves come last here, when there is nothing else to steal. */
#ifndef WEFT_QUEUE_SLOT_H
#define WEFT_QUEUE_SLOT_H

#include "base/atom.h"
#include "queue/entry.h"
#include "sys/sys.h"

struct slot {
    atom_u64 place;   /* owner stores, thieves CAS to ENTRY_NONE */
    atom_u64 thieves; /* any: SLOT_CAME for each that has come, and SLOT_WORKS for each that is at work */
    uint64_t seen;    /* owner: T2 */
};
#define SLOT_WORKS UINT64_C(1)
#define SLOT_CAME (UINT64_C(1) << 32)

struct slot_got {
    uint64_t entry; /* or ENTRY_NONE */
    bool sure;      /* T1 */
};

static inline void slot_init(struct slot *slot) {
    atom_store_rlx(&slot->place, ENTRY_NONE); /* rlx, both: not shared yet */
    atom_store_rlx(&slot->thieves, 0);
    slot->seen = 0;
}

static inline bool slot_is_empty(struct slot *slot) { return atom_is_rlx(&slot->place, ENTRY_NONE); } /* rlx: see above */

/* Whether no thief has come since the owner last looked. */
static inline bool slot_is_sure(struct slot *own) {
    atom_fence_light(); /* B */
    uint64_t thieves =
        atom_load_acq(&own->thieves); /* acq: pairs with the rel in slot_steal: what a thief has taken out is not seen again */
    if (__builtin_expect(thieves == own->seen, 1)) return true;
    if (thieves % SLOT_CAME == 0) own->seen = thieves; /* T2 */
    return false;
}

/* Puts an entry there, which the owner has found empty: thieves only take. */
static inline void slot_fill(struct slot *own, uint64_t entry) {
    atom_store_rel(&own->place, entry);
} /* rel: pairs with the acq in slot_steal (T4) */
/* Puts an entry there; returns the one that it replaces. */
static inline struct slot_got slot_put(struct slot *own, uint64_t entry) {
    uint64_t before = atom_load_rlx(&own->place); /* rlx: the owner's own, or a thief has it: T1 */
    slot_fill(own, entry);
    return (struct slot_got){before, before != ENTRY_NONE && slot_is_sure(own)};
}

/* Takes the entry out in two steps: looks at it; then empties the place, and says whether the entry is `sure`. */
static inline uint64_t slot_look(struct slot *own) { return atom_load_rlx(&own->place); } /* rlx: as above */
static inline bool slot_clear(struct slot *own) {
    atom_store_rlx(&own->place, ENTRY_NONE); /* rlx: carries nothing */
    return slot_is_sure(own);
}
static inline struct slot_got slot_take(struct slot *own) {
    uint64_t entry = slot_look(own);
    return (struct slot_got){entry, entry != ENTRY_NONE && slot_clear(own)};
}

/* Takes the victim's entry; ENTRY_NONE when there is none, or the owner or another thief was faster. */
static inline uint64_t slot_steal(struct slot *victim) {
    if (slot_is_empty(victim)) return ENTRY_NONE;           /* spares the fence */
    atom_add_rlx(&victim->thieves, SLOT_CAME + SLOT_WORKS); /* rlx: the fence */
    sys_fence_heavy();                                      /* A */
    uint64_t entry = atom_load_rlx(&victim->place);         /* rlx: the compare-and-swap decides */
    if (entry != ENTRY_NONE && !atom_cas_acq_rlx(&victim->place, &entry, ENTRY_NONE)) entry = ENTRY_NONE; /* acq: T4 */
    atom_sub_rel(&victim->thieves, SLOT_WORKS); /* rel: pairs with the acq in slot_is_sure */
    return entry;
}

#endif
