/* Starting one child, and stopping one: the supervisor waits for that, and for nothing else meanwhile. */
#include "fiber/fiber.h"
#include "super/super.h"

#include <stdio.h>

enum { START_MS = 5000, STOP_MS = 5000 };
#define STOP_PATIENCE (10 * WEFT_SECOND) /* a killed child that has not ended by then is named on standard error */

/* ---- waiting for one child -------------------------------------------------------------------------------------------- */

static bool is_end_of(const weft_msg *message, weft_pid pid) {
    const weft_notice *notice = weft_msg_notice(message);
    return notice && notice->kind == WEFT_NOTICE_DOWN && notice->pid == pid;
}
static bool wants_answer(const weft_msg *message, void *child) {
    weft_pid pid = ((struct child *)child)->pid;
    return is_end_of(message, pid) || (weft_msg_tag(message) == SUPER_READY && weft_msg_from(message) == pid && !weft_msg_notice(message));
}

/* What a supervisor takes out of its mailbox while it waits for the end of a child: that end, those of other children that it has asked to end, and EXITs, which
 * tell nothing new (super.h, U3). If they stayed, each of n children that are stopped would be looked for behind those of all others. */
struct awaited {
    struct super *super;
    struct child *child;
};
static bool wants_end(const weft_msg *message, void *opaque) {
    const struct awaited *awaited = opaque;
    const weft_notice *notice = weft_msg_notice(message);
    if (!notice) return false;
    if (notice->kind == WEFT_NOTICE_EXIT) return notice->pid != awaited->super->parent;
    struct child *child = children_with(awaited->super, notice->pid);
    return child && (child == awaited->child || child->patience);
}

/* Waits for the end of a child. 0, and it is down; or WEFT_ETIMEDOUT. A supervisor that is killed meanwhile ends here: a caller that went on might take
 * the child for one that is down. */
static int child_await_end(struct super *super, struct child *child, uint64_t deadline) {
    struct awaited awaited = {super, child};
    while (child->state == CHILD_UP) {
        weft_msg *message;
        weft_shield_begin();
        int error = weft_recv_match(wants_end, &awaited, &message, deadline);
        weft_shield_end();
        if (error == WEFT_ECANCELED) weft_exit(error);
        if (error) return error;
        const weft_notice *notice = weft_msg_notice(message);
        if (notice->kind == WEFT_NOTICE_DOWN) children_down(super, children_with(super, notice->pid), &notice->reason);
        weft_msg_free(message);
    }
    return 0;
}

static void child_kill(struct super *super, struct child *child) {
    weft_kill(child->pid);
    if (child_await_end(super, child, weft_in(STOP_PATIENCE)) == 0) return;
    fprintf(stderr, "weft: supervisor %s waits for child %s, which was killed and has not ended: process %016lx\n", super->plan->name,
            child->plan.id, (unsigned long)child->pid);
    child_await_end(super, child, WEFT_FOREVER);
}

/* Cancels it and notes until when it has time to end. */
static void child_ask(struct child *child) {
    unsigned ms = child->plan.spec.stop_ms;
    if (child->state != CHILD_UP || child->patience || ms == WEFT_STOP_AT_ONCE) return;
    child->patience = weft_in((ms ? ms : STOP_MS) * WEFT_MILLISECOND);
    weft_cancel(child->pid);
}

void child_stop(struct super *super, struct child *child) {
    children_undue(super, child);
    if (child->state != CHILD_UP) return;
    child_ask(child);
    if (!child->patience || child_await_end(super, child, child->patience) != 0) child_kill(super, child);
}

/* Those after the pattern have no order among them: all are asked at once. */
void children_stop_after(struct super *super, struct child *child) {
    for (struct child *each = super->last; each != child; each = each->prev)
        if (each->patterned) child_ask(each);
    for (struct child *each = super->last; each != child; each = each->prev)
        child_stop(super, each);
}

enum { CHILD_TIES = WEFT_SPAWN_LINK | WEFT_SPAWN_MONITOR }; /* super.h, U2 and U3 */

/* ---- starting ------------------------------------------------------------------------------------------------------------ */

static int spawn_step(struct super *super, struct child *child, weft_pid *pid) {
    const weft_child_spec *spec = &child->plan.spec;
    weft_spawn_options options = {.context = super->context, .flags = spec->flags | CHILD_TIES, .register_as = spec->register_as};
    options.monitor.tag = SUPER_DOWN;
    options.input = spec->input_size ? spec->arg : NULL;
    options.input_size = spec->input_size;
    options.mailbox = spec->mailbox ? &child->plan.mailbox : NULL;
    return weft_spawn_step(spec->behavior, &options, pid);
}

/* A supervisor below this one. */
static int spawn_below(struct super *super, struct child *child, weft_stackful_options *options, weft_pid *pid) {
    struct super *nested = super_new(child->plan.below, NULL, options);
    if (!nested) return WEFT_ENOMEM;
    options->discard = super_discard;
    int error = fiber_spawn(super_main, nested, options, pid);
    if (error) {
        super_let_go(nested, false);
        return error;
    }
    lock_take(&super->lock);
    child->nested = nested;
    lock_drop(&super->lock);
    return 0;
}

static int spawn_child(struct super *super, struct child *child, weft_pid *pid) {
    const weft_child_spec *spec = &child->plan.spec;
    if (spec->behavior) return spawn_step(super, child, pid);
    weft_stackful_options options = {.stack_size = spec->stack_size, .context = super->context, .name = child->plan.id};
    options.flags = spec->flags | CHILD_TIES;
    options.monitor.tag = SUPER_DOWN;
    options.register_as = spec->register_as;
    options.discard = spec->discard;
    options.mailbox = spec->mailbox ? &child->plan.mailbox : NULL;
    return spec->entry ? weft_spawn_with(spec->entry, spec->arg, &options, pid) : spawn_below(super, child, &options, pid);
}

/* Waits for weft_ready, or for the child's end. */
static int child_await_ready(struct super *super, struct child *child) {
    weft_msg *message;
    unsigned ms = child->plan.spec.start_ms;
    uint64_t deadline = child->plan.below && !ms ? WEFT_FOREVER : weft_in((ms ? ms : START_MS) * WEFT_MILLISECOND);
    int error = weft_recv_match(wants_answer, child, &message, deadline);
    if (error) { /* it has not answered, or this supervisor was cancelled */
        child_kill(super, child);
        return error;
    }
    const weft_notice *notice = weft_msg_notice(message);
    bool ended = notice != NULL;
    error = ended ? notice->reason.code : *(const int *)weft_msg_data(message);
    if (ended) children_down(super, child, &notice->reason);
    weft_msg_free(message);
    if (!ended && error) child_stop(super, child);
    return ended && error == 0 ? WEFT_ECANCELED : error; /* the former: it has ended by itself before it was up */
}

int child_start(struct super *super, struct child *child) {
    weft_pid pid;
    children_undue(super, child);
    int error = spawn_child(super, child, &pid);
    if (!error) {
        children_up(super, child, pid);
        if (child->plan.spec.ready || child->plan.below) error = child_await_ready(super, child);
    }
    if (error) children_failed(super, child, error);
    return error;
}
