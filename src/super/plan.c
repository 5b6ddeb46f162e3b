/* Copies of specifications: the program's own may go out of scope while the supervisor runs. */
#include "super/super.h"

#include <stdio.h>
#include <string.h>

static int plan_wrong(const char *name, const char *id, const char *why) {
    fprintf(stderr, "weft: supervisor %s, child %s: %s\n", name ? name : "?", id ? id : "?", why);
    return WEFT_EINVAL;
}

/* Fields of a later version, which this one does not know. */
static bool plan_has_unknown(void *const *reserved, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (reserved[i]) return true;
    return false;
}

enum { PLAN_DEEPEST = 32 };
static int plan_copy_at(const weft_super_spec *spec, struct plan **copy, unsigned depth);

static bool plan_string(const char *text, char *copy) {
    size_t length = text ? strlen(text) : 0;
    if (length >= WEFT_CHILD_ID) return false;
    if (text) memcpy(copy, text, length + 1);
    else *copy = '\0';
    return true;
}

const char *plan_child_fault(const weft_child_spec *spec) {
    int kinds = (spec->entry != NULL) + (spec->behavior != NULL) + (spec->super != NULL);
    if (!spec->id || !*spec->id) return "it has no id";
    if (*spec->id == '*' && spec->id[1]) return "ids that begin with * are those of children after a pattern";
    if (strlen(spec->id) >= WEFT_CHILD_ID || (spec->register_as && strlen(spec->register_as) >= WEFT_CHILD_ID))
        return "its id or name is too long";
    if (kinds != 1) return "one of entry, behavior and super says what it is";
    if ((unsigned)spec->restart > WEFT_TEMPORARY) return "no such kind of restart";
    if (plan_has_unknown(spec->reserved, sizeof spec->reserved / sizeof spec->reserved[0])) return "its reserved fields are not NULL";
    if ((spec->ready || spec->discard) && !spec->entry) return "`ready` and `discard` are for an entry function";
    if (spec->flags & (WEFT_SPAWN_JOINABLE | WEFT_SPAWN_LINK | WEFT_SPAWN_MONITOR | WEFT_SPAWN_ANNOUNCE))
        return "its supervisor links and monitors it";
    return NULL;
}

static int plan_child_copy_at(const weft_child_spec *spec, struct plan_child *copy, unsigned depth) {
    *copy = (struct plan_child){.spec = *spec};
    plan_string(spec->id, copy->id);
    plan_string(spec->register_as, copy->name);
    copy->spec.id = copy->id;
    copy->spec.register_as = spec->register_as ? copy->name : NULL;
    if (spec->mailbox) copy->mailbox = *spec->mailbox;
    return spec->super ? plan_copy_at(spec->super, &copy->below, depth + 1) : 0;
}

struct plan *plan_hold(struct plan *plan) {
    if (plan) atom_add_rlx(&plan->references, 1); /* rlx: the caller has one */
    return plan;
}

void plan_drop(struct plan *plan) {
    if (!plan || atom_sub_acqrel(&plan->references, 1) > 1) return; /* acqrel: what others read is read before it is freed */
    for (size_t i = 0; i < plan->spec.count; i++)
        plan_drop(plan->children[i].below);
    plan_drop(plan->pattern.below);
    sys->free(plan, plan->size);
}

uint64_t plan_hash(const char *id) {
    uint64_t hash = 0;
    for (; *id; id++)
        hash = (hash ^ (unsigned char)*id) * UINT64_C(0x9e3779b97f4a7c15);
    return hash >> 32;
}

/* Ids are unique. A table of children by their ids, because there may be thousands of them. */
static int plan_unique(const weft_super_spec *spec) {
    size_t room = 2;
    while (room < 2 * spec->count)
        room *= 2;
    const char **ids = sys->alloc(room * sizeof *ids);
    if (!ids) return WEFT_ENOMEM;
    int error = 0;
    for (size_t i = 0; i < spec->count && !error; i++) {
        size_t at = plan_hash(spec->children[i].id) & (room - 1);
        while (ids[at] && strcmp(ids[at], spec->children[i].id) != 0)
            at = (at + 1) & (room - 1);
        if (ids[at]) error = plan_wrong(spec->name, ids[at], "its id is there twice");
        ids[at] = spec->children[i].id;
    }
    sys->free(ids, room * sizeof *ids);
    return error;
}

/* The first fault of the children, said on standard error. */
static int plan_check(const weft_super_spec *spec) {
    const char *name = spec->name;
    if ((unsigned)spec->strategy > WEFT_REST_FOR_ONE) return plan_wrong(name, "-", "no such strategy");
    if (plan_has_unknown(spec->reserved, sizeof spec->reserved / sizeof spec->reserved[0]))
        return plan_wrong(name, "-", "the supervisor's reserved fields are not NULL");
    if (name && strlen(name) >= WEFT_CHILD_ID) return plan_wrong(name, "-", "the supervisor's name is too long");
    if (spec->count > 0 && !spec->children) return plan_wrong(name, "-", "there is a count and no children");
    for (size_t i = 0; i < spec->count; i++) {
        const char *fault = plan_child_fault(&spec->children[i]);
        if (fault) return plan_wrong(name, spec->children[i].id, fault);
    }
    int error = plan_unique(spec);
    if (error || !spec->pattern) return error;
    weft_child_spec named = *spec->pattern;
    named.id = "*";
    const char *fault = plan_child_fault(&named);
    return fault ? plan_wrong(name, "pattern", fault) : 0;
}

/* How often it may restart children, and within which time, where the specification leaves that open. */
static void plan_defaults(weft_super_spec *spec) {
    if (spec->intensity == 0 && spec->period_ms == 0) spec->intensity = 3;
    if (spec->period_ms == 0) spec->period_ms = 5000;
    if (spec->backoff_most_ms == 0) spec->backoff_most_ms = 60000;
}

static int plan_copy_at(const weft_super_spec *spec, struct plan **copy, unsigned depth) {
    if (depth > PLAN_DEEPEST) return plan_wrong(spec->name, "-", "supervisors are below each other without end, or too deep");
    int error = plan_check(spec);
    if (error) return error;
    size_t size = sizeof(struct plan) + spec->count * sizeof(struct plan_child);
    struct plan *plan = sys->alloc(size);
    if (!plan) return WEFT_ENOMEM;
    plan->spec = *spec;
    plan->size = size;
    atom_store_rlx(&plan->references, 1); /* rlx: no other thread knows it yet */
    plan->spec.children = NULL;
    plan_defaults(&plan->spec);
    plan_string(spec->name ? spec->name : "supervisor", plan->name);
    plan->spec.name = plan->name;
    for (plan->spec.count = 0; plan->spec.count < spec->count && !error; plan->spec.count++)
        error = plan_child_copy_at(&spec->children[plan->spec.count], &plan->children[plan->spec.count], depth);
    if (!error && spec->pattern) {
        weft_child_spec pattern = *spec->pattern;
        pattern.id = "*";
        plan->has_pattern = true;
        error = plan_child_copy_at(&pattern, &plan->pattern, depth);
    }
    if (error) plan_drop(plan);
    else *copy = plan;
    return error;
}

int plan_copy(const weft_super_spec *spec, struct plan **copy) { return plan_copy_at(spec, copy, 0); }
int plan_child_copy(const weft_child_spec *spec, struct plan_child *copy) { return plan_child_copy_at(spec, copy, 0); }
