/* The poll: asking the kernel which descriptors have become ready. One at a time does.
 *
 * A worker that has nothing to do asks without waiting; if there is nothing anywhere, one of those that go to sleep does so in the netpoll,
 * the others on their parkers. Under load every worker asks every so often, and sysmon does if nobody else has.
 *
 *   operation                  who may call
 *   netpoll_join                  whoever is about to register a descriptor, of whatever thread
 *   netpoll_left                  whoever has taken one out
 *   netpoll_now                   a worker, awake; sysmon
 *   netpoll_take, netpoll_sleep      a worker between idle_enter and idle_leave, in this order
 *   netpoll_unpark                whoever was told by idle_wake to unpark a worker
 *   netpoll_unattended            whoever was awake and will not come by again: a worker that leaves
 *   netpoll_watch                 sysmon, every round
 *
 *   B1  Only the holder of `held` waits for events. So nobody takes away the ring of the bell that was meant for a sleeper.
 *   B2  A worker is AWAY (queue/parker.h) only while it holds the poll. Whoever unparks it rings the bell after putting its token down:
 *       the sleeper wakes, if it still sleeps, and finds the token. A ring that comes late wakes the next holder for nothing.
 *   B3  That nobody polls counts as work: who lets go of the poll comes by again before it sleeps, or says so (ready_wake), and
 *       who goes to sleep looks whether it is held, behind the fence of idle_enter. So while all workers sleep, one of them sleeps
 *       in the netpoll, if there is a descriptor.
 *   B4  Events are delivered when the poll is free again, so that the next can be asked for. */
#ifndef WEFT_SCHED_NETPOLL_H
#define WEFT_SCHED_NETPOLL_H

#include "sched/sched.h"

#include <sys/epoll.h>

#if WEFT_CHECK
enum { NETPOLL_BATCH = 2, NETPOLL_MANY = 1, NETPOLL_MISSES = 1 };
#else
/* Most events at once. So many say that there will be more soon. After so many questions in vain there is no asking any more before a sleep. */
enum { NETPOLL_BATCH = 128, NETPOLL_MANY = 4, NETPOLL_MISSES = 4 };
#endif
/* A worker that never runs dry, with others waiting in the global queue, polls so many times less often. */
enum { NETPOLL_SELDOM = 8 };

/* What a poll brought, and how much it may. */
struct netpoll_batch {
    int most, count;
    struct epoll_event events[NETPOLL_BATCH];
};

static inline bool netpoll_is_used(struct runtime *runtime) {
    return __builtin_expect(atom_load_acq(&runtime->netpoll.used) != 0, 0); /* acq: pairs with the rel in netpoll_join; the set is there */
}

/* 0: the poll is there, and counts one descriptor more. Or a negative error. */
int netpoll_join(struct runtime *runtime, struct worker *self);
void netpoll_left(struct runtime *runtime);
void netpoll_destroy(struct runtime *runtime);

/* At most so many events, NETPOLL_BATCH or fewer. True: somebody was made ready, perhaps. */
bool netpoll_now(struct runtime *runtime, unsigned most);

/* True: the caller holds it. */
static inline bool netpoll_take(struct runtime *runtime) {
    uint32_t free = 0;
    /* rlx, both: only the right to ask goes from hand to hand. A bell for the former holder, if it is heard here, finds that one awake. */
    return atom_load_rlx(&runtime->netpoll.held) == 0 && atom_cas_rlx_rlx(&runtime->netpoll.held, &free, 1);
}
/* By the holder, which lets go of it: sleeps until there are events, a token or it is time. 0: with the token. -ETIMEDOUT: up by
 * itself. What there was is in `batch`, to be delivered once it is awake. */
int netpoll_sleep(struct worker *own, uint64_t deadline, struct netpoll_batch *batch);
void netpoll_deliver(struct runtime *runtime, const struct netpoll_batch *batch);

/* Wakes the worker, wherever it sleeps. */
void netpoll_ring(struct runtime *runtime);
static inline void netpoll_unpark(struct worker *worker) {
    if (__builtin_expect(parker_unpark(&worker->parker), 0)) netpoll_ring(worker->runtime);
}

void netpoll_unattended(struct runtime *runtime);
/* True: there was something to do. */
bool netpoll_watch(struct runtime *runtime, uint64_t now);

/* The kernel's side; in the checker check/scenarios/small_poll.c. */
int netpoll_make(struct netpoll *netpoll);
int netpoll_wait(struct netpoll *netpoll, struct netpoll_batch *batch, uint64_t deadline);

#endif
