/* Sending to a bounded mailbox: the look-up, the wake-ups, and waiting for room. See mail/send_bounded.h. */
#include "mail/send_bounded.h"

#include "base/sized.h"
#include "life/cancel.h"
#include "life/ties.h"
#include "mail/send.h"
#include "sched/heed.h"
#include "sched/rt_enter.h"

/* The mailbox of a process that has one with bounds. NULL: *error is WEFT_ENOPROC, or WEFT_ENOTSUP when it has none. */
static struct bounds *bounded_find(struct local *local, weft_pid to, int *error) {
    section_enter(&local->section);
    struct proc *proc = proc_find(local->runtime, to);
    struct bounds *bounds = proc ? bounds_of(proc) : NULL;
    *error = proc && !mpsc_is_closed(&proc->box) ? WEFT_ENOTSUP : WEFT_ENOPROC;
    section_leave(&local->section);
    return bounds;
}

/* Ends a process with WEFT_ENOBUFS as its reason, as an exit signal of a link does; without memory for that, as weft_kill. */
static void bounded_condemn(struct runtime *runtime, struct worker *self, struct proc *proc) {
    struct ties *ties = ties_of(runtime, proc_slot(proc), true);
    if (ties) {
        struct lock *lock = ties_lock(runtime, proc_slot(proc));
        state_owns(&proc->state); /* by another thread: it has not closed its mailbox, so its end comes after this */
        lock_take(lock);
        if (ties->exit.code == 0) ties->exit = (struct reason){WEFT_ENOBUFS, NULL};
        lock_drop(lock);
    }
    condemn_now(runtime, self, proc, ties ? STATE_EXIT : STATE_KILL);
}

/* The mailbox of this receiver is full, and it was to be ended in that case. Under the lock, so that it cannot end meanwhile. */
static void bounded_end_receiver(struct local *local, struct worker *self, struct bounds *bounds, weft_pid to) {
    lock_take(&bounds->lock);
    if (bounds->pid == to) bounded_condemn(local->runtime, self, bounds->proc);
    lock_drop(&bounds->lock);
}

/* Does what is left to do when the lock has been dropped: queues the receiver, frees what was dropped. */
static int bounded_finish(struct local *local, struct worker *self, struct bounds *bounds, weft_pid to, struct bounds_put *put) {
    if (put->next.verdict == STATE_ENQUEUE) ready_again(local->runtime, self, put->proc, put->next, READY_WOKEN);
    if (put->ends) bounded_end_receiver(local, self, bounds, to);
    message_free_list(&local->cache, put->dropped);
    return put->answer;
}

int send_marked(struct local *local, struct worker *self, weft_pid to, struct message *message, enum bounds_how how) {
    int error;
    struct bounds *bounds = bounded_find(local, to, &error);
    if (!bounds) return WEFT_ENOPROC;
    struct bounds_put put = bounds_put(bounds, to, message, how);
    return bounded_finish(local, self, bounds, to, &put);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------------------------- */

/* Not in a step, or a function of the program's that must not wait. (In a task: fiber_may_wait.) */
static bool bounded_may_wait(struct worker *self) {
    struct proc *proc = self ? self->current : NULL;
    return !self || (proc && proc->stackful == PROC_STACKFUL);
}

/* The sender has given up: those behind it may be admitted now. */
static void bounded_gave_up(struct bounds *bounds, weft_pid to, const char *call) {
    struct rt_entry entry;
    struct wakes wakes = {NULL, NULL};
    if (!rt_enter(&entry, to, call)) return;
    struct bounds_put put = bounds_readmit(bounds, to, &wakes);
    bounded_finish(entry.local, entry.self, bounds, to, &put);
    wakes_run(&wakes, wait_wake_inside);
    rt_leave(&entry);
}

/* Puts the message in, or the sender into the list: WEFT_EAGAIN. */
static int bounded_queue(weft_pid to, struct message *message, uint64_t deadline, const char *call, struct bounds_sender *sender,
                         struct bounds **bounds) {
    struct rt_entry entry;
    int error;
    if (!rt_enter(&entry, to, call)) return WEFT_EFOREIGN;
    *bounds = bounded_find(entry.local, to, &error);
    if (*bounds) {
        struct bounds_put put = bounds_queue(*bounds, to, message, deadline, sender);
        error = bounded_finish(entry.local, entry.self, *bounds, to, &put);
    }
    rt_leave(&entry);
    return error;
}

int send_wait(weft_pid to, struct message *message, uint64_t deadline, const char *call) {
    struct worker *self = worker_here();
    struct bounds_sender sender;
    struct bounds *bounds;
    weft_pid own = self ? worker_pid(self) : WEFT_NOBODY;
    if (!bounded_may_wait(self)) return WEFT_EAGAIN;
    if (own == to) return WEFT_EDEADLK;
    wait_begin(&sender.wait);
    sender.wait.about = (const void *)(uintptr_t)to;
    sender.own = self ? bounds_of(self->current) : NULL;
    bounds_sender_begins();
    int error = bounded_queue(to, message, deadline, call, &sender, &bounds);
    if (error == WEFT_EAGAIN) {
        if (sender.own && deadline == WEFT_FOREVER) circle_look(sender.own, own, to);
        error = bounds_wait(bounds, &sender, deadline, call);
        if (error && error != WEFT_ENOPROC) bounded_gave_up(bounds, to, call);
    }
    bounds_sender_ends();
    return error;
}

int send_wait_counted(weft_pid to, struct message *message, uint64_t deadline, const char *call) {
    struct rt_entry entry;
    int error = send_wait(to, message, deadline, call);
    if (rt_enter(&entry, to, call)) {
        error = send_count(entry.local, message, error);
        rt_leave(&entry);
    } else if (error) {
        message_free_anywhere(message);
    }
    return error;
}

int send_await_room(weft_pid to) {
    int error = send_wait(to, NULL, WEFT_FOREVER, "weft_out_await_room");
    return error == WEFT_ENOTSUP ? 0 : error;
}

/* ---- the public calls ---------------------------------------------------------------------------------------------------------------- */

static int bounded_send_urgent(struct rt_entry *entry, weft_pid to, uint64_t tag, const void *data, size_t size) {
    int error;
    if (!bounded_find(entry->local, to, &error)) return error;
    struct message *message = message_copy(&entry->local->cache, weft_self(), tag, data, size);
    if (!message) return message_refused(size);
    return send_count(entry->local, message, send_marked(entry->local, entry->self, to, message, BOUNDS_URGENT));
}

int weft_send_urgent(weft_pid to, uint64_t tag, const void *data, size_t size) {
    struct rt_entry entry;
    heed(my_worker);
    if (!rt_enter(&entry, to, "weft_send_urgent")) return WEFT_EFOREIGN;
    int error = bounded_send_urgent(&entry, to, tag, data, size);
    rt_leave(&entry);
    return error;
}

int weft_mailbox_usage_sized(weft_pid pid, weft_mailbox_use *use, size_t use_size) {
    struct rt_entry entry;
    weft_mailbox_use mine = {.messages = 0};
    int error;
    heed(my_worker);
    if (!rt_enter(&entry, pid, "weft_mailbox_usage")) return WEFT_EFOREIGN;
    struct bounds *bounds = bounded_find(entry.local, pid, &error);
    if (bounds) error = bounds_usage(bounds, pid, &mine);
    rt_leave(&entry);
    if (!error) sized_write(use, use_size, &mine, sizeof mine);
    return error;
}
