/* Read-side sections: how a sender keeps a control block from being reused for the next process between looking it up and pushing
 * to its mailbox.
 *
 *   a sender                                     the keeper: the thread that reuses blocks
 *   1  section_enter: my count becomes odd       1  the block's process ends: generation bumped
 *                     fence B (light)            2  fence A (heavy)
 *   2  look up: compare the generation           3  section_note: which senders are inside now?
 *   3  push                                      4  each of them has left (or entered anew): the block is free
 *   4  section_leave: my count becomes even
 *
 *   N1  Either the sender sees the new generation, or the keeper sees the sender inside (fences A and B).
 *   N2  If a count has changed since it was noted, that sender's push is over and happens before what the keeper does next.
 *   N3  User code never runs inside a section, and no thread waits inside one: sections are some nanoseconds long. */
#ifndef WEFT_PROC_SECTION_H
#define WEFT_PROC_SECTION_H

#include "base/atom.h"
#include "sys/sys.h"

struct section {
    atom_u64 count; /* odd: inside. Its own thread writes it */
};

static inline void section_init(struct section *section) { atom_store_rlx(&section->count, 0); }

static inline void section_enter(struct section *own) {
    /* rel: a keeper that waits for the previous section may see this entry instead of that section_leave; it must see all
     * that was done in the previous section all the same (N2). */
    atom_count_rel(&own->count);
    atom_fence_light(); /* B */
}

static inline void section_leave(struct section *own) {
    /* rel: pairs with the acq in section_has_left; without it the block could be reused before the push is over (N2). */
    atom_count_rel(&own->count);
}

/* After fence A. The count to compare with later. */
static inline uint64_t section_note(struct section *section) {
    return atom_load_acq(&section->count); /* acq: as section_has_left, for a sender that is outside already */
}

static inline bool section_has_left(struct section *section, uint64_t noted) {
    return !(noted & 1) || atom_load_acq(&section->count) != noted; /* acq: N2 */
}

#endif
