/* The poll: asking the kernel which descriptors have become ready. One thread at a time holds the poll and asks.
 *
 * A worker that has nothing to do asks without waiting. If there is no work anywhere, one of the workers that go to sleep sleeps in the
 * poll, the others on their parkers. Under load every worker asks now and then, and sysmon does if no worker has.
 *
 *   operation                     caller
 *   netpoll_join                  any thread, before it registers a descriptor
 *   netpoll_left                  any thread, after it has taken one out
 *   netpoll_now                   a worker, awake; sysmon
 *   netpoll_take, netpoll_sleep   a worker between idle_enter and idle_leave, in this order
 *   netpoll_unpark                the thread that idle_wake told to unpark a worker
 *   netpoll_unattended            a worker that leaves: it was awake and will not come by again
 *   netpoll_watch                 sysmon, every round
 *
 *   B1  Only the holder of `held` waits for events. So no other thread consumes the ring of the bell that was meant for a sleeper.
 *   B2  A worker is AWAY (queue/parker.h) only while it holds the poll. The thread that unparks it leaves the token first and then rings
 *       the bell: the sleeper wakes, if it still sleeps, and finds the token. A ring that comes late wakes the next holder for nothing.
 *   B3  A poll without a holder counts as work: a thread that releases the poll checks it again before it sleeps, or calls ready_wake;
 *       and a worker that goes to sleep checks whether the poll is held, behind the fence of idle_enter. So while all workers sleep, one
 *       of them sleeps in the poll, if there is a descriptor.
 *   B4  Events are delivered after the poll is released, so that the next thread can ask meanwhile. */
#ifndef WEFT_SCHED_NETPOLL_H
#define WEFT_SCHED_NETPOLL_H

#include "sched/sched.h"

#include <sys/epoll.h>

#if WEFT_CHECK
enum { NETPOLL_BATCH = 2, NETPOLL_MANY = 1, NETPOLL_MISSES = 1 };
#else
/* BATCH: most events at once. MANY: so many events say that more will come soon. MISSES: after so many empty polls in a row a worker
 * does not ask any more before it sleeps. */
enum { NETPOLL_BATCH = 128, NETPOLL_MANY = 4, NETPOLL_MISSES = 4 };
#endif
/* A worker that never runs out of work polls so many times less often while processes wait in the global queue. */
enum { NETPOLL_SELDOM = 8 };

/* The events of one poll, and how many it may bring. */
struct netpoll_batch {
    int most, count;
    struct epoll_event events[NETPOLL_BATCH];
};

static inline bool netpoll_is_used(struct runtime *runtime) {
    return __builtin_expect(atom_load_acq(&runtime->netpoll.used) != 0, 0); /* acq: pairs with the rel in netpoll_join; the set is there */
}

/* 0: the poll exists, and counts one descriptor more. Or a negative error. */
int netpoll_join(struct runtime *runtime, struct worker *self);
void netpoll_left(struct runtime *runtime);
void netpoll_destroy(struct runtime *runtime);

/* Polls without waiting, for at most `most` events, NETPOLL_BATCH or fewer. True: there were events, and processes may have been made
 * ready. */
bool netpoll_now(struct runtime *runtime, unsigned most);

/* True: the caller holds the poll. */
static inline bool netpoll_take(struct runtime *runtime) {
    uint32_t free = 0;
    /* rlx, both: only the right to ask changes hands. A bell for the former holder, if this one hears it, finds the former holder awake. */
    return atom_load_rlx(&runtime->netpoll.held) == 0 && atom_cas_rlx_rlx(&runtime->netpoll.held, &free, 1);
}
/* By the holder, and releases the poll: sleeps until there are events or a token, or until the deadline. 0: it took the token.
 * -ETIMEDOUT: it woke by itself. The events are in `batch`, to be delivered once the worker is awake. */
int netpoll_sleep(struct worker *own, uint64_t deadline, struct netpoll_batch *batch);
void netpoll_deliver(struct runtime *runtime, const struct netpoll_batch *batch);

/* Rings the bell: the thread that waits in the poll wakes. netpoll_unpark wakes the worker wherever it sleeps. */
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
