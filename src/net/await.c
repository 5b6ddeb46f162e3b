/* Waiting until a descriptor is ready, without reading or writing: weft's own (weft_fd_wait), and any other (weft_fd_wait_raw). */
#include "net/await.h"

#include "net/op.h"

#include <poll.h>

/* Whether writing to a full UNIX stream has ended: poll does not say so, a write of 0 bytes does. */
static bool await_is_broken(const struct desc *desc, int number, short events) {
    bool stream = desc->flags & DESC_UNIX && !(desc->flags & DESC_MESSAGES);
    return stream && events & POLLOUT && sys->net->send(number, "", 0, MSG_NOSIGNAL) == -EPIPE;
}

int await_look(const struct desc *desc, int number, short events) {
    int ready = sys->net->ready(number, events);
    if (ready == 0 && await_is_broken(desc, number, events)) return POLLERR;
    return ready == 0 ? -EAGAIN : ready;
}
static ssize_t await_try(struct desc *desc, int number, uint64_t seen, void *arg) {
    (void)seen;
    return await_look(desc, number, *(short *)arg);
}

/* As op_wait and op_run, in both directions at once. */
static int await_park(struct desc *desc, const uint64_t seen[2], uint64_t *deadline, struct op_pause *pause, const char *call) {
    uint64_t until = op_until(desc, pause, *deadline);
    return op_waited(readiness_wait_either(&desc->readiness, seen, until, call), until, deadline);
}
static ssize_t await_either(weft_fd fd, short events, uint64_t deadline, const char *call) {
    fiber_spend(my_worker, deadline);
    struct desc *desc = desc_use(fd);
    if (!desc) return WEFT_EBADF;
    struct op_pause pause = op_pause_unix;
    ssize_t ready;
    do {
        uint64_t seen[2] = {readiness_seen(&desc->readiness, READINESS_IN), readiness_seen(&desc->readiness, READINESS_OUT)};
        ready = await_try(desc, desc_number(fd), 0, &events);
        if (ready == -EAGAIN) ready = deadline == 0 ? wait_late() : await_park(desc, seen, &deadline, &pause, call);
    } while (ready == READINESS_AGAIN || ready == -EINTR);
    desc_done(desc, desc_number(fd));
    return ready;
}

static int await_ready(weft_fd fd, int what, uint64_t deadline, const char *call) {
    short events = (short)((what & WEFT_READABLE ? POLLIN : 0) | (what & WEFT_WRITABLE ? POLLOUT : 0));
    if (what == 0 || what & ~(WEFT_READABLE | WEFT_WRITABLE)) return WEFT_EINVAL;
    enum readiness_side side = what == WEFT_READABLE ? READINESS_IN : READINESS_OUT;
    ssize_t ready = what == (WEFT_READABLE | WEFT_WRITABLE) ? await_either(fd, events, deadline, call)
                                                            : op_run(fd, side, deadline, call, await_try, &events);
    if (ready < 0) return (int)ready;
    if (ready & (POLLERR | POLLHUP)) return what; /* no read or write will wait */
    return (ready & POLLIN ? WEFT_READABLE : 0) | (ready & POLLOUT ? WEFT_WRITABLE : 0);
}

int weft_fd_wait(weft_fd fd, int what, uint64_t deadline) { return await_ready(fd, what, deadline, "weft_fd_wait"); }

/* ---- descriptors that are not weft's --------------------------------------------------------------------------------------------- */

/* The number has a place already: shares it, 0 and *fd; or WEFT_EAGAIN: the place is being given back just now. */
static int await_share(int number, weft_fd *fd, bool *borrowed) {
    *fd = desc_of(number);
    int lent = *fd < 0 ? WEFT_EBADF : desc_lend(*fd);
    *borrowed = lent == DESC_LENT;
    return lent < 0 ? WEFT_EAGAIN : 0;
}

static int await_borrowed(int number, int what, uint64_t deadline, const char *call) {
    for (;; weft_yield()) {
        weft_fd fd = desc_open(number, DESC_BORROWED, call);
        bool first = fd > 0, borrowed = first;
        if (fd == WEFT_EEXIST) { /* another process waits for it too, or it is weft's after all */
            if (await_share(number, &fd, &borrowed)) continue;
        } else if (!first) {
            return (int)fd;
        }
        int ready = await_ready(fd, what, deadline, call);
        if (borrowed) desc_return(fd);
        if (first || (ready != WEFT_EBADF && ready != WEFT_ECLOSED)) return ready;
    }
}

int await_number(int number, int what, uint64_t deadline, const char *call) {
    if (number < 0) return WEFT_EBADF;
    fiber_worker(call);
    struct proc *proc = fiber_whole_begin(); /* the place is given back, whatever becomes of the process */
    int ready = await_borrowed(number, what, deadline, call);
    fiber_whole_end(proc);
    return ready;
}

int weft_fd_wait_raw(int number, int what, uint64_t deadline) { return await_number(number, what, deadline, "weft_fd_wait_raw"); }
