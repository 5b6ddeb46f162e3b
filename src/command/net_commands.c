/* The network commands of step processes: calls that may wait are done by a helper (command/job.h). The rest of weft/net.h a step process
 * can call itself. */
#include "command/job.h"
#include "command/yield.h"
#include "net/desc.h"
#include "sys/deadline.h"

#include <weft/name.h>
#include <weft/stackful.h>

/* ---- the helper ------------------------------------------------------------------------------------------------------------------ */

/* In a job the descriptor is its offset. */
static weft_fd *command_fd(struct job *job) { return &job->offset; }

/* The result is a connection that no process has got (job.h, J3). */
static void command_close_unseen(struct job *job) { desc_close(*command_fd(job), false); }
static void command_opened(struct job *job, weft_fd fd) {
    if (fd > 0) {
        *command_fd(job) = fd;
        job->drop = command_close_unseen;
        memcpy(job->data, &fd, sizeof fd);
    }
    job_done(job, fd < 0 ? (int)fd : 0, fd < 0 ? 0 : sizeof fd);
}
/* The result is n bytes of the data, and the `before` bytes in front of them. */
static void command_moved(struct job *job, size_t before, ssize_t n) { job_done(job, n < 0 ? (int)n : 0, n < 0 ? 0 : before + (size_t)n); }

static void command_accept(struct job *job) { command_opened(job, weft_net_accept(*command_fd(job), NULL, job->deadline)); }
static void command_connect(struct job *job) { command_opened(job, weft_net_connect((const char *)job->data, job->deadline)); }
static void command_connect_name(struct job *job) {
    const char *host = (const char *)job->data;
    command_opened(job, weft_net_connect_name(host, host + strlen(host) + 1, job->deadline));
}
static void command_fd_read(struct job *job) { command_moved(job, 0, weft_fd_read(*command_fd(job), job->data, job->size, job->deadline)); }
static void command_fd_write(struct job *job) {
    size_t written;
    int error = weft_fd_write_all(*command_fd(job), job->data, job->size, &written, job->deadline);
    job_moved(job, error, written);
}
static void command_fd_wait(struct job *job) {
    int ready = weft_fd_wait(*command_fd(job), job->flags, job->deadline);
    memcpy(job->data, &ready, sizeof ready);
    command_moved(job, 0, ready < 0 ? ready : (ssize_t)sizeof ready);
}
/* The address is in front of the bytes. */
static void command_recv_from(struct job *job) {
    size_t before = sizeof(weft_addr);
    weft_addr *from = (weft_addr *)job->data;
    command_moved(job, before, weft_net_recv_from(*command_fd(job), job->data + before, job->size - before, from, job->deadline));
}
static void command_send_to(struct job *job) {
    size_t before = sizeof(weft_addr);
    const weft_addr *to = (const weft_addr *)job->data;
    ssize_t n = weft_net_send_to(*command_fd(job), job->data + before, job->size - before, to, job->deadline);
    job_moved(job, n < 0 ? (int)n : 0, n < 0 ? 0 : (size_t)n);
}
struct command_file { /* the data */
    int64_t offset;
    size_t size;
};
static void command_sendfile(struct job *job) {
    struct command_file file;
    memcpy(&file, job->data, sizeof file);
    off_t offset = (off_t)file.offset, *from = file.offset < 0 ? NULL : &offset;
    size_t sent;
    int error = weft_fd_sendfile_all(*command_fd(job), job->descriptor, from, file.size, &sent, job->deadline);
    job_moved(job, error, sent);
}

static void command_release(struct job *job) {
    int number = weft_fd_release(*command_fd(job));
    memcpy(job->data, &number, sizeof number);
    command_moved(job, 0, number < 0 ? number : (ssize_t)sizeof number);
}

/* ---- the handler ------------------------------------------------------------------------------------------------------------------ */

/* Two texts, each with its end. */
static bool command_is_pair(const char *data, size_t size) {
    return size >= 2 && data[size - 1] == '\0' && memchr(data, 0, size - 1) != NULL;
}

/* A job with what is behind the command, or with room for what is to come. */
static int command_job(weft_completion completion, const struct command_net *net, const void *data, size_t size, struct job **job) {
    static void (*const runs[])(struct job *) = {
        [NET_ACCEPT] = command_accept,   [NET_CONNECT] = command_connect,   [NET_READ] = command_fd_read,
        [NET_WRITE] = command_fd_write,  [NET_WAIT] = command_fd_wait,      [NET_RECV_FROM] = command_recv_from,
        [NET_SEND_TO] = command_send_to, [NET_SENDFILE] = command_sendfile, [NET_CONNECT_NAME] = command_connect_name,
        [NET_RELEASE] = command_release,
    };
    struct command_file file = {net->offset, net->size};
    size_t room = size;
    if ((unsigned)net->what >= sizeof runs / sizeof runs[0]) return WEFT_EINVAL;
    if (net->what == NET_SEND_TO && size < sizeof(weft_addr)) return WEFT_EINVAL;
    if (net->what == NET_CONNECT_NAME && !command_is_pair(data, size)) return WEFT_EINVAL;
    if (net->what == NET_CONNECT) room = size + 1; /* the end of a text */
    if (net->what == NET_SENDFILE) data = &file, room = size = sizeof file;
    if (net->what == NET_READ || net->what == NET_RECV_FROM) {
        if (net->size > UINT32_MAX / 2) return WEFT_ENOMEM;
        room = net->size + (net->what == NET_RECV_FROM ? sizeof(weft_addr) : 0);
        size = 0;
    }
    *job = job_new(completion, runs[net->what], room, data, size);
    return *job ? 0 : WEFT_ENOMEM;
}

