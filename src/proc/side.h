/* Records beside the table of control blocks: what only some processes have, one record for each slot. A chunk of records is made when the
 * first process of it needs one, and of its pages only those are touched whose processes have records. Records begin zeroed, and stay where
 * they are until the table is taken down: any thread may read the one of a process that has ended meanwhile.
 *
 *   side_of          any thread
 *   side_destroy     one thread, while no other uses it */
#ifndef WEFT_PROC_SIDE_H
#define WEFT_PROC_SIDE_H

#include "proc/table.h"

struct side {
    ATOM_PTR(unsigned char) chunks[TABLE_CHUNKS]; /* all NULL at first */
};

/* Makes a chunk, if no other thread does it first; NULL: there is no memory. */
unsigned char *side_make(struct side *side, uint32_t slot, size_t size);

/* The slot's record; all of a side have the same size. NULL: there is none, or no memory for one if `make`. */
static inline void *side_of(struct side *side, uint32_t slot, size_t size, bool make) {
    unsigned char *chunk =
        atom_load_acq(&side->chunks[slot / TABLE_CHUNK]); /* acq: pairs with the cas in side_make: zeroed before it is known */
    if (__builtin_expect(!chunk && make, 0)) chunk = side_make(side, slot, size);
    return chunk ? chunk + size * (slot % TABLE_CHUNK) : NULL;
}
void side_destroy(struct side *side, size_t size);

#endif
