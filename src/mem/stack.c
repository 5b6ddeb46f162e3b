/* Stacks: slots and their guards, arenas, the depot and the caches: see mem/stack.h. Trimming is in mem/trim.c. */
#include "mem/arena.h"

#include "base/assert.h"
#include "ctx/annotate.h"
#include "sys/sys.h"

#include <errno.h>
#include <string.h>

/* Bytes of a class's first arena; each next one is twice as large, for STACK_ARENA_DOUBLINGS times. */
enum { STACK_ARENA = 64 << 20, STACK_ARENA_DOUBLINGS = 4 };

static size_t arena_record(uint32_t words) { return sizeof(struct stack_arena) + 3 * (size_t)words * sizeof(uint64_t); }

void stacks_init(struct stacks *stacks) {
    memset(stacks, 0, sizeof *stacks); /* not shared yet */
    stacks->page = sys->vm_page();
    stacks->guard = stacks->page > STACK_GUARD ? stacks->page : STACK_GUARD;
    lock_init(&stacks->all_lock);
    lock_init(&stacks->trim_lock);
    for (unsigned class = 0; class < STACK_CLASSES; class ++) {
        size_t size = stack_class_size(class);
        lock_init(&stacks->class[class].lock);
        stacks->class[class].stride = stacks->guard + (size > stacks->page ? size : stacks->page);
    }
}

