/* Memory in chunks of one size, each aligned to its size, so that the address of anything in a chunk gives the chunk's beginning.
 *
 * A chunk that is given back costs no memory from then on; its address space is kept for the next chunk. A caller waits for
 * nothing but another thread inside of these functions.
 *
 *   chunk_take, chunk_give      any thread
 *
 *   C1  Chunks are parts of arenas, and arenas are never unmapped. So there are few mappings, however chunks come and go: a program may
 *       have 65,530 by default. */
#ifndef WEFT_SYS_CHUNK_H
#define WEFT_SYS_CHUNK_H

/* SYS_CHUNK bytes; NULL: there are none. */
void *chunk_take(void);
void chunk_give(void *chunk);

#endif
