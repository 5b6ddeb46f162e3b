/* The kernel's side of the poll: an epoll set and an eventfd (the bell), made when the first descriptor is registered. The model checker does not run
 * this file. */
#include "sched/netpoll.h"
#include "sys/sys_net.h"

static const uint64_t poll_bell_data = 0; /* no descriptor has it */

int netpoll_wait(struct netpoll *netpoll, struct netpoll_batch *batch, uint64_t deadline) {
    int n = sys->net->poll_wait(netpoll->set, batch->events, batch->most, deadline);
    for (int i = 0; i < n; i++)
        if (batch->events[i].data.u64 == poll_bell_data) batch->events[i--] = batch->events[--n];
    return n;
}

void netpoll_ring(struct runtime *runtime) { sys->net->bell_ring(runtime->netpoll.wakefd); }

/* Under the runtime's lock. */
int netpoll_make(struct netpoll *netpoll) {
    int set = sys->net->poll_open(), bell = set < 0 ? set : sys->net->bell_open();
    /* Edge-triggered: each ring is an event, and no thread has to read the bell. */
    int error = bell < 0 ? bell : sys->net->poll_change(set, EPOLL_CTL_ADD, bell, EPOLLIN | EPOLLET, poll_bell_data);
    if (error) {
        if (bell >= 0) sys->net->close(bell);
        if (set >= 0) sys->net->close(set);
        return error;
    }
    netpoll->set = set;
    netpoll->wakefd = bell;
    netpoll->made = true;
    return 0;
}

void netpoll_destroy(struct runtime *runtime) {
    if (!runtime->netpoll.made) return;
    sys->net->close(runtime->netpoll.wakefd);
    sys->net->close(runtime->netpoll.set);
}
