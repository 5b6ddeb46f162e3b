/* Names: register, take back, look up, list. */
#include "registry/registry.h"

#include "fiber/cleanup.h"

#include <weft/registry.h>

#include <stdio.h>

/* ---- the list of a process's names; under the lock, all -------------------------------------------------------------------- */

static void held_link(struct held_name **list, struct held_name *held) {
    held->next = *list;
    held->link = list;
    if (held->next) held->next->link = &held->next;
    *list = held;
}

/* Out of the list and the table: registry.h, R2. */
static void held_drop(struct local *local, struct registry *registry, struct held_name *held) {
    struct name_key key;
    name_key_make(&key, held->name, local->runtime->seed);
    name_table_remove(&registry->names, &key);
    *held->link = held->next;
    if (held->next) held->next->link = held->link;
    pool_give(&local->blocks, 0, held);
}

void names_last(struct runtime *runtime, uint32_t slot, bool waits, char *text, size_t size) {
    struct registry *registry = registry_of(runtime);
    struct ties *ties = registry ? ties_of(runtime, slot, false) : NULL;
    *text = '\0';
    if (!ties) return;
    if (waits) lock_take(&registry->names_lock);
    else if (!lock_try(&registry->names_lock)) return;
    if (ties->names) snprintf(text, size, "%s", ties->names->name);
    lock_drop(&registry->names_lock);
}

void names_end(struct local *local, struct registry *registry, struct ties *ties) {
    lock_take(&registry->names_lock);
    while (ties->names)
        held_drop(local, registry, ties->names);
    lock_drop(&registry->names_lock);
}

/* ---- registering ---------------------------------------------------------------------------------------------------------------- */

/* What is needed to give a process a name. */
struct naming {
    struct registry *registry;
    struct ties *ties;
    struct held_name *held;
    struct name_key key;
};

static int naming_begin(struct naming *naming, struct local *local, weft_pid pid, const char *name) {
    if (!name_key_make(&naming->key, name, local->runtime->seed)) return WEFT_EINVAL;
    if (!table_at(&local->runtime->table, pid_slot(pid))) return WEFT_ENOPROC;
    naming->registry = registry_make(local->runtime);
    naming->ties = naming->registry ? ties_of(local->runtime, pid_slot(pid), true) : NULL;
    naming->held = naming->ties ? pool_take(&local->blocks, 0) : NULL;
    if (!naming->held) return WEFT_ENOMEM;
    memcpy(naming->held->name, naming->key.words, naming->key.count * sizeof naming->key.words[0]);
    return 0;
}

/* Under the lock: whether a living process has the name. That of one that has ended is taken from it: registry.h, R3. */
static bool naming_is_taken(struct naming *naming, struct local *local) {
    uint64_t holder;
    struct held_name *held = name_table_note(&naming->registry->names, &naming->key, &holder);
    if (!held) return false;
    if (proc_find(local->runtime, holder)) return true;
    held_drop(local, naming->registry, held);
    return false;
}

/* Under the lock, in a section. `newborn`: the process, if it is just being spawned by the caller. */
static int naming_give(struct naming *naming, struct local *local, weft_pid pid, struct proc *newborn) {
    struct proc *proc = newborn ? newborn : proc_find(local->runtime, pid);
    if (!proc) return WEFT_ENOPROC;
    if (naming_is_taken(naming, local)) return WEFT_EEXIST;
    if (newborn) state_owns(&proc->state);
    else if (!state_give(&proc->state)) return WEFT_ENOPROC; /* registry.h, R1 */
    if (name_table_add(&naming->registry->names, &naming->key, pid, naming->held)) return WEFT_ENOMEM;
    held_link(&naming->ties->names, naming->held);
    return 0;
}

static int names_add(struct local *local, weft_pid pid, struct proc *newborn, const char *name) {
    struct naming naming;
    int error = naming_begin(&naming, local, pid, name);
    if (error) return error;
    lock_take(&naming.registry->names_lock);
    section_enter(&local->section); /* as in monitor_add_locked */
    error = naming_give(&naming, local, pid, newborn);
    section_leave(&local->section);
    lock_drop(&naming.registry->names_lock);
    if (error) pool_give(&local->blocks, 0, naming.held);
    return error;
}

__attribute__((noinline)) int registry_newborn(struct local *local, struct proc *proc, weft_pid pid, const char *name) {
    return names_add(local, pid, proc, name);
}

