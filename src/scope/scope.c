/* Scopes: processes that all end before the scope does. A child has a monitor from its birth on, which belongs to the scope; the scope lies
 * in a frame of its owner, the process that began it.
 *
 *   O1  The scope's lock guards all of it. Lock order: the slot of a monitor, then the scope, then the locks that waking a process takes.
 *   O2  A child is counted in `living` from before it is spawned until its end has been told; the owner does not return before that.
 *   O3  The end of a child in the list has not been told, so its control block is still its own. A child that ends before its spawner has
 *       put it into the list is marked CHILD_ENDED and left to the spawner.
 *   O4  `failure` is set once. The thread that sets it cancels all children in the list; a child that is listed later is cancelled then.
 *   O5  A killed owner still waits for its children (O2), so it kills them. */
#include "base/sized.h"
#include "life/cancel.h"
#include "life/newborn_ties.h"
#include "sched/heed.h"
#include "sys/deadline.h"
#include "wait/wait.h"

#include <weft/scope.h>

struct scope {
    struct cleanup cleanup;
    struct timer_event timer; /* the deadline's */
    uint64_t deadline;
    struct lock lock;
    int failure;
    struct reason_detail *detail; /* of the failure, with a reference; NULL: none */
    bool apart;                   /* WEFT_SCOPE_APART */
    bool killed;                  /* its owner was: its children are killed, and not only cancelled */
    struct runtime *runtime;      /* NULL: the scope is over */
    struct proc *owner;
    size_t living;
    struct scope_child *children; /* newest first */
    struct scope_child *untried;  /* from here on, children that the owner has not tried to run itself */
    struct scope_child *own;      /* the child that the owner has left its worker to */
    struct wait *wait;            /* the owner's, while it waits */
};
_Static_assert(sizeof(struct scope) <= sizeof(weft_scope), "the public one has room");

struct scope_child {
    struct monitor monitor; /* first: its address is the child's */
    struct scope *scope;
    struct scope_child *next, *prev;
    uint64_t entry; /* its first queue entry; 0: not in the list; 1: ended before it was */
};
_Static_assert(sizeof(struct scope_child) <= POOL_LEAST, "the smallest block");
enum { CHILD_UNLISTED = 0, CHILD_ENDED = 1 };

static struct scope *scope_of(weft_scope *opaque) { return (struct scope *)opaque; }

/* ---- under the lock ------------------------------------------------------------------------------------------------------ */

static void scope_link(struct scope *scope, struct scope_child *child) {
    child->prev = NULL;
    child->next = scope->children;
    if (child->next) child->next->prev = child;
    scope->children = scope->untried = child;
}

static void scope_unlink(struct scope *scope, struct scope_child *child) {
    if (scope->untried == child) scope->untried = child->next;
    if (child->next) child->next->prev = child->prev;
    if (child->prev) child->prev->next = child->next;
    else scope->children = child->next;
}

static void scope_cancel_child(struct scope *scope, struct worker *self, struct scope_child *child) {
    struct proc *proc = entry_ptr(child->entry); /* O3 */
    if (scope->killed) condemn_now(scope->runtime, self, proc, STATE_KILL);
    else cancel_now(scope->runtime, self, proc);
}

static void scope_cancel_children(struct scope *scope, struct worker *self) {
    for (struct scope_child *child = scope->children; child; child = child->next)
        scope_cancel_child(scope, self, child);
}

/* O4 */
static void scope_fail(struct scope *scope, struct worker *self, const struct reason *reason) {
    if (scope->failure) return;
    scope->failure = reason->code;
    scope->detail = reason_detail_hold(reason->detail);
    scope_cancel_children(scope, self);
}

/* ---- the end of children --------------------------------------------------------------------------------------------------- */

static bool scope_tell(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *reason) {
    struct scope_child *child = (struct scope_child *)monitor;
    struct scope *scope = child->scope;
    struct wake wake;
    lock_take(&scope->lock);
    bool listed = child->entry != CHILD_UNLISTED;
    if (listed) scope_unlink(scope, child);
    else child->entry = CHILD_ENDED; /* O3 */
    if (reason->code && !scope->apart) scope_fail(scope, self, reason);
    scope->living--;
    bool wakes = scope->wait && (scope->living == 0 || scope->own == child) && wait_claim(scope->wait, 1, &wake);
    if (wakes) scope->wait = NULL;
    lock_drop(&scope->lock); /* from here on the scope may be gone, unless its owner is to be woken here */
    if (listed) pool_give(&local->blocks, 0, child);
    if (wakes) wait_wake_inside(&wake);
    return false;
}

