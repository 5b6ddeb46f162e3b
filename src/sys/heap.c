/* Small blocks in fixed classes, powers of two, from one reserved range. See sys/heap.h. */
#include "sys/heap.h"

#include "base/spin.h"
#include "sys/leak_roots.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define HEAP_RANGE ((size_t)16 << 30) /* address space alone: pages get memory when they are touched */

enum {
    HEAP_SMALLEST_SHIFT = 6,
    HEAP_CLASSES = 13, /* 64 bytes to 256 KiB */
    HEAP_STEP = 1 << 20,
    HEAP_TRIES = 9, /* the range is halved so often, where address space is scarce */
};

struct heap_block {
    struct heap_block *next;
};

static struct {
    atom_bool taken; /* a spin lock: critical sections of a dozen instructions */
    unsigned char *low;
    size_t size, used, told;
    struct heap_block *free[HEAP_CLASSES], *kept;
} heap;
static atom_bool heap_on; /* acq and rel: `low` and `size` are set before */

#if LEAK_ROOTS
void __asan_poison_memory_region(void const volatile *begin, size_t size);
void __asan_unpoison_memory_region(void const volatile *begin, size_t size);
#else
#define __asan_poison_memory_region(begin, size) (void)(begin)
#define __asan_unpoison_memory_region(begin, size) (void)(begin)
#endif

static void heap_lock(void) {
    while (atom_swap_acq(&heap.taken, true)) /* acq: pairs with the rel in heap_unlock */
        spin_yield();
    sim_lock_taken();
}
static void heap_unlock(void) {
    atom_store_rel(&heap.taken, false);
    sim_lock_dropped();
}

int heap_begin(void) {
    int error = 0, before = errno;
    heap_lock();
    size_t size = HEAP_RANGE;
    for (unsigned i = 0; !heap.low && i < HEAP_TRIES; i++, size /= 2) {
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) continue;
        heap.low = memory;
        heap.size = size;
    }
    if (heap.low) atom_store_rel(&heap_on, true);
    else error = -ENOMEM;
    heap_unlock();
    errno = before;
    return error;
}

bool heap_is_on(void) { return atom_load_acq(&heap_on); }

bool heap_has(const void *memory) { return heap_is_on() && (uintptr_t)memory - (uintptr_t)heap.low < heap.size; }

static unsigned heap_class(size_t size) {
    if (size <= (size_t)1 << HEAP_SMALLEST_SHIFT) return 0;
    return 64 - (unsigned)__builtin_clzl(size - 1) - HEAP_SMALLEST_SHIFT;
}

/* Under the lock. Fresh memory is zero. */
static void *heap_cut(size_t size) {
    if (size > heap.size - heap.used) return NULL;
    void *block = heap.low + heap.used;
    heap.used += size;
    for (; LEAK_ROOTS && heap.told < heap.used; heap.told += HEAP_STEP)
        leak_root(heap.low + heap.told, HEAP_STEP);
    return block;
}

void *heap_take(size_t size) {
    unsigned class = heap_class(size);
    if (class >= HEAP_CLASSES) return NULL;
    heap_lock();
    struct heap_block *block = heap.free[class];
    if (block) heap.free[class] = block->next;
    void *fresh = block ? NULL : heap_cut((size_t)1 << (class + HEAP_SMALLEST_SHIFT));
    heap_unlock();
    if (!block) return fresh;
    __asan_unpoison_memory_region(block, size);
    return memset(block, 0, size);
}

void heap_give(void *memory, size_t size) {
    struct heap_block *block = memory;
    unsigned class = heap_class(size);
    /* All but the link: the address sanitizer reports any use from now on. */
    __asan_unpoison_memory_region(memory, sizeof *block);
    __asan_poison_memory_region(block + 1, ((size_t)1 << (class + HEAP_SMALLEST_SHIFT)) - sizeof *block);
    heap_lock();
    block->next = heap.free[class];
    heap.free[class] = block;
    heap_unlock();
}

void heap_keep(void *memory) {
    struct heap_block *block = memory;
    if (!block) return;
    heap_lock();
    block->next = heap.kept;
    heap.kept = block;
    heap_unlock();
}
