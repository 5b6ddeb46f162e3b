/* Internal to pool.c and give_back.c: the chunks that blocks are cut from. The class's lock guards all fields but `next` and `link`. */
#ifndef WEFT_MEM_POOL_CHUNK_H
#define WEFT_MEM_POOL_CHUNK_H

#include "mem/pool.h"
#include "sys/sys.h"

/* At the beginning of its memory. */
struct pool_chunk {
    struct pool_chunk *next, **link;           /* all of a pool, under its chunk_lock */
    struct pool_chunk *next_open, **open_link; /* pool.h, P2; open_link is NULL: the chunk is not in `open` */
    struct pool_block *free;
    uint32_t free_count, cut_count; /* blocks that are free in this chunk; blocks cut from it, wherever they are */
    bool charged;                   /* pool.h, P3; set once */
};
enum { CHUNK_HEAD = 64 };
_Static_assert(sizeof(struct pool_chunk) <= CHUNK_HEAD, "the blocks are aligned behind it");

static inline struct pool_chunk *chunk_of(void *block) { return (struct pool_chunk *)((uintptr_t)block & ~(uintptr_t)(SYS_CHUNK - 1)); }

/* Under the class's lock. */
static inline void chunk_open(struct pool_class *class, struct pool_chunk *chunk) {
    chunk->next_open = class->open;
    chunk->open_link = &class->open;
    if (chunk->next_open) chunk->next_open->open_link = &chunk->next_open;
    class->open = chunk;
}
static inline void chunk_shut(struct pool_chunk *chunk) {
    *chunk->open_link = chunk->next_open;
    if (chunk->next_open) chunk->next_open->open_link = chunk->open_link;
    chunk->open_link = NULL;
}

/* Adds one to the pool; NULL: there is no memory. */
struct pool_chunk *chunk_new(struct pool *pool);
/* To the system. */
void chunk_free(struct pool *pool, struct pool_chunk *chunk);

#endif
