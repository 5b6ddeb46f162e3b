/* Small blocks of memory in a few sizes, for messages and process states. Any thread takes and gives back blocks through its own
 * cache, without a lock in the common case.
 *
 *   pool_init, pool_destroy          one thread, while no other uses it; a zeroed pool counts as initialized
 *   cache_init, cache_flush          the cache's own thread, or another once that thread has ended; a zeroed cache may be flushed
 *   pool_take, pool_give             the cache's own thread; any cache may give back what another took
 *   pool_give_back                   any thread, of a block that any cache took
 *   pool_survey, pool_trim, _all     any thread; so are pool_charge, pool_uncharge
 *
 * Each cache has a shelf for POOL_ROOM blocks a size, and takes the last one that was given to it. When the shelf is empty or full, POOL_BATCH blocks
 * move from or to the depot, as a list, under its lock: one lock in POOL_BATCH operations, whatever the pattern (the magazines of Bonwick and Adams, USENIX
 * 2001). So a pair of workers of which one only takes and the other only gives does not drift.
 *
 * A list in the depot is written into its own first blocks: where each of its blocks lies. So the thread that takes it over, most often not the one that
 * gave it, reads a few lines and fetches all others at once. Blocks that were linked one to the next it had to fetch one by one, each from the other core's
 * cache: a message from one worker to a receiver on another took 29 ns instead of 19 (weft bench fanin, Zen 4).
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
enum { POOL_ROOM = 2 * POOL_BATCH };

/* A free block that lies in its chunk. */
struct pool_block {
    struct pool_block *next;
};
struct pool_bundle; /* a list in the depot: mem/bundle.h */

struct pool_class {
    struct lock lock;
    struct pool_bundle *lists;
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

/* The blocks of a class are shelf[1] to end[-1]. Before the first there is NULL, so that a taker finds in one look whether there are any; a cache that has had none has its
 * `end` and `limit` behind a NULL elsewhere, so that its shelf takes no memory. */
struct pool_cache {
    struct pool *pool;
    void **end[POOL_CLASSES];
    void **limit[POOL_CLASSES]; /* the end of the shelf */
    void *shelf[POOL_CLASSES][1 + POOL_ROOM];
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

/* The cache has none of this class: gets some. False when there is no memory. */
bool pool_refill(struct pool_cache *cache, unsigned class);
/* The cache is full, or has had none yet: makes room. */
void pool_spill(struct pool_cache *cache, unsigned class);

/* Under the address sanitizer a touch of a free block is reported, and so is a double free. */
static inline void pool_mark(void *block, size_t size, bool is_free) {
    (void)block, (void)size, (void)is_free;
#if ANNOTATE_ADDRESS
    if (is_free) __asan_poison_memory_region(block, size);
    else __asan_unpoison_memory_region(block, size);
#endif
}

/* In place, by one instruction: a compiler that has the value at hand would compute the next one in a register, by three. */
static inline void pool_step(void ***end, int by) {
    __asm__("" : "+m"(*end));
    *end += by;
}

/* A block that the cache has at hand; NULL: it has none. */
static inline void *pool_take_hot(struct pool_cache *cache, unsigned class) {
    void *block = cache->end[class][-1];
    if (__builtin_expect(!block, 0)) return NULL;
    pool_step(&cache->end[class], -1);
    pool_mark(block, pool_class_size(class), false);
    return block;
}
static inline void *pool_take(struct pool_cache *cache, unsigned class) {
    void *block = pool_take_hot(cache, class);
    return __builtin_expect(!block, 0) && pool_refill(cache, class) ? pool_take_hot(cache, class) : block;
}

/* Whether the cache takes one more without the depot. */
static inline bool pool_has_room(const struct pool_cache *cache, unsigned class) { return cache->end[class] != cache->limit[class]; }

/* If it has room. */
static inline void pool_put(struct pool_cache *cache, unsigned class, void *block) {
    *cache->end[class] = block;
    pool_step(&cache->end[class], 1);
    pool_mark(block, pool_class_size(class), true);
}

static inline void pool_give(struct pool_cache *cache, unsigned class, void *block) {
    if (__builtin_expect(!pool_has_room(cache, class), 0)) pool_spill(cache, class);
    pool_put(cache, class, block);
}

/* How many the cache has; of one that is zeroed, too: none. */
uint32_t pool_count(const struct pool_cache *cache, unsigned class);

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