void stacks_destroy(struct stacks *stacks) {
    struct stack_arena *arena = atom_load_rlx(&stacks->all); /* rlx: no other thread uses it any more, see the header */
    while (arena) {
        struct stack_arena *next = arena->next;
        annotate_forget(arena->base, arena_bytes(arena));
        sys->vm_unmap(arena->base, arena_bytes(arena));
        sys->free(arena, arena_record(arena->words));
        arena = next;
    }
    atom_store_rlx(&stacks->all, NULL);
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

/* The canary lies at the lower end of the uppermost page, which is touched anyway. A process that goes deeper overwrites
 * it, unless its frame happens to have a hole just there. So a stack used within that page, the common case, goes to the
 * depot without a system call. */
static uint64_t *stack_canary(struct stack *stack) { return (uint64_t *)((uintptr_t)stack & ~(stack->arena->page - 1)); }
static uint64_t canary_of(const struct stack *stack) { return (uintptr_t)stack ^ UINT64_C(0x9e3779b97f4a7c15); }

/* A process that ended in the middle of its calls has left poison of the address sanitizer here. */
__attribute__((no_sanitize("address"))) static bool canary_lives(struct stack *stack) {
    annotate_readable(stack_canary(stack), sizeof(uint64_t));
    return *stack_canary(stack) == canary_of(stack);
}
__attribute__((no_sanitize("address"))) static void canary_set(struct stack *stack) {
    annotate_readable(stack_canary(stack), sizeof(uint64_t));
    *stack_canary(stack) = canary_of(stack);
}

/* Drops what is more than `keep` bytes below the slot's end. An error leaves the pages where they are: nothing else
 * depends on it. */
static void stack_drop(struct stack *stack, size_t keep) {
    unsigned char *end = slot_base(stack->arena, stack_slot(stack)) + stack->arena->stride - keep;
    if (end > stack->low) (void)sys->vm_advise(stack->low, (size_t)(end - stack->low), SYS_VM_DROP);
    canary_set(stack);
}

static bool slot_deny(struct stacks *stacks, unsigned char *base) {
    /* rlx: a counter that publishes nothing. It may overshoot for a moment when many threads try at the limit, and only then. */
    bool fits = atom_add_rlx(&stacks->denied, 1) < STACK_DENIED_MOST;
    if (fits && sys->vm_advise(base, stacks->guard, SYS_VM_DENY) == 0) return true;
    atom_sub_rlx(&stacks->denied, 1);
    return false;
}

/* S3. A kernel that does not know guards says EINVAL, and is not asked again. */
static bool slot_guard(struct stacks *stacks, struct stack_arena *arena, uint32_t slot) {
    uint64_t bit = UINT64_C(1) << slot % 64;
    /* rlx: this slot is this thread's alone, and came to it through the class's lock; other threads change only other bits. */
    if (atom_load_rlx(&arena->guarded[slot / 64]) & bit) return true;
    unsigned char *base = slot_base(arena, slot);
    bool done = false;
    if (!atom_load_rlx(&stacks->denies)) { /* rlx: a thread that misses it asks the kernel again */
        int error = sys->vm_advise(base, stacks->guard, SYS_VM_GUARD);
        done = error == 0;
        if (error == -EINVAL) atom_store_rlx(&stacks->denies, true);
    }
    if (!done && atom_load_rlx(&stacks->denies)) done = slot_deny(stacks, base);
    if (done) atom_or_rlx(&arena->guarded[slot / 64], bit);
    return done;
}

/* Installs all guards of a new range in one system call, for half the price. Where the kernel cannot, it is tried once
 * only; slot_guard then installs them one by one, and decides whether there is a guard. */
static void range_guard(struct stacks *stacks, const struct stack_range *range) {
    uint32_t count = range->end - range->next;
    WEFT_ENSURE(count > 0 && count <= 64, "a range of %u stacks", count);
    uint64_t bits = (~UINT64_C(0) >> (64 - count)) << range->next % 64;
    atom_u64 *guarded = &range->arena->guarded[range->next / 64]; /* a range does not cross words */
    /* rlx: as in slot_guard. */
    if (atom_load_rlx(&stacks->one_by_one) || (atom_load_rlx(guarded) & bits) == bits) return;
    if (sys->vm_guards(slot_base(range->arena, range->next), stacks->guard, range->arena->stride, count) == 0) atom_or_rlx(guarded, bits);
    else atom_store_rlx(&stacks->one_by_one, true);
}

/* Makes a stack of the range's next slot; NULL when it gets no guard. */
static struct stack *range_cut(struct stacks *stacks, struct stack_range *range) {
    struct stack_arena *arena = range->arena;
    uint32_t slot = range->next;
    if (!slot_guard(stacks, arena, slot)) return NULL;
    range->next++;
    struct stack *stack = slot_stack(arena, slot);
    stack->class = arena->class;
    stack->low = slot_base(arena, slot) + arena->guard;
    stack->arena = arena;
    stack->next = stack;
    canary_set(stack);
    annotate_stack(stack->low, stack);
    return stack;
}

/* ---- arenas: under the class's lock ------------------------------------------------------------------------------ */

/* S4: made first, then seen. */
static void arena_publish(struct stacks *stacks, struct stack_class *class, struct stack_arena *arena) {
    arena->next_in_class = class->arenas;
    class->arenas = arena;
    class->arena_count++;
    lock_take(&stacks->all_lock);
    arena->next = atom_load_rlx(&stacks->all); /* rlx: written under this lock only */
    /* rel: pairs with the load in stacks_find, which would read an arena without its base otherwise. */
    atom_store_rel(&stacks->all, arena);
    lock_drop(&stacks->all_lock);
}

/* Where address space is scarce it tries half as much, down to a single stack. */
static unsigned char *arena_map(const struct stack_class *class, uint32_t *slots) {
    uint32_t doublings = class->arena_count < STACK_ARENA_DOUBLINGS ? class->arena_count : STACK_ARENA_DOUBLINGS;
    for (*slots = (uint32_t)(((size_t)STACK_ARENA << doublings) / class->stride); *slots; *slots /= 2) {
        unsigned char *base = sys->vm_map(*slots * class->stride);
        if (base) return base;
    }
    return NULL;
}

static struct stack_arena *arena_make(struct stacks *stacks, unsigned c) {
    struct stack_class *class = &stacks->class[c];
    uint32_t slots;
    unsigned char *base = arena_map(class, &slots);
    if (!base) return NULL;
    uint32_t words = (slots + 63) / 64;
    struct stack_arena *arena = sys->alloc(arena_record(words));
    if (!arena) {
        sys->vm_unmap(base, slots * class->stride);
        return NULL;
    }
    /* Refused where the kernel has no huge pages, which is as good. */
    (void)sys->vm_advise(base, slots * class->stride, SYS_VM_SMALL);
    uint64_t *bits = (uint64_t *)(arena + 1);
    arena->base = base, arena->slots = arena->free_count = slots, arena->class = c;
    arena->stride = class->stride, arena->guard = stacks->guard, arena->page = stacks->page;
    arena->words = words, arena->free = bits, arena->cooling = bits + words;
    arena->guarded = (atom_u64 *)(bits + (size_t)2 * words);
    for (uint32_t slot = 0; slot < slots; slot++)
        arena->free[slot / 64] |= UINT64_C(1) << slot % 64;
    arena_publish(stacks, class, arena);
    return arena;
}

/* The first run of free slots, at most STACK_RANGE of them. */
static struct stack_range arena_take(struct stack_arena *arena) {
    uint32_t word = 0;
    while (!arena->free[word])
        word++;
    uint32_t first = (uint32_t)__builtin_ctzll(arena->free[word]), run = 0;
    while (run < STACK_RANGE && first + run < 64 && arena->free[word] >> (first + run) & 1)
        arena->free[word] &= ~(UINT64_C(1) << (first + run++));
    WEFT_ENSURE(run <= arena->free_count, "arena %p: %u slots free, says its count: %u", (void *)arena, run, arena->free_count);
    arena->free_count -= run;
    return (struct stack_range){arena, word * 64 + first, word * 64 + first + run};
}

static bool range_refill(struct stacks *stacks, unsigned c, struct stack_range *range) {
    struct stack_class *class = &stacks->class[c];
    lock_take(&class->lock);
    struct stack_arena *arena = class->arenas;
    while (arena && arena->free_count == 0)
        arena = arena->next_in_class;
    if (!arena) arena = arena_make(stacks, c);
    if (arena) *range = arena_take(arena);
    lock_drop(&class->lock);
    return arena != NULL;
}

static void range_return(struct stacks *stacks, unsigned c, struct stack_range *range) {
    lock_take(&stacks->class[c].lock);
    for (; range->next < range->end; range->next++) {
        range->arena->free[range->next / 64] |= UINT64_C(1) << range->next % 64;
        range->arena->free_count++;
    }
    lock_drop(&stacks->class[c].lock);
}

/* ---- the depot and the caches ------------------------------------------------------------------------------------ */

static struct stack_list list_empty(unsigned class) { return (struct stack_list){NULL, stack_batch(class)}; }

static struct stack_list depot_take(struct stacks *stacks, unsigned c) {
    struct stack_class *class = &stacks->class[c];
    struct stack_list list = list_empty(c);
    /* rlx: a hint that saves the lock while there are only fresh ones; what is in the lists is read under the lock. */
    if (atom_load_rlx(&class->count) == 0) return list;
    lock_take(&class->lock);
    if (class->lists) {
        list = (struct stack_list){class->lists, class->lists->room};
        class->lists = class->lists->next_list;
        uint32_t left = atom_load_rlx(&class->count) - 1; /* rlx, here and below: under the lock */
        atom_store_rlx(&class->count, left);
        if (left < class->least) class->least = left;
    }
    lock_drop(&class->lock);
    return list;
}

static void depot_give(struct stacks *stacks, unsigned c, struct stack_list list) {
    struct stack_class *class = &stacks->class[c];
    size_t keep = stacks->page > STACK_KEEP ? stacks->page : STACK_KEEP;
    for (struct stack *stack = list.first; stack; stack = stack->next)
        if (!canary_lives(stack)) stack_drop(stack, keep);
    list.first->room = list.room;
    lock_take(&class->lock);
    list.first->next_list = class->lists;
    class->lists = list.first;
    atom_store_rlx(&class->count, atom_load_rlx(&class->count) + 1);
    lock_drop(&class->lock);
}

void stack_cache_init(struct stack_cache *cache, struct stacks *stacks) {
    *cache = (struct stack_cache){.stacks = stacks};
    for (unsigned class = 0; class < STACK_CLASSES; class ++)
        cache->hot[class] = cache->spare[class] = list_empty(class);
}

/* Warm stacks first, the cache's before the depot's; then slots that cost page faults. */
__attribute__((noinline, cold)) struct stack *stack_take_slow(struct stack_cache *cache, unsigned c) {
    struct stack_list list = cache->spare[c];
    cache->spare[c] = list_empty(c);
    if (!list.first) list = depot_take(cache->stacks, c);
    if (list.first) {
        cache->hot[c] = (struct stack_list){list.first->next, list.room + 1};
        return list.first;
    }
    struct stack_range *range = &cache->range[c];
    if (range->next == range->end) {
        if (!range_refill(cache->stacks, c, range)) return NULL;
        range_guard(cache->stacks, range);
    }
    return range_cut(cache->stacks, range);
}

__attribute__((noinline, cold)) void stack_spill(struct stack_cache *cache, unsigned c) {
    if (cache->spare[c].first) depot_give(cache->stacks, c, cache->spare[c]);
    cache->spare[c] = cache->hot[c];
    cache->hot[c] = list_empty(c);
}

void stack_cache_flush(struct stack_cache *cache) {
    for (unsigned c = 0; c < STACK_CLASSES; c++) {
        if (cache->hot[c].first) depot_give(cache->stacks, c, cache->hot[c]);
        if (cache->spare[c].first) depot_give(cache->stacks, c, cache->spare[c]);
        cache->hot[c] = cache->spare[c] = list_empty(c);
        if (cache->range[c].next < cache->range[c].end) range_return(cache->stacks, c, &cache->range[c]);
    }
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

void stack_clear(struct stack *stack) { stack_drop(stack, stack->arena->page); }

/* From the lowest page that has memory to `top`. From `edge` on it is touched anyway. */
static size_t stack_touched(unsigned char *low, unsigned char *edge, const unsigned char *top, size_t page) {
    enum { AT_ONCE = 256 };
    unsigned char pages[AT_ONCE];
    while (low < edge) {
        size_t count = (size_t)(edge - low) / page;
        if (count > AT_ONCE) count = AT_ONCE;
        if (sys->vm_resident(low, count * page, pages) != 0) break; /* not known: return the least */
        for (size_t i = 0; i < count; i++, low += page)
            if (pages[i] & 1) return (size_t)(top - low);
    }
    return (size_t)(top - edge);
}

size_t stack_high_water(struct stack *stack) {
    return stack_touched(stack->low, (unsigned char *)stack_canary(stack), stack_top(stack), stack->arena->page);
}

size_t stacks_high_water(struct stacks *stacks, const struct stack_place *place) {
    unsigned char *top = place->top;
    return stack_touched(place->low, top - ((uintptr_t)top & (stacks->page - 1)), top, stacks->page);
}

enum stack_part stacks_find(struct stacks *stacks, const void *address, struct stack_place *place) {
    /* acq: pairs with the store in arena_publish; the rest of the list was published by earlier stores, and each
     * publisher read its predecessor's under the lock. */
    for (struct stack_arena *arena = atom_load_acq(&stacks->all); arena; arena = arena->next) {
        size_t offset = (uintptr_t)address - (uintptr_t)arena->base; /* huge for lower addresses */
        if (offset >= arena_bytes(arena)) continue;
        uint32_t slot = (uint32_t)(offset / arena->stride);
        struct stack *stack = slot_stack(arena, slot);
        *place = (struct stack_place){stack, slot_base(arena, slot) + arena->guard, stack, arena->class};
        return offset % arena->stride < arena->guard ? STACK_IN_GUARD : STACK_USABLE;
    }
    return STACK_NOT_OURS;
}
