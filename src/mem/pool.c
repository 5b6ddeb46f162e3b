#include "mem/pool.h"

#include "sys/sys.h"

struct pool_chunk {
    struct pool_chunk *next;
};

void pool_init(struct pool *pool) {
    for (unsigned c = 0; c < POOL_CLASSES; c++) {
        struct pool_class *class = &pool->class[c];
        lock_init(&class->lock);
        class->lists = NULL;
        class->fresh = class->fresh_end = NULL;
    }
    lock_init(&pool->chunk_lock);
    pool->chunks = NULL;
}

void pool_destroy(struct pool *pool) {
    for (struct pool_chunk *chunk = pool->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        sys->free(chunk, POOL_CHUNK);
    }
    pool->chunks = NULL;
}

void cache_init(struct pool_cache *cache, struct pool *pool) {
    cache->pool = pool;
    for (unsigned c = 0; c < POOL_CLASSES; c++)
        cache->hot[c] = cache->spare[c] = (struct pool_list){NULL, 0};
}

/* Under the class's lock: a new chunk to cut blocks from. */
static bool class_grow(struct pool *pool, struct pool_class *class, size_t size) {
    struct pool_chunk *chunk = sys->alloc(POOL_CHUNK);
    if (!chunk) return false;
    lock_take(&pool->chunk_lock);
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    lock_drop(&pool->chunk_lock);
    /* The first block of a chunk holds the link of chunks. */
    class->fresh = (unsigned char *)chunk + (size > POOL_LEAST ? size : POOL_LEAST);
    class->fresh_end = (unsigned char *)chunk + POOL_CHUNK;
    return true;
}

/* Under the class's lock: a list of fresh blocks, as many as the chunk has left, at most a batch. */
static struct pool_list class_cut(struct pool *pool, struct pool_class *class, size_t size) {
    struct pool_list list = {NULL, 0};
    if ((size_t)(class->fresh_end - class->fresh) < size && !class_grow(pool, class, size)) return list;
    for (; list.count < POOL_BATCH && (size_t)(class->fresh_end - class->fresh) >= size; class->fresh += size) {
        struct pool_block *block = (struct pool_block *)class->fresh;
        block->next = list.first;
        list.first = block;
        list.count++;
    }
    return list;
}

/* Lists in the depot know their own length, because a flushed one is shorter: it lies behind the two links. */
struct pool_depot_list {
    struct pool_block links;
    uint32_t count;
};

__attribute__((noinline, cold)) __attribute__((noinline)) bool pool_refill(struct pool_cache *cache, unsigned c) {
    if (cache->spare[c].first) {
        cache->hot[c] = cache->spare[c];
        cache->spare[c] = (struct pool_list){NULL, 0};
        return true;
    }
    struct pool_class *class = &cache->pool->class[c];
    lock_take(&class->lock);
    struct pool_list list;
    if (class->lists) {
        list = (struct pool_list){class->lists, ((struct pool_depot_list *)class->lists)->count};
        class->lists = class->lists->next_list;
    } else {
        list = class_cut(cache->pool, class, pool_class_size(c));
    }
    lock_drop(&class->lock);
    cache->hot[c] = list;
    return list.first != NULL;
}

static void depot_put(struct pool_class *class, struct pool_list list) {
    ((struct pool_depot_list *)list.first)->count = list.count;
    lock_take(&class->lock);
    list.first->next_list = class->lists;
    class->lists = list.first;
    lock_drop(&class->lock);
}

__attribute__((noinline, cold)) __attribute__((noinline)) void pool_spill(struct pool_cache *cache, unsigned c) {
    if (cache->spare[c].first) depot_put(&cache->pool->class[c], cache->spare[c]);
    cache->spare[c] = cache->hot[c];
    cache->hot[c] = (struct pool_list){NULL, 0};
}

void cache_flush(struct pool_cache *cache) {
    for (unsigned c = 0; c < POOL_CLASSES; c++) {
        if (cache->hot[c].first) depot_put(&cache->pool->class[c], cache->hot[c]);
        if (cache->spare[c].first) depot_put(&cache->pool->class[c], cache->spare[c]);
        cache->hot[c] = cache->spare[c] = (struct pool_list){NULL, 0};
    }
}
