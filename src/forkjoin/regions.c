/* Address space for regions, kept until the runtime ends (region.h, T6), and the list of free regions. */
#include "forkjoin/regions.h"

/* Bytes that a region keeps while it is free; memory beyond is given back to the kernel. */
enum { REGION_KEPT = 64 << 10 };
_Static_assert(REGION_SOFT * sizeof(weft_task) == REGION_KEPT, "REGION_SOFT is the number of tasks in the memory that a region keeps");

static struct regions *regions_of(struct runtime *runtime) {
    struct regions *regions = atom_load_acq(&runtime->regions); /* acq: pairs with the rel below: *regions is set up */
    if (__builtin_expect(regions != NULL, 1)) return regions;
    lock_take(&runtime->lock);
    regions = atom_load_rlx(&runtime->regions); /* rlx: under the lock */
    if (!regions && (regions = sys->alloc(sizeof *regions))) {
        lock_init(&regions->lock);
        atom_store_rel(&runtime->regions, regions); /* rel: pairs with the acq above and in forkjoin_steal */
    }
    lock_drop(&runtime->lock);
    return regions;
}

/* ---- address space ------------------------------------------------------------------------------------------------ */

/* Room for `count` regions; one more is mapped, for the alignment. */
static struct regions_arena *arena_new(unsigned count) {
    struct regions_arena *arena = sys->alloc(sizeof *arena);
    if (!arena) return NULL;
    arena->size = (count + 1) * WEFT_TASKS_BYTES;
    arena->memory = sys->vm_map(arena->size);
    if (!arena->memory) {
        sys->free(arena, sizeof *arena);
        return NULL;
    }
    sys->vm_advise(arena->memory, arena->size, SYS_VM_SMALL); /* if refused, a region costs a huge page, no more */
    arena->unused = (unsigned char *)(((uintptr_t)arena->memory + WEFT_TASKS_BYTES - 1) & ~(WEFT_TASKS_BYTES - 1));
    arena->left = count;
    return arena;
}

/* Under the lock. */
static struct region *region_new(struct regions *regions) {
    struct regions_arena *arena = regions->arenas;
    if (!arena || arena->left == 0) {
        arena = arena_new(REGIONS_ARENA);
        if (!arena) arena = arena_new(1);
        if (!arena) return NULL;
        arena->next = regions->arenas;
        regions->arenas = arena;
    }
    struct region *region = (struct region *)arena->unused;
    arena->unused += WEFT_TASKS_BYTES;
    arena->left--;
    region_init(region);
    uint32_t made = atom_load_rlx(&regions->made); /* rlx: under the lock */
    if (made == REGIONS_SEEN) return region;
    atom_store_rlx(&regions->seen[made], region); /* rlx: published by `made` */
    atom_store_rel(&regions->made, made + 1);     /* rel: pairs with the acq in thief_look */
    return region;
}

struct region *regions_take(struct runtime *runtime) {
    struct regions *regions = regions_of(runtime);
    if (!regions) return NULL;
    lock_take(&regions->lock);
    struct region *region = regions->free;
    if (region) regions->free = region->next;
    else region = region_new(regions);
    lock_drop(&regions->lock);
    if (!region) return NULL;
    region_begin(region);
    region->runtime = runtime;
    region->grown = false;
    return region;
}

void regions_give(struct region *region) {
    struct runtime *runtime = region->runtime;
    struct regions *regions = atom_load_rlx(&runtime->regions); /* rlx: known since it was taken */
    if (atom_load_rlx(&region->active)) {                       /* rlx: the owner's */
        atom_store_rlx(&region->active, false);                 /* rlx: a thief that misses it only looks in vain */
        atom_sub_rlx(&runtime->fork_regions, 1);
    }
    /* Zeroed pages are IDLE places: a thief that reads them meanwhile finds nothing. */
    if (region->grown) sys->vm_advise((unsigned char *)region + REGION_KEPT, WEFT_TASKS_BYTES - REGION_KEPT, SYS_VM_DROP);
    lock_take(&regions->lock);
    region->next = regions->free;
    regions->free = region;
    lock_drop(&regions->lock);
}

void forkjoin_destroy_all(struct runtime *runtime) {
    struct regions *regions = atom_load_rlx(&runtime->regions); /* rlx: no other thread is left */
    if (!regions) return;
    for (struct regions_arena *arena = regions->arenas, *next; arena; arena = next) {
        next = arena->next;
        sys->vm_unmap(arena->memory, arena->size);
        sys->free(arena, sizeof *arena);
    }
    sys->free(regions, sizeof *regions);
    atom_store_rlx(&runtime->regions, NULL);
}
