#include "life/spawn.h"
#include "life/zombie.h"

struct watch_chunk {
    struct watcher *first[TABLE_CHUNK];
    struct kept *owned[TABLE_CHUNK];
};

struct lock *watch_lock(struct runtime *runtime, uint32_t slot) { return &runtime->watch_locks[slot % WATCH_LOCKS]; }

static struct watch_chunk *watch_chunk(struct runtime *runtime, uint32_t slot, bool make) {
    __typeof__(runtime->watched[0]) *place = &runtime->watched[slot / TABLE_CHUNK];
    struct watch_chunk *chunk = atom_load_acq(place); /* acq: pairs with the cas below: zeroed before it is known */
    if (!chunk && make) {
        struct watch_chunk *made = sys->alloc(sizeof *made);
        if (!made) return NULL;
        if (atom_cas_rel_acq(place, &chunk, made)) chunk = made; /* rel, acq: as above, whoever is first */
        else sys->free(made, sizeof *made);
    }
    return chunk;
}

struct watcher **watch_list(struct runtime *runtime, uint32_t slot, bool make) {
    struct watch_chunk *chunk = watch_chunk(runtime, slot, make);
    return chunk ? &chunk->first[slot % TABLE_CHUNK] : NULL;
}

struct kept **watch_owned(struct runtime *runtime, uint32_t slot) {
    struct watch_chunk *chunk = watch_chunk(runtime, slot, true);
    return chunk ? &chunk->owned[slot % TABLE_CHUNK] : NULL;
}

/* Behind a record, which stays the first (P1). */
static void watch_link(struct watcher **first, struct watcher *watcher) {
    struct watcher *before = *first && (*first)->keeps ? *first : NULL, **place = before ? &before->next : first;
    watcher->prev = before;
    watcher->next = *place;
    if (*place) (*place)->prev = watcher;
    *place = watcher;
}

void watch_unlink(struct watcher **first, struct watcher *watcher) {
    if (watcher->prev) watcher->prev->next = watcher->next;
    else *first = watcher->next;
    if (watcher->next) watcher->next->prev = watcher->prev;
}

/* Under the slot's lock. */
static int watch_add_locked(struct actor *actor, weft_pid pid, struct watcher **list, struct watcher *watcher) {
    int error = WEFT_ENOPROC;
    /* The section keeps the slot from a next tenant, whom the mark would not concern. */
    section_enter(&actor->section);
    struct proc *proc = proc_find(actor->runtime, pid);
    if (proc) {
        watch_link(list, watcher);
        error = state_watch(&proc->state) ? 0 : WEFT_ENOPROC; /* H1 */
        if (error) watch_unlink(list, watcher);
    }
    section_leave(&actor->section);
    return error;
}

/* The list of the PID's slot; NULL, and why not. */
static struct watcher **watch_place(struct runtime *runtime, weft_pid pid, int *error) {
    uint32_t slot = pid_slot(pid);
    *error = WEFT_ENOPROC;
    if (!table_at(&runtime->table, slot)) return NULL;
    *error = WEFT_ENOMEM;
    return watch_list(runtime, slot, true);
}

int watch_add(struct actor *actor, weft_pid pid, struct watcher *watcher) {
    int error;
    struct watcher **list = watch_place(actor->runtime, pid, &error);
    if (!list) return error;
    struct lock *lock = watch_lock(actor->runtime, pid_slot(pid));
    watcher->told = watcher->joins = watcher->keeps = false;
    lock_take(lock);
    error = watch_add_locked(actor, pid, list, watcher);
    lock_drop(lock);
    return error;
}

int watch_join(struct actor *actor, weft_pid pid, struct watcher *watcher, int *reason) {
    int error;
    struct watcher **list = watch_place(actor->runtime, pid, &error);
    if (!list) return error;
    struct lock *lock = watch_lock(actor->runtime, pid_slot(pid));
    watcher->told = watcher->keeps = false;
    watcher->joins = true;
    lock_take(lock);
    struct kept *kept = keep_find(*list, pid);
    if (!kept) {
        error = watch_add_locked(actor, pid, list, watcher);
    } else if (!kept->watcher.told) { /* its end will be told, even if it has begun to end */
        error = 0;
        watch_link(list, watcher);
    } else {
        error = WATCH_ENDED;
        *reason = kept->reason;
        keep_drop(actor, list, kept);
    }
    lock_drop(lock);
    if (error == WATCH_ENDED) shelf_retire(&actor->shelf, table_at(&actor->runtime->table, pid_slot(pid)));
    return error;
}

int watch_newborn(struct actor *actor, weft_pid pid, struct watcher *watcher) {
    struct watcher **list = watch_list(actor->runtime, pid_slot(pid), true);
    if (!list) return WEFT_ENOMEM;
    struct lock *lock = watch_lock(actor->runtime, pid_slot(pid));
    watcher->told = false;
    if (watcher->keeps) ((struct kept *)watcher)->pid = pid;
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

bool watch_tell(struct actor *actor, struct worker *self, uint32_t slot, int reason) {
    struct runtime *runtime = actor->runtime;
    struct watcher **list = watch_list(runtime, slot, false);
    struct lock *lock = watch_lock(runtime, slot);
    lock_take(lock);
    struct kept *kept = *list && (*list)->keeps ? (struct kept *)*list : NULL;
    bool joined = false;
    for (struct watcher **others = kept ? &kept->watcher.next : list; *others;) {
        struct watcher *watcher = *others;
        watch_unlink(list, watcher);
        watcher->told = true;
        joined |= watcher->joins;
        watcher->tell(actor, self, watcher, reason); /* it may be gone now */
    }
    if (kept && joined) {
        keep_drop(actor, list, kept);
    } else if (kept) {
        kept->watcher.told = true;
        kept->reason = reason;
    }
    lock_drop(lock);
    return kept && !joined;
}

void watch_destroy_all(struct runtime *runtime) {
    for (unsigned i = 0; i < TABLE_CHUNKS; i++) {
        struct watch_chunk *chunk = atom_load_rlx(&runtime->watched[i]); /* rlx: nobody else is left */
        if (chunk) sys->free(chunk, sizeof *chunk);
    }
}
