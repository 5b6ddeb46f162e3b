/* Internal to pool.c and give_back.c: a list of free blocks in the depot, written into its own first blocks.
 *
 * The smallest block has room for eight words. The list is an array of words, the first eight in its first block, the next eight in its second, and so on: the
 * next list, how many blocks there are, and the address of each but the first. So where a word lies is known when the words before it have been read.
 *
 * Debug builds and the address sanitizer find out from the head of a message that it has been freed. There the lists leave the first half of their blocks alone. */
#ifndef WEFT_MEM_BUNDLE_H
#define WEFT_MEM_BUNDLE_H

#include "mem/pool.h"

#include <string.h>

enum {
    BUNDLE_AT = (WEFT_DEBUG || ANNOTATE_ADDRESS) && !WEFT_CHECK ? POOL_LEAST / 2 : 0,
    BUNDLE_BYTES = POOL_LEAST - BUNDLE_AT,
    BUNDLE_WORDS = BUNDLE_BYTES / sizeof(uintptr_t),
    BUNDLE_HEAD = 3,
};

static inline void *bundle_in(void *block) { return (char *)block + BUNDLE_AT; }

/* In the first block, at BUNDLE_AT. */
struct pool_bundle {
    struct pool_bundle *next;
    uint64_t count;
    const struct pool_cache *giver; /* never followed */
};
_Static_assert(sizeof(struct pool_bundle) == BUNDLE_HEAD * sizeof(uintptr_t), "where the addresses begin");

/* Most often all the words of a block: of that the compiler would make `rep movs`, which takes 10 ns to begin. */
static inline void bundle_copy(void *to, const void *from, uint32_t words) {
    if (__builtin_expect(words != BUNDLE_WORDS, 0)) {
        memcpy(to, from, words * sizeof(uintptr_t));
        return;
    }
    for (unsigned i = 0; i < BUNDLE_BYTES; i += 16)
        memcpy((char *)to + i, (const char *)from + i, 16);
}

/* Of at least one block. */
static inline struct pool_bundle *bundle_make(const struct pool_cache *giver, void *const *blocks, uint32_t count) {
    struct pool_bundle *bundle = bundle_in(blocks[0]);
    uint32_t words = BUNDLE_WORDS - BUNDLE_HEAD;
    void *own = bundle, *to = bundle + 1;
    for (uint32_t i = 1, next = 1;; own = to = bundle_in(blocks[next++]), words = BUNDLE_WORDS) {
        if (words > count - i) words = count - i;
        pool_mark(own, BUNDLE_BYTES, false);
        bundle_copy(to, blocks + i, words);
        if ((i += words) == count) break;
    }
    bundle->count = count;
    bundle->giver = giver;
    return bundle;
}

/* The blocks of the list, into an array with room for them, and how many there are. `far`: they will be written to, and may lie in the cache of another core, or in none:
 * they are fetched meanwhile. */
static inline uint32_t bundle_open(struct pool_bundle *bundle, void **blocks, bool far) {
    uint32_t count = (uint32_t)bundle->count, words = BUNDLE_WORDS - BUNDLE_HEAD;
    void *own = bundle, *from = bundle + 1;
    blocks[0] = (char *)bundle - BUNDLE_AT;
    for (uint32_t i = 1, next = 1;; own = from = bundle_in(blocks[next++]), words = BUNDLE_WORDS) {
        if (words > count - i) words = count - i;
        bundle_copy(blocks + i, from, words);
        pool_mark(own, BUNDLE_BYTES, true);
        for (uint32_t k = 0; far && k < words; k++)
            __builtin_prefetch(blocks[i + k], 1);
        if ((i += words) == count) break;
    }
    return count;
}

#endif
