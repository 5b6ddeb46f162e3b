/* Structs of the program's that may be of another version than this library: weft/api.h, "Structs that grow".
 *
 * Caller: anything. The sizes: `size` is the struct's as the program knows it, `known` as this library does. */
#ifndef WEFT_BASE_SIZED_H
#define WEFT_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline size_t sized_common(size_t size, size_t known) { return size < known ? size : known; }

static inline bool sized_is_zero(const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i]) return false;
    return true;
}

/* A copy in `mine`, zeroes for what was not given. NULL: a field that only the program knows is not 0. */
static __attribute__((noinline, cold, unused)) const void *sized_copy(const void *given, size_t size, void *mine, size_t known) {
    size_t common = given ? sized_common(size, known) : 0;
    memset(mine, 0, known);
    if (common > 0) memcpy(mine, given, common);
    return !given || sized_is_zero((const unsigned char *)given + common, size - common) ? mine : NULL;
}

/* What the program gave, as this library knows it: that struct itself if the sizes agree, else `mine`. All zeroes for NULL. Returns NULL if
 * the program uses a field that this library does not know: the answer to that is WEFT_EINVAL. */
static inline const void *sized_read(const void *given, size_t size, void *mine, size_t known) {
    return __builtin_expect(given && size == known, 1) ? given : sized_copy(given, size, mine, known);
}

/* Fills in the program's struct. */
static inline void sized_write(void *wanted, size_t size, const void *mine, size_t known) {
    size_t common = sized_common(size, known);
    memcpy(wanted, mine, common);
    memset((unsigned char *)wanted + common, 0, size - common);
}

#endif