static void scope_late(struct local *local, struct worker *self, struct timer_event *event) {
    struct scope *scope = (struct scope *)((unsigned char *)event - offsetof(struct scope, timer));
    (void)local;
    lock_take(&scope->lock);
    scope_fail(scope, self, &(struct reason){WEFT_ETIMEDOUT, NULL});
    lock_drop(&scope->lock);
}

static void scope_cancel(struct scope *scope) {
    struct worker *self = worker_here();
    lock_take(&scope->lock);
    scope_fail(scope, self && self->runtime == scope->runtime ? self : NULL, &(struct reason){WEFT_ECANCELED, NULL});
    lock_drop(&scope->lock);
}

void weft_scope_cancel(weft_scope *scope) {
    heed(my_worker);
    if (scope) scope_cancel(scope_of(scope));
}

/* O5. By the owner. */
static void scope_kill(struct scope *scope) {
    lock_take(&scope->lock);
    scope->killed = true;
    if (!scope->failure) scope->failure = WEFT_EKILLED;
    scope_cancel_children(scope, worker_here());
    lock_drop(&scope->lock);
}

/* The owner was cancelled, or ends: so are its children. */
static void scope_pass_on(struct scope *scope) {
    if (state_condemned(&scope->owner->state) & STATE_KILL) scope_kill(scope);
    else scope_cancel(scope);
}

/* ---- children ---------------------------------------------------------------------------------------------------------------- */

/* A deadline that has passed counts even if its timer has not rung yet. */
static bool scope_is_late(const struct scope *scope) { return scope->deadline != WEFT_FOREVER && scope->deadline <= sys->now(); }

/* Counts one more child; false: the scope takes no more. */
static bool scope_admit(struct scope *scope, struct worker *self) {
    lock_take(&scope->lock);
    if (scope_is_late(scope)) scope_fail(scope, self, &(struct reason){WEFT_ETIMEDOUT, NULL});
    bool open = scope->failure == 0;
    if (open) scope->living++;
    lock_drop(&scope->lock);
    return open;
}

static void scope_dismiss(struct scope *scope) {
    lock_take(&scope->lock);
    scope->living--; /* wakes no one: the caller is the owner or a living child */
    lock_drop(&scope->lock);
}

/* Puts a child that was spawned into the list, unless it has ended already. */
static void scope_list(struct worker *worker, struct scope *scope, struct scope_child *child, uint64_t entry) {
    lock_take(&scope->lock);
    bool ended = child->entry == CHILD_ENDED;
    if (!ended) {
        child->entry = entry;
        scope_link(scope, child);
        if (scope->failure) scope_cancel_child(scope, worker, child);
    }
    lock_drop(&scope->lock);
    if (ended) pool_give(&worker->local.blocks, 0, child);
}

int weft_scope_spawn_with_sized(weft_scope *opaque, weft_entry entry, void *arg, const weft_stackful_options *options, size_t options_size,
                                weft_pid *pid) {
    struct scope *scope = scope_of(opaque);
    struct worker *worker = fiber_caller("weft_scope_spawn");
    weft_stackful_options mine;
    weft_pid unwanted;
    uint16_t ticket;
    options = sized_read(options, options_size, &mine, sizeof mine);
    if (!options) return WEFT_EINVAL;
    if (!pid) pid = &unwanted;
    if (worker->runtime != scope->runtime || (options->runtime && (struct runtime *)options->runtime != scope->runtime))
        WEFT_REFUSE("weft_scope_spawn", "a scope's children live in its owner's runtime", "begin a scope there");
    if (options->flags & WEFT_SPAWN_JOINABLE)
        WEFT_REFUSE("weft_scope_spawn", "a scope's child cannot be spawned WEFT_SPAWN_JOINABLE", "leave it out: the scope waits for it");
    if (options->flags & SPAWN_TIED)
        WEFT_MISUSE("weft_scope_spawn", "a scope's child cannot be spawned WEFT_SPAWN_MONITOR or WEFT_SPAWN_LINK",
                    "monitor or link it once it is spawned");
    if (!scope_admit(scope, worker)) return WEFT_ECANCELED;
    struct scope_child *child = pool_take(&worker->local.blocks, 0);
    int error = WEFT_ENOMEM;
    if (child) {
        *child = (struct scope_child){.monitor = {.tell = scope_tell}, .scope = scope, .entry = CHILD_UNLISTED};
        error = fiber_spawn_monitored(worker, pid, entry, arg, options, &child->monitor, &ticket);
    }
    if (!error) {
        scope_list(worker, scope, child, entry_make(table_at(&scope->runtime->table, pid_slot(*pid)), ticket));
        return 0;
    }
    if (child) pool_give(&worker->local.blocks, 0, child);
    scope_dismiss(scope);
    return error;
}

