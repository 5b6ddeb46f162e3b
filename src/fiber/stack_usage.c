#include "fiber/stack_usage.h"

#include <stdio.h>
#include <weft/stack.h>

/* The runtime's; made when the first is measured. */
struct marks {
    struct lock lock;
    struct weft_stack_mark mark[MARKS_MOST]; /* open addressing by entry and size */
};

void marks_begin(struct proc *proc, struct stack *stack) {
    proc->extras |= PROC_MEASURED;
    if (!stack_is_new(stack)) stack_clear(stack);
}

static struct marks *marks_of(struct runtime *runtime) {
    struct marks *marks = atom_load_acq(&runtime->marks); /* acq: pairs with the cas below: made before it is known */
    if (marks || !(marks = sys->alloc(sizeof *marks))) return marks;
    lock_init(&marks->lock);
    struct marks *other = NULL;
    if (atom_cas_acqrel_acq(&runtime->marks, &other, marks)) return marks; /* acqrel: as above, whoever is first */
    sys->free(marks, sizeof *marks);
    return other;
}

void marks_destroy(struct runtime *runtime) {
    struct marks *marks = atom_load_rlx(&runtime->marks); /* rlx: nobody else is left */
    if (marks) sys->free(marks, sizeof *marks);
}

/* Under the lock: its place, or NULL when there is no room. */
static struct weft_stack_mark *marks_find(struct marks *marks, weft_entry entry, size_t size) {
    size_t at = (size_t)(((uintptr_t)entry ^ size) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (unsigned i = 0; i < MARKS_MOST; i++) {
        struct weft_stack_mark *mark = &marks->mark[(at + i) % MARKS_MOST];
        if (mark->entry == entry && mark->stack_size == size) return mark;
        if (mark->entry) continue;
        mark->entry = entry;
        mark->stack_size = size;
        return mark;
    }
    return NULL;
}

void marks_end(struct runtime *runtime, struct proc *proc, struct stack *stack, bool overflow) {
    struct fiber_start *start = fiber_start_of(proc);
    size_t size = stack_class_size(stack->class), high = overflow ? size : stack_high_water(stack);
    proc->extras &= (uint8_t)~PROC_MEASURED;
    struct marks *marks = marks_of(runtime);
    if (!marks) return; /* no memory for it: nobody depends on a mark */
    lock_take(&marks->lock);
    struct weft_stack_mark *mark = marks_find(marks, start->entry, size);
    if (mark) {
        if (overflow)
            mark->overflows++;
        else
            mark->measured++;
        if (high > mark->high_water) mark->high_water = high < size ? high : size;
        if (start->name && !mark->name[0]) snprintf(mark->name, sizeof mark->name, "%s", start->name);
    }
    lock_drop(&marks->lock);
}

size_t weft_stack_marks(weft_runtime *opaque, weft_stack_mark *out, size_t room) {
    struct marks *marks = atom_load_acq(&((struct runtime *)opaque)->marks); /* acq: as in marks_of */
    if (!marks) return 0;
    lock_take(&marks->lock);
    size_t count = 0;
    for (unsigned i = 0; i < MARKS_MOST; i++)
        if (marks->mark[i].entry && count++ < room) out[count - 1] = marks->mark[i];
    lock_drop(&marks->lock);
    return count;
}

size_t weft_stack_used(void) { return stack_high_water(fiber_of(fiber_worker("weft_stack_used")->current)->stack); }
