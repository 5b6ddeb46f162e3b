/* The table of virtual descriptors, blocking reads and writes on them, and poll. */
#include "world/fd.h"

#include <errno.h>
#include <stdlib.h>

/* In the place of a number that is never given out again (F3). */
static struct sim_fd fd_dead;

static struct {
    struct sim_fd *list[SIM_FD_MOST];
    int end, lowest; /* above `end` all are free; below `lowest` none is */
    unsigned *counts, *limits, machines;
} fds;

/* ---- machines ------------------------------------------------------------------------------------------------------------------ */

/* False: no memory. */
static bool fd_machine(unsigned machine) {
    if (machine < fds.machines) return true;
    unsigned count = (machine + 1) * 2;
    unsigned *counts = realloc(fds.counts, count * sizeof *counts);
    if (counts) fds.counts = counts;
    unsigned *limits = realloc(fds.limits, count * sizeof *limits);
    if (limits) fds.limits = limits;
    if (!counts || !limits) return false;
    for (; fds.machines < count; fds.machines++)
        counts[fds.machines] = limits[fds.machines] = 0;
    return true;
}

static unsigned fd_here(void) {
    struct sim_thread *me = sim_me();
    return me ? me->machine : 0;
}

void sim_fd_limit(unsigned machine, unsigned most) {
    if (fd_machine(machine)) fds.limits[machine] = most;
}

unsigned sim_fd_count(unsigned machine) { return machine < fds.machines ? fds.counts[machine] : 0; }

/* ---- references ---------------------------------------------------------------------------------------------------------------- */

void sim_fd_begin(struct sim_fd *fd, const struct sim_fd_ops *ops) {
    fd->ops = ops;
    fd->machine = fd_here();
    fd->references = 1;
}

struct sim_fd *sim_fd_keep(struct sim_fd *fd) {
    fd->references++;
    return fd;
}

static void fd_drop(struct sim_fd *fd, bool crash) {
    if (--fd->references > 0) return;
    sim_watch_end(fd);
    fd->ops->close(fd, crash);
}

void sim_fd_drop(struct sim_fd *fd) { fd_drop(fd, false); }

/* ---- numbers ------------------------------------------------------------------------------------------------------------------- */

int sim_fd_may_open(unsigned count) {
    unsigned here = fd_here();
    if (!fd_machine(here)) return -ENFILE;
    unsigned limit = fds.limits[here] ? fds.limits[here] : SIM_FD_MOST - SIM_FD_FIRST;
    if (fds.counts[here] + count > limit) return -EMFILE;
    return sim_fault(SIM_FAULT_FD, SIM_NET) ? -EMFILE : 0;
}

int sim_fd_number(struct sim_fd *fd) {
    int number = fds.lowest;
    while (number < fds.end && fds.list[number])
        number++;
    if (number == SIM_FD_MOST - SIM_FD_FIRST || !fd_machine(fd->machine)) {
        sim_fd_drop(fd);
        return -ENFILE;
    }
    if (number == fds.end) fds.end++;
    fds.lowest = number + 1;
    fds.list[number] = fd;
    fds.counts[fd->machine]++;
    return number + SIM_FD_FIRST;
}

static struct sim_fd **fd_place(int number) {
    if (number < SIM_FD_FIRST || number - SIM_FD_FIRST >= fds.end) return NULL;
    struct sim_fd **place = &fds.list[number - SIM_FD_FIRST];
    return *place && *place != &fd_dead ? place : NULL;
}

struct sim_fd *sim_fd_at(int number) {
    struct sim_fd **place = fd_place(number);
    return place ? *place : NULL;
}

int sim_fd_close(int number) {
    struct sim_fd **place = fd_place(number), *fd = place ? *place : NULL;
    if (!fd) return -EBADF;
    *place = NULL;
    if (number - SIM_FD_FIRST < fds.lowest) fds.lowest = number - SIM_FD_FIRST;
    fds.counts[fd->machine]--;
    sim_fd_drop(fd);
    return 0;
}

/* ---- waiting ------------------------------------------------------------------------------------------------------------------- */

/* A thread that waits, on its stack. */
struct fd_waiter {
    struct fd_waiter *next;
    struct sim_thread *thread;
    struct pollfd *list;
    unsigned count;
    struct sim_fd *only; /* or: this one, whatever its number means by now */
    uint32_t events;
};
static struct fd_waiter *fd_waiters;

static uint32_t fd_ready(struct sim_fd *fd) { return fd->ops->always_ready ? POLLIN | POLLOUT : fd->ops->ready(fd); }