int command_net(void *user, weft_completion completion, const void *data, size_t size) {
    struct command_net net;
    struct job *job;
    (void)user;
    if (size < sizeof net) return WEFT_EINVAL;
    memcpy(&net, data, sizeof net);
    int error = command_job(completion, &net, (const char *)data + sizeof net, size - sizeof net, &job);
    if (error) return error;
    *command_fd(job) = net.fd;
    job->descriptor = net.file;
    job->flags = (int)net.size;
    job->deadline = net.deadline;
    job->waits = net.deadline > 0;
    return job_start(job);
}

/* ---- yielding ----------------------------------------------------------------------------------------------------------------------- */

static int command_yield(weft_out *out, uint64_t tag, struct command_net net, const void *data, size_t size) {
    return yield_two(out, COMMAND_NET, tag, &net, sizeof net, data, size);
}
int weft_out_net_accept(weft_out *out, uint64_t tag, weft_fd listener, uint64_t deadline) {
    deadline_check(deadline, __func__);
    return command_yield(out, tag, (struct command_net){.what = NET_ACCEPT, .fd = listener, .deadline = deadline}, NULL, 0);
}
int weft_out_net_connect(weft_out *out, uint64_t tag, const char *address, uint64_t deadline) {
    deadline_check(deadline, __func__);
    return command_yield(out, tag, (struct command_net){.what = NET_CONNECT, .deadline = deadline}, address, strlen(address));
}
int weft_out_fd_read(weft_out *out, uint64_t tag, weft_fd fd, size_t size, uint64_t deadline) {
    deadline_check(deadline, __func__);
    return command_yield(out, tag, (struct command_net){.what = NET_READ, .fd = fd, .size = size, .deadline = deadline}, NULL, 0);
}
int weft_out_fd_write_all(weft_out *out, uint64_t tag, weft_fd fd, const void *data, size_t size, uint64_t deadline) {
    deadline_check(deadline, __func__);
    return command_yield(out, tag, (struct command_net){.what = NET_WRITE, .fd = fd, .deadline = deadline}, data, size);
}
int weft_out_fd_wait(weft_out *out, uint64_t tag, weft_fd fd, int what, uint64_t deadline) {
    deadline_check(deadline, __func__);
    struct command_net net = {.what = NET_WAIT, .fd = fd, .size = (size_t)what, .deadline = deadline};
    return command_yield(out, tag, net, NULL, 0);
}
int weft_out_fd_sendfile_all(weft_out *out, uint64_t tag, weft_fd fd, int file, int64_t offset, size_t size, uint64_t deadline) {
    deadline_check(deadline, __func__);
    struct command_net net = {.what = NET_SENDFILE, .fd = fd, .file = file, .offset = offset, .size = size, .deadline = deadline};
    return command_yield(out, tag, net, NULL, 0);
}
int weft_out_net_recv_from(weft_out *out, uint64_t tag, weft_fd fd, size_t size, uint64_t deadline) {
    deadline_check(deadline, __func__);
    return command_yield(out, tag, (struct command_net){.what = NET_RECV_FROM, .fd = fd, .size = size, .deadline = deadline}, NULL, 0);
}
int weft_out_net_send_to(weft_out *out, uint64_t tag, weft_fd fd, const void *data, size_t size, const weft_addr *to, uint64_t deadline) {
    deadline_check(deadline, __func__);
    struct { /* both in front of the bytes */
        struct command_net net;
        weft_addr to;
    } head = {{.what = NET_SEND_TO, .fd = fd, .deadline = deadline}, *to};
    _Static_assert(offsetof(__typeof__(head), to) == sizeof head.net, "one behind the other");
    _Static_assert(sizeof head == sizeof head.net + sizeof head.to, "and nothing behind them");
    return yield_two(out, COMMAND_NET, tag, &head, sizeof head, data, size);
}
int weft_out_fd_release(weft_out *out, uint64_t tag, weft_fd fd) {
    return command_yield(out, tag, (struct command_net){.what = NET_RELEASE, .fd = fd}, NULL, 0);
}
