/* Packing the stacks of processes that wait: see fiber/pack.h. */
#include "fiber/pack.h"

#include "sys/sys.h"

#include <string.h>

enum {
    PACK_BYTES = 2048, /* packed, at most: the largest class of a pool */
    /* Of the stack, at most: a process that uses more keeps it. In a simulation so many that they always fit, and all in blocks of one class: what is left
     * over in a frame may differ from run to run, and must decide nothing. */
    PACK_WORDS = WEFT_SIM ? 248 : 512,
};
static unsigned pack_class(size_t size) { return pool_class_of(WEFT_SIM ? (size_t)PACK_BYTES : size); }

struct packing *pack_begin(struct runtime *runtime, struct proc *proc) {
    struct packing *packing = side_of(&runtime->sides.packings, proc_slot(proc), sizeof *packing, true);
    if (!packing) return NULL;
    packing->leaving = 0;
    atom_store_rlx(&packing->refused, 0); /* rlx, all: proc/packing.h */
    atom_store_rlx(&packing->packed, 0);
    atom_store_rlx(&packing->owner, proc_generation(proc));
    if (!atom_load_rlx(&runtime->sides.packs)) atom_store_rlx(&runtime->sides.packs, true);
    return packing;
}

void pack_destroy_all(struct runtime *runtime) {
    side_destroy(&runtime->sides.packings, sizeof(struct packing));
    side_destroy(&runtime->sides.pack_rooms, sizeof(struct pack_room));
}

static struct pack_room *pack_room_of(struct worker *worker, bool make) {
    return side_of(&worker->runtime->sides.pack_rooms, proc_slot(worker->current), sizeof(struct pack_room), make);
}

void *pack_room_made(struct worker *worker, void *own) {
    struct pack_room *room = pack_room_of(worker, true);
    return room ? (void *)room : own; /* without memory it waits unpacked */
}

/* ---- leaving ------------------------------------------------------------------------------------------------------- */

/* Whether objects of weft's lie on its stack that other processes use (a scope), or it has frames on another stack. */
static bool pack_is_used(const struct fiber *fiber) {
    for (const struct cleanup *each = fiber->cleanups; each; each = each->next)
        if (each->pair) return true;
    return fiber->altstack || fiber->calls > 0 || fiber->proc->extras & PROC_TASKS;
}

struct worker *pack_leave_asked(struct worker *worker, enum weft_status status, const void *part) {
    struct fiber *fiber = fiber_of(worker->current);
    struct packing *packing = fiber->packing;
    atom_store_rlx(&packing->asked, 0);
    if (pack_is_used(fiber) || (part && part != pack_room_of(worker, false))) return fiber_leave(worker, status);
    packing->leaving = (uint8_t)(status + 1);
    return fiber_leave_to_pack(worker, fiber);
}

/* ---- the bytes ------------------------------------------------------------------------------------------------------ */

/* All that is used of the stack: from the stack pointer up to the end of `struct stack`. */
static uintptr_t pack_top(const struct fiber *fiber) { return (uintptr_t)(fiber->stack + 1); }

/* The words that are not 0, behind a bit for each word that says so. Returns the size; 0: it is too much. Hidden from the sanitizers: these
 * are other functions' frames. */
__attribute__((no_sanitize("address", "thread"))) static size_t pack_words(const uint64_t *from, size_t words, uint64_t *to) {
    size_t bits = (words + 63) / 64, used = bits;
    memset(to, 0, bits * sizeof *to);
    for (size_t i = 0; i < words; i++) {
        if (!from[i]) continue;
        if (used == PACK_BYTES / sizeof *to) return 0;
        to[i / 64] |= UINT64_C(1) << i % 64;
        to[used++] = from[i];
    }
    return used * sizeof *to;
}

__attribute__((no_sanitize("address", "thread"))) static void unpack_words(uint64_t *to, size_t words, const uint64_t *from) {
    const uint64_t *next = from + (words + 63) / 64;
    for (size_t i = 0; i < words; i++)
        to[i] = from[i / 64] >> i % 64 & 1 ? *next++ : 0;
}

