/* A racy snapshot of a stackful process, for dumps and reports. The process may run or end meanwhile. Control blocks and stacks stay mapped
 * as long as the runtime lives, so every read is safe once the pointer to the stack is known to be one: the generation is read again before it is
 * followed, and at the end, where it tells whether the values belong together. */
#include "fiber/snapshot.h"
#include "fiber/fiber.h"
#include "proc/packing.h"

/* Found by the slot, not by the block's pointer: the block may be a step process's by now, whose state is anything. */
static void snapshot_name(struct runtime *runtime, struct proc *proc, char text[sizeof(struct fiber_name)]) {
    const struct fiber_name *name = side_of(&runtime->sides.names, proc_slot(proc), sizeof *name, false);
    for (unsigned i = 0; name && i < sizeof name->words / sizeof name->words[0]; i++) {
        uint64_t word = atom_load_acq(&name->words[i]); /* acq: before the generation is read again */
        memcpy(text + i * sizeof word, &word, sizeof word);
    }
    text[sizeof *name - 1] = '\0'; /* of two names that are mixed, until the generation tells */
}

/* The record of a process that may be packed; its stack may be read until `readers` is lowered again, unless it is packed already. */
static struct packing *snapshot_packing(struct runtime *runtime, struct proc *proc) {
    struct packing *packing = runtime ? side_of(&runtime->sides.packings, proc_slot(proc), sizeof *packing, false) : NULL;
    if (packing) atom_add_rlx(&packing->readers, 1); /* rlx: the fence */
    return packing;
}
static bool snapshot_is_packed(struct packing *packing, uint32_t generation) {
    atom_fence_light(); /* pairs with the heavy one in pack_deny */
    return atom_load_rlx(&packing->packed) == generation;
}

/* The pointer to a process's stack as an atom: only here another thread reads it. */
typedef ATOM_PTR(struct fiber) snapshot_fiber;

/* Hidden from the race detector: the process writes these values, and the snapshot is dropped if they may have changed. The stack of a
 * process that has ended may have any other use by now, with plain writes that the detector would report against these atomic reads. */
__attribute__((no_sanitize("thread"), no_sanitize("address"))) void fiber_snapshot(struct runtime *runtime, struct proc *proc,
                                                                                   struct snapshot *snapshot) {
    *snapshot = (struct snapshot){.entry = NULL};
    uint32_t generation = pid_generation(atom_load_acq(&proc->pid)); /* acq: the reads below see this process's values, or a later one's */
    const weft_behavior *behavior = atom_load_rlx(&proc->behavior);
    if (generation % 2 == 0 || !behavior || behavior->step != fiber_step) return;
    volatile const struct fiber_start *start = (volatile const struct fiber_start *)fiber_start_of(proc);
    struct snapshot seen = {.entry = (const void *)(uintptr_t)start->entry};
    if (runtime && start->name) snapshot_name(runtime, proc, seen.name);
    struct packing *packing = snapshot_packing(runtime, proc);
    annotate_unjudged_begin();
    /* acq: before the generation is read again: another process's block may have anything here, which must not be followed. */
    struct fiber *fiber = atom_load_acq((snapshot_fiber *)(uintptr_t)&start->fiber);
    bool same = pid_generation(atom_load_acq(&proc->pid)) == generation; /* acq: pairs with the rel in proc_end_pid */
    if (same && fiber) seen.stack = fiber;
    if (packing && snapshot_is_packed(packing, generation)) {
        seen.call = atom_load_acq(&packing->call); /* acq: before the generation is read again */
    } else if (same && fiber) {
        seen.in_call = *(volatile unsigned *)&fiber->calls > 0;
        seen.about = atom_load_acq(&fiber->waits_about);
        seen.call = atom_load_acq(&fiber->waits_in); /* acq, both: before the generation is read again */
        if (seen.call == fiber_mail) seen.about = NULL;
    }
    annotate_unjudged_end();
    if (packing) atom_sub_rel(&packing->readers, 1); /* rel: the reads come before */
    if (same && proc_generation(proc) == generation) *snapshot = seen;
}
