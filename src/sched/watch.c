#include "sched/watch.h"

struct watch_chunk {
    struct watcher *first[TABLE_CHUNK];
};

static struct lock *watch_lock(struct runtime *runtime, uint32_t slot) { return &runtime->watch_locks[slot % WATCH_LOCKS]; }

/* The list of a slot; NULL when there is no memory for it. */
static struct watcher **watch_list(struct runtime *runtime, uint32_t slot, bool make) {
    __typeof__(runtime->watched[0]) *place = &runtime->watched[slot / TABLE_CHUNK];
    struct watch_chunk *chunk = atom_load_acq(place); /* acq: pairs with the cas below: zeroed before it is known */
    if (!chunk && make) {
        struct watch_chunk *made = sys->alloc(sizeof *made);
        if (!made) return NULL;
        if (atom_cas_acqrel_acq(place, &chunk, made)) chunk = made; /* acqrel: as above, whoever is first */
        else sys->free(made, sizeof *made);
    }
    return chunk ? &chunk->first[slot % TABLE_CHUNK] : NULL;
}

static void watch_link(struct watcher **first, struct watcher *watcher) {
    watcher->prev = NULL;
    watcher->next = *first;
    if (*first) (*first)->prev = watcher;
    *first = watcher;
}

static void watch_unlink(struct watcher **first, struct watcher *watcher) {
    if (watcher->prev) watcher->prev->next = watcher->next;
    else *first = watcher->next;
    if (watcher->next) watcher->next->prev = watcher->prev;
}

int watch_add(struct actor *actor, weft_pid pid, struct watcher *watcher) {
    struct runtime *runtime = actor->runtime;
    uint32_t slot = pid_slot(pid);
    watcher->told = false;
    int error = WEFT_ENOPROC;
    struct watcher **list = table_at(&runtime->table, slot) ? watch_list(runtime, slot, true) : NULL;
    if (!list) return table_at(&runtime->table, slot) ? WEFT_ENOMEM : WEFT_ENOPROC;
    struct lock *lock = watch_lock(runtime, slot);
    lock_take(lock);
    /* The section keeps the slot from a next tenant, whom the mark would not concern. */
    section_enter(&actor->section);
    struct proc *proc = send_find(runtime, pid);
    if (proc) {
        watch_link(list, watcher);
        error = state_watch(&proc->state) ? 0 : WEFT_ENOPROC; /* H1 */
        if (error) watch_unlink(list, watcher);
    }
    section_leave(&actor->section);
    lock_drop(lock);
    return error;
}

int watch_newborn(struct actor *actor, uint32_t slot, struct watcher *watcher) {
    struct watcher **list = watch_list(actor->runtime, slot, true);
    if (!list) return WEFT_ENOMEM;
    struct lock *lock = watch_lock(actor->runtime, slot);
    watcher->told = false;
    lock_take(lock);
    watch_link(list, watcher);
    lock_drop(lock);
    return 0;
}

bool watch_remove(struct actor *actor, weft_pid pid, struct watcher *watcher) {
    struct runtime *runtime = actor->runtime;
    uint32_t slot = pid_slot(pid);
    struct lock *lock = watch_lock(runtime, slot);
    lock_take(lock);
    bool mine = !watcher->told;
    if (mine) watch_unlink(watch_list(runtime, slot, false), watcher);
    lock_drop(lock);
    return mine;
}

void watch_tell(struct actor *actor, struct worker *self, uint32_t slot, int reason) {
    struct runtime *runtime = actor->runtime;
    struct watcher **list = watch_list(runtime, slot, false);
    struct lock *lock = watch_lock(runtime, slot);
    lock_take(lock);
    while (*list) {
        struct watcher *watcher = *list;
        watch_unlink(list, watcher);
        watcher->told = true;
        watcher->tell(actor, self, watcher, reason); /* it may be gone now */
    }
    lock_drop(lock);
}

void watch_destroy_all(struct runtime *runtime) {
    for (unsigned i = 0; i < TABLE_CHUNKS; i++) {
        struct watch_chunk *chunk = atom_load_rlx(&runtime->watched[i]); /* rlx: nobody else is left */
        if (chunk) sys->free(chunk, sizeof *chunk);
    }
}
