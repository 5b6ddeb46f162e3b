/* Giving the memory of pools back: lists to blocks, blocks to their chunks, chunks to the system. */
#include "mem/bundle.h"
#include "mem/pool_chunk.h"

/* Under the class's lock. Returns the chunk for the caller to free, if it has all of its blocks back and no more are cut from it. */
static struct pool_chunk *chunk_put(struct pool_class *class, void *memory) {
    struct pool_chunk *chunk = chunk_of(memory);
    struct pool_block *block = memory;
    pool_mark(block, sizeof *block, false);
    block->next = chunk->free;
    chunk->free = block;
    chunk->free_count++;
    if (!chunk->open_link) chunk_open(class, chunk);
    if (chunk->free_count < chunk->cut_count || chunk == class->newest) return NULL;
    chunk_shut(chunk);
    return chunk;
}

void pool_give_back(struct pool *pool, unsigned c, void *memory) {
    struct pool_class *class = &pool->class[c];
    pool_mark(memory, pool_class_size(c), true);
    lock_take(&class->lock);
    struct pool_chunk *whole = chunk_put(class, memory);
    lock_drop(&class->lock);
    if (whole) chunk_free(pool, whole);
}

void pool_survey(struct pool *pool, bool all) {
    for (struct pool_class *class = pool->class; class < pool->class + POOL_CLASSES; class ++) {
        lock_take(&class->lock);
        class->surplus = all ? class->count : class->least;
        class->least = class->count;
        lock_drop(&class->lock);
    }
}

/* A surplus list, or NULL. Takes the first: finding an old one would mean walking through all. */
static struct pool_bundle *class_unneeded(struct pool_class *class) {
    lock_take(&class->lock);
    struct pool_bundle *bundle = class->surplus > 0 ? class->lists : NULL;
    if (bundle) {
        class->lists = bundle->next;
        class->surplus--;
        class->count--;
        if (class->least > 0) class->least--;
    }
    lock_drop(&class->lock);
    return bundle;
}

/* Holds the lock for one list only, so that other threads do not wait long for it. False: there is none any more. */
static bool class_trim_list(struct pool *pool, struct pool_class *class) {
    struct pool_chunk *whole = NULL, *next_whole;
    void *blocks[POOL_BATCH];
    struct pool_bundle *bundle = class_unneeded(class);
    if (!bundle) return false;
    uint32_t count = bundle_open(bundle, blocks, true);
    lock_take(&class->lock);
    for (uint32_t i = 0; i < count; i++) {
        struct pool_chunk *chunk = chunk_put(class, blocks[i]);
        if (!chunk) continue;
        chunk->next_open = whole;
        whole = chunk;
    }
    lock_drop(&class->lock);
    for (; whole; whole = next_whole) {
        next_whole = whole->next_open;
        chunk_free(pool, whole);
    }
    return true;
}

bool pool_trim(struct pool *pool) {
    bool more = false;
    for (struct pool_class *class = pool->class; class < pool->class + POOL_CLASSES; class ++) {
        unsigned lists = 0;
        while (lists < POOL_SLICE && class_trim_list(pool, class))
            lists++;
        more |= lists == POOL_SLICE;
    }
    return more;
}

/* No more is cut from the newest chunk, so that it can be freed with the last of its blocks: now, or later. */
static void class_leave_newest(struct pool *pool, struct pool_class *class) {
    lock_take(&class->lock);
    struct pool_chunk *newest = class->newest;
    bool whole = newest && newest->free_count == newest->cut_count;
    if (whole && newest->open_link) chunk_shut(newest);
    class->newest = NULL;
    class->fresh = class->fresh_end = NULL;
    lock_drop(&class->lock);
    if (whole) chunk_free(pool, newest);
}

void pool_trim_all(struct pool *pool) {
    pool_survey(pool, true);
    while (pool_trim(pool)) {}
    for (struct pool_class *class = pool->class; class < pool->class + POOL_CLASSES; class ++)
        class_leave_newest(pool, class);
}
