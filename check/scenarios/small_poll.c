#include "small_poll.h"

#include <errno.h>

enum { BELL = 1, EVENT = 2, SET = 7 };
static atom_u32 kernel;
static void (*delivers)(void);

void small_poll(void (*deliver)(void)) {
    delivers = deliver;
    atom_store_rlx(&kernel, 0);
    chk_name(&kernel, "kernel");
    chk_name(&small->netpoll.used, "poll.used");
    chk_name(&small->netpoll.held, "poll.held");
    chk_name(&small->netpoll.rounds, "poll.rounds");
}

static void happens(uint32_t what) {
    atom_or_acqrel(&kernel, what);
    sys->futex_wake(&kernel, 1);
}
void small_poll_event(void) { happens(EVENT); }
void netpoll_ring(struct runtime *runtime) {
    (void)runtime;
    happens(BELL);
}

int netpoll_wait(struct netpoll *netpoll, struct netpoll_batch *batch, uint64_t deadline) {
    (void)batch;
    chk_assert(netpoll->set == SET, "the set is there");
    for (;;) {
        uint32_t found = atom_load_acq(&kernel); /* looks before it writes, so that looking in vain changes nothing */
        if (found) return atom_swap_acqrel(&kernel, 0) & EVENT ? 1 : 0;
        if (deadline == 0 || sys->futex_wait(&kernel, 0, deadline) == -ETIMEDOUT) return 0;
    }
}
void net_deliver(const struct epoll_event *event) {
    (void)event;
    delivers();
}

int netpoll_make(struct netpoll *netpoll) {
    netpoll->made = true;
    netpoll->set = SET;
    return 0;
}
void netpoll_destroy(struct runtime *runtime) { (void)runtime; }
void net_destroy(struct runtime *runtime) { (void)runtime; }
