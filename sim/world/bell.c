/* Bells: what eventfd gives. Ready to read once it was rung, until it is read. */
#include "world/fd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

struct bell {
    struct sim_fd fd;
    uint64_t rings;
};

static uint32_t bell_ready(struct sim_fd *fd) { return EPOLLOUT | (((struct bell *)fd)->rings ? EPOLLIN : 0u); }

static ssize_t bell_read(struct sim_fd *fd, const struct iovec *parts, int count, int64_t offset) {
    struct bell *bell = (struct bell *)fd;
    if (offset >= 0) return -ESPIPE;
    if (count == 0 || parts->iov_len < sizeof bell->rings) return -EINVAL;
    if (bell->rings == 0) return -EAGAIN;
    memcpy(parts->iov_base, &bell->rings, sizeof bell->rings);
    bell->rings = 0;
    sim_fd_changed(fd, EPOLLOUT);
    return sizeof bell->rings;
}

static void bell_close(struct sim_fd *fd, bool crash) {
    (void)crash;
    free(fd);
}

static const struct sim_fd_ops bell_ops = {.name = "bell", .read = bell_read, .ready = bell_ready, .close = bell_close};

int sim_bell_open(void) {
    int error = sim_fd_may_open(1);
    struct bell *bell = error ? NULL : calloc(1, sizeof *bell);
    if (!bell) return error ? error : -ENOMEM;
    sim_fd_begin(&bell->fd, &bell_ops);
    bell->fd.nonblocking = true;
    return sim_fd_number(&bell->fd);
}

int sim_bell_ring(int number) {
    struct bell *bell = (struct bell *)sim_fd_at(number);
    if (!bell || bell->fd.ops != &bell_ops) return -EBADF;
    bell->rings++;
    sim_fd_changed(&bell->fd, EPOLLIN);
    return 0;
}
