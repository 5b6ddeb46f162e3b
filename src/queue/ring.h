/* The bounded run queue of one worker (policy `ring`): a FIFO of RING_SIZE entries and a one-entry LIFO, `next`.
 *
 * Callers. "Owner" is the one thread that drives the worker now; a hand-over of the worker to another thread makes
 * everything done before it happen before what follows. "Any" is every thread, the owner included.
 *
 *   ring_init                 one thread, before the ring is shared
 *   ring_push, ring_pop       owner    no read-modify-write
 *   ring_put_next, _take_next owner    no read-modify-write
 *   ring_overflow             owner    one CAS
 *   ring_steal                any, as the owner of the ring that it steals into
 *   ring_steal_next           any
 *   ring_size, ring_is_empty  any      hints
 *
 * The owner takes with a plain load and store of `head`. A thief's CAS that comes between the two is overwritten,
 * `head` goes back, and the entries the thief took are delivered a second time. That is allowed (queue/entry.h); losing
 * one is not:
 *
 *   R1  tail only grows and only the owner writes it. A thief that has seen tail = t sees, in the slot of every index
 *       below t, what was pushed at that index or something pushed there later.
 *   R2  What the owner sees of head (reads, and its own stores) only grows, and from the moment it has seen head = h,
 *       head never again holds less than h, for any thread: its own stores exceed what it read just before, and thieves
 *       only add.
 *   R3  The slot of index i is written again (by the push at i + RING_SIZE) only after the owner has seen head > i.
 *   R4  A thief whose CAS from h succeeds has copied exactly what was pushed at h, h + 1, ...: had one of the copies
 *       been of a later push, then by that slot's release and acquire the owner's read of a larger head (R3) would happen
 *       before the CAS, and by R2 the CAS could not have found h. No order on head is needed for this.
 *   R5  Nothing is lost: the last move of head across an index was a store by the owner, which then had the entry, or
 *       a CAS by a thief, which then had it by R4. A move that was undone lost nothing.
 *   R6  Indices are 64 bits wide, so that "head is h again" means what R2 says and never that 2^32 entries have gone by
 *       while a thief slept between its read and its CAS.
 *   R7  What was written before an entry was pushed or put is visible to the thread that takes it out.
 *
 * `next` follows the same idea: the owner loads and stores, a thief swaps an entry for none by CAS. An entry that the
 * owner overwrites was either read by the owner, which returns it, or has just been taken by a thief. */
#ifndef WEFT_QUEUE_RING_H
#define WEFT_QUEUE_RING_H

#include "base/atom.h"
#include "queue/entry.h"

#if WEFT_CHECK
enum { RING_SIZE = 4, RING_BATCH = 2 };
#define RING_FIRST_INDEX (UINT64_MAX - 1)
#else
enum {
    RING_SIZE =
        4096, /* 32 KiB. With 256 a thousand pairs that message each other went through the global queue, and took half as long again */
    RING_BATCH =
        128, /* the most that are taken out at once: by a thief, whose copy must be done before the owner's next pop; on overflow */
};
#define RING_FIRST_INDEX 0
#endif

struct ring {
    _Alignas(64) atom_u64 head;             /* owner stores, thieves CAS */
    atom_u64 tail;                          /* owner */
    atom_u64 next;                          /* owner stores, thieves CAS to ENTRY_NONE */
    _Alignas(64) atom_u64 slots[RING_SIZE]; /* owner */
};

/* The slots stay as they are: each is written before it is read for its entry. */
void ring_init(struct ring *ring);

/* Adds at the tail; false when the ring has `limit` entries. */
bool ring_push_below(struct ring *own, uint64_t entry, unsigned limit);
/* False when the ring is full. */
static inline bool ring_push(struct ring *own, uint64_t entry) { return ring_push_below(own, entry, RING_SIZE); }

/* Takes from the head; ENTRY_NONE when the ring is empty. Does not look at `next`. */
uint64_t ring_pop(struct ring *own);

/* Puts an entry into `next` and returns the one that was there, which the caller must queue elsewhere, or
 * ENTRY_NONE. */
uint64_t ring_put_next(struct ring *own, uint64_t entry);
uint64_t ring_take_next(struct ring *own);
static inline bool ring_has_next(struct ring *own) {
    return !atom_is_rlx(&own->next, ENTRY_NONE);
} /* rlx: the owner's own, or a thief takes it */

/* Takes the RING_BATCH oldest; returns how many entries `out` received. 0: there are not so many, because thieves have taken some. */
unsigned ring_overflow(struct ring *own, uint64_t out[RING_BATCH]);

/* Moves the older half of the victim's entries, rounded up, but no more than RING_BATCH and than `own` has room for: the oldest to *first,
 * to be run at once, the others to the tail of `own`. Returns how many were taken, *first included; 0 when the victim
 * was empty; -EAGAIN when the owner or another thief was faster, which says nothing about emptiness. Leaves `next`
 * alone. */
int ring_steal(struct ring *own, struct ring *victim, uint64_t *first);

/* Takes the victim's `next`; ENTRY_NONE when there is none, or the owner or another thief was faster. */
uint64_t ring_steal_next(struct ring *victim);

/* Racy reads: the answers are hints. An entry queued before a fence that the caller's own fence follows is counted, unless
 * it has been taken out. */
unsigned ring_size(struct ring *ring); /* `next` included */
/* For the owner: its oldest entry, as a hint. Thieves may have taken it, or all that it has seen in the ring: then it is an older entry, or ENTRY_NONE if none has lain
 * there yet. rlx: as in ring_pop. */
static inline uint64_t ring_oldest(struct ring *own) { return atom_load_rlx(&own->slots[atom_load_rlx(&own->head) % RING_SIZE]); }
bool ring_is_empty(struct ring *ring);

#endif
