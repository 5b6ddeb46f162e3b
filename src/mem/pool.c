/* The pool of small blocks, its depot and its caches: see mem/pool.h. Giving memory back is in mem/give_back.c. */
#include "mem/pool_chunk.h"

#include "base/ahead.h"
#include "sys/leak_roots.h"

/* ---- chunks ------------------------------------------------------------------------------------------------------- */

/* Chunks are roots for the leak detector: memory that only a block points to is no leak. */
static void chunk_mark(struct pool_chunk *chunk, bool used) {
#if ANNOTATE_ADDRESS
    __asan_unpoison_memory_region(chunk, SYS_CHUNK);
#endif
    if (used) leak_root(chunk, SYS_CHUNK);
    else leak_uproot(chunk, SYS_CHUNK);
}

bool pool_charge(struct pool *pool, size_t bytes) {
    if (atom_add_rlx(&pool->used, bytes) + bytes <= atom_load_rlx(&pool->most)) return true;
    pool_uncharge(pool, bytes);
    return false;
}
void pool_uncharge(struct pool *pool, size_t bytes) { atom_sub_rlx(&pool->used, bytes); }

struct pool_chunk *chunk_new(struct pool *pool) {
    bool limited = pool_is_limited(pool);
    if (limited && !pool_charge(pool, SYS_CHUNK)) return NULL;
    struct pool_chunk *chunk = sys->chunk_take();
    if (!chunk && limited) pool_uncharge(pool, SYS_CHUNK);
    if (!chunk) return NULL;
    chunk_mark(chunk, true);
    *chunk = (struct pool_chunk){.link = &pool->chunks, .charged = limited};
    lock_take(&pool->chunk_lock);
    chunk->next = pool->chunks;
    if (chunk->next) chunk->next->link = &chunk->next;
    pool->chunks = chunk;
    lock_drop(&pool->chunk_lock);
    return chunk;
}

void chunk_free(struct pool *pool, struct pool_chunk *chunk) {
    lock_take(&pool->chunk_lock);
    *chunk->link = chunk->next;
    if (chunk->next) chunk->next->link = chunk->link;
    lock_drop(&pool->chunk_lock);
    if (chunk->charged) pool_uncharge(pool, SYS_CHUNK);
    chunk_mark(chunk, false);
    sys->chunk_give(chunk);
}

/* ---- the depot ---------------------------------------------------------------------------------------------------- */

void pool_init(struct pool *pool) {
    for (unsigned c = 0; c < POOL_CLASSES; c++) {
        struct pool_class *class = &pool->class[c];
        lock_init(&class->lock);
        class->lists = NULL;
        class->count = class->least = class->surplus = 0;
        class->open = class->newest = NULL;
        class->fresh = class->fresh_end = NULL;
    }
    lock_init(&pool->chunk_lock);
    atom_store_rlx(&pool->most, 0);
    atom_store_rlx(&pool->used, 0);
    pool->chunks = NULL;
}

void pool_destroy(struct pool *pool) {
    while (pool->chunks)
        chunk_free(pool, pool->chunks);
}

void cache_init(struct pool_cache *cache, struct pool *pool) {
    cache->pool = pool;
    for (unsigned c = 0; c < POOL_CLASSES; c++)
        cache->hot[c] = cache->spare[c] = (struct pool_list){NULL, 0};
}

static void list_add(struct pool_list *list, struct pool_block *block) {
    block->next = list->first;
    list->first = block;
    list->count++;
}

/* Under the class's lock: blocks that are free in their chunk. */
static struct pool_list class_reopen(struct pool_class *class) {
    struct pool_list list = {NULL, 0};
    struct pool_chunk *chunk = class->open;
    while (list.count < POOL_BATCH && chunk->free) {
        struct pool_block *block = chunk->free;
        chunk->free = block->next;
        chunk->free_count--;
        list_add(&list, block);
    }
    if (!chunk->free) chunk_shut(chunk);
    return list;
}

