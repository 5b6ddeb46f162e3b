/* Internal to stack.c and trim.c: the arena, a mapping that stacks of one size are cut from. */
#ifndef WEFT_MEM_ARENA_H
#define WEFT_MEM_ARENA_H

#include "mem/stack.h"

struct stack_arena {
    struct stack_arena *next, *next_in_class;
    unsigned char *base;
    size_t page, stride, guard;
    uint32_t slots, class, words; /* words of each of the bit sets */
    uint32_t free_count;          /* under the class's lock, as the free bits are */
    uint64_t *free;
    uint64_t *cooling; /* the trimmer's */
    atom_u64 *guarded; /* set by the cache that has the slot in its range */
};

static inline size_t arena_bytes(const struct stack_arena *arena) { return arena->slots * arena->stride; }

static inline unsigned char *slot_base(const struct stack_arena *arena, uint32_t slot) { return arena->base + slot * arena->stride; }

static inline struct stack *slot_stack(const struct stack_arena *arena, uint32_t slot) {
    unsigned char *end = slot_base(arena, slot) + arena->stride;
    return (struct stack *)(end - (size_t)(slot % STACK_COLOURS) * STACK_COLOUR - sizeof(struct stack));
}

static inline uint32_t stack_slot(const struct stack *stack) {
    return (uint32_t)((size_t)((const unsigned char *)stack - stack->arena->base) / stack->arena->stride);
}

#endif
