/* Small blocks of memory in a few sizes, for messages and process states. Any thread takes and gives back blocks through its own
 * cache, without a lock in the common case.
 *
 *   pool_init, pool_destroy          one thread, while no other uses it; a zeroed pool counts as initialized
 *   cache_init, cache_flush          the cache's own thread, or another once that thread has ended
 *   pool_take, pool_give             the cache's own thread; any cache may give back what another took
 *   pool_give_back                   any thread, of a block that any cache took
 *   pool_survey, pool_trim, _all     any thread; so are pool_charge, pool_uncharge
 *
 * Each cache keeps two lists of at most POOL_BATCH blocks a size. A block is taken from the first; when both are empty or full, a whole
 * list moves to or from the depot under its lock: one lock in POOL_BATCH operations, whatever the pattern (the magazines of
 * Bonwick and Adams, USENIX 2001). So a pair of workers of which one only takes and the other only gives does not drift.
 *
 * Blocks are cut from chunks (sys/chunk.h). Lists in the depot that no cache needed for a while are taken apart, and each block goes
 * back to its chunk; a chunk that has all of its blocks back goes back to the system. A refill uses such blocks before it cuts new ones.
 *
 *   P1  A block is in one place: in use, in one cache, in one list of the depot, or free in its chunk.
 *   P2  A chunk is in `open` of its class while it has free blocks.
 *   P3  A pool with a limit takes no chunk that would exceed it. What it had before the limit was set is not counted. */
#ifndef WEFT_MEM_POOL_H
#define WEFT_MEM_POOL_H

#include "ctx/annotate.h"
#include "queue/lock.h"

#include <stddef.h>
#include <stdint.h>

enum { POOL_LEAST = 64 }; /* bytes; the smallest size */
#if WEFT_CHECK
enum { POOL_CLASSES = 5, POOL_BATCH = 2, POOL_SLICE = 1 }; /* up to 128 bytes */
#else
enum {
    POOL_CLASSES = 21, /* 64, 80, 96, 112, 128, 160, ... 2048: four for each doubling, so that at most a fifth of a block is not used */
    POOL_BATCH = 64,
    POOL_SLICE = 32, /* lists of each size that one pool_trim takes apart: 0.1 ms or so */
};
#endif

/* A free block: the next in its list, and in the head of a list that lies in the depot, the next list. */
struct pool_block {
    struct pool_block *next;
    struct pool_block *next_list;
};

struct pool_class {
    struct lock lock;
    struct pool_block *lists;  /* full lists of POOL_BATCH */
    uint32_t count, least;     /* lists there are; the fewest since the last survey */
    uint32_t surplus;          /* lists that were not needed between the last two surveys: to be taken apart */
    struct pool_chunk *open;   /* P2 */
    struct pool_chunk *newest; /* the chunk that is being cut, and what is left of it */
    unsigned char *fresh, *fresh_end;
};

struct pool {
    struct pool_class class[POOL_CLASSES];
    atom_u64 most, used; /* bytes from the system: the limit, 0: none; and what was charged since there is one. rlx: numbers */
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
/* Frees all blocks, those in use too. */
void pool_destroy(struct pool *pool);

void cache_init(struct pool_cache *cache, struct pool *pool);
/* Gives everything back to the depot. */
void cache_flush(struct pool_cache *cache);

/* Counts as surplus the lists that no cache needed since the last survey, or all of them. */
void pool_survey(struct pool *pool, bool all);
/* Takes up to POOL_SLICE surplus lists of each size apart. True: there may be more. */
bool pool_trim(struct pool *pool);
/* Gives back everything that is neither in use nor in a cache, at once. */
void pool_trim_all(struct pool *pool);

/* The smallest class for `size` bytes; POOL_CLASSES when it is larger than all. */
static inline unsigned pool_class_of(size_t size) {
    if (size <= POOL_LEAST) return 0;
    unsigned top = 63 - (unsigned)__builtin_clzl(size - 1);
    unsigned class = 4 * (top - 6) + (unsigned)((size - 1) >> (top - 2)) - 3;
    return class < POOL_CLASSES ? class : POOL_CLASSES;
}
/* Blocks of a class are aligned to 16 bytes, and to 64 if this is a multiple of 64. */
static inline size_t pool_class_size(unsigned class) {
    return class == 0 ? POOL_LEAST : (size_t)(5 + (class - 1) % 4) << (4 + (class - 1) / 4);
}

/* Fills the hot list; false when there is no memory. */
bool pool_refill(struct pool_cache *cache, unsigned class);
/* The hot list is full. */
void pool_spill(struct pool_cache *cache, unsigned class);

/* Under the address sanitizer a touch of a free block is reported, and so is a double free. */
static inline void pool_mark(void *block, unsigned class, bool is_free) {
    (void)block, (void)class, (void)is_free;
#if ANNOTATE_ADDRESS
    enum { LINKS = sizeof(struct pool_block) + 8 }; /* and the length of a list in the depot */
    unsigned char *rest = (unsigned char *)block + LINKS;
    if (is_free) __asan_poison_memory_region(rest, pool_class_size(class) - LINKS);
    else __asan_unpoison_memory_region(rest, pool_class_size(class) - LINKS);
#endif
}

/* A block that the cache has at hand; NULL: it has none. */
static inline void *pool_take_hot(struct pool_cache *cache, unsigned class) {
    struct pool_list *hot = &cache->hot[class];
    struct pool_block *block = hot->first;
    if (__builtin_expect(!block, 0)) return NULL;
    hot->first = block->next;
    hot->count--;
    pool_mark(block, class, false);
    return block;
}
static inline void *pool_take(struct pool_cache *cache, unsigned class) {
    if (__builtin_expect(!cache->hot[class].first, 0) && !pool_refill(cache, class)) return NULL;
    return pool_take_hot(cache, class);
}

/* Whether the cache takes one more without the depot. */
static inline bool pool_has_room(const struct pool_cache *cache, unsigned class) { return cache->hot[class].count != POOL_BATCH; }

/* If it has room. */
static inline void pool_put(struct pool_cache *cache, unsigned class, void *memory) {
    struct pool_list *hot = &cache->hot[class];
    struct pool_block *block = memory;
    block->next = hot->first;
    hot->first = block;
    hot->count++;
    pool_mark(block, class, true);
}

static inline void pool_give(struct pool_cache *cache, unsigned class, void *memory) {
    if (__builtin_expect(!pool_has_room(cache, class), 0)) pool_spill(cache, class);
    pool_put(cache, class, memory);
}

/* The limit on what a pool takes from the system. Memory that its owner takes besides the pool is charged too, by the owner. */
static inline bool pool_is_limited(struct pool *pool) { return __builtin_expect(atom_load_rlx(&pool->most) != 0, 0); }
/* False: there would be more than the limit. */
bool pool_charge(struct pool *pool, size_t bytes);
void pool_uncharge(struct pool *pool, size_t bytes);
/* Whether so many bytes more would be too many; a hint. */
static inline bool pool_is_full(struct pool *pool, size_t bytes) {
    return pool_is_limited(pool) && atom_load_rlx(&pool->used) + bytes > atom_load_rlx(&pool->most);
}

/* Without a cache. */
void pool_give_back(struct pool *pool, unsigned class, void *memory);

#endif
