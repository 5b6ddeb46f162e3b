/* What other processes ask a supervisor to do while it runs: the callers' side, and the supervisor's. */
#include "fiber/fiber.h"
#include "fiber/snapshot.h"
#include "life/spawn.h"
#include "mail/ask.h"
#include "sched/rt_enter.h"
#include "super/insist.h"
#include "super/super.h"

#include <stdio.h>
#include <string.h>

enum control_what { CONTROL_ADD, CONTROL_SPAWN, CONTROL_STOP, CONTROL_RESTART, CONTROL_REMOVE, CONTROL_LIST };

/* A request. `child` is copied by the asker, strings and all: it may have given up by the time the supervisor reads it. The request holds
 * `below` until it is freed. */
struct control {
    enum control_what what;
    char id[WEFT_CHILD_ID];
    void *arg;
    struct plan_child child;
};
struct control_answer {
    int error;
    weft_pid pid;
    size_t count;
    weft_child_info children[];
};

/* ---- the supervisor ------------------------------------------------------------------------------------------------------------ */

/* The request that a message is; NULL: it is none of these. */
static struct control *control_of(weft_msg *message) {
    weft_request request = weft_msg_request(message);
    bool is = request.reference && request.tag == SUPER_ASK && weft_msg_len(message) == sizeof(struct control);
    return is ? weft_msg_data(message) : NULL;
}

/* Starts a child that was just added; takes it out again if it cannot be started. */
static int control_begin(struct super *super, struct child *child, weft_pid *pid) {
    if (!child) return WEFT_ENOMEM;
    int error = child_start(super, child);
    if (error) children_remove(super, child);
    else *pid = child->pid;
    return error;
}

static int control_add(struct super *super, struct control *control, weft_pid *pid) {
    if (children_named(super, control->child.id)) return WEFT_EEXIST;
    control->child.spec.id = control->child.id;
    return control_begin(super, children_add(super, &control->child), pid);
}

static int control_spawn(struct super *super, const struct control *control, weft_pid *pid) {
    if (!super->plan->has_pattern) return WEFT_ENOENT;
    struct plan_child plan = super->plan->pattern;
    snprintf(plan.id, sizeof plan.id, "*%lu", (unsigned long)++super->serial);
    plan.spec.arg = control->arg;
    struct child *child = children_add(super, &plan);
    if (child) child->patterned = true;
    return control_begin(super, child, pid);
}

static int control_child(struct super *super, const struct control *control, weft_pid *pid) {
    struct child *child = children_named(super, control->id);
    if (!child) return WEFT_ENOENT;
    child_stop(super, child);
    bool forgets = control->what == CONTROL_STOP && child_is_forgotten(child);
    if (control->what == CONTROL_REMOVE || forgets) children_remove(super, child);
    if (control->what != CONTROL_RESTART) return 0;
    int error = child_start(super, child);
    *pid = child->pid;
    return error;
}

static int control_do(struct super *super, struct control *control, weft_pid *pid) {
    if (control->what == CONTROL_ADD) return control_add(super, control, pid);
    return control->what == CONTROL_SPAWN ? control_spawn(super, control, pid) : control_child(super, control, pid);
}

static void control_list(const struct super *super, struct control_answer *answer) {
    weft_child_info *info = answer->children;
    for (const struct child *child = super->first; child; child = child->next)
        *info++ = children_info(child);
    answer->count = super->count;
}

void control_free(struct super *super) {
    if (super->answer) sys->free(super->answer, super->answer_size);
    super->answer = NULL;
    weft_msg_free(super->handled);
    super->handled = NULL;
}

void control(struct super *super) {
    struct control *control = control_of(super->handled);
    if (!control) return;
    weft_request request = weft_msg_request(super->handled);
    size_t listed = control->what == CONTROL_LIST ? super->count : 0,
           size = sizeof(struct control_answer) + listed * sizeof(weft_child_info);
    struct control_answer *answer = super->answer = sys->alloc(super->answer_size = size), none = {.error = WEFT_ENOMEM};
    if (answer && control->what == CONTROL_LIST) control_list(super, answer);
    else if (answer) answer->error = control_do(super, control, &answer->pid);
    int error;
    do
        error = weft_reply(request, answer ? answer : &none, answer ? size : sizeof none);
    while (insist_again(error));
}

/* ---- the callers ----------------------------------------------------------------------------------------------------------------- */

