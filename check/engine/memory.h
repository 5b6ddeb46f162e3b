/* Cells, plain memory and the heap of a scenario. */
#ifndef CHECK_MEMORY_H
#define CHECK_MEMORY_H

#include "graph.h"

struct cell {
    uintptr_t address;
    uint64_t initial;
    uint8_t size;
    const char *name;
};
extern struct cell cells[L_MAX];
extern unsigned cell_count;

/* Forgets all cells: a new search. The number tells searches apart. */
void memory_new_search(void);
extern unsigned memory_search;
/* Static data back to its initial bytes, the heap empty: a new run. */
void memory_new_run(void);

/* The cell at this address, made known by its first access. */
unsigned memory_cell(uintptr_t address, unsigned size);
/* Where the current thread reaches a cell: use after free, or not behind the allocation? */
void memory_touch(uintptr_t address);
/* A plain access by the current thread: use after free, race? */
void memory_plain(uintptr_t address, size_t size, bool write);

/* The last value of each cell to plain memory, for finish. */
void memory_flush(struct graph *g);

void *memory_alloc(size_t size);
/* To a power of two, at most a page. */
void *memory_alloc_aligned(size_t size, size_t alignment);
void memory_free(void *address);
/* After finish: a block that was never freed is a violation. */
void memory_leaks(void);
/* The bytes that were asked for; 0 for what is no block's start. */
size_t memory_size(const void *block);

/* A readable name for an address. */
const char *memory_name(uintptr_t address, char *buffer, size_t room);
/* The same for what is in a block of the heap; NULL for anything else. */
const char *memory_block_name(uintptr_t address, char *buffer, size_t room);

uint64_t memory_peek(uintptr_t address, unsigned size);
void memory_poke(uintptr_t address, unsigned size, uint64_t value);

#endif
