/* Measuring how deep processes use their stacks: the table of results. */
#include "fiber/stack_usage.h"
#include "base/sized.h"

#include <stdio.h>
#include <weft/stack.h>

/* One per runtime; made when the first process is measured. */
struct stack_usage {
    struct lock lock;
    struct weft_stack_mark mark[STACK_USAGE_MOST]; /* open addressing by entry and size */
};

void stack_usage_begin(struct proc *proc, struct stack *stack) {
    proc->extras |= PROC_MEASURED;
    if (!stack_is_new(stack)) stack_clear(stack);
}

static struct stack_usage *stack_usage_of(struct runtime *runtime) {
    struct stack_usage *usage =
        atom_load_acq(&runtime->stack_usage); /* acq: pairs with the cas below: initialised before it is published */
    if (usage || !(usage = sys->alloc(sizeof *usage))) return usage;
    lock_init(&usage->lock);
    struct stack_usage *other = NULL;
    if (atom_cas_acqrel_acq(&runtime->stack_usage, &other, usage)) return usage; /* acqrel: as above, if this thread is the first */
    sys->free(usage, sizeof *usage);
    return other;
}

void stack_usage_destroy(struct runtime *runtime) {
    struct stack_usage *usage = atom_load_rlx(&runtime->stack_usage); /* rlx: no other thread is left */
    if (usage) sys->free(usage, sizeof *usage);
}

/* Under the lock: the entry for the pair, or NULL if the table is full. */
static struct weft_stack_mark *stack_usage_find(struct stack_usage *usage, weft_entry entry, size_t size) {
    size_t at = (size_t)(((uintptr_t)entry ^ size) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (unsigned i = 0; i < STACK_USAGE_MOST; i++) {
        struct weft_stack_mark *mark = &usage->mark[(at + i) % STACK_USAGE_MOST];
        if (mark->entry == entry && mark->stack_size == size) return mark;
        if (mark->entry) continue;
        mark->entry = entry;
        mark->stack_size = size;
        return mark;
    }
    return NULL;
}

void stack_usage_end(struct runtime *runtime, struct proc *proc, struct stack *stack, bool overflow) {
    struct fiber_start *start = fiber_start_of(proc);
    size_t size = stack_class_size(stack->class), high = overflow ? size : stack_high_water(stack);
    proc->extras &= (uint8_t)~PROC_MEASURED;
    struct stack_usage *usage = stack_usage_of(runtime);
    if (!usage) return; /* no memory: the measurement is dropped */
    lock_take(&usage->lock);
    struct weft_stack_mark *mark = stack_usage_find(usage, start->entry, size);
    if (mark) {
        if (overflow) mark->overflows++;
        else mark->measured++;
        if (high > mark->high_water) mark->high_water = high < size ? high : size;
        if (start->name && !mark->name[0]) snprintf(mark->name, sizeof mark->name, "%s", fiber_name_text(start));
    }
    lock_drop(&usage->lock);
}

size_t weft_stack_marks_sized(weft_runtime *opaque, weft_stack_mark *out, size_t mark_size, size_t room) {
    struct stack_usage *usage = atom_load_acq(&((struct runtime *)opaque)->stack_usage); /* acq: as in stack_usage_of */
    if (!usage) return 0;
    lock_take(&usage->lock);
    size_t count = 0;
    for (unsigned i = 0; i < STACK_USAGE_MOST; i++)
        if (usage->mark[i].entry && count++ < room)
            sized_write((unsigned char *)out + (count - 1) * mark_size, mark_size, &usage->mark[i], sizeof usage->mark[i]);
    lock_drop(&usage->lock);
    return count;
}

size_t weft_stack_used(void) { return stack_high_water(fiber_of(fiber_caller("weft_stack_used")->current)->stack); }
