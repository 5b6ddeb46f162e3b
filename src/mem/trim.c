/* Giving the memory of stacks back to the system. */
#include "mem/arena.h"

#include "sys/sys.h"

/* The oldest lists: those that no cache needed since the last trim, or all. */
static struct stack *trim_pick(struct stack_class *class, bool all) {
    lock_take(&class->lock);
    uint32_t count = atom_load_rlx(&class->count), kept = all ? 0 : count - class->least; /* rlx: under the lock */
    struct stack **link = &class->lists;
    for (uint32_t i = 0; i < kept; i++)
        link = &(*link)->next_list;
    struct stack *lists = *link;
    *link = NULL;
    atom_store_rlx(&class->count, kept);
    class->least = kept;
    lock_drop(&class->lock);
    return lists;
}

/* Slots that are neighbours go in one system call, which is five times as cheap; the guards between them stay. */
static void arena_cool(struct stack_arena *arena) {
    for (uint32_t slot = 0; slot < arena->slots; slot++) {
        if (!(arena->cooling[slot / 64] >> slot % 64 & 1)) continue;
        uint32_t end = slot + 1;
        while (end < arena->slots && arena->cooling[end / 64] >> end % 64 & 1)
            end++;
        unsigned char *low = slot_base(arena, slot) + arena->guard;
        (void)sys->vm_advise(low, (size_t)(slot_base(arena, end) - low), SYS_VM_DROP); /* an error leaves them warm */
        slot = end;
    }
}

static size_t class_trim(struct stack_class *class, bool all) {
    size_t trimmed = 0;
    struct stack *next_list, *next;
    for (struct stack *list = trim_pick(class, all); list; list = next_list) {
        next_list = list->next_list;
        for (struct stack *stack = list; stack; stack = next, trimmed++) {
            next = stack->next;
            uint32_t slot = stack_slot(stack);
            stack->arena->cooling[slot / 64] |= UINT64_C(1) << slot % 64;
        }
    }
    if (!trimmed) return 0;
    lock_take(&class->lock);
    struct stack_arena *arenas = class->arenas; /* arenas made later hold none of the stacks that are trimmed here */
    lock_drop(&class->lock);
    for (struct stack_arena *arena = arenas; arena; arena = arena->next_in_class) {
        arena_cool(arena);
        lock_take(&class->lock);
        for (uint32_t word = 0; word < arena->words; word++) {
            arena->free[word] |= arena->cooling[word];
            arena->free_count += (uint32_t)__builtin_popcountll(arena->cooling[word]);
            arena->cooling[word] = 0;
        }
        lock_drop(&class->lock);
    }
    return trimmed;
}

size_t stacks_trim(struct stacks *stacks, bool all) {
    size_t trimmed = 0;
    lock_take(&stacks->trim_lock);
    for (unsigned class = 0; class < STACK_CLASSES; class ++)
        trimmed += class_trim(&stacks->class[class], all);
    lock_drop(&stacks->trim_lock);
    return trimmed;
}