int weft_scope_spawn(weft_scope *scope, weft_entry entry, void *arg) { return weft_scope_spawn_with(scope, entry, arg, NULL, NULL); }

int weft_scope_spawn_many(weft_scope *scope, size_t n, weft_entry entry, void *args, size_t size) {
    int error = 0;
    for (size_t i = 0; i < n && !error; i++)
        error = weft_scope_spawn(scope, entry, (unsigned char *)args + i * size);
    return error;
}

/* ---- waiting ----------------------------------------------------------------------------------------------------------------- */

/* Under the lock: claims the newest child that has not begun, so that the owner can switch to it. NULL: there is none, or the worker has to
 * look round, or the owner has been cancelled and must cancel all children before it waits for one. With policy line children keep
 * their places in the queue. */
static struct proc *scope_claim(struct scope *scope, struct worker *worker) {
    scope->own = NULL;
    if (worker->policy == POLICY_LINE || fiber_is_cancelled(scope->owner) || !tick_take(worker)) return NULL;
    for (struct scope_child *child; (child = scope->untried) != NULL;) {
        struct proc *proc = entry_ptr(child->entry);
        scope->untried = child->next;
        if (!state_claim(&proc->state, entry_ticket(child->entry))) continue;
        scope->own = child;
        return proc;
    }
    return NULL;
}

/* False: no child is left. Otherwise the awaited child, or the last one, has ended, or *error says that the owner was cancelled. */
static bool scope_wait_once(struct scope *scope, int *error) {
    struct worker *worker = fiber_worker("weft_scope_end");
    struct wait wait;
    wait_begin(&wait);
    wait.about = scope;
    fiber_waits(worker->current, "weft_scope_end", scope); /* the owner may switch to a child before wait_for */
    lock_take(&scope->lock);
    bool some = scope->living > 0;
    struct proc *child = some ? scope_claim(scope, worker) : NULL;
    scope->wait = some ? &wait : NULL;
    lock_drop(&scope->lock);
    if (!some) return false;
    fiber_may_wait(worker->current, "weft_scope_end");
    if (child) fiber_leave_to(worker, WEFT_STEP_BLOCKED, child);
    *error = wait_for(&wait, WEFT_FOREVER, "weft_scope_end");
    lock_take(&scope->lock);
    scope->wait = NULL;
    lock_drop(&scope->lock);
    return true;
}

/* Waits until all children have ended. */
static void scope_wait(struct scope *scope) {
    struct fiber *fiber = fiber_of(scope->owner);
    unsigned shields = fiber->shields;
    for (int error = 0; scope_wait_once(scope, &error);)
        if (error == WEFT_ECANCELED) {
            scope_pass_on(scope);
            fiber->shields += scope->killed ? FIBER_KEPT : 1; /* the owner still waits for the children */
        }
    fiber->shields = shields;
    timer_event_cancel(&scope->timer);
}

/* The owner ends within the scope, or leaves it by an exception. */
static void scope_abandon(void *arg) {
    struct scope *scope = arg;
    scope_pass_on(scope);
    scope_wait(scope);
    reason_detail_drop(scope->detail);
    scope->runtime = NULL;
}

static void scope_begin(struct scope *scope, struct cleanup cleanup, unsigned flags, uint64_t deadline, const char *call) {
    struct worker *worker = fiber_worker(call);
    if (flags & ~(unsigned)WEFT_SCOPE_APART) WEFT_REFUSE(call, "a flag that does not exist", "give WEFT_SCOPE_APART, or 0");
    *scope = (struct scope){
        .cleanup = cleanup,
        .apart = flags & WEFT_SCOPE_APART,
        .runtime = worker->runtime,
        .owner = worker->current,
        .deadline = deadline,
    };
    lock_init(&scope->lock);
    timer_event_init(&scope->timer, scope_late);
    cleanup_push(worker->current, &scope->cleanup);
    if (scope_is_late(scope)) deadline_check(deadline, call), scope->failure = WEFT_ETIMEDOUT;
    else if (deadline != WEFT_FOREVER) timer_event_arm(worker, &scope->timer, deadline);
}

