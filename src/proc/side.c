/* Records beside the table of control blocks: see side.h. */
#include "proc/side.h"

#include "sys/sys.h"

unsigned char *side_make(struct side *side, uint32_t slot, size_t size) {
    unsigned char *before = NULL, *made = sys->alloc(size * TABLE_CHUNK);
    if (!made) return NULL;
    /* rel, acq: pairs with the acq in side_of, whichever thread is first. */
    if (atom_cas_rel_acq(&side->chunks[slot / TABLE_CHUNK], &before, made)) return made;
    sys->free(made, size * TABLE_CHUNK);
    return before;
}

void side_destroy(struct side *side, size_t size) {
    for (unsigned i = 0; i < TABLE_CHUNKS; i++) {
        unsigned char *chunk = atom_load_rlx(&side->chunks[i]); /* rlx: no other thread is left */
        if (chunk) sys->free(chunk, size * TABLE_CHUNK);
        atom_store_rlx(&side->chunks[i], NULL);
    }
}
