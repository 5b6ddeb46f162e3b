/* Contexts: a chain towards the root, each link with a deadline or a value. Only `cancelled` ever changes. */
#include "life/cancel.h"
#include "life/locals.h"
#include "sched/heed.h"
#include "sched/timer_event.h"
#include "sys/deadline.h"

struct weft_context {
    struct weft_context *parent;
    uint64_t deadline; /* the earliest from here to the root */
    const void *key;
    void *value;
    atom_u32 references;
    atom_bool cancelled;
};

static int context_make(weft_context **context, weft_context *parent, uint64_t deadline, const void *key, void *value) {
    weft_context *made = sys->alloc(sizeof *made);
    if (!made) return WEFT_ENOMEM;
    *made = (weft_context){.parent = parent, .deadline = deadline, .key = key, .value = value};
    if (parent) {
        weft_context_hold(parent);
        if (parent->deadline < deadline) made->deadline = parent->deadline;
    }
    atom_store_rlx(&made->references, 1); /* rlx: no other thread knows it */
    *context = made;
    return 0;
}

int weft_context_new(weft_context *parent, weft_context **context, uint64_t deadline) {
    heed(my_worker);
    deadline_check(deadline, "weft_context_new");
    return context_make(context, parent, deadline, NULL, NULL);
}
int weft_context_with(weft_context *parent, const void *key, void *value, weft_context **context) {
    heed(my_worker);
    return context_make(context, parent, WEFT_FOREVER, key, value);
}

weft_context *weft_context_hold(weft_context *context) {
    if (context) atom_add_rlx(&context->references, 1); /* rlx: the caller has a reference already */
    return context;
}

void weft_context_drop(weft_context *context) {
    /* acqrel: the thread that drops the last reference sees all that others did with the context. */
    while (context && atom_sub_acqrel(&context->references, 1) == 1) {
        weft_context *parent = context->parent;
        sys->free(context, sizeof *context);
        context = parent;
    }
}

uint64_t weft_context_deadline(const weft_context *context) { return context ? context->deadline : WEFT_FOREVER; }

void *weft_context_value(const weft_context *context, const void *key) {
    for (; context; context = context->parent)
        if (context->key == key && key) return context->value;
    return NULL;
}

bool weft_context_cancelled(const weft_context *context) {
    for (const weft_context *c = context; c; c = c->parent)
        if (atom_load_acq(&c->cancelled)) return true; /* acq: pairs with the rel in weft_context_cancel */
    return context && context->deadline != WEFT_FOREVER && context->deadline <= sys->now();
}

/* ---- the context of a process ---------------------------------------------------------------------------------------- */

/* A process's membership of a context, from its birth to its end; also where its process-local values are, so that it may have no context. There is a timer for each process and not one for the context: a deadline
 * costs only the processes it applies to, and not a walk through all processes of the runtime. */
struct member {
    struct timer_event timer; /* first: the two have one address. Armed if the context has a deadline */
    weft_context *context;    /* may be NULL */
    struct proc *proc;
    struct locals *locals; /* may be NULL */
};

/* The deadline has come. The process has not ended: it would have waited for this call in context_take. */
static void member_late(struct local *local, struct worker *self, struct timer_event *event) {
    cancel_now(local->runtime, self, ((struct member *)event)->proc);
}

/* A thread that cancels a context reads the contexts of all processes, which may end meanwhile: hence the lock, one of a few. The process
 * itself, whose context no other thread changes, needs none. */
static struct lock *context_lock(struct runtime *runtime, uint32_t slot) { return &runtime->context_locks[slot % CONTEXT_LOCKS]; }

static void context_set(struct runtime *runtime, struct proc *proc, struct member *member) {
    struct lock *lock = context_lock(runtime, proc_slot(proc));
    lock_take(lock);
    proc->member = member;
    lock_drop(lock);
}

static struct member *context_join(struct local *local, struct proc *proc, weft_context *context) {
    struct member *member = pool_take(&local->blocks, pool_class_of(sizeof *member));
    if (!member) return NULL;
    member->context = weft_context_hold(context);
    member->proc = proc;
    member->locals = NULL;
    timer_event_init(&member->timer, member_late);
    context_set(local->runtime, proc, member);
    return member;
}

int context_inherit_some(struct local *local, struct worker *self, struct proc *proc, weft_context *context) {
    struct worker *here = my_worker;
    const struct member *spawner = here && here->current ? here->current->member : NULL;
    bool inherits = spawner && locals_are_inherited(spawner->locals);
    if (!context && spawner) context = spawner->context;
    if (!context && !inherits) return 0;
    struct member *member = context_join(local, proc, context);
    if (!member) return WEFT_ENOMEM;
    if (context && context->deadline != WEFT_FOREVER) timer_event_arm_any(local->runtime, self, &member->timer, context->deadline);
    return inherits ? locals_inherit(local, &spawner->locals, &member->locals) : 0;
}

struct locals **context_locals(struct local *local, struct proc *proc) {
    struct member *member = proc->member || !local ? proc->member : context_join(local, proc, NULL);
    return member ? &member->locals : NULL;
}

static void context_forget(struct runtime *runtime, struct proc *proc, struct member *member) {
    timer_event_cancel(&member->timer);
    context_set(runtime, proc, NULL);
    weft_context_drop(member->context);
}

void context_leave(struct runtime *runtime, struct proc *proc) {
    struct member *member = proc->member;
    if (!member) return;
    if (member->locals) locals_destroy(member->locals);
    context_forget(runtime, proc, member);
}

void context_take(struct local *local, struct proc *proc) {
    struct member *member = proc->member;
    if (!member) return;
    if (member->locals) {
        local_leave(local); /* what is called is the program's, and may call weft */
        locals_destroy(member->locals);
        local_begin(local);
    }
    context_forget(local->runtime, proc, member);
    pool_give(&local->blocks, pool_class_of(sizeof *member), member);
}

weft_context *context_of(const struct proc *proc) { return proc->member ? proc->member->context : NULL; }

bool context_is_above(struct runtime *runtime, uint32_t slot, const weft_context *above) {
    struct lock *lock = context_lock(runtime, slot);
    lock_take(lock);
    const weft_context *context = context_of(table_at(&runtime->table, slot));
    while (context && context != above)
        context = context->parent;
    lock_drop(lock);
    return context != NULL;
}

void weft_context_cancel(weft_context *context, weft_runtime *runtime) {
    heed(my_worker);
    if (!context) return;
    atom_store_rel(&context->cancelled, true); /* rel: pairs with the acq in weft_context_cancelled */
    sys_fence_heavy();                         /* pairs with the light one in spawn_open */
    cancel_all((struct runtime *)runtime, context);
}

weft_context *weft_own_context(void) {
    struct worker *self = my_worker;
    return self && self->current ? context_of(self->current) : NULL;
}

weft_runtime *weft_own_runtime(void) {
    struct worker *self = my_worker;
    return self ? (weft_runtime *)self->runtime : NULL;
}