static void scope_begin_here(weft_scope *opaque, unsigned flags, uint64_t deadline, const char *call) {
    struct cleanup cleanup = {.run = scope_abandon, .arg = opaque, .pair = "weft_scope_end"};
    fiber_caller(call);
    scope_begin(scope_of(opaque), cleanup, flags, deadline, call);
}
void weft_scope_begin_with(weft_scope *scope, unsigned flags, uint64_t deadline) {
    scope_begin_here(scope, flags, deadline, "weft_scope_begin_with");
}

void weft_scope_begin(weft_scope *scope, uint64_t deadline) { scope_begin_here(scope, 0, deadline, "weft_scope_begin"); }

/* By the owner, which it returns. */
static struct proc *scope_wait_owner(struct scope *scope, const char *call) {
    struct proc *self = fiber_worker(call)->current;
    if (self != scope->owner) WEFT_MISUSE(call, "called by another than the scope's owner", "end it where it began");
    fiber_spend(worker_here(), WEFT_FOREVER); /* costs budget: it may return without waiting */
    scope_wait(scope);
    return self;
}

/* The reason has a reference of the caller's. */
static struct reason scope_end(struct scope *scope) {
    if (!scope->cleanup.pair) WEFT_REFUSE("weft_scope_end", "the scope is a bundle's", "call weft_bundle_close");
    struct proc *self = scope_wait_owner(scope, "weft_scope_end");
    cleanup_pop(self, &scope->cleanup);
    scope->runtime = NULL; /* for weft_scope_leave */
    return (struct reason){scope->failure, scope->detail};
}

int weft_scope_end(weft_scope *scope) {
    struct reason reason = scope_end(scope_of(scope));
    reason_detail_drop(reason.detail);
    return reason.code;
}

int weft_scope_end_reason(weft_scope *scope, weft_reason *shown) {
    struct reason reason = scope_end(scope_of(scope));
    *shown = reason_shown(reason);
    return reason.code;
}

void weft_scope_leave(weft_scope *opaque) {
    struct scope *scope = scope_of(opaque);
    if (!scope->runtime) return; /* never begun, or over */
    struct proc *self = fiber_worker("weft_scope_leave")->current;
    if (self != scope->owner) WEFT_MISUSE("weft_scope_leave", "a scope is destroyed by another than its owner", "let its owner end it");
    scope_abandon(scope);
    cleanup_remove(self, &scope->cleanup); /* cleanups that were deferred later stay */
}

int weft_spawn_many(size_t n, weft_entry entry, void *args, size_t size) {
    weft_scope scope;
    weft_scope_begin(&scope, WEFT_FOREVER);
    int error = weft_scope_spawn_many(&scope, n, entry, args, size);
    if (error && error != WEFT_ECANCELED) weft_scope_cancel(&scope);
    int result = weft_scope_end(&scope);
    return error && error != WEFT_ECANCELED ? error : result;
}

/* ---- bundles: in memory of their own, so their cleanups need not be called inside out with others -------------------------------- */

struct weft_bundle {
    struct scope scope;
};

static void bundle_abandon(void *arg) {
    struct weft_bundle *bundle = arg;
    scope_abandon(&bundle->scope);
    sys->free(bundle, sizeof *bundle);
}

int weft_bundle_open(unsigned flags, weft_bundle **bundle, uint64_t deadline) {
    fiber_caller("weft_bundle_open");
    struct weft_bundle *made = sys->alloc(sizeof *made);
    if (!made) return WEFT_ENOMEM;
    scope_begin(&made->scope, (struct cleanup){.run = bundle_abandon, .arg = made}, flags, deadline, "weft_bundle_open");
    *bundle = made;
    return 0;
}

weft_scope *weft_bundle_scope(weft_bundle *bundle) { return (weft_scope *)(void *)&bundle->scope; }

/* After weft_scope_leave, in a destructor: nothing is left but its memory. */
static int bundle_free(struct weft_bundle *bundle) {
    int failure = bundle->scope.failure;
    sys->free(bundle, sizeof *bundle);
    return failure;
}

int weft_bundle_close(weft_bundle *bundle) {
    if (!bundle->scope.runtime) return bundle_free(bundle);
    struct proc *self = scope_wait_owner(&bundle->scope, "weft_bundle_close");
    reason_detail_drop(bundle->scope.detail);
    cleanup_remove(self, &bundle->scope.cleanup);
    return bundle_free(bundle);
}
