/* Stacks for processes: much address space, memory only for pages that were touched, a guard below each.
 *
 *   operation                            caller
 *   stacks_init, stacks_destroy          one thread, while no other uses them
 *   stack_cache_init, stack_cache_flush  the cache's own thread
 *   stack_take, stack_give               the cache's own thread, not on that stack; any cache may give back what
 *                                        another took
 *   stack_clear, stack_high_water        the thread that has taken the stack
 *   stacks_trim                          any thread
 *   stacks_find                          any thread, in a signal handler too
 *   stacks_high_water                    any thread
 *
 * Arenas of many stacks of one size are mapped as a whole and cut into slots: a guard, then the usable bytes, at
 * whose upper end lies the `struct stack` itself. So a stack costs no memory beside its own touched pages, but
 * three bits in its arena.
 *
 *     low addresses   | guard | low ........................ grows down | struct stack | colour |   high addresses
 *
 * A stack is *fresh* until it is first taken; then *taken*; *warm* while it is free in a cache or in the depot, with
 * the pages that its last process touched (no more than STACK_KEEP bytes in the depot); *cold* when its memory went
 * back to the system: then only a bit of its arena records it. Caches keep two lists
 * a size, and whole lists move to and from the depot.
 *
 * S1  A slot is free in one place: in its arena's `free` bits, in one cache's range, in one list, or not at all
 *     (taken).
 * S2  `free` bits, ranges in the making and lists of the depot are under the class's lock.
 * S3  A stack is handed out with its guard in place: installed before first use, kept until the arena is unmapped. If no
 *     guard can be installed there is no stack (NULL), never one without a guard.
 * S4  The arenas of `all` are only ever added to, fully made before they are seen, and live until stacks_destroy:
 *     a thread that follows the list, even in a signal handler, finds only complete arenas. */
#ifndef WEFT_MEM_STACK_H
#define WEFT_MEM_STACK_H

#include "queue/lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STACK_LEAST = 16 << 10, /* usable bytes of the smallest class; each next one is twice as large */
    STACK_CLASSES = 10,     /* ... 8 MiB */
    STACK_GUARD = 16 << 10, /* as cheap as one page, and not jumped over by the first buffer on the stack */
    STACK_KEEP = 16 << 10,  /* what a stack keeps of its memory in the depot, from the top */
    STACK_BATCH = 32,       /* stacks in a list, for classes up to 64 KiB; fewer of the larger */
    STACK_RANGE = 16,       /* fresh or cold slots that a cache takes at a time */
    /* Where the kernel has no MADV_GUARD_INSTALL, a guard costs two mappings of the 65,530 that a program may have
     * by default. */
    STACK_DENIED_MOST = 30000,
    /* Stacks begin at different lines of their page, so that the hot ends of many do not compete for the same cache
     * sets: switching through 64 stacks takes 5 ns a switch instead of 8. At most half of the first page is lost. */
    STACK_COLOURS = 16,
    STACK_COLOUR = 128,
};

struct stack {
    _Alignas(64) struct stack *next; /* in a list of free stacks; itself: it has never been in a list */
    struct stack *next_list;         /* in the head of a list in the depot: the next list, and how much room is in this one */
    uint32_t room;
    /* Set when it is cut. */
    uint32_t class;
    unsigned char *low; /* the lowest usable byte */
    struct stack_arena *arena;
};

struct stack_list {
    struct stack *first;
    uint32_t room; /* how many more it may hold */
};

/* Slots [next, end) of an arena, free and not touched. */
struct stack_range {
    struct stack_arena *arena;
    uint32_t next, end;
};

struct stack_class {
    struct lock lock;
    struct stack *lists;
    atom_u32 count;             /* lists; changed under the lock */
    uint32_t least;             /* the smallest count since the last trim: so many were not needed */
    struct stack_arena *arenas; /* newest first */
    uint32_t arena_count;
    size_t stride; /* guard and usable bytes; set once */
};

