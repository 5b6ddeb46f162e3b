/* Reading and writing bytes: weft_fd_read, weft_fd_write and their kin, and weft_fd_sendfile. */
#include "net/op.h"

#include <weft/blocking.h>

#include <limits.h>
#include <string.h>

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
        if (n == 0) break;
        read->done += (size_t)n;
        if (read->done < read->size && readiness_is_drained(&desc->readiness, seen)) return -EAGAIN;
    }
    return (ssize_t)read->done;
}

ssize_t weft_fd_read_all(weft_fd fd, void *data, size_t size, uint64_t deadline) {
    if (size > SSIZE_MAX) return WEFT_EINVAL;
    struct stream_read read = {data, size, 0};
    return op_run(fd, READINESS_IN, deadline, "weft_fd_read_all", stream_try_read_all, &read);
}

struct stream_parts {
    const struct iovec *parts;
    int count;
    size_t skip, done; /* of the first part; in all */
};

static ssize_t stream_try_readv(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct stream_parts *parts = arg;
    (void)desc, (void)seen;
    return sys->net->readv(number, parts->parts, parts->count);
}

ssize_t weft_fd_readv(weft_fd fd, const struct iovec *vector, int count, uint64_t deadline) {
    if (count < 0 || count > IOV_MAX) return WEFT_EINVAL;
    struct stream_parts parts = {vector, count, 0, 0};
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
    do {
        ssize_t n = stream_write_once(desc, number, write->data + write->done, write->size - write->done);
        if (n < 0) return n;
        write->done += (size_t)n;
    } while (write->done < write->size);
    return (ssize_t)write->done;
}

ssize_t weft_fd_write(weft_fd fd, const void *data, size_t size, uint64_t deadline) {
    if (size > SSIZE_MAX) return WEFT_EINVAL;
    struct stream_write write = {data, size, 0};
    return op_run(fd, READINESS_OUT, deadline, "weft_fd_write", stream_try_write, &write);
}

static ssize_t stream_try_write_some(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct stream_write *write = arg;
    (void)seen;
    return stream_write_once(desc, number, write->data, write->size);
}

ssize_t weft_fd_write_some(weft_fd fd, const void *data, size_t size, uint64_t deadline) {
    struct stream_write write = {data, size > SSIZE_MAX ? SSIZE_MAX : size, 0};
    return op_run(fd, READINESS_OUT, deadline, "weft_fd_write_some", stream_try_write_some, &write);
}

/* After a write that ended within a part: at most so many of the parts that are left, the first without the bytes written. */
enum { STREAM_PARTS = 64 };
static int stream_rest(const struct stream_parts *parts, struct iovec *rest) {
    int count = parts->count < STREAM_PARTS ? parts->count : STREAM_PARTS;
    memcpy(rest, parts->parts, sizeof *rest * (size_t)count);
    rest[0].iov_base = (unsigned char *)rest[0].iov_base + parts->skip;
    rest[0].iov_len -= parts->skip;
    return count;
}
static void stream_forward(struct stream_parts *parts, size_t n) {
    parts->done += n;
    n += parts->skip;
    while (parts->count > 0 && n >= parts->parts->iov_len) {
        n -= parts->parts->iov_len;
        parts->parts++;
        parts->count--;
    }
    parts->skip = n;
}

static ssize_t stream_write_parts(const struct desc *desc, int number, const struct iovec *parts, int count) {
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = (size_t)count};
    return desc->flags & DESC_SOCKET ? sys->net->sendmsg(number, &message, MSG_NOSIGNAL) : sys->net->writev(number, parts, count);
}

/* Writes the caller's own vector as long as no part is half written: so a message is one write. */
static ssize_t stream_try_writev(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct stream_parts *parts = arg;
    (void)seen;
    if (desc->flags & DESC_MESSAGES && parts->count > IOV_MAX) return -EMSGSIZE;
    while (parts->count > 0) {
        struct iovec rest[STREAM_PARTS];
        int count = parts->skip ? stream_rest(parts, rest) : parts->count < IOV_MAX ? parts->count : IOV_MAX;
        ssize_t n = stream_write_parts(desc, number, parts->skip ? rest : parts->parts, count);
        if (n < 0) return n;
        stream_forward(parts, (size_t)n);
    }
    return (ssize_t)parts->done;
}

ssize_t weft_fd_writev(weft_fd fd, const struct iovec *vector, int count, uint64_t deadline) {
    if (count < 0) return WEFT_EINVAL;
    struct stream_parts parts = {vector, count, 0, 0};
    return op_run(fd, READINESS_OUT, deadline, "weft_fd_writev", stream_try_writev, &parts);
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
    ssize_t n = 1;
    (void)desc, (void)seen;
    weft_blocking_enter();
    while (file->done < file->size && (n = sys->net->sendfile(number, file->file, file->offset, file->size - file->done)) > 0)
        file->done += (size_t)n;
    weft_blocking_leave();
    return n < 0 ? n : (ssize_t)file->done;
}

ssize_t weft_fd_sendfile(weft_fd fd, int number, off_t *offset, size_t size, uint64_t deadline) {
    if (size > SSIZE_MAX) return WEFT_EINVAL;
    struct stream_file file = {number, offset, size, 0};
    net_ignore_broken_pipes(); /* sendfile has no MSG_NOSIGNAL */
    return op_run(fd, READINESS_OUT, deadline, "weft_fd_sendfile", stream_try_sendfile, &file);
}
