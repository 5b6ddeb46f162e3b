/* Where names and groups are kept, and what becomes of them when a process or the runtime ends. */
#include "registry/registry.h"

struct registry *registry_make(struct runtime *runtime) {
    struct registry *registry = registry_of(runtime);
    if (registry) return registry;
    struct registry *made = sys->alloc(sizeof *made);
    if (!made) return NULL;
    lock_init(&made->names_lock);
    lock_init(&made->groups_lock);
    if (atom_cas_rel_acq(&runtime->registry, &registry, made))
        return made; /* rel, acq: pair with each other and registry_of: zeroed first */
    sys->free(made, sizeof *made);
    return registry;
}

int registry_enter(struct rt_entry *entry, weft_runtime *runtime, const char *call) {
    struct worker *self = worker_here();
    if (!runtime && !self) return WEFT_ENOTINSIDE;
    heed(self);
    unsigned instance = runtime ? ((struct runtime *)runtime)->instance : self->runtime->instance;
    return rt_enter(entry, pid_make(instance, 0, 0), call) ? 0 : WEFT_EFOREIGN;
}

__attribute__((noinline)) void registry_end(struct local *local, uint32_t slot) {
    struct registry *registry = registry_of(local->runtime);
    struct ties *ties = registry ? ties_of(local->runtime, slot, false) : NULL;
    if (!ties) return;
    names_end(local, registry, ties);
    groups_end(local, registry, ties);
}

void registry_destroy(struct runtime *runtime) {
    struct registry *registry = registry_of(runtime);
    if (!registry) return;
    name_table_destroy(&registry->names);
    name_table_destroy(&registry->groups);
    sys->free(registry, sizeof *registry);
}
