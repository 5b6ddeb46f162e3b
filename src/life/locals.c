/* Process-local storage: keys, and the values of a process. */
#include "life/locals.h"

#include "base/sized.h"
#include "life/context.h"
#include "sched/heed.h"

#include <weft/local.h>

/* Keys 1 to `made`. An entry is written before its key is known, and never again. So it may be read by one that was given the key, or a value that
 * was set under it; of other keys up to `made` it may be just being written. */
static struct {
    atom_u32 made;
    weft_key_options options[WEFT_KEYS_MAX];
} keys;

struct locals {
    uint32_t room;
    bool inherited; /* some were set whose key has `inherit` */
    void *values[]; /* that of key k at k - 1 */
};

int weft_key_new_sized(const weft_key_options *options, size_t options_size, weft_key *key) {
    weft_key_options mine;
    options = sized_read(options, options_size, &mine, sizeof mine);
    if (!options) return WEFT_EINVAL;
    /* rlx: a number. Which thread knows the key, and thereby sees the entry, is the program's business. */
    uint32_t at = atom_load_rlx(&keys.made);
    do {
        if (at == WEFT_KEYS_MAX) return WEFT_ENOBUFS;
    } while (!atom_cas_rlx_rlx(&keys.made, &at, at + 1));
    keys.options[at] = *options;
    *key = at + 1;
    return 0;
}

/* ---- the array -------------------------------------------------------------------------------------------------------------- */

static size_t locals_size(uint32_t room) { return sizeof(struct locals) + room * sizeof(void *); }

/* Room for `key`: all that were made before it, so that an array seldom grows. */
static int locals_grow(struct locals **locals, weft_key key) {
    struct locals *old = *locals;
    if (old && key <= old->room) return 0;
    uint32_t made = atom_load_rlx(&keys.made), room = key > made ? key : made;
    struct locals *new = sys->alloc(locals_size(room));
    if (!new) return WEFT_ENOMEM;
    memset(new, 0, locals_size(room));
    if (old) {
        memcpy(new, old, locals_size(old->room));
        sys->free(old, locals_size(old->room));
    }
    new->room = room;
    *locals = new;
    return 0;
}

static int locals_put(struct locals **locals, weft_key key, void *value) {
    int error = value || *locals ? locals_grow(locals, key) : 0;
    if (error || !*locals) return error;
    (*locals)->values[key - 1] = value;
    if (value && keys.options[key - 1].inherit) (*locals)->inherited = true;
    return 0;
}

bool locals_are_inherited(const struct locals *locals) { return locals && locals->inherited; }

/* Room first: what a key's `inherit` has made is always kept. */
int locals_inherit(struct local *local, struct locals *const *from, struct locals **locals) {
    uint32_t room = (*from)->room;
    if (locals_grow(locals, room)) return WEFT_ENOMEM;
    struct proc *spawner = guard_process(my_worker);
    local_leave(local); /* what is called is the program's, and may call weft: the spawner's array may move and grow */
    parts.keep(spawner, true);
    for (weft_key key = 1; key <= room; key++) {
        void *value = (*from)->values[key - 1], *(*inherit)(void *) = value ? keys.options[key - 1].inherit : NULL;
        if (inherit) locals_put(locals, key, inherit(value));
    }
    parts.keep(spawner, false);
    local_begin(local);
    return 0;
}

void locals_destroy(struct locals *locals) {
    for (weft_key key = locals->room; key > 0; key--) {
        void *value = locals->values[key - 1], (*destroy)(void *) = value ? keys.options[key - 1].destroy : NULL;
        if (destroy) destroy(value);
    }
    sys->free(locals, locals_size(locals->room));
}

/* ---- the calling process ------------------------------------------------------------------------------------------------------ */

void *weft_local_get(weft_key key) {
    struct worker *self = my_worker;
    struct locals **place = self && self->current ? context_locals(NULL, self->current) : NULL;
    return place && *place && key - 1 < (*place)->room ? (*place)->values[key - 1] : NULL;
}

int weft_local_set(weft_key key, void *value) {
    struct worker *self = my_worker;
    if (key == 0 || key > atom_load_rlx(&keys.made)) return WEFT_EINVAL; /* rlx: as in weft_key_new_sized */
    if (!self || !self->current) return WEFT_ENOTINSIDE;
    heed(self);
    local_enter(&self->local, "weft_local_set");
    struct locals **place = context_locals(&self->local, self->current);
    int error = place ? locals_put(place, key, value) : WEFT_ENOMEM;
    local_leave(&self->local);
    return error;
}
