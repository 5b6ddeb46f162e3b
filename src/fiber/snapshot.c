/* A racy snapshot of a stackful process, for dumps and reports. The process may run or end meanwhile. Control blocks and stacks stay mapped
 * as long as the runtime lives, so every read is safe; the generation, read again at the end, tells whether the values belong together. */
#include "fiber/snapshot.h"
#include "fiber/fiber.h"

/* Hidden from the race detector: the process writes these values, and the snapshot is dropped if they may have changed. The stack of a
 * process that has ended may have any other use by now, with plain writes that the detector would report against these atomic reads. */
__attribute__((no_sanitize("thread"), no_sanitize("address"))) void fiber_snapshot(struct proc *proc, struct snapshot *snapshot) {
    *snapshot = (struct snapshot){.entry = NULL};
    uint32_t generation = atom_load_acq(&proc->generation); /* acq: the reads below see this process's values, or a later one's */
    const weft_behavior *behavior = atom_load_rlx(&proc->behavior);
    if (generation % 2 == 0 || !behavior || behavior->step != fiber_step) return;
    volatile const struct fiber_start *start = (volatile const struct fiber_start *)fiber_start_of(proc);
    struct snapshot seen = {.entry = (const void *)(uintptr_t)start->entry, .name = start->name};
    struct fiber *fiber = start->fiber;
    if (fiber) {
        annotate_unjudged_begin();
        seen.in_call = *(volatile unsigned *)&fiber->calls > 0;
        seen.about = atom_load_acq(&fiber->waits_about);
        seen.call = atom_load_acq(&fiber->waits_in); /* acq, both: before the generation is read again */
        annotate_unjudged_end();
    }
    if (atom_load_rlx(&proc->generation) == generation) *snapshot = seen;
}