/* Under the class's lock: a new chunk to cut blocks from. */
static bool class_grow(struct pool *pool, struct pool_class *class) {
    struct pool_chunk *chunk = chunk_new(pool);
    if (!chunk) return false;
    class->newest = chunk;
    class->fresh = (unsigned char *)chunk + CHUNK_HEAD;
    class->fresh_end = (unsigned char *)chunk + SYS_CHUNK;
    return true;
}

/* Under the class's lock: a list of fresh blocks, as many as the chunk has left, at most a batch. */
static struct pool_list class_cut(struct pool *pool, struct pool_class *class, size_t size) {
    struct pool_list list = {NULL, 0};
    if ((size_t)(class->fresh_end - class->fresh) < size && !class_grow(pool, class)) return list;
    size_t left = (size_t)(class->fresh_end - class->fresh) / size, count = left < POOL_BATCH ? left : POOL_BATCH;
    /* The lowest address first, as list follows list: blocks that are used and freed in turn keep their order, or its reverse, over any number
     * of lists, and where the next ones are can be told from two of them (base/ahead.h). */
    for (size_t i = count; i-- > 0;)
        list_add(&list, (struct pool_block *)(class->fresh + i * size));
    class->fresh += count * size;
    class->newest->cut_count += list.count;
    return list;
}

/* Lists in the depot know their own length, because a flushed one is shorter: it lies behind the two links. */
struct pool_depot_list {
    struct pool_block links;
    uint32_t count;
};

static void depot_put(struct pool_class *class, struct pool_list list) {
    ((struct pool_depot_list *)list.first)->count = list.count;
    lock_take(&class->lock);
    list.first->next_list = class->lists;
    class->lists = list.first;
    class->count++;
    lock_drop(&class->lock);
}

/* Lists: 256 KiB of the smallest blocks. */
enum { DEPOT_COLD = 64 };

/* Under the class's lock. */
static struct pool_list depot_get(struct pool_class *class) {
    struct pool_block *first = class->lists;
    class->lists = first->next_list;
    if (--class->count < class->least) class->least = class->count;
    if (class->surplus > class->count) class->surplus = class->count;
    return (struct pool_list){first, ((struct pool_depot_list *)first)->count};
}

/* The same; the list that is left for next time is fetched meanwhile, if there are more of them than the caches of the processor keep. */
static struct pool_list depot_get_ahead(struct pool_class *class) {
    struct pool_list list = depot_get(class);
    if (class->count >= DEPOT_COLD) ahead_fetch(class->lists, list.first, list.first->next, POOL_BATCH);
    return list;
}

__attribute__((noinline, cold)) __attribute__((noinline)) bool pool_refill(struct pool_cache *cache, unsigned c) {
    if (cache->spare[c].first) {
        cache->hot[c] = cache->spare[c];
        cache->spare[c] = (struct pool_list){NULL, 0};
        return true;
    }
    struct pool_class *class = &cache->pool->class[c];
    lock_take(&class->lock);
    struct pool_list list;
    if (class->lists) list = depot_get_ahead(class);
    else if (class->open) list = class_reopen(class);
    else list = class_cut(cache->pool, class, pool_class_size(c));
    lock_drop(&class->lock);
    cache->hot[c] = list;
    return list.first != NULL;
}

__attribute__((noinline, cold)) __attribute__((noinline)) void pool_spill(struct pool_cache *cache, unsigned c) {
    if (cache->spare[c].first) depot_put(&cache->pool->class[c], cache -> spare[c]);
    cache->spare[c] = cache->hot[c];
    cache->hot[c] = (struct pool_list){NULL, 0};
}

void cache_flush(struct pool_cache *cache) {
    for (unsigned c = 0; c < POOL_CLASSES; c++) {
        if (cache->hot[c].first) depot_put(&cache->pool->class[c], cache -> hot[c]);
        if (cache->spare[c].first) depot_put(&cache->pool->class[c], cache -> spare[c]);
        cache->hot[c] = cache->spare[c] = (struct pool_list){NULL, 0};
    }
}
