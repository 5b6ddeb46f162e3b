/* Calls that move all: each repeats the call that moves some, and tells how many bytes went before an error. */
#include "base/iov.h"
#include "io/file_call.h"

#include <weft/file.h>

ssize_t file_move_some(const struct file_span *span, size_t done, uint64_t deadline) {
    unsigned char *data = span->data + done;
    size_t size = span->size - done;
    int fd = span->descriptor;
    if (span->offset < 0) return span->writes ? weft_file_write(fd, data, size, deadline) : weft_file_read(fd, data, size, deadline);
    off_t offset = span->offset + (off_t)done;
    return span->writes ? weft_file_pwrite(fd, data, size, offset) : weft_file_pread(fd, data, size, offset);
}

static int file_move_all(const struct file_span *span, size_t *told, uint64_t deadline) {
    size_t done = 0;
    ssize_t n = 0;
    while (done < span->size && (n = file_move_some(span, done, deadline)) > 0)
        done += (size_t)n;
    return moved_all(n == 0 && done < span->size ? file_moves_none(span->writes) : n, done, told);
}

int weft_file_read_all(int descriptor, void *data, size_t size, size_t *got, uint64_t deadline) {
    return file_move_all(&(struct file_span){descriptor, false, data, size, -1}, got, deadline);
}

int weft_file_write_all(int descriptor, const void *data, size_t size, size_t *written, uint64_t deadline) {
    return file_move_all(&(struct file_span){descriptor, true, (void *)(uintptr_t)data, size, -1}, written, deadline);
}

int weft_file_pread_all(int descriptor, void *data, size_t size, off_t offset, size_t *got) {
    if (offset < 0) return moved_all(WEFT_EINVAL, 0, got);
    return file_move_all(&(struct file_span){descriptor, false, data, size, offset}, got, 0);
}

int weft_file_pwrite_all(int descriptor, const void *data, size_t size, off_t offset, size_t *written) {
    if (offset < 0) return moved_all(WEFT_EINVAL, 0, written);
    return file_move_all(&(struct file_span){descriptor, true, (void *)(uintptr_t)data, size, offset}, written, 0);
}

int weft_file_writev_all(int descriptor, const struct iovec *vector, int count, size_t *written, uint64_t deadline) {
    struct iov parts = {vector, count, 0, 0};
    ssize_t n = count < 0 ? WEFT_EINVAL : 0;
    while (n >= 0 && parts.count > 0) {
        struct iovec copy[IOV_COPIED];
        const struct iovec *next = iov_next(&parts, copy, &count);
        n = weft_file_writev(descriptor, next, count, deadline);
        if (n >= 0 && !iov_forward(&parts, (size_t)n)) n = file_moves_none(true);
    }
    return moved_all(n, parts.done, written);
}
