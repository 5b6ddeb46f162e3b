/* Reading and writing at a descriptor's own position.
 *
 * A file on a disk is read and written by a plain call. Anything else (pipes, terminals, sockets, devices) may block for any length of
 * time: there the call must be one that can be given up. So the kernel is asked, in the call, not to block, and on EAGAIN the process waits
 * until poll says that the descriptor is ready. Some files do not support that (terminals; pipes before Linux 6.5): they are opened once
 * more in non-blocking mode, so that the program's own descriptor, whose mode others share, stays as it is. A file that cannot be opened
 * again either (a terminal of another user, the master side of a pseudo-terminal, a program without /proc) is polled first, and a write
 * is small enough to fit, most of the time, where poll says that there is room. */
#include "io/file_call.h"

#include <weft/file.h>
#include <weft/time.h>

#include <limits.h>
#include <poll.h>

struct stream {
    const char *call;
    int descriptor;
    bool writes;
    int count;
    const struct iovec *parts;
};

static int64_t stream_move(const struct stream *stream, const struct iovec *parts, int count, bool nowait) {
    if (stream->writes) return IO_CALL(stream->call, sys->file->write(stream->descriptor, parts, count, -1, nowait));
    return IO_CALL(stream->call, sys->file->read(stream->descriptor, parts, count, -1, nowait));
}

/* After poll: reads, or writes as much as poll has promised room for. */
static int64_t stream_move_some(const struct stream *stream) {
    int first = 0;
    if (!stream->writes) return stream_move(stream, stream->parts, stream->count, false);
    while (first < stream->count - 1 && stream->parts[first].iov_len == 0)
        first++;
    struct iovec part = stream->count > 0 ? stream->parts[first] : (struct iovec){NULL, 0};
    if (part.iov_len > PIPE_BUF) part.iov_len = PIPE_BUF;
    return stream_move(stream, &part, 1, false);
}

/* Another reader or writer was faster again and again, or poll and read contradict each other: tries less often. */
static int stream_pause(unsigned rounds, uint64_t deadline) {
    if (rounds < 4) return 0;
    uint64_t until = weft_in((uint64_t)(rounds < 20 ? rounds : 20) * 50 * WEFT_MICROSECOND);
    int error = weft_sleep_until(until < deadline ? until : deadline);
    return error || until < deadline ? error : WEFT_ETIMEDOUT;
}

enum stream_way { STREAM_NOWAIT, STREAM_NONBLOCKING, STREAM_POLLED };

static int stream_wait(const struct stream *stream, unsigned rounds, uint64_t deadline) {
    int error = stream_pause(rounds, deadline);
    return error ? error : io_wait(stream->descriptor, stream->writes ? POLLOUT : POLLIN, deadline, stream->call);
}

static int64_t stream_by(const struct stream *stream, enum stream_way way, uint64_t deadline) {
    bool polled = way == STREAM_POLLED;
    for (unsigned rounds = 0;; rounds++) {
        int64_t moved = rounds == 0 && polled ? -EAGAIN
                        : polled              ? stream_move_some(stream)
                                              : stream_move(stream, stream->parts, stream->count, way == STREAM_NOWAIT);
        if (moved != -EAGAIN) return moved;
        int error = stream_wait(stream, rounds, deadline);
        if (error) return error;
    }
}

static int64_t stream_transfer(const struct stream *stream, uint64_t deadline) {
    int64_t moved = stream_by(stream, STREAM_NOWAIT, deadline);
    if (moved != -EOPNOTSUPP && moved != -ENOSYS) return moved;
    struct stream own = *stream;
    own.descriptor = (int)IO_CALL(stream->call, sys->file->reopen(stream->descriptor, stream->writes));
    if (own.descriptor < 0) return stream_by(stream, STREAM_POLLED, deadline);
    struct proc *proc = fiber_whole_begin();
    moved = stream_by(&own, STREAM_NONBLOCKING, deadline);
    sys->file->close(own.descriptor);
    fiber_whole_end(proc);
    return moved;
}

static int64_t stream_run(const struct stream *stream, uint64_t deadline) {
    struct stat info;
    int64_t error = IO_CALL(stream->call, sys->file->stat(stream->descriptor, &info));
    if (error) return error;
    bool disk = S_ISREG(info.st_mode) || S_ISBLK(info.st_mode) || S_ISDIR(info.st_mode);
    return disk ? stream_move(stream, stream->parts, stream->count, false) : stream_transfer(stream, deadline);
}

/* ---- the public calls --------------------------------------------------------------------------------------------------- */

ssize_t weft_file_readv(int descriptor, const struct iovec *parts, int count, uint64_t deadline) {
    return stream_run(&(struct stream){"weft_file_readv", descriptor, false, count, parts}, deadline);
}

ssize_t weft_file_read(int descriptor, void *data, size_t size, uint64_t deadline) {
    return stream_run(&(struct stream){"weft_file_read", descriptor, false, 1, &(struct iovec){data, size}}, deadline);
}

ssize_t weft_file_writev(int descriptor, const struct iovec *parts, int count, uint64_t deadline) {
    return stream_run(&(struct stream){"weft_file_writev", descriptor, true, count, parts}, deadline);
}

ssize_t weft_file_write(int descriptor, const void *data, size_t size, uint64_t deadline) {
    return stream_run(&(struct stream){"weft_file_write", descriptor, true, 1, &(struct iovec){(void *)data, size}}, deadline);
}
