/* Reading and writing bytes: weft_fd_read, weft_fd_write and their kin, and weft_fd_sendfile. */
#include "base/iov.h"
#include "net/op.h"

#include <weft/blocking.h>

/* ---- reading ---------------------------------------------------------------------------------------------------------------- */

struct stream_read {
    unsigned char *data;
    size_t size, done;
};

static inline ssize_t stream_read_once(struct desc *desc, int number, uint64_t seen, unsigned char *data, size_t size) {
    if (!(desc->flags & DESC_SOCKET)) return sys->net->readv(number, &(struct iovec){data, size}, 1);
    ssize_t n = sys->net->recv(number, data, size, 0);
    if (desc->flags & DESC_TCP && n > 0 && (size_t)n < size) readiness_drain(&desc->readiness, seen);
    return n;
}

static ssize_t stream_try_read(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct stream_read *read = arg;
    if (read->size == 0) return 0; /* not asked of the kernel: a socket would wait for data */
    return stream_read_once(desc, number, seen, read->data, read->size);
}

ssize_t weft_fd_read(weft_fd fd, void *data, size_t size, uint64_t deadline) {
    struct stream_read read = {data, size > SSIZE_MAX ? SSIZE_MAX : size, 0};
    return op_run(fd, READINESS_IN, deadline, "weft_fd_read", stream_try_read, &read);
}

static ssize_t stream_try_read_all(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct stream_read *read = arg;
    while (read->done < read->size) {
        ssize_t n = stream_read_once(desc, number, seen, read->data + read->done, read->size - read->done);
        if (n < 0) return n;
        if (n == 0) return WEFT_EEOF;
        read->done += (size_t)n;
        if (read->done < read->size && readiness_is_drained(&desc->readiness, seen)) return -EAGAIN;
    }
    return 0;
}

int weft_fd_read_all(weft_fd fd, void *data, size_t size, size_t *got, uint64_t deadline) {
    struct stream_read read = {data, size, 0};
    ssize_t result = size > SSIZE_MAX ? WEFT_EINVAL : op_run(fd, READINESS_IN, deadline, "weft_fd_read_all", stream_try_read_all, &read);
    return moved_all(result, read.done, got);
}

static ssize_t stream_try_readv(struct desc *desc, int number, uint64_t seen, void *arg) {
    const struct iov *parts = arg;
    (void)desc, (void)seen;
    return sys->net->readv(number, parts->parts, parts->count);
}

ssize_t weft_fd_readv(weft_fd fd, const struct iovec *vector, int count, uint64_t deadline) {
    if (count < 0 || count > IOV_MAX) return WEFT_EINVAL;
    struct iov parts = {vector, count, 0, 0};
    return op_run(fd, READINESS_IN, deadline, "weft_fd_readv", stream_try_readv, &parts);
}

/* ---- writing ---------------------------------------------------------------------------------------------------------------- */

struct stream_write {
    const unsigned char *data;
    size_t size, done;
};

static inline ssize_t stream_write_once(struct desc *desc, int number, const unsigned char *data, size_t size) {
    if (desc->flags & DESC_SOCKET) return sys->net->send(number, data, size, MSG_NOSIGNAL);
    return sys->net->writev(number, &(struct iovec){(void *)(uintptr_t)data, size}, 1);
}

static ssize_t stream_try_write(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct stream_write *write = arg;
    (void)seen;
    return stream_write_once(desc, number, write->data, write->size);
}

ssize_t weft_fd_write(weft_fd fd, const void *data, size_t size, uint64_t deadline) {
    struct stream_write write = {data, size > SSIZE_MAX ? SSIZE_MAX : size, 0};
    return op_run(fd, READINESS_OUT, deadline, "weft_fd_write", stream_try_write, &write);
}

static ssize_t stream_try_write_all(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct stream_write *write = arg;
    (void)seen;
    do {
        size_t left = write->size - write->done;
        ssize_t n = stream_write_once(desc, number, write->data + write->done, left);
        if (n < 0) return n;
        if (n == 0 && left > 0) return -EIO; /* a device that takes nothing and reports no error */
        write->done += (size_t)n;
    } while (write->done < write->size);
    return 0;
}

