/* A look at a stackful process from outside, for dumps and reports. It may run or end meanwhile. Its block is always one, and stacks stay
 * mapped as long as the runtime lives, so nothing that is read here can be missing; whether it belongs together is asked at the end. */
#include "fiber/snapshot.h"
#include "fiber/fiber.h"

/* Not for the race detector: these are its owner's, and are thrown away if they have changed. The stack of one that has ended may be anything
 * by now, a big stack's for one, whose plain writes a race detector would hold against the atomic reads. */
__attribute__((no_sanitize("thread"), no_sanitize("address"))) void fiber_snapshot(struct proc *proc, struct snapshot *snapshot) {
    *snapshot = (struct snapshot){.entry = NULL};
    uint32_t generation = atom_load_acq(&proc->generation); /* acq: what is read now is this tenant's, or a later one's */
    const weft_behavior *behavior = atom_load_rlx(&proc->behavior);
    if (generation % 2 == 0 || !behavior || behavior->step != fiber_step) return;
    volatile const struct fiber_start *start = (volatile const struct fiber_start *)fiber_start_of(proc);
    struct snapshot seen = {.entry = (const void *)(uintptr_t)start->entry, .name = start->name};
    struct fiber *fiber = start->fiber;
    if (fiber) {
        annotate_unjudged_begin();
        seen.in_call = *(volatile unsigned *)&fiber->calls > 0;
        seen.about = atom_load_acq(&fiber->waits_about);
        seen.call = atom_load_acq(&fiber->waits_in); /* acq, both: before the generation is asked for again */
        annotate_unjudged_end();
    }
    if (atom_load_rlx(&proc->generation) == generation) *snapshot = seen;
}