int weft_register(const char *name, weft_pid pid) {
    struct rt_entry entry;
    heed(my_worker);
    if (!rt_enter(&entry, pid, "weft_register")) return WEFT_EFOREIGN;
    int error = names_add(entry.local, pid, NULL, name);
    rt_leave(&entry);
    return error;
}

/* ---- taking back ------------------------------------------------------------------------------------------------------------------ */

static int names_remove(struct local *local, const char *name) {
    struct registry *registry = registry_of(local->runtime);
    struct name_key key;
    uint64_t holder;
    if (!registry || !name_key_make(&key, name, local->runtime->seed)) return WEFT_ENOENT;
    lock_take(&registry->names_lock);
    struct held_name *held = name_table_note(&registry->names, &key, &holder);
    bool told = held && pid_is_open(local->runtime, holder); /* registry.h, R3 */
    if (told) held_drop(local, registry, held);
    lock_drop(&registry->names_lock);
    return told ? 0 : WEFT_ENOENT;
}

int weft_unregister(weft_runtime *runtime, const char *name) {
    struct rt_entry entry;
    int error = registry_enter(&entry, runtime, "weft_unregister");
    if (error) return error;
    error = names_remove(entry.local, name);
    rt_leave(&entry);
    return error;
}

/* ---- looking up ------------------------------------------------------------------------------------------------------------------- */

/* Blocks and tables stay until the runtime ends, so this needs neither a section nor a door. */
__attribute__((flatten)) weft_pid weft_whereis_in(weft_runtime *opaque, const char *name) {
    struct worker *self = my_worker;
    heed(self);
    struct runtime *runtime = opaque ? (struct runtime *)opaque : self ? self->runtime : NULL;
    struct registry *registry = runtime ? registry_of(runtime) : NULL;
    struct name_key key;
    if (__builtin_expect(!registry || !name_key_make(&key, name, runtime->seed), 0)) return WEFT_NOBODY;
    weft_pid pid = name_table_find(&registry->names, &key);
    return pid != WEFT_NOBODY && pid_is_open(runtime, pid) ? pid : WEFT_NOBODY; /* registry.h, R3 */
}

/* ---- listing ------------------------------------------------------------------------------------------------------------------------ */

struct listed_name {
    weft_pid pid;
    char name[WEFT_NAME_MOST + 1];
};
struct name_list {
    struct runtime *runtime;
    size_t count, room;
    struct listed_name names[];
};

static size_t name_list_bytes(size_t room) { return sizeof(struct name_list) + room * sizeof(struct listed_name); }
static void name_list_free(void *list) {
    if (list) sys->free(list, name_list_bytes(((struct name_list *)list)->room));
}

static void name_list_add(const char *name, uint64_t pid, void *user) {
    struct name_list *list = user;
    if (!pid_is_open(list->runtime, pid)) return;
    struct listed_name *at = &list->names[list->count++];
    at->pid = pid;
    memcpy(at->name, name, strlen(name) + 1);
}

/* All names of one moment. NULL: there is no memory. */
static struct name_list *name_list_new(struct runtime *runtime, struct registry *registry) {
    for (size_t room = 16;;) {
        struct name_list *list = sys->alloc(name_list_bytes(room));
        if (!list) return NULL;
        list->runtime = runtime;
        list->room = room;
        lock_take(&registry->names_lock);
        bool fits = registry->names.count <= room;
        if (fits) name_table_each(&registry->names, name_list_add, list);
        else room = registry->names.count * 2;
        lock_drop(&registry->names_lock);
        if (fits) return list;
        name_list_free(list);
    }
}

static void name_list_visit(struct name_list *list, void (*visit)(const char *name, weft_pid pid, void *user), void *user) {
    struct guard guard;
    struct proc *proc = guard_process(my_worker);
    guard_begin(&guard, proc, name_list_free, list); /* the process may end inside of visit */
    for (size_t i = 0; i < list->count; i++)
        visit(list->names[i].name, list->names[i].pid, user);
    guard_end(&guard, proc);
}

int64_t weft_names(weft_runtime *runtime, void (*visit)(const char *name, weft_pid pid, void *user), void *user) {
    struct rt_entry entry;
    int error = registry_enter(&entry, runtime, "weft_names");
    if (error) return error;
    struct registry *registry = registry_of(entry.local->runtime);
    struct name_list *list = registry ? name_list_new(entry.local->runtime, registry) : NULL;
    rt_leave(&entry);
    if (!registry) return 0;
    if (!list) return WEFT_ENOMEM;
    int64_t count = (int64_t)list->count;
    if (visit) name_list_visit(list, visit, user);
    name_list_free(list);
    return count;
}
