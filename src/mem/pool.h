/* Small blocks of memory in a few sizes, for messages and process states: taken and given back by the thread that happens to be
 * there, without a lock in the common case.
 *
 *   pool_init, pool_destroy          one thread, while nobody uses it
 *   cache_init, cache_flush          the cache's own thread
 *   pool_take, pool_give             the cache's own thread; any cache may give back what another took
 *
 * Each cache keeps two lists of at most POOL_BATCH blocks a size. A block is taken from the first; when both are empty or full, a whole
 * list moves to or from the depot under its lock: one lock in POOL_BATCH operations, whatever the pattern (the magazines of
 * Bonwick and Adams, USENIX 2001). So a pair of workers of which one only takes and the other only gives does not drift. */
#ifndef WEFT_MEM_POOL_H
#define WEFT_MEM_POOL_H

#include "ctx/annotate.h"
#include "queue/lock.h"

#include <stddef.h>
#include <stdint.h>

enum { POOL_LEAST = 64 }; /* bytes; the smallest size */
#if WEFT_CHECK
enum { POOL_CLASSES = 2, POOL_BATCH = 2, POOL_CHUNK = 512 };
#else
enum {
    POOL_CLASSES = 6, /* 64, 128, 256, 512, 1024, 2048 */
    POOL_BATCH = 64,
    POOL_CHUNK = 64 * 1024,
};
#endif

/* A free block: the next in its list, and in the head of a list that lies in the depot, the next list. */
struct pool_block {
    struct pool_block *next;
    struct pool_block *next_list;
};

struct pool_class {
    struct lock lock;
    struct pool_block *lists;      /* full lists of POOL_BATCH */
    unsigned char *fresh, *fresh_end; /* what is left of the newest chunk */
};

struct pool {
    struct pool_class class[POOL_CLASSES];
    struct lock chunk_lock;
    struct pool_chunk *chunks; /* all, for pool_destroy */
};

struct pool_list {
    struct pool_block *first;
    uint32_t count;
};

struct pool_cache {
    struct pool *pool;
    struct pool_list hot[POOL_CLASSES], spare[POOL_CLASSES];
};

void pool_init(struct pool *pool);
void pool_destroy(struct pool *pool);

void cache_init(struct pool_cache *cache, struct pool *pool);
/* Everything back to the depot. */
void cache_flush(struct pool_cache *cache);

/* The smallest class for `size` bytes; POOL_CLASSES when it is larger than all. */
static inline unsigned pool_class_of(size_t size) {
    if (size <= POOL_LEAST) return 0;
    unsigned class = (unsigned)(58 - __builtin_clzl(size - 1));
    return class < POOL_CLASSES ? class : POOL_CLASSES;
}
static inline size_t pool_class_size(unsigned class) { return (size_t)POOL_LEAST << class; }

/* Fills the hot list; false when there is no memory. */
bool pool_refill(struct pool_cache *cache, unsigned class);
/* The hot list is full. */
void pool_spill(struct pool_cache *cache, unsigned class);

/* Under the address sanitizer whoever touches a free block is reported, and so is who frees it twice. */
static inline void pool_mark(void *block, unsigned class, bool is_free) {
    (void)block, (void)class, (void)is_free;
#if ANNOTATE_ADDRESS
    enum { LINKS = sizeof(struct pool_block) + 8 }; /* and the length of a list in the depot */
    unsigned char *rest = (unsigned char *)block + LINKS;
    if (is_free) __asan_poison_memory_region(rest, pool_class_size(class) - LINKS);
    else __asan_unpoison_memory_region(rest, pool_class_size(class) - LINKS);
#endif
}

static inline void *pool_take(struct pool_cache *cache, unsigned class) {
    struct pool_list *hot = &cache->hot[class];
    if (__builtin_expect(!hot->first, 0) && !pool_refill(cache, class)) return NULL;
    struct pool_block *block = hot->first;
    hot->first = block->next;
    hot->count--;
    pool_mark(block, class, false);
    return block;
}

static inline void pool_give(struct pool_cache *cache, unsigned class, void *memory) {
    struct pool_list *hot = &cache->hot[class];
    if (__builtin_expect(hot->count == POOL_BATCH, 0)) pool_spill(cache, class);
    struct pool_block *block = memory;
    block->next = hot->first;
    hot->first = block;
    hot->count++;
    pool_mark(block, class, true);
}

#endif
