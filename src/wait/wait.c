/* Waiting for the first of several events: claim, wake-up, deadline. */
#include "wait/wait.h"
#include "sched/atfork.h"
#include "sys/deadline.h"

#include <errno.h>

/* A deadline has come. The waiter owns the timer again once timer_events_run is done with it: timer_event_cancel waits for that. */
static void wait_timed_out(struct local *local, struct worker *self, struct timer_event *event) {
    struct wait *wait = (struct wait *)((unsigned char *)event - offsetof(struct wait, timer));
    uint32_t pending = WAIT_PENDING;
    /* rlx: as in wait_claim. */
    if (atom_cas_rlx_rlx(&wait->claimed, &pending, WAIT_LATE)) wait_awake(local->runtime, self, wait->proc);
}

void wait_begin(struct wait *wait) {
    struct worker *self = worker_here(); /* here and below: the caller may have waited before and moved */
    wait_begin_in(wait, self ? self->runtime : NULL, self ? self->current : NULL);
    if (!wait->proc) parker_init(&wait->parker);
    timer_event_init(&wait->timer, wait_timed_out);
}

bool wait_claim(struct wait *wait, uint32_t why, struct wake *wake) {
    *wake = (struct wake){wait, why};
    uint32_t pending = WAIT_PENDING;
    /* rlx: it only decides which claim wins. The list's lock orders what the waiter wrote before, and the end of BUSY what the waker
     * does now. */
    return atom_cas_rlx_rlx(&wait->claimed, &pending, why | WAIT_BUSY);
}

/* Marks the worker as inside (local_enter): it may be already. */
static void wait_awake_here(struct worker *self, struct proc *proc) {
    uintptr_t closed = self->local.closed_size;
    local_begin(&self->local);
    wait_awake(self->runtime, self, proc);
    if (closed != ALL_STACKS) local_leave(&self->local);
}

void wait_wake(const struct wake *wake) {
    struct worker *self = worker_here();
    if (self) local_check(&self->local, "a call that wakes");
    wait_wake_inside(wake);
}

void wait_wake_inside(const struct wake *wake) {
    struct worker *self = worker_here();
    struct wait *wait = wake->wait;
    uint32_t why = wake->why; /* copied: *wake may lie in the waiter's memory */
    struct runtime *runtime = wait->runtime;
    struct proc *proc = wait->proc;
    if (proc && self && self->runtime == runtime) {
        atom_store_rel(&wait->claimed, why); /* rel: pairs with the acq in wait_over (W3); the last touch */
        wait_awake_here(self, proc);
        return;
    }
    if (proc) wait_awake(runtime, NULL, proc);
    else parker_unpark(&wait->parker);
    atom_store_rel(&wait->claimed, why); /* rel: likewise (W4) */
}

void wait_check(const char *call) {
    struct worker *worker = worker_here();
    if (!worker) atfork_check(call);
    else fiber_worker(call);
}

int wait_late(void) {
    struct worker *worker = worker_here();
    struct proc *proc = worker ? worker->current : NULL;
    return proc && proc->stackful && fiber_is_cancelled(proc) ? WEFT_ECANCELED : WEFT_ETIMEDOUT;
}

static int wait_answer(uint32_t claimed) {
    if (claimed == WAIT_LATE) return wait_late();
    if (claimed == WAIT_CANCELED) return WEFT_ECANCELED;
    return (int)claimed;
}

/* wait_for in a thread that is not a worker. */
static int wait_thread(struct wait *wait, uint64_t deadline, const char *call) {
    uint32_t claimed;
    while ((claimed = wait_over(wait)) == WAIT_PENDING)
        if (parker_park(&wait->parker, deadline) == -ETIMEDOUT) {
            deadline_check(deadline, call);
            (void)wait_give_up(wait, WAIT_LATE);
        }
    return wait_answer(claimed);
}

/* With a deadline: arms the timer, or gives up at once. */
static inline uint32_t wait_arm(struct worker *worker, struct wait *wait, uint64_t deadline, const char *call, bool *armed) {
    *armed = deadline > sys->now();
    timer_event_init(&wait->timer, wait_timed_out);
    if (*armed) timer_event_arm(worker, &wait->timer, deadline);
    else deadline_check(deadline, call);
    return *armed ? WAIT_PENDING : wait_give_up(wait, WAIT_LATE);
}

static inline __attribute__((always_inline)) int wait_in_process(struct wait *wait, uint64_t deadline, const char *call, wait_look *look,
                                                                 void *arg) {
    struct worker *worker = look ? worker_here() : fiber_worker(call);
    struct proc *proc = wait->proc;
    uint32_t claimed = wait_over(wait), found;
    bool armed = false;
    fiber_waits(proc, call, wait->about);
    if (claimed == WAIT_PENDING && deadline != WEFT_FOREVER) claimed = wait_arm(worker, wait, deadline, call, &armed);
    while (claimed == WAIT_PENDING) {
        if (look && (found = look(arg))) {
            claimed = wait_give_up(wait, found);
            break;
        }
        if (fiber_is_cancelled(proc)) {
            claimed = wait_give_up(wait, WAIT_CANCELED);
            fiber_was_cancelled(worker, proc);
            break;
        }
        fiber_may_wait(proc, call);
        worker = pack_leave(worker, look ? WEFT_STEP_IDLE : WEFT_STEP_BLOCKED, wait);
        claimed = wait_over(wait);
    }
    if (armed) timer_event_cancel(&wait->timer);
    return wait_answer(claimed);
}

int wait_for(struct wait *wait, uint64_t deadline, const char *call) {
    if (!wait->proc && !worker_here()) {
        atfork_check(call);
        return wait_thread(wait, deadline, call);
    }
    return wait_in_process(wait, deadline, call, NULL, NULL);
}

int wait_for_any(struct wait *wait, uint64_t deadline, const char *call, wait_look *look, void *arg) {
    return look ? wait_in_process(wait, deadline, call, look, arg) : wait_for(wait, deadline, call);
}
