/* The pool of small blocks, its depot and its caches: see mem/pool.h. Giving memory back is in mem/give_back.c. */
#include "mem/pool.h"

#include "mem/bundle.h"
#include "mem/pool_chunk.h"
#include "sys/leak_roots.h"

#include <string.h>

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

static void *none[1];

void cache_init(struct pool_cache *cache, struct pool *pool) {
    cache->pool = pool;
    for (unsigned c = 0; c < POOL_CLASSES; c++)
        cache->end[c] = cache->limit[c] = none + 1;
}

uint32_t pool_count(const struct pool_cache *cache, unsigned c) {
    bool used = cache->limit[c] == cache->shelf[c] + 1 + POOL_ROOM;
    return used ? (uint32_t)(cache->end[c] - cache->shelf[c] - 1) : 0;
}

/* The class's shelf, with so many blocks from now on. */
static void cache_set(struct pool_cache *cache, unsigned c, uint32_t count) {
    cache->shelf[c][0] = NULL;
    cache->end[c] = cache->shelf[c] + 1 + count;
    cache->limit[c] = cache->shelf[c] + 1 + POOL_ROOM;
}

/* Under the class's lock: blocks that are free in their chunk. Returns how many. */
static uint32_t class_reopen(struct pool_class *class, void **blocks) {
    struct pool_chunk *chunk = class->open;
    uint32_t count = 0;
    while (count < POOL_BATCH && chunk->free) {
        struct pool_block *block = chunk->free;
        chunk->free = block->next;
        pool_mark(block, sizeof *block, true);
        blocks[count++] = block;
    }
    chunk->free_count -= count;
    if (!chunk->free) chunk_shut(chunk);
    return count;
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

/* Under the class's lock: fresh blocks, as many as the chunk has left, at most a batch; the lowest address is taken first. They are not touched: the first touch of
 * a page takes longer than all else that is done under the lock. */
static uint32_t class_cut(struct pool *pool, struct pool_class *class, size_t size, void **blocks) {
    if ((size_t)(class->fresh_end - class->fresh) < size && !class_grow(pool, class)) return 0;
    size_t left = (size_t)(class->fresh_end - class->fresh) / size;
    uint32_t count = left < POOL_BATCH ? (uint32_t)left : POOL_BATCH;
    for (uint32_t i = 0; i < count; i++)
        blocks[i] = class->fresh + (count - 1 - i) * size;
    class->fresh += count * size;
    class->newest->cut_count += count;
    return count;
}

/* The first `count` blocks of an array. */
static void depot_put(const struct pool_cache *giver, struct pool_class *class, void *const *blocks, uint32_t count) {
    struct pool_bundle *bundle = bundle_make(giver, blocks, count);
    lock_take(&class->lock);
    bundle->next = class->lists;
    class->lists = bundle;
    class->count++;
    lock_drop(&class->lock);
}

/* Under the class's lock. */
static struct pool_bundle *depot_get(struct pool_class *class) {
    struct pool_bundle *bundle = class->lists;
    class->lists = bundle->next;
    if (--class->count < class->least) class->least = class->count;
    if (class->surplus > class->count) class->surplus = class->count;
    return bundle;
}

/* Lists: 256 KiB of the smallest blocks. */
enum { DEPOT_COLD = 64 };

__attribute__((noinline, cold)) bool pool_refill(struct pool_cache *cache, unsigned c) {
    struct pool_class *class = &cache->pool->class[c];
    void **blocks = cache->shelf[c] + 1;
    struct pool_bundle *bundle = NULL;
    uint32_t count = 0;
    lock_take(&class->lock);
    bool cold = class->count >= DEPOT_COLD;
    if (class->lists) bundle = depot_get(class);
    else if (class->open) count = class_reopen(class, blocks);
    else count = class_cut(cache->pool, class, pool_class_size(c), blocks);
    lock_drop(&class->lock);
    if (bundle) count = bundle_open(bundle, blocks, cold || bundle->giver != cache);
    cache_set(cache, c, count);
    return count > 0;
}

/* Those that have lain there for longest. */
__attribute__((noinline, cold)) void pool_spill(struct pool_cache *cache, unsigned c) {
    void **blocks = cache->shelf[c] + 1;
    uint32_t count = pool_count(cache, c);
    if (count > 0) {
        depot_put(cache, &cache->pool->class[c], blocks, POOL_BATCH);
        count -= POOL_BATCH;
        memcpy(blocks, blocks + POOL_BATCH, count * sizeof *blocks);
    }
    cache_set(cache, c, count);
}

void cache_flush(struct pool_cache *cache) {
    for (unsigned c = 0; c < POOL_CLASSES; c++) {
        uint32_t count = pool_count(cache, c), first = count < POOL_BATCH ? count : POOL_BATCH;
        if (count == 0) continue;
        depot_put(cache, &cache->pool->class[c], cache -> shelf[c] + 1, first);
        if (count > first) depot_put(cache, &cache->pool->class[c], cache -> shelf[c] + 1 + first, count - first);
        cache_set(cache, c, 0);
    }
}
