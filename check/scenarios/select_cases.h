/* What the scenarios of select share: process 0 selects, the others send, and one case happens. What a case was for that lost is still there.
 * A child is a step process whose end is a case. */
#ifndef WEFT_CHECK_SCENARIOS_SELECT_CASES_H
#define WEFT_CHECK_SCENARIOS_SELECT_CASES_H

#include "mortal.h"
#include "small_fiber.h"

#include "life/zombie.h"
#include "proc/message.h"
#include "select/select.h"
#include "step/step.h"

enum { NOT_YET = 99, WANTED = 7 };
SHARED int chosen, error;
SHARED uint64_t in;
SHARED weft_msg *got;
SHARED int reason;
static struct message letter = {.tag = WANTED};
static weft_chan *a;
static weft_sem sem;

static inline void set_up(void) {
    small_fibers(3);
    chosen = NOT_YET;
    chk_assert(weft_chan_new(sizeof(uint64_t), 1, &a) == 0, "made");
    weft_sem_init(&sem, 0);
    chk_name(&chan_of(a)->lock, "a.lock");
    chk_name(&sem_of(&sem)->lock, "sem.lock");
    chk_name(&sem_of(&sem)->word, "sem");
    chk_name(&small_box(0)->head, "box");
}

static inline void sends_letter(void) {
    small_process(1);
    small_send(0, &letter);
}
static inline void sends_on_a(void) {
    uint64_t element = 42;
    small_process(2);
    chk_assert(weft_chan_send(a, &element, 0) == 0, "there is room");
}
static inline void select_one(weft_case *cases, size_t count, uint64_t deadline) {
    chosen = weft_select(cases, count, deadline);
    if (chosen >= 0) error = cases[chosen].error;
}
/* As select_wait does it when the wait is over. */
static inline void waiter_leave(struct waiter *waiter, struct lock *lock) {
    lock_take(lock);
    if (waiter->in) waiters_remove(waiter);
    lock_drop(lock);
}

static inline void one_happened(void) { chk_assert((chosen == 0 || chosen == 1) && error == 0, "one has happened"); }
/* Of the case with this number. */
static inline void element_if(int number) {
    chk_assert(in == (chosen == number ? 42 : 0), "the element, if that was chosen");
    chk_assert(weft_chan_len(a) == (chosen != number), "else it is still there");
    chk_assert(!chan_of(a)->receivers.first, "no waiter is left in a list");
}
static inline void permit_if(int number) {
    chk_assert(weft_sem_available(&sem) == (chosen != number), "the permit is taken, or still there");
    chk_assert(!sem_of(&sem)->waiting.first, "no waiter is left in a list");
}

/* ---- the end of a process ---------------------------------------------------------------------------------------------------------- */

static weft_pid child;
static struct proc *child_proc;

static inline void set_up_child(void) {
    set_up();
    small_begin(POLICY_RING, 2, 4);
    struct worker *worker = small_play(0);
    chk_assert(weft_spawn_step(&mortal, &(weft_spawn_options){.runtime = (weft_runtime *)small, .flags = WEFT_SPAWN_JOINABLE}, &child) == 0,
               "spawned");
    child_proc = policy_pop(worker);
    chk_assert(child_proc == small_proc(child), "it can be claimed");
    chk_name(&small->monitor_locks[pid_slot(child) % MONITOR_LOCKS], "monitor.lock");
}
static inline void child_ends(void) { step_run(small_play(0), child_proc); }
/* Whether its result is kept; takes it. */
static inline bool result_is_kept(void) {
    struct reason kept = {0, NULL};
    struct monitor monitor;
    int found = monitor_join(&small_play(0)->local, child, &monitor, &kept);
    chk_assert(found == MONITOR_ENDED ? kept.code == REASON : found == WEFT_ENOPROC, "the result is kept, or was taken");
    return found == MONITOR_ENDED;
}
static inline void end_if(int number) {
    chk_assert(reason == (chosen == number ? REASON : 0), "the reason, if that was chosen");
    chk_assert(result_is_kept() == (chosen != number), "else the result is still there");
    weft_chan_free(a);
    small_end();
}
static inline void end_alone_if(int number) {
    chk_assert(chosen == number && error == 0, "it has ended");
    end_if(number);
}

/* The monitor is there when the others begin: fewer orders. The calling thread or process goes on as select_wait does. */
static struct wait queued_wait;
static struct select_end queued_end;
static inline void queue_end(uint32_t why) {
    wait_begin(&queued_wait);
    end_case_begin(&queued_end, &queued_wait, why);
    chk_assert(end_case_join(child, &queued_end), "it lives");
    chk_name(&queued_wait.claimed, "claimed");
}

/* ---- for twins that are wrong ------------------------------------------------------------------------------------------------------ */

static struct wait twin_wait;
static struct waiter twin_waiter;

/* Process 0 stands in the list. */
static inline void twin_join_by(struct wait *wait, struct waiter *waiter, struct waiters *list, struct lock *lock, uint32_t why) {
    small_process(0);
    wait_begin(wait);
    waiter_init(waiter, wait, why);
    waiter->item = &in;
    waiter->amount = 1;
    lock_take(lock);
    waiters_add(list, waiter);
    lock_drop(lock);
}
static inline void twin_join(struct waiters *list, struct lock *lock, uint32_t why) {
    twin_join_by(&twin_wait, &twin_waiter, list, lock, why);
}
static inline void twin_leave(struct lock *lock) { waiter_leave(&twin_waiter, lock); }

/* Whether a permit was there, and is taken. */
static inline bool twin_takes_permit(void) {
    small_process(0);
    lock_take(&sem_of(&sem)->lock);
    bool taken = sem_take(sem_of(&sem), 1, true);
    lock_drop(&sem_of(&sem)->lock);
    return taken;
}

/* A monitor that takes the result although the wait was claimed for another case. */
static inline bool twin_takes_result(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *told) {
    struct wake wake;
    (void)local, (void)self, (void)monitor;
    if (!wait_claim(&queued_wait, queued_end.why, &wake)) return true;
    queued_end.reason = *told;
    queued_end.taken = true;
    wait_wake_inside(&wake);
    return true;
}
/* In place of the monitor that is there. */
static inline void twin_queue_end(void) {
    end_case_leave(child, &queued_end);
    queued_end.monitor.tell = twin_takes_result;
    chk_assert(end_case_join(child, &queued_end), "it lives");
}

#endif
