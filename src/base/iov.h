/* Moving all of something by calls that move some: what is left of a vector of parts (struct iovec), and what is told in the end. */
#ifndef WEFT_BASE_IOV_H
#define WEFT_BASE_IOV_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

struct iov {
    const struct iovec *parts; /* the caller's, from the first that is not moved on */
    int count;
    size_t skip, done; /* bytes moved: of the first part; in all */
};

enum { IOV_COPIED = 64 };

/* The parts to move next, and their number. They are the caller's own as long as none is half moved, so that a message is one write; after that
 * a few are copied, the first without the bytes moved. */
static inline const struct iovec *iov_next(const struct iov *iov, struct iovec copy[IOV_COPIED], int *count) {
    int most = iov->skip ? IOV_COPIED : IOV_MAX;
    *count = iov->count < most ? iov->count : most;
    if (!iov->skip) return iov->parts;
    memcpy(copy, iov->parts, sizeof *copy * (size_t)*count);
    copy[0].iov_base = (unsigned char *)copy[0].iov_base + iov->skip;
    copy[0].iov_len -= iov->skip;
    return copy;
}

/* So many more bytes are moved. Whether anything is different now: false from a device that takes nothing and reports no error. */
static inline bool iov_forward(struct iov *iov, size_t n) {
    int before = iov->count;
    bool moved = n > 0;
    iov->done += n;
    n += iov->skip;
    while (iov->count > 0 && n >= iov->parts->iov_len) {
        n -= iov->parts->iov_len;
        iov->parts++;
        iov->count--;
    }
    iov->skip = n;
    return moved || iov->count < before;
}

/* What a call that moves all answers and tells, when the last of its calls had this result. */
static inline int moved_all(ssize_t result, size_t done, size_t *told) {
    if (told) *told = done;
    return result < 0 ? (int)result : 0;
}

#endif