int weft_fd_write_all(weft_fd fd, const void *data, size_t size, size_t *written, uint64_t deadline) {
    struct stream_write write = {data, size, 0};
    ssize_t result =
        size > SSIZE_MAX ? WEFT_EINVAL : op_run(fd, READINESS_OUT, deadline, "weft_fd_write_all", stream_try_write_all, &write);
    return moved_all(result, write.done, written);
}

static ssize_t stream_write_parts(const struct desc *desc, int number, const struct iovec *parts, int count) {
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = (size_t)count};
    return desc->flags & DESC_SOCKET ? sys->net->sendmsg(number, &message, MSG_NOSIGNAL) : sys->net->writev(number, parts, count);
}

static ssize_t stream_try_writev(struct desc *desc, int number, uint64_t seen, void *arg) {
    const struct iov *parts = arg;
    (void)seen;
    return stream_write_parts(desc, number, parts->parts, parts->count);
}

ssize_t weft_fd_writev(weft_fd fd, const struct iovec *vector, int count, uint64_t deadline) {
    if (count < 0 || count > IOV_MAX) return WEFT_EINVAL;
    struct iov parts = {vector, count, 0, 0};
    return op_run(fd, READINESS_OUT, deadline, "weft_fd_writev", stream_try_writev, &parts);
}

static ssize_t stream_try_writev_all(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct iov *parts = arg;
    (void)seen;
    if (desc->flags & DESC_MESSAGES && parts->count > IOV_MAX) return -EMSGSIZE;
    while (parts->count > 0) {
        struct iovec copy[IOV_COPIED];
        int count;
        const struct iovec *next = iov_next(parts, copy, &count);
        ssize_t n = stream_write_parts(desc, number, next, count);
        if (n < 0) return n;
        if (!iov_forward(parts, (size_t)n)) return -EIO;
    }
    return 0;
}

int weft_fd_writev_all(weft_fd fd, const struct iovec *vector, int count, size_t *written, uint64_t deadline) {
    struct iov parts = {vector, count, 0, 0};
    ssize_t result = count < 0 ? WEFT_EINVAL : op_run(fd, READINESS_OUT, deadline, "weft_fd_writev_all", stream_try_writev_all, &parts);
    return moved_all(result, parts.done, written);
}

/* ---- files ------------------------------------------------------------------------------------------------------------------ */

struct stream_file {
    int file;
    off_t *offset;
    size_t size, done;
};

/* The file may have to be read from a disk: a blocking call. */
static ssize_t stream_try_sendfile(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct stream_file *file = arg;
    (void)desc, (void)seen;
    if (file->done == file->size) return 0;
    blocking_enter("weft_blocking_enter", false);
    ssize_t n = sys->net->sendfile(number, file->file, file->offset, file->size - file->done);
    blocking_leave();
    if (n > 0) file->done += (size_t)n;
    return n;
}

static ssize_t stream_try_sendfile_all(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct stream_file *file = arg;
    ssize_t n;
    while ((n = stream_try_sendfile(desc, number, seen, file)) > 0) {}
    return n == 0 && file->done < file->size ? WEFT_EEOF : n;
}

ssize_t weft_fd_sendfile(weft_fd fd, int number, off_t *offset, size_t size, uint64_t deadline) {
    struct stream_file file = {number, offset, size > SSIZE_MAX ? SSIZE_MAX : size, 0};
    net_ignore_broken_pipes(); /* sendfile has no MSG_NOSIGNAL */
    return op_run(fd, READINESS_OUT, deadline, "weft_fd_sendfile", stream_try_sendfile, &file);
}

int weft_fd_sendfile_all(weft_fd fd, int number, off_t *offset, size_t size, size_t *sent, uint64_t deadline) {
    struct stream_file file = {number, offset, size, 0};
    net_ignore_broken_pipes();
    ssize_t result =
        size > SSIZE_MAX ? WEFT_EINVAL : op_run(fd, READINESS_OUT, deadline, "weft_fd_sendfile_all", stream_try_sendfile_all, &file);
    return moved_all(result, file.done, sent);
}
