/* The poll: asking the kernel which descriptors have become ready. One at a time does.
 *
 * A worker that has nothing to do asks without waiting; if there is nothing anywhere, one of those that go to sleep does so in the poll,
 * the others on their parkers. Under load every worker asks every so often, and the monitor does if nobody else has.
 *
 *   operation                  who may call
 *   poll_join                  whoever is about to register a descriptor, of whatever thread
 *   poll_left                  whoever has taken one out
 *   poll_now                   a worker, awake; the monitor
 *   poll_take, poll_sleep      a worker between idle_enter and idle_leave, in this order
 *   poll_unpark                whoever was told by idle_wake to unpark a worker
 *   poll_unattended            whoever was awake and will not come by again: a worker that leaves
 *   poll_watch                 the monitor, every round
 *
 *   B1  Only the holder of `held` waits for events. So nobody takes away the ring of the bell that was meant for a sleeper.
 *   B2  A worker is AWAY (queue/parker.h) only while it holds the poll. Whoever unparks it rings the bell after putting its token down:
 *       the sleeper wakes, if it still sleeps, and finds the token. A ring that comes late wakes the next holder for nothing.
 *   B3  That nobody polls counts as work: who lets go of the poll comes by again before it sleeps, or says so (ready_wake), and
 *       who goes to sleep looks whether it is held, behind the fence of idle_enter. So while all workers sleep, one of them sleeps
 *       in the poll, if there is a descriptor.
 *   B4  Events are delivered when the poll is free again, so that the next can be asked for. */
#ifndef WEFT_SCHED_NETPOLL_H
#define WEFT_SCHED_NETPOLL_H

#include "sched/sched.h"

#include <sys/epoll.h>

#if WEFT_CHECK
enum { POLL_BATCH = 2, POLL_MANY = 1, POLL_MISSES = 1 };
#else
/* Most events at once. So many say that there will be more soon. After so many questions in vain there is no asking any more before a sleep. */
enum { POLL_BATCH = 128, POLL_MANY = 4, POLL_MISSES = 4 };
#endif
/* A worker that never runs dry, with others waiting in the global queue, polls so many times less often. */
enum { POLL_SELDOM = 8 };

/* What a poll brought, and how much it may. */
struct poll_catch {
    int most, count;
    struct epoll_event events[POLL_BATCH];
};

static inline bool poll_is_used(struct runtime *runtime) {
    return __builtin_expect(atom_load_acq(&runtime->poll.used) != 0, 0); /* acq: pairs with the rel in poll_join; the set is there */
}

/* 0: the poll is there, and counts one descriptor more. Or a negative error. */
int poll_join(struct runtime *runtime, struct worker *self);
void poll_left(struct runtime *runtime);
void poll_destroy(struct runtime *runtime);

/* At most so many events, POLL_BATCH or fewer. True: somebody was made ready, perhaps. */
bool poll_now(struct runtime *runtime, unsigned most);

/* True: the caller holds it. */
static inline bool poll_take(struct runtime *runtime) {
    uint32_t free = 0;
    /* rlx, both: only the right to ask goes from hand to hand. A bell for the former holder, if it is heard here, finds that one awake. */
    return atom_load_rlx(&runtime->poll.held) == 0 && atom_cas_rlx_rlx(&runtime->poll.held, &free, 1);
}
/* By the holder, which lets go of it: sleeps until there are events, a token or it is time. 0: with the token. -ETIMEDOUT: up by
 * itself. What there was is in `catch`, to be delivered once it is awake. */
int poll_sleep(struct worker *own, uint64_t deadline, struct poll_catch *catch);
void poll_deliver(struct runtime *runtime, const struct poll_catch *catch);

/* Wakes the worker, wherever it sleeps. */
void poll_ring(struct runtime *runtime);
static inline void poll_unpark(struct worker *worker) {
    if (__builtin_expect(parker_unpark(&worker->parker), 0)) poll_ring(worker->runtime);
}

void poll_unattended(struct runtime *runtime);
/* True: there was something to do. */
bool poll_watch(struct runtime *runtime, uint64_t now);

/* The kernel's side; in the checker check/scenarios/small_poll.c. */
int poll_make(struct poll *poll);
int poll_wait(struct poll *poll, struct poll_catch *catch, uint64_t deadline);


#endif
