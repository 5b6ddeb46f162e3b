/* Commands for step processes: what would have to wait is done by a helper (dispatch/job.h). The rest of weft/net.h a step process can call
 * itself. */
#include "dispatch/job.h"
#include "dispatch/yield.h"
#include "net/desc.h"

#include <weft/stackful.h>

/* ---- the helper ------------------------------------------------------------------------------------------------------------------ */

/* In a job the descriptor is its offset. */
static weft_fd *command_fd(struct job *job) { return &job->offset; }

/* A descriptor is the result; nobody has seen it. */
static void command_close_unseen(struct job *job) {
    if (*command_fd(job) > 0) weft_fd_close(*command_fd(job));
}
static void command_opened(struct job *job, weft_fd fd) {
    *command_fd(job) = fd;
    memcpy(job->data, &fd, sizeof fd);
    job_done(job, fd < 0 ? (int)fd : 0, fd < 0 ? 0 : sizeof fd);
}

static void command_accept(struct job *job) {
    weft_fd listener = *command_fd(job);
    *command_fd(job) = 0;
    command_opened(job, weft_net_accept(listener, NULL, job->deadline));
}
static void command_connect(struct job *job) {
    *command_fd(job) = 0;
    command_opened(job, weft_net_connect((const char *)job->data, job->deadline));
}
static void command_fd_read(struct job *job) {
    ssize_t n = weft_fd_read(*command_fd(job), job->data, job->size, job->deadline);
    job_done(job, n < 0 ? (int)n : 0, n < 0 ? 0 : (size_t)n);
}
static void command_fd_write(struct job *job) {
    ssize_t n = weft_fd_write(*command_fd(job), job->data, job->size, job->deadline);
    job_done(job, n < 0 ? (int)n : 0, 0);
}
static void command_fd_wait(struct job *job) {
    job_done(job, weft_fd_wait(*command_fd(job), (enum weft_ready)job->flags, job->deadline), 0);
}

/* ---- the handler ------------------------------------------------------------------------------------------------------------------ */

int command_net(void *user, weft_completion completion, const void *data, size_t size) {
    static void (*const runs[])(struct job *) = {
        [WEFT_DO_ACCEPT] = command_accept, [WEFT_DO_CONNECT] = command_connect, [WEFT_DO_READ] = command_fd_read,
        [WEFT_DO_WRITE] = command_fd_write, [WEFT_DO_WAIT] = command_fd_wait,
    };
    weft_command_net net;
    (void)user;
    if (size < sizeof net) return WEFT_EINVAL;
    memcpy(&net, data, sizeof net);
    size -= sizeof net;
    if ((unsigned)net.what >= sizeof runs / sizeof runs[0]) return WEFT_EINVAL;
    size_t room = net.what == WEFT_DO_CONNECT ? size + 1 : net.what == WEFT_DO_READ ? net.size : size;
    struct job *job = job_new(completion, runs[net.what], room, (const char *)data + sizeof net, net.what == WEFT_DO_READ ? 0 : size);
    if (!job) return WEFT_ENOMEM;
    *command_fd(job) = net.fd;
    job->flags = (int)net.size;
    job->deadline = net.deadline;
    job->waits = net.deadline > 0;
    if (net.what == WEFT_DO_ACCEPT || net.what == WEFT_DO_CONNECT) {
        job->drop = command_close_unseen;
        if (net.what == WEFT_DO_CONNECT) *command_fd(job) = 0;
    }
    return job_start(job);
}

/* ---- yielding ----------------------------------------------------------------------------------------------------------------------- */

static int command_yield(weft_out *out, uint64_t tag, weft_command_net net, const void *data, size_t size) {
    return yield_two(out, WEFT_COMMAND_NET, tag, &net, sizeof net, data, size);
}
int weft_out_net_accept(weft_out *out, uint64_t tag, weft_fd listener, uint64_t deadline) {
    return command_yield(out, tag, (weft_command_net){WEFT_DO_ACCEPT, listener, 0, deadline}, NULL, 0);
}
int weft_out_net_connect(weft_out *out, uint64_t tag, const char *address, uint64_t deadline) {
    return command_yield(out, tag, (weft_command_net){WEFT_DO_CONNECT, 0, 0, deadline}, address, strlen(address));
}
int weft_out_fd_read(weft_out *out, uint64_t tag, weft_fd fd, size_t size, uint64_t deadline) {
    return command_yield(out, tag, (weft_command_net){WEFT_DO_READ, fd, size, deadline}, NULL, 0);
}
int weft_out_fd_write(weft_out *out, uint64_t tag, weft_fd fd, const void *data, size_t size, uint64_t deadline) {
    return command_yield(out, tag, (weft_command_net){WEFT_DO_WRITE, fd, 0, deadline}, data, size);
}
int weft_out_fd_wait(weft_out *out, uint64_t tag, weft_fd fd, enum weft_ready what, uint64_t deadline) {
    return command_yield(out, tag, (weft_command_net){WEFT_DO_WAIT, fd, (size_t)what, deadline}, NULL, 0);
}
