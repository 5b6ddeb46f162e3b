/* The supervisor's process: starting it, its loop, its end. */
#include "super/super.h"

#include "fiber/cleanup.h"
#include "super/insist.h"

const char super_key;

/* ---- the supervisor ------------------------------------------------------------------------------------------------------------ */

/* Bytes of the ring of restarts. */
static size_t super_ring(const struct plan *plan) {
    return plan->spec.intensity <= RESTARTS_MOST ? plan->spec.intensity * sizeof(uint64_t) : 0;
}

struct super *super_new(struct plan *plan, struct starter *starter, const weft_stackful_options *options) {
    struct super *super = sys->alloc(sizeof *super);
    if (!super) return NULL;
    super->plan = plan_hold(plan);
    super->starter = starter;
    super->is_below = !starter;
    super->parent = options->flags & WEFT_SPAWN_LINK ? weft_self() : WEFT_NOBODY;
    atom_store_rlx(&super->holders, 2); /* rlx: no other thread knows it yet */
    size_t size = super_ring(plan);
    if (size == 0 || (super->restarted = sys->alloc(size))) return super;
    plan_drop(plan);
    sys->free(super, sizeof *super);
    return NULL;
}

static void super_drop(struct super *super, unsigned holds) {
    if (atom_sub_acqrel(&super->holders, holds) > holds) return; /* acqrel: what the other did with it happens before it is freed */
    children_free(super);
    weft_context_drop(super->context);
    if (super->restarted) sys->free(super->restarted, super_ring(super->plan));
    plan_drop(super->plan);
    sys->free(super, sizeof *super);
}

/* All children of the plan, in order. On an error those that are up are stopped. */
static int super_begin(struct super *super) {
    super->self = weft_self();
    supers_add(super);
    super->noise = super->self;
    int error = weft_trap_exit(true, SUPER_EXIT);
    if (!error) error = weft_context_with(weft_own_context(), &super_key, (void *)(uintptr_t)super->self, &super->context);
    for (size_t i = 0; i < super->plan->spec.count && !error; i++) {
        struct child *child = children_add(super, &super->plan->children[i]);
        error = child ? child_start(super, child) : WEFT_ENOMEM;
    }
    if (error) children_stop_after(super, NULL);
    return error;
}

/* What has come: super->handled. 0; or the reason with which the supervisor ends. */
static int super_handle(struct super *super) {
    const weft_notice *notice = weft_msg_notice(super->handled);
    if (!notice) {
        control(super);
        return 0;
    }
    weft_pid pid = notice->pid;
    int code = notice->reason.code;
    if (notice->kind == WEFT_NOTICE_EXIT && pid == super->parent) return code ? code : WEFT_ECANCELED;
    struct child *child = notice->kind == WEFT_NOTICE_DOWN ? children_with(super, pid) : NULL;
    if (!child) return 0; /* U3 */
    children_down(super, child, &notice->reason);
    return restart_decide(super, child);
}

/* Until it ends; the reason. */
static int super_loop(struct super *super) {
    for (int error = 0;;) {
        if (!error && weft_cancelled()) error = WEFT_ECANCELED; /* before what else has come */
        if (!error) error = restart_due(super);
        if (!error) error = weft_recv(&super->handled, restart_next(super));
        if (error == WEFT_ETIMEDOUT) error = 0;
        else if (!error) error = super_handle(super);
        control_free(super);
        if (error) return error;
    }
}

/* The first time; NULL: answered already, or no process waits. */
static void super_answer(struct super *super, int error) {
    struct starter *starter = super->starter;
    super->starter = NULL;
    starter_answer(starter, error);
}

/* However the process ends. Its children are linked, and end by themselves if they have not yet. The starter is told the reason itself: in a
 * supervisor that is killed a wait may have failed with WEFT_ECANCELED first. */
static void super_ends(void *opaque) {
    struct super *super = opaque;
    super_answer(super, cleanup_reason(worker_here()));
    supers_remove(super);
    control_free(super);
    children_free(super);
    super_drop(super, 1);
}

void super_let_go(struct super *super, bool spawned) {
    if (super) super_drop(super, spawned ? 1 : 2);
}

void super_discard(void *opaque) {
    super_answer(opaque, WEFT_EKILLED);
    super_drop(opaque, 1);
}

void super_main(void *opaque) {
    struct super *super = opaque;
    if (weft_defer(super_ends, super)) {
        super_answer(super, WEFT_ENOMEM);
        super_ends(super);
        weft_exit(WEFT_ENOMEM);
    }
    int error = super_begin(super);
    while (insist_again(weft_ready(error))) {}
    if (error) weft_exit(error);
    super_answer(super, 0);
    error = super_loop(super);
    children_stop_after(super, NULL);
    weft_exit(error);
}