int control_check(weft_pid super) {
    struct rt_entry entry;
    struct snapshot seen = {.entry = NULL};
    if (!rt_enter(&entry, super, "weft_super")) return WEFT_EFOREIGN;
    struct proc *proc = proc_find(entry.local->runtime, super);
    if (proc) fiber_snapshot(entry.local->runtime, proc, &seen);
    bool alive = pid_is_open(entry.local->runtime, super);
    rt_leave(&entry);
    if (!alive) return WEFT_ENOPROC;
    return seen.entry == (const void *)(uintptr_t)super_main ? 0 : WEFT_EINVAL;
}

static void control_hold(void *control) { plan_hold(((struct control *)control)->child.below); }
static void control_release(void *control) { plan_drop(((struct control *)control)->child.below); }

/* 0 and the whole answer, to be freed; or an error, of the call or of the answer. */
static int control_ask(const char *call, weft_pid super, const struct control *control, weft_msg **reply, uint64_t deadline) {
    struct ask_payload payload = {control, sizeof *control, control_hold, control_release};
    fiber_caller(call);
    int error = control_check(super);
    if (!error) error = ask_call(super, SUPER_ASK, &payload, reply, deadline, call);
    if (error) return error;
    error = ((const struct control_answer *)weft_msg_data(*reply))->error;
    if (error) weft_msg_free(*reply);
    return error;
}

static int control_ask_pid(const char *call, weft_pid super, const struct control *control, weft_pid *pid, uint64_t deadline) {
    weft_msg *reply;
    int error = control_ask(call, super, control, &reply, deadline);
    if (error) return error;
    if (pid) *pid = ((const struct control_answer *)weft_msg_data(reply))->pid;
    weft_msg_free(reply);
    return 0;
}

static int control_ask_id(const char *call, weft_pid super, enum control_what what, const char *id, weft_pid *pid, uint64_t deadline) {
    struct control control = {.what = what};
    if (!id || strlen(id) >= sizeof control.id) return WEFT_ENOENT;
    strcpy(control.id, id);
    return control_ask_pid(call, super, &control, pid, deadline);
}

int weft_super_add(weft_pid super, const weft_child_spec *child, weft_pid *pid, uint64_t deadline) {
    struct control control = {.what = CONTROL_ADD};
    struct proc *process = fiber_caller("weft_super_add")->current;
    struct guard guard;
    if (!child) WEFT_MISUSE("weft_super_add", "no specification of the child", "give one");
    const char *fault = plan_child_fault(child);
    if (fault) fprintf(stderr, "weft: weft_super_add, child %s: %s\n", child->id ? child->id : "?", fault);
    int error = fault ? WEFT_EINVAL : plan_child_copy(child, &control.child);
    if (error) return error;
    parts.guard_begin(&guard, process, control_release, &control); /* the caller may be killed in here */
    error = control_ask_pid("weft_super_add", super, &control, pid, deadline);
    parts.guard_end(&guard, process);
    control_release(&control);
    return error;
}

int weft_super_spawn(weft_pid super, void *arg, weft_pid *pid, uint64_t deadline) {
    return control_ask_pid("weft_super_spawn", super, &(struct control){.what = CONTROL_SPAWN, .arg = arg}, pid, deadline);
}
int weft_super_stop_child(weft_pid super, const char *id, uint64_t deadline) {
    return control_ask_id("weft_super_stop_child", super, CONTROL_STOP, id, NULL, deadline);
}
int weft_super_restart_child(weft_pid super, const char *id, weft_pid *pid, uint64_t deadline) {
    return control_ask_id("weft_super_restart_child", super, CONTROL_RESTART, id, pid, deadline);
}
int weft_super_remove(weft_pid super, const char *id, uint64_t deadline) {
    return control_ask_id("weft_super_remove", super, CONTROL_REMOVE, id, NULL, deadline);
}

ssize_t weft_super_children(weft_pid super, weft_child_info *children, size_t capacity, uint64_t deadline) {
    weft_msg *reply;
    int error = control_ask("weft_super_children", super, &(struct control){.what = CONTROL_LIST}, &reply, deadline);
    if (error) return error;
    const struct control_answer *answer = weft_msg_data(reply);
    size_t count = answer->count, shown = count < capacity ? count : capacity;
    if (shown > 0) memcpy(children, answer->children, shown * sizeof *children);
    weft_msg_free(reply);
    return (ssize_t)count;
}
