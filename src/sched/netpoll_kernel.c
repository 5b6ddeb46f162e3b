/* The poll's kernel side: made when the first descriptor comes. Not part of what the model checker runs. */
#include "sched/netpoll.h"
#include "sys/sys_net.h"

static const uint64_t poll_bell_data = 0; /* no descriptor has it */

int poll_wait(struct poll *poll, struct poll_catch *catch, uint64_t deadline) {
    int n = sys->net->poll_wait(poll->set, catch->events, catch->most, deadline);
    for (int i = 0; i < n; i++)
        if (catch->events[i].data.u64 == poll_bell_data) catch->events[i--] = catch->events[--n];
    return n;
}

void poll_ring(struct runtime *runtime) { sys->net->bell_ring(runtime->poll.bell); }

/* Under the runtime's lock. */
int poll_make(struct poll *poll) {
    int set = sys->net->poll_open(), bell = set < 0 ? set : sys->net->bell_open();
    /* Edge-triggered: each ring is an event, and nobody has to read the bell. */
    int error = bell < 0 ? bell : sys->net->poll_change(set, EPOLL_CTL_ADD, bell, EPOLLIN | EPOLLET, poll_bell_data);
    if (error) {
        if (bell >= 0) sys->net->close(bell);
        if (set >= 0) sys->net->close(set);
        return error;
    }
    poll->set = set;
    poll->bell = bell;
    poll->made = true;
    return 0;
}

void poll_destroy(struct runtime *runtime) {
    if (!runtime->poll.made) return;
    sys->net->close(runtime->poll.bell);
    sys->net->close(runtime->poll.set);
}
