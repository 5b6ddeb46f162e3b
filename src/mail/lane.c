/* Lanes: which worker's wheel the timers of delayed messages to one process are in. */
#include "mail/lane.h"

#define LANE_WORKER ((1U << LANE_TENURE) - 1)

atom_u64 *lane_of(struct runtime *runtime, uint32_t slot) { return side_of(&runtime->sides.lanes, slot, sizeof(atom_u64), true); }

/* The worker's number and tenure. */
static uint32_t lane_at(struct worker *worker) { return timers_moved(&worker->timers) << LANE_TENURE | worker->index; }

/* Counts one more timer; returns the worker's number and tenure. */
static uint32_t lane_enter(struct runtime *runtime, struct worker *self, atom_u64 *lane) {
    struct worker *own = self ? self : worker_first(runtime);
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint64_t found = atom_load_rlx(lane); /* rlx: the exchange decides */
        uint64_t chosen = found >= LANE_ONE ? found : lane_at(own);
        /* acqrel: a thread that joins pending timers sees the worker that the first has chosen; and pairs with the rel in lane_leave. */
        if (atom_cas_acqrel_rlx(lane, &found, chosen + LANE_ONE)) return (uint32_t)chosen;
    }
}

/* It is not the caller's own worker, or its timers have been moved away. */
static __attribute__((noinline, cold)) void lane_arm_elsewhere(struct runtime *runtime, struct worker *self, uint32_t chosen,
                                                               struct timer_event *event, uint64_t when) {
    /* rlx: the thread that chose it has seen it, and happens-before by the lane's acq or by the timers' lock. */
    struct worker *at = atom_load_rlx(&runtime->workers[chosen & LANE_WORKER]);
    if (!timer_event_arm_unmoved(runtime, self, at, chosen >> LANE_TENURE, event, when)) /* N2 */
        timer_event_arm_at(runtime, self, worker_first(runtime), event, when);
}

static inline void lane_arm_in(struct runtime *runtime, struct worker *self, uint32_t chosen, struct timer_event *event, uint64_t when) {
    bool earlier, own = self && (chosen & LANE_WORKER) == self->index;
    bool armed =
        __builtin_expect(own, 1) && timers_arm_unmoved(&self->timers, chosen >> LANE_TENURE, &event->timer, when, &earlier); /* N2 */
    if (__builtin_expect(!armed, 0)) lane_arm_elsewhere(runtime, self, chosen, event, when);
}

/* flatten: an arming in the worker's own wheel is one function, 60 instructions less. */
__attribute__((flatten)) void lane_arm(struct runtime *runtime, struct worker *self, atom_u64 *lane, struct timer_event *event,
                                       uint64_t when) {
    lane_arm_in(runtime, self, lane_enter(runtime, self, lane), event, when);
}

void lane_arm_again(struct runtime *runtime, struct worker *self, atom_u64 *lane, struct timer_event *event, uint64_t when) {
    /* rlx: by the lock of the timers, handing the timer out happens after its first arming, and so after the choice. */
    lane_arm_in(runtime, self, (uint32_t)atom_load_rlx(lane), event, when);
}

void lane_destroy_all(struct runtime *runtime) { side_destroy(&runtime->sides.lanes, sizeof(atom_u64)); }
