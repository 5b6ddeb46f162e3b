/* Memory of the runtime's own, apart from the C library's: for programs whose processes may be stopped at any instruction.
 *
 * A process that is stopped inside malloc keeps a lock there, for as long as it is not resumed. Were the runtime to allocate by malloc then, it
 * could wait for that lock while it holds one that resuming needs, for ever. So from heap_begin on its small blocks come from here.
 * Nothing here waits for anything but another thread inside of these functions, and those are never stopped (preempt/preempt.h).
 *
 *   operation      who may call
 *   heap_begin     any thread, any number of times
 *   the others     any thread, after it
 *
 *   H1  A block belongs to the class of its size, which its owner tells again when it is given back.
 *   H2  Memory that was once taken from the kernel stays: it is for the next block of its class. */
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
/* A block of the C library's, from before heap_begin, which cannot be freed any more: it stays, known from here. NULL is none. */
void heap_keep(void *memory);

#endif
