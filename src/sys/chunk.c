/* Chunks and the arenas that they are parts of: see sys/chunk.h. */
#include "sys/chunk.h"

#include "base/assert.h"
#include "base/spin.h"
#include "sys/sys.h"

#include <errno.h>
#include <sys/mman.h>

enum {
    CHUNK_ARENA = 1024,     /* chunks: 64 MiB */
    CHUNK_ARENA_LEAST = 16, /* where address space is scarce */
    CHUNK_ARENAS = 16384,   /* a tebibyte */
    CHUNK_WORDS = CHUNK_ARENA / 64,
};

struct chunk_arena {
    unsigned char *first;
    uint32_t chunks, free_count;
    uint64_t free[CHUNK_WORDS]; /* a bit each */
};

static struct {
    atom_bool taken; /* a spin lock: critical sections are short, except for a new arena */
    uint32_t arenas;
    struct chunk_arena arena[CHUNK_ARENAS]; /* pages of this get memory when they are touched */
} chunks;

static void chunks_lock(void) {
    while (atom_swap_acq(&chunks.taken, true)) /* acq: pairs with the rel in chunks_unlock */
        spin_yield();
    sim_lock_taken();
}
static void chunks_unlock(void) {
    atom_store_rel(&chunks.taken, false);
    sim_lock_dropped();
}

/* One chunk of the range is lost to alignment. */
static void *chunk_arena_map(uint32_t count) {
    size_t size = (size_t)(count + 1) * SYS_CHUNK;
    void *range = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return NULL;
    (void)madvise(range, size, MADV_NOHUGEPAGE); /* chunks come and go one by one */
    return range;
}

/* Under the lock. */
static struct chunk_arena *chunk_arena_new(void) {
    if (chunks.arenas == CHUNK_ARENAS) return NULL;
    uint32_t count = CHUNK_ARENA;
    void *memory = chunk_arena_map(count);
    while (!memory && count > CHUNK_ARENA_LEAST)
        memory = chunk_arena_map(count /= 4);
    if (!memory) return NULL;
    struct chunk_arena *arena = &chunks.arena[chunks.arenas++];
    arena->first = (unsigned char *)(((uintptr_t)memory + SYS_CHUNK - 1) & ~(uintptr_t)(SYS_CHUNK - 1));
    arena->chunks = arena->free_count = count;
    for (uint32_t i = 0; i < count; i++)
        arena->free[i / 64] |= UINT64_C(1) << i % 64;
    return arena;
}

/* Under the lock: the lowest. */
static void *chunk_arena_take(struct chunk_arena *arena) {
    unsigned word = 0;
    while (arena->free[word] == 0)
        word++;
    unsigned bit = (unsigned)__builtin_ctzll(arena->free[word]);
    arena->free[word] &= ~(UINT64_C(1) << bit);
    arena->free_count--;
    return arena->first + (size_t)(word * 64 + bit) * SYS_CHUNK;
}

void *chunk_take(void) {
    int before = errno;
    chunks_lock();
    struct chunk_arena *arena = NULL;
    for (uint32_t i = 0; i < chunks.arenas && !arena; i++)
        if (chunks.arena[i].free_count > 0) arena = &chunks.arena[i];
    if (!arena) arena = chunk_arena_new();
    void *chunk = arena ? chunk_arena_take(arena) : NULL;
    chunks_unlock();
    errno = before;
    return chunk;
}

static bool chunk_arena_has(const struct chunk_arena *arena, const void *chunk) {
    return (uintptr_t)chunk - (uintptr_t)arena->first < (size_t)arena->chunks * SYS_CHUNK;
}

void chunk_give(void *chunk) {
    int before = errno;
    (void)madvise(chunk, SYS_CHUNK, MADV_DONTNEED); /* an error leaves its memory where it is */
    chunks_lock();
    uint32_t i = 0;
    while (i < chunks.arenas && !chunk_arena_has(&chunks.arena[i], chunk))
        i++;
    WEFT_ENSURE(i < chunks.arenas, "%p is no chunk", chunk);
    struct chunk_arena *arena = &chunks.arena[i];
    size_t number = ((uintptr_t)chunk - (uintptr_t)arena->first) / SYS_CHUNK;
    arena->free[number / 64] |= UINT64_C(1) << number % 64;
    arena->free_count++;
    chunks_unlock();
    errno = before;
}