static short fd_poll_one(const struct pollfd *one) {
    if (one->fd < 0) return 0;
    if (sim_fd_is_real(one->fd)) return (short)(one->events & (POLLIN | POLLOUT));
    struct sim_fd *fd = sim_fd_at(one->fd);
    return fd ? (short)(fd_ready(fd) & (uint32_t)(one->events | POLLERR | POLLHUP)) : POLLNVAL;
}

static int fd_poll_all(struct pollfd *list, unsigned count) {
    int ready = 0;
    for (unsigned i = 0; i < count; i++)
        if ((list[i].revents = fd_poll_one(&list[i])) != 0) ready++;
    return ready;
}

static bool fd_waits_no_more(struct fd_waiter *waiter) {
    if (waiter->only) return fd_ready(waiter->only) & (waiter->events | POLLERR | POLLHUP);
    return fd_poll_all(waiter->list, waiter->count) > 0;
}

static int fd_wait(struct fd_waiter *waiter, const char *why, uint64_t deadline) {
    waiter->thread = sim_me();
    waiter->next = fd_waiters;
    fd_waiters = waiter;
    int error = sim_block(why, waiter, deadline);
    struct fd_waiter **at = &fd_waiters;
    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    return error;
}

void sim_fd_changed(struct sim_fd *fd, uint32_t events) {
    sim_watch_tell(fd, events);
    for (struct fd_waiter *waiter = fd_waiters; waiter; waiter = waiter->next)
        if (fd_waits_no_more(waiter)) sim_unblock_thread(waiter->thread, 0);
}

int sim_fd_poll(struct pollfd *list, unsigned count, uint64_t deadline) {
    struct fd_waiter waiter = {.list = list, .count = count};
    for (;;) {
        int ready = fd_poll_all(list, count);
        if (ready > 0 || deadline <= sim_now()) return ready;
        fd_wait(&waiter, "poll", deadline);
    }
}

void sim_fd_interrupt(struct sim_thread *thread) {
    thread->interrupted = true;
    for (struct fd_waiter *waiter = fd_waiters; waiter; waiter = waiter->next)
        if (waiter->thread == thread && waiter->only) sim_unblock_thread(thread, -EINTR);
}

/* True: try again. */
static bool fd_again(struct sim_fd *fd, ssize_t *result, bool nowait, uint32_t events, const char *why) {
    struct fd_waiter waiter = {.only = fd, .events = events};
    if (*result != -EAGAIN || nowait || fd->nonblocking) return false;
    if (!sim_me()->interrupted) fd_wait(&waiter, why, SIM_FOREVER);
    if (!sim_me()->interrupted) return true;
    *result = -EINTR;
    return false;
}

ssize_t sim_fd_read(int number, const struct iovec *parts, int count, int64_t offset, bool nowait) {
    struct sim_fd *fd = sim_fd_at(number);
    ssize_t result = fd ? -EINVAL : -EBADF;
    if (!fd || !fd->ops->read) return result;
    sim_fd_keep(fd);
    do
        result = fd->ops->read(fd, parts, count, offset);
    while (fd_again(fd, &result, nowait, POLLIN, "read"));
    sim_fd_drop(fd);
    return result;
}

ssize_t sim_fd_write(int number, const struct iovec *parts, int count, int64_t offset, bool nowait) {
    struct sim_fd *fd = sim_fd_at(number);
    ssize_t result = fd ? -EINVAL : -EBADF;
    if (!fd || !fd->ops->write) return result;
    sim_fd_keep(fd);
    do
        result = fd->ops->write(fd, parts, count, offset);
    while (fd_again(fd, &result, nowait, POLLOUT, "write"));
    sim_fd_drop(fd);
    return result;
}

/* ---- a machine crashes ----------------------------------------------------------------------------------------------------------- */

/* Its threads never run again. */
static void fd_forget_waiters(unsigned machine) {
    for (struct fd_waiter **at = &fd_waiters; *at;)
        if ((*at)->thread->machine == machine) *at = (*at)->next;
        else at = &(*at)->next;
}

void sim_fd_crash(unsigned machine) {
    fd_forget_waiters(machine);
    for (int i = 0; i < fds.end; i++) {
        struct sim_fd *fd = fds.list[i];
        if (!fd || fd == &fd_dead || fd->machine != machine) continue;
        fds.list[i] = &fd_dead;
        fds.counts[machine]--;
        fd_drop(fd, true);
    }
}
