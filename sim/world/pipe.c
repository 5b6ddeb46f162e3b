/* Pipes. */
#include "world/pipe.h"

#include "world/flow.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>

enum { PIPE_ROOM = 1 << 16, PIPE_READS = 0, PIPE_WRITES = 1 };

struct pipe_end {
    struct sim_fd fd;
    struct pipe *pipe;
    unsigned side;
};
struct pipe {
    struct flow flow;
    struct pipe_end *ends[2]; /* NULL: closed */
};

static uint32_t pipe_ready(struct sim_fd *fd) {
    struct pipe_end *end = (struct pipe_end *)fd;
    struct flow *flow = &end->pipe->flow;
    bool alone = !end->pipe->ends[!end->side];
    if (end->side == PIPE_READS) return (flow->arrived ? EPOLLIN : 0u) | (alone ? EPOLLHUP : 0u);
    bool has_room = flow_room(flow) >= PIPE_BUF;
    if (!has_room) flow->full = true; /* an edge is wanted */
    return (has_room || alone ? EPOLLOUT : 0u) | (alone ? EPOLLERR : 0u);
}

static ssize_t pipe_read(struct sim_fd *fd, const struct iovec *parts, int count, int64_t offset) {
    struct pipe_end *end = (struct pipe_end *)fd, *writer = end->pipe->ends[PIPE_WRITES];
    struct flow *flow = &end->pipe->flow;
    struct parcel *none;
    size_t size = parts_size(parts, count);
    if (offset >= 0) return -ESPIPE;
    if (end->side != PIPE_READS) return -EBADF;
    if (size == 0) return 0;
    if (flow->arrived == 0) return writer ? -EAGAIN : 0;
    size = flow_take(flow, parts, count, flow_draw_short(size), false, &none);
    if (writer && flow->full && flow_room(flow) >= PIPE_BUF) {
        flow->full = false;
        sim_fd_changed(&writer->fd, EPOLLOUT);
    }
    return (ssize_t)size;
}

/* Up to PIPE_BUF bytes are written in one piece or not at all. */
static ssize_t pipe_write(struct sim_fd *fd, const struct iovec *parts, int count, int64_t offset) {
    struct pipe_end *end = (struct pipe_end *)fd, *reader = end->pipe->ends[PIPE_READS];
    struct flow *flow = &end->pipe->flow;
    size_t size = parts_size(parts, count), some = size > PIPE_BUF ? flow_draw_short(size) : size;
    if (offset >= 0) return -ESPIPE;
    if (end->side != PIPE_WRITES) return -EBADF;
    if (!reader) return -EPIPE;
    if (size == 0) return 0;
    if (some > flow_room(flow)) some = size > PIPE_BUF ? flow_room(flow) : 0;
    if (some < size) flow->full = true;
    if (some == 0) return -EAGAIN;
    flow_put(flow, parts, count, some, NULL);
    flow_arrive(flow, some);
    sim_fd_changed(&reader->fd, EPOLLIN);
    return (ssize_t)some;
}

static void pipe_close(struct sim_fd *fd, bool crash) {
    struct pipe_end *end = (struct pipe_end *)fd, *other = end->pipe->ends[!end->side];
    (void)crash;
    end->pipe->ends[end->side] = NULL;
    if (other) {
        sim_fd_changed(&other->fd, end->side == PIPE_WRITES ? EPOLLIN | EPOLLHUP : EPOLLOUT | EPOLLERR);
    } else {
        flow_end(&end->pipe->flow);
        free(end->pipe);
    }
    free(end);
}

static const struct sim_fd_ops pipe_ops = {
    .name = "pipe",
    .mode = S_IFIFO,
    .read = pipe_read,
    .write = pipe_write,
    .ready = pipe_ready,
    .close = pipe_close,
};

static struct pipe_end *pipe_end_new(struct pipe *pipe, unsigned side) {
    struct pipe_end *end = calloc(1, sizeof *end);
    if (!end) sim_fail("memory", "the simulation itself has none left");
    sim_fd_begin(&end->fd, &pipe_ops);
    end->fd.nonblocking = true;
    end->pipe = pipe;
    end->side = side;
    return pipe->ends[side] = end;
}

int sim_pipe(int pair[2]) {
    int error = sim_fd_may_open(2);
    struct pipe *pipe = error ? NULL : calloc(1, sizeof *pipe);
    if (!pipe) return error ? error : -ENFILE;
    if (!flow_begin(&pipe->flow, flow_draw_room(PIPE_ROOM, PIPE_BUF))) sim_fail("memory", "the simulation itself has none left");
    for (unsigned side = 0; side < 2; side++)
        pair[side] = sim_fd_number(&pipe_end_new(pipe, side)->fd);
    return 0;
}