/* In a checking build a touch of the stack of a packed process faults: its thread has broken the promise. Not if that would need too many
 * mappings, or while a dump reads the stack: the dump counts itself and then looks at `packed`, here it is the other way round. */
static void pack_deny(struct packing *packing, size_t span) {
    if (!WEFT_DEBUG) return;
    sys_fence_heavy(); /* pairs with the light one in snapshot_is_packed */
    packing->denied = atom_load_rlx(&packing->readers) == 0 && sys->vm_advise(packing->first, span, SYS_VM_DENY) == 0;
}

/* The pages of the stack, the one with `struct stack` included. */
static size_t pack_span(struct runtime *runtime, const unsigned char *low, uintptr_t top) {
    size_t page = runtime->stacks.page;
    return ((top + page - 1) & ~(page - 1)) - (uintptr_t)low;
}

static bool pack_stack(struct local *local, struct fiber *fiber, struct packing *packing) {
    uint64_t buffer[PACK_BYTES / sizeof(uint64_t)];
    uintptr_t low = (uintptr_t)fiber->ctx.frame->sp & ~(uintptr_t)7, top = pack_top(fiber);
    unsigned char *first = fiber->stack->low;
    size_t words = (top - low) / sizeof(uint64_t);
    size_t size = words <= PACK_WORDS ? pack_words((const uint64_t *)low, words, buffer) : 0;
    void *bytes = size ? pool_take(&local->blocks, pack_class(size)) : NULL;
    if (!bytes) return false;
    memcpy(bytes, buffer, size);
    packing->bytes = bytes;
    packing->size = (uint32_t)size;
    packing->low = low;
    packing->top = top;
    packing->first = first;
    atom_store_rlx(&packing->call, atom_load_rlx(&fiber->waits_in));
    atom_store_rlx(&packing->packed, proc_generation(fiber->proc));
    size_t span = pack_span(local->runtime, first, top);
    fiber->proc->stackful = PROC_PACKED;
    atomic_signal_fence(memory_order_seq_cst);      /* G4 */
    (void)sys->vm_advise(first, span, SYS_VM_DROP); /* an error leaves the pages as they are */
    pack_deny(packing, span);
    return true;
}

void pack_left(struct worker *worker, struct fiber *fiber) {
    struct proc *proc = fiber->proc;
    struct packing *packing = fiber->packing;
    enum weft_status status = (enum weft_status)(packing->leaving - 1);
    packing->leaving = 0;
    if (pack_stack(&worker->local, fiber, packing)) atom_store_rlx(&packing->refused, 0);
    step_commit(worker, proc, status);
}

static struct packing *packing_of(struct runtime *runtime, struct proc *proc) {
    return side_of(&runtime->sides.packings, proc_slot(proc), sizeof(struct packing), false);
}

static void pack_allow(struct runtime *runtime, struct packing *packing) {
    if (!packing->denied) return;
    int error = sys->vm_advise(packing->first, pack_span(runtime, packing->first, packing->top), SYS_VM_ALLOW);
    WEFT_ENSURE(error == 0, "the stack of a packed process cannot be used again: %d", error);
    packing->denied = false;
}

void pack_restore(struct local *local, struct proc *proc) {
    struct packing *packing = packing_of(local->runtime, proc);
    pack_allow(local->runtime, packing);
    unpack_words((uint64_t *)packing->low, (packing->top - packing->low) / sizeof(uint64_t), packing->bytes);
    pool_give(&local->blocks, pack_class(packing->size), packing->bytes);
    atom_store_rlx(&packing->packed, 0);
    atomic_signal_fence(memory_order_seq_cst); /* G4 */
    proc->stackful = PROC_STACKFUL;
}

void pack_abandon(struct local *local, struct proc *proc) {
    struct packing *packing = packing_of(local->runtime, proc);
    bool annotated = ANNOTATE_ADDRESS + ANNOTATE_THREAD > 0;
    if (proc->extras & PROC_MAILBOX || annotated) pack_restore(local, proc);
    else pool_give(&local->blocks, pack_class(packing->size), packing->bytes);
}
