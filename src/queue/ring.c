/* The bounded run queue of policy `ring`: see queue/ring.h.
 *
 * Why relaxed is enough in this file. On head, always: R2 needs coherence alone, and R4 gets its order from the slots. On tail and on
 * slots, where the owner reads back what it wrote itself. On next, by the owner: likewise, or a thief's ENTRY_NONE, which carries nothing. */
#include "queue/ring.h"

#include <errno.h>

static inline atom_u64 *ring_slot(struct ring *ring, uint64_t index) { return &ring->slots[index % RING_SIZE]; }

void ring_init(struct ring *ring) {
    atom_store_rlx(&ring->head, RING_FIRST_INDEX);
    atom_store_rlx(&ring->tail, RING_FIRST_INDEX);
    atom_store_rlx(&ring->next, ENTRY_NONE);
#if WEFT_CHECK
    for (unsigned i = 0; i < RING_SIZE; i++)
        atom_store_rlx(&ring->slots[i], ENTRY_NONE);
#endif
}

bool ring_push_below(struct ring *own, uint64_t entry, unsigned limit) {
    uint64_t tail = atom_load_rlx(&own->tail);
    uint64_t head = atom_load_rlx(&own->head); /* R3 */
    if (tail - head >= limit) return false;
    /* Pairs with the slot's load in ring_steal: without it a thief could run the entry before what it points to is
     * written (R7), or take it in place of the one that was pushed here RING_SIZE earlier (R4). */
    atom_store_rel(ring_slot(own, tail), entry);
    /* Pairs with the load of tail in ring_steal: without it a thief could find the slot still as it was before (R1). */
    atom_store_rel(&own->tail, tail + 1);
    return true;
}

uint64_t ring_pop(struct ring *own) {
    uint64_t head = atom_load_rlx(&own->head);
    if (head == atom_load_rlx(&own->tail)) return ENTRY_NONE;
    uint64_t entry = atom_load_rlx(ring_slot(own, head));
    atom_store_rlx(&own->head, head + 1); /* may undo a thief's CAS: R5 */
#if !WEFT_CHECK
    /* What comes next, or whatever lies there: a prefetch never faults. Both lines of a control block. */
    unsigned char *after = entry_ptr(atom_load_rlx(ring_slot(own, head + 1)));
    __builtin_prefetch(after, 1);
    __builtin_prefetch(after + 64, 1);
#endif
    return entry;
}

uint64_t ring_put_next(struct ring *own, uint64_t entry) {
    uint64_t pushed_out = atom_load_rlx(&own->next);
    /* Pairs with the CAS in ring_steal_next: R7. */
    atom_store_rel(&own->next, entry);
    return pushed_out;
}

uint64_t ring_take_next(struct ring *own) {
    uint64_t entry = atom_load_rlx(&own->next);
    if (entry != ENTRY_NONE) atom_store_rlx(&own->next, ENTRY_NONE);
    return entry;
}

unsigned ring_overflow(struct ring *own, uint64_t out[RING_BATCH]) {
    uint64_t head = atom_load_rlx(&own->head);
    if (atom_load_rlx(&own->tail) - head < RING_BATCH) return 0;
    for (unsigned i = 0; i < RING_BATCH; i++)
        out[i] = atom_load_rlx(ring_slot(own, head + i));
    /* A plain store would do as in ring_pop, but here it could deliver a whole batch twice, and this path is rare. */
    return atom_cas_rlx_rlx(&own->head, &head, head + RING_BATCH) ? RING_BATCH : 0;
}

/* How many of `available` entries a thief takes: the half, rounded up, or a batch; all but the first need room in its own ring. */
static uint64_t ring_share(struct ring *own, uint64_t tail, uint64_t available) {
    uint64_t half = available - available / 2 < RING_BATCH ? available - available / 2 : RING_BATCH;
    uint64_t room = RING_SIZE - (tail - atom_load_rlx(&own->head)); /* R3 */
    return half < room + 1 ? half : room + 1;
}

int ring_steal(struct ring *own, struct ring *victim, uint64_t *first) {
    uint64_t head = atom_load_rlx(&victim->head);
    /* Pairs with the store of tail in ring_push_below and below: R1. */
    uint64_t available = atom_load_acq(&victim->tail) - head;
    if (available == 0) return 0;
    if (available > RING_SIZE) /* head and tail are from different moments */
        return -EAGAIN;
    uint64_t tail = atom_load_rlx(&own->tail);
    uint64_t count = ring_share(own, tail, available);
    /* Every load of a slot pairs with the store in ring_push_below and below: R4, R7. */
    uint64_t oldest = atom_load_acq(ring_slot(victim, head));
    for (uint64_t i = 1; i < count; i++) {
        uint64_t entry = atom_load_acq(ring_slot(victim, head + i));
        /* As in ring_push_below. No thread reads it unless the CAS succeeds and tail is moved. */
        atom_store_rel(ring_slot(own, tail + i - 1), entry);
    }
    if (!atom_cas_rlx_rlx(&victim->head, &head, head + count)) return -EAGAIN;
    if (count > 1) atom_store_rel(&own->tail, tail + count - 1); /* as in ring_push_below */
    *first = oldest;
    return (int)count;
}

uint64_t ring_steal_next(struct ring *victim) {
    uint64_t entry = atom_load_rlx(&victim->next); /* only a guess; the CAS decides */
    if (entry == ENTRY_NONE) return ENTRY_NONE;
    /* Pairs with the store in ring_put_next: R7. */
    return atom_cas_acq_rlx(&victim->next, &entry, ENTRY_NONE) ? entry : ENTRY_NONE;
}

/* Relaxed: the answers are hints; a caller that needs more has passed a fence. */
unsigned ring_size(struct ring *ring) {
    uint64_t head = atom_load_rlx(&ring->head);
    uint64_t size = atom_load_rlx(&ring->tail) - head;
    /* More than RING_SIZE: head and tail are from different moments, and the owner is running. */
    return (size > RING_SIZE ? 1 : (unsigned)size) + (atom_load_rlx(&ring->next) != ENTRY_NONE);
}

bool ring_is_empty(struct ring *ring) { return ring_size(ring) == 0; }
