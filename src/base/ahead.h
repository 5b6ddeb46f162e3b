/* Fetching what a long list of blocks leads to before it is needed.
 *
 * Blocks that were cut in turn lie in turn, so two neighbours in a list tell where the next ones are, most often. The processor finds that out for
 * itself, but only up to the end of a page of 4 KiB; and a list gives it no other address than the next. A wrong guess costs nothing but the fetch:
 * a prefetch never faults. */
#ifndef WEFT_BASE_AHEAD_H
#define WEFT_BASE_AHEAD_H

#include <stddef.h>
#include <stdint.h>

enum { AHEAD_FAR = 4096 }; /* bytes; neighbours that are farther from each other tell nothing */

/* Bytes from `block` to `next`, its neighbour in a list; 0: they are not neighbours in memory. */
static inline ptrdiff_t ahead_stride(const void *block, const void *next) {
    ptrdiff_t stride = (ptrdiff_t)((uintptr_t)next - (uintptr_t)block);
    return stride < -AHEAD_FAR || stride > AHEAD_FAR ? 0 : stride;
}

/* `from` and the blocks behind it, `count` in all, if they lie as `block` and `next` do. */
static inline void ahead_fetch(const void *from, const void *block, const void *next, unsigned count) {
    ptrdiff_t stride = ahead_stride(block, next);
    if (stride == 0) return;
    uintptr_t at = (uintptr_t)from;
    for (unsigned i = 0; i < count; i++, at += (uintptr_t)stride)
        __builtin_prefetch((const void *)at, 1);
}

#endif
