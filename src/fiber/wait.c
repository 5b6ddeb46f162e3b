#include "fiber/wait.h"

#include <errno.h>

/* A deadline has come. The timer that carries it is the waiter's again once alarm_run has let go of it. */
static void wait_alarm(struct actor *actor, struct worker *self, struct alarm *alarm) {
    struct wait *wait = (struct wait *)((unsigned char *)alarm - offsetof(struct wait, alarm));
    uint32_t pending = WAIT_PENDING;
    /* acqrel: as in wait_claim. */
    if (atom_cas_acqrel_rlx(&wait->claimed, &pending, WAIT_LATE)) send_awake(actor->runtime, self, wait->proc);
}

void wait_begin(struct wait *wait) {
    struct worker *self = my_worker;
    atom_store_rlx(&wait->claimed, WAIT_PENDING); /* rlx: nobody else knows it yet */
    wait->runtime = self ? self->runtime : NULL;
    wait->proc = self ? self->current : NULL;
    if (!self) parker_init(&wait->parker);
    alarm_init(&wait->alarm, wait_alarm);
}

bool wait_claim(struct wait *wait, uint32_t why, struct wake *wake) {
    struct worker *self = my_worker;
    *wake = (struct wake){wait, wait->proc, wait->runtime};
    if (!wake->proc || !self || self->runtime != wake->runtime) why |= WAIT_BUSY;
    uint32_t pending = WAIT_PENDING;
    /* acqrel: rel pairs with the acq in wait_over, so that the waiter sees what it was woken for; acq, so that the claimer sees what
     * the waiter wrote before. */
    return atom_cas_acqrel_rlx(&wait->claimed, &pending, why);
}

void wait_wake(const struct wake *wake) {
    struct worker *self = my_worker;
    if (wake->proc && self && self->runtime == wake->runtime) {
        send_awake(wake->runtime, self, wake->proc);
        return;
    }
    /* The waiter does not go on until BUSY is gone, so its runtime is there too. */
    struct wait *wait = wake->wait;
    if (wake->proc) send_awake(wake->runtime, NULL, wake->proc);
    else parker_unpark(&wait->parker);
    atom_and_rel(&wait->claimed, ~WAIT_BUSY); /* rel: pairs with the acq in wait_over; the last touch */
}

/* The claim, once there is one and it is not busy any more; else 0. */
static uint32_t wait_over(struct wait *wait) {
    uint32_t claimed = atom_load_acq(&wait->claimed); /* acq: pairs with the claim and with the end of BUSY */
    for (struct spin spin = spin_begin(); claimed & WAIT_BUSY; spin_wait(&spin))
        claimed = atom_load_acq(&wait->claimed); /* acq: as above */
    return claimed;
}

/* The waiter gives up, unless somebody was faster: then that is the answer. */
static uint32_t wait_give_up(struct wait *wait, uint32_t why) {
    uint32_t pending = WAIT_PENDING;
    return atom_cas_acqrel_rlx(&wait->claimed, &pending, why) ? why : wait_over(wait); /* acqrel: as in wait_claim */
}

static int wait_answer(uint32_t claimed) {
    if (claimed == WAIT_LATE) return WEFT_ETIMEDOUT;
    if (claimed == WAIT_CANCELED) return WEFT_ECANCELED;
    return (int)claimed;
}

/* A thread that is not a worker. */
static int wait_thread(struct wait *wait, uint64_t deadline) {
    uint32_t claimed;
    while ((claimed = wait_over(wait)) == WAIT_PENDING)
        if (parker_park(&wait->parker, deadline) == -ETIMEDOUT) claimed = wait_give_up(wait, WAIT_LATE);
    return wait_answer(claimed);
}

int wait_for(struct wait *wait, uint64_t deadline, const char *call) {
    if (!wait->proc) return wait_thread(wait, deadline);
    struct worker *worker = fiber_worker(call);
    struct proc *proc = wait->proc;
    uint32_t claimed = wait_over(wait);
    bool armed = false;
    if (claimed == WAIT_PENDING && deadline != WEFT_FOREVER) {
        if (deadline <= sys->now()) claimed = wait_give_up(wait, WAIT_LATE);
        else armed = true, alarm_arm(worker, &wait->alarm, deadline);
    }
    while (claimed == WAIT_PENDING) {
        if (fiber_is_cancelled(proc)) {
            claimed = wait_give_up(wait, WAIT_CANCELED);
            break;
        }
        worker = fiber_leave(worker, WEFT_BLOCKED);
        claimed = wait_over(wait);
    }
    if (armed) alarm_cancel(&wait->alarm);
    return wait_answer(claimed);
}