struct stacks {
    size_t page, guard;
    struct stack_class class[STACK_CLASSES];
    ATOM_PTR(struct stack_arena) all;
    struct lock all_lock, trim_lock;
    atom_bool one_by_one; /* the kernel does not install many guards at once */
    atom_bool denies;     /* guards are made by SYS_VM_DENY */
    atom_u32 denied;      /* how many such guards there are */
};

struct stack_cache {
    struct stacks *stacks;
    struct stack_list hot[STACK_CLASSES], spare[STACK_CLASSES];
    struct stack_range range[STACK_CLASSES];
};

void stacks_init(struct stacks *stacks);
/* All stacks have been given back, or their processes will never run again. */
void stacks_destroy(struct stacks *stacks);

void stack_cache_init(struct stack_cache *cache, struct stacks *stacks);
/* Gives everything back to the depot. For a cache that ends, or whose worker has nothing to do for a while. */
void stack_cache_flush(struct stack_cache *cache);

/* The smallest class with that many usable bytes; STACK_CLASSES when it is larger than all. */
static inline unsigned stack_class_of(size_t size) {
    if (size <= STACK_LEAST) return 0;
    unsigned class = (unsigned)(50 - __builtin_clzl(size - 1));
    return class < STACK_CLASSES ? class : STACK_CLASSES;
}
static inline size_t stack_class_size(unsigned class) { return (size_t)STACK_LEAST << class; }

/* Lists of larger stacks are shorter: what a cache holds back is bounded in bytes. */
static inline uint32_t stack_batch(unsigned class) { return class <= 2 ? STACK_BATCH : class < 6 ? STACK_BATCH >> (class - 2) : 2; }

/* A new stack grows down from here; aligned to 64 bytes. */
static inline void *stack_top(struct stack *stack) { return stack; }

/* The slow halves. */
struct stack *stack_take_slow(struct stack_cache *cache, unsigned class);
void stack_spill(struct stack_cache *cache, unsigned class);

/* NULL: no address space, no guard, or no memory for bookkeeping. */
static inline struct stack *stack_take(struct stack_cache *cache, unsigned class) {
    struct stack_list *hot = &cache->hot[class];
    struct stack *stack = hot->first;
    if (__builtin_expect(!stack, 0)) return stack_take_slow(cache, class);
    hot->first = stack->next;
    hot->room++;
    return stack;
}

static inline void stack_give(struct stack_cache *cache, struct stack *stack) {
    struct stack_list *hot = &cache->hot[stack->class];
    if (__builtin_expect(hot->room == 0, 0)) stack_spill(cache, stack->class);
    stack->next = hot->first;
    hot->first = stack;
    hot->room--;
}

/* No process has had it before. */
static inline bool stack_is_new(const struct stack *stack) { return stack->next == stack; }

/* Drops all pages but the uppermost. After that the high-water mark is that of one process. */
void stack_clear(struct stack *stack);

/* How deep the stack was ever used since it was fresh, cold or cleared, in whole pages, from the top: one of its
 * processes used at least that much. Asks the kernel (1 us); touches nothing. */
size_t stack_high_water(struct stack *stack);

/* Gives memory back to the system: of the stacks that lay in the depot ever since the last trim, or of all there.
 * To be called every second or so; returns how many stacks went cold. */
size_t stacks_trim(struct stacks *stacks, bool all);

enum stack_part { STACK_NOT_OURS, STACK_USABLE, STACK_IN_GUARD };

struct stack_place {
    struct stack *stack; /* where it is, or would be: not read */
    unsigned char *low;
    void *top;
    unsigned class;
};

/* Which stack does an address belong to? */
enum stack_part stacks_find(struct stacks *stacks, const void *address, struct stack_place *place);
/* As stack_high_water, by any thread: the stack itself is not read. */
size_t stacks_high_water(struct stacks *stacks, const struct stack_place *place);

#endif
