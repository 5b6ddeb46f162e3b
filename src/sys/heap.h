/* The runtime's own heap, apart from the C library's: for programs whose processes may be stopped at any instruction.
 *
 * A process that is stopped inside malloc holds malloc's lock until it is resumed. A worker that called malloc then could wait for that
 * lock for ever, while it holds a lock that the resume needs. So from heap_begin on the runtime's small blocks come from here. A caller
 * waits for nothing but another thread inside of these functions, and no thread is stopped there (preempt/preempt.h).
 *
 *   operation      caller
 *   heap_begin     any thread, any number of times
 *   the others     any thread, after it
 *
 *   H1  A block belongs to the class of its size, which its owner passes again when it gives the block back.
 *   H2  Memory that was once taken from the kernel is never given back: it serves the next block of its class. */
#ifndef WEFT_SYS_HEAP_H
#define WEFT_SYS_HEAP_H

#include "base/atom.h"

#include <stddef.h>

/* 0, or -ENOMEM: there is no address space. */
int heap_begin(void);
bool heap_is_on(void);
/* Whether it is a block from here. */
bool heap_has(const void *memory);
/* Zeroed, aligned to 64 bytes; NULL: too large (over 256 KiB), or there is no more. */
void *heap_take(size_t size);
void heap_give(void *memory, size_t size);
/* A block from malloc, from before heap_begin, which cannot be freed any more: it is kept in a list. NULL: nothing to keep. */
void heap_keep(void *memory);

#endif
