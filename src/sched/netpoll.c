/* The poll: the right to wait in epoll, which one thread at a time takes, holds and releases. The kernel's side is in netpoll_kernel.c. */
#include "sched/netpoll.h"

#include "sched/parts.h"

#include <errno.h>

enum {
    POLL_NEGLECTED = 10000000, /* ns without a poll, before sysmon polls itself */
    POLL_SLEEPERS = 100000,    /* ns without a poll while a worker that could poll is asleep: sysmon wakes it */
};

/* ---- being used ------------------------------------------------------------------------------------------------------------ */

int netpoll_join(struct runtime *runtime, struct worker *self) {
    struct netpoll *netpoll = &runtime->netpoll;
    lock_take(&runtime->lock);
    int error = netpoll->made ? 0 : netpoll_make(netpoll);
    lock_drop(&runtime->lock);
    if (error) return error;
    /* rel: pairs with the acq in netpoll_is_used. A worker that calls this checks the poll before it sleeps. Other threads do not, and all
     * workers may be asleep, none of them in the poll (B3): so wake one. */
    if (atom_add_rel(&netpoll->used, 1) == 0 && !self) ready_wake(runtime, NULL);
    return 0;
}

void netpoll_left(struct runtime *runtime) { atom_sub_rlx(&runtime->netpoll.used, 1); } /* rlx: a count */

/* ---- holding it ----------------------------------------------------------------------------------------------------------- */

static inline void netpoll_begin(struct netpoll *netpoll) {
    atom_store_rlx(&netpoll->rounds, atom_load_rlx(&netpoll->rounds) + 1); /* rlx: written by the holder; for sysmon a hint */
}
static inline void netpoll_drop(struct netpoll *netpoll) { atom_store_rlx(&netpoll->held, 0); } /* rlx: as in netpoll_take */

void netpoll_deliver(struct runtime *runtime, const struct netpoll_batch *batch) {
    (void)runtime;
    for (int i = 0; i < batch->count; i++)
        parts.deliver(&batch->events[i]);
}

__attribute__((noinline)) bool netpoll_now(struct runtime *runtime, unsigned most) {
    struct netpoll_batch batch;
    batch.most = most < NETPOLL_BATCH ? (int)most : NETPOLL_BATCH;
    if (!netpoll_take(runtime)) return false;
    netpoll_begin(&runtime->netpoll);
    batch.count = netpoll_wait(&runtime->netpoll, &batch, 0);
    netpoll_drop(&runtime->netpoll);
    if (batch.count <= 0) return false;
    netpoll_deliver(runtime, &batch);
    return true;
}

int netpoll_sleep(struct worker *own, uint64_t deadline, struct netpoll_batch *batch) {
    struct netpoll *netpoll = &own->runtime->netpoll;
    bool token = true;
    batch->most = NETPOLL_BATCH;
    batch->count = 0;
    netpoll_begin(netpoll);
    if (parker_away(&own->parker)) {
        int n = netpoll_wait(netpoll, batch, deadline ? deadline : 1); /* 0 would mean not to wait */
        batch->count = n > 0 ? n : 0;                                  /* a signal, or nothing: the worker looks for work and comes again */
        token = parker_back(&own->parker);
    }
    netpoll_drop(netpoll);
    return token ? 0 : -ETIMEDOUT;
}

/* ---- no thread holds it ----------------------------------------------------------------------------------------------------- */

void netpoll_unattended(struct runtime *runtime) {
    if (netpoll_is_used(runtime)) ready_wake(runtime, NULL);
}

bool netpoll_watch(struct runtime *runtime, uint64_t now) {
    struct netpoll *netpoll = &runtime->netpoll;
    if (!netpoll_is_used(runtime)) return false;
    uint64_t rounds = atom_load_rlx(&netpoll->rounds); /* rlx, both: hints */
    if (rounds != netpoll->seen.rounds || atom_load_rlx(&netpoll->held)) {
        netpoll->seen.rounds = rounds;
        netpoll->seen.since = now;
        return false;
    }
    bool sleepers = idle_sleepers(&runtime->idle) > 0;
    if (now - netpoll->seen.since < (sleepers ? POLL_SLEEPERS : POLL_NEGLECTED)) return false;
    netpoll->seen.since = now;
    if (!sleepers) netpoll_now(runtime, NETPOLL_BATCH);
    /* Behind ready_wake's fence: a worker that went to sleep while sysmon held the poll is seen, and woken to hold it (B3). */
    ready_wake(runtime, NULL);
    return true;
}
