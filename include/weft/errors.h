/* Error codes. A weft call that can fail returns 0 (or a count) on success and one of these, negative, on failure.
 *
 * Where the operating system has a code for the error, weft's has the same number, negated. The others, which only weft has, start at
 * -4096. The list below is the only one: names and texts are made from it.
 *
 * Calls that give something up (weft_stop, and all whose names end in _free, _drop, _close or _cancel) do nothing with NULL, and return 0
 * where they return anything. Calls that take a number (a PID, a descriptor, a timer) return an error for one that means nothing. */
#ifndef WEFT_ERRORS_H
#define WEFT_ERRORS_H

#include <weft/api.h>

#include <errno.h>

/* clang-format off */
#define WEFT_ERRORS(X)                                                                              \
    /* what weft calls answer */                                                                    \
    X(WEFT_EAGAIN,        -EAGAIN,        "not now, try again")                                     \
    X(WEFT_ETIMEDOUT,     -ETIMEDOUT,     "the deadline has passed")                                \
    X(WEFT_ECANCELED,     -ECANCELED,     "the process was cancelled")                              \
    X(WEFT_ENOMEM,        -ENOMEM,        "out of memory")                                          \
    X(WEFT_EINVAL,        -EINVAL,        "invalid argument")                                       \
    X(WEFT_EBUSY,         -EBUSY,         "in use")                                                 \
    X(WEFT_EPERM,         -EPERM,         "not permitted")                                          \
    X(WEFT_ENOSYS,        -ENOSYS,        "not supported here")                                     \
    X(WEFT_ENOBUFS,       -ENOBUFS,       "no room")                                                \
    X(WEFT_EMSGSIZE,      -EMSGSIZE,      "message too long")                                       \
    X(WEFT_EDEADLK,       -EDEADLK,       "would wait for itself")                                  \
    X(WEFT_EEXIST,        -EEXIST,        "exists already")                                         \
    X(WEFT_ENOENT,        -ENOENT,        "does not exist")                                         \
    /* what the system says of files, sockets and children */                                                              \
    X(WEFT_EACCES,        -EACCES,        "permission denied")                                      \
    X(WEFT_EADDRINUSE,    -EADDRINUSE,    "address in use")                                         \
    X(WEFT_EADDRNOTAVAIL, -EADDRNOTAVAIL, "address not available")                                  \
    X(WEFT_EAFNOSUPPORT,  -EAFNOSUPPORT,  "address family not supported")                           \
    X(WEFT_EBADF,         -EBADF,         "bad descriptor")                                         \
    X(WEFT_ECHILD,        -ECHILD,        "no such child")                                          \
    X(WEFT_ECONNABORTED,  -ECONNABORTED,  "connection aborted")                                     \
    X(WEFT_ECONNREFUSED,  -ECONNREFUSED,  "connection refused")                                     \
    X(WEFT_ECONNRESET,    -ECONNRESET,    "connection reset by peer")                               \
    X(WEFT_EDESTADDRREQ,  -EDESTADDRREQ,  "destination address required")                           \
    X(WEFT_EDQUOT,        -EDQUOT,        "disk quota exceeded")                                    \
    X(WEFT_EFAULT,        -EFAULT,        "bad address")                                            \
    X(WEFT_EFBIG,         -EFBIG,         "file too large")                                         \
    X(WEFT_EHOSTUNREACH,  -EHOSTUNREACH,  "host unreachable")                                       \
    X(WEFT_EILSEQ,        -EILSEQ,        "not a character")                                        \
    X(WEFT_EINTR,         -EINTR,         "interrupted by a signal")                                \
    X(WEFT_EIO,           -EIO,           "input or output error")                                  \
    X(WEFT_EISCONN,       -EISCONN,       "already connected")                                      \
    X(WEFT_EISDIR,        -EISDIR,        "is a directory")                                         \
    X(WEFT_ELOOP,         -ELOOP,         "too many symbolic links")                                \
    X(WEFT_EMFILE,        -EMFILE,        "too many open descriptors in this program")              \
    X(WEFT_EMLINK,        -EMLINK,        "too many links")                                         \
    X(WEFT_ENAMETOOLONG,  -ENAMETOOLONG,  "name too long")                                          \
    X(WEFT_ENETDOWN,      -ENETDOWN,      "network down")                                           \
    X(WEFT_ENETUNREACH,   -ENETUNREACH,   "network unreachable")                                    \
    X(WEFT_ENFILE,        -ENFILE,        "too many open descriptors in the system")                \
    X(WEFT_ENODEV,        -ENODEV,        "no such device")                                         \
    X(WEFT_ENOLCK,        -ENOLCK,        "no locks left")                                          \
    X(WEFT_ENOSPC,        -ENOSPC,        "no space left on device")                                \
    X(WEFT_ENOTCONN,      -ENOTCONN,      "not connected")                                          \
    X(WEFT_ENOTDIR,       -ENOTDIR,       "not a directory")                                        \
    X(WEFT_ENOTEMPTY,     -ENOTEMPTY,     "directory not empty")                                    \
    X(WEFT_ENOTSOCK,      -ENOTSOCK,      "not a socket")                                           \
    X(WEFT_ENOTSUP,       -ENOTSUP,       "operation not supported")                                \
    X(WEFT_ENOTTY,        -ENOTTY,        "not a terminal")                                         \
    X(WEFT_ENXIO,         -ENXIO,         "no such device or address")                              \
    X(WEFT_EPIPE,         -EPIPE,         "the other end is closed")                                \
    X(WEFT_EPROTO,        -EPROTO,        "protocol error")                                         \
    X(WEFT_EROFS,         -EROFS,         "read-only file system")                                  \
    X(WEFT_ESPIPE,        -ESPIPE,        "cannot seek")                                            \
    X(WEFT_ESTALE,        -ESTALE,        "the file has gone from its server")                      \
    X(WEFT_ETXTBSY,       -ETXTBSY,       "program file in use")                                    \
    X(WEFT_EXDEV,         -EXDEV,         "on another file system")                                 \
    /* what only weft knows */                                                                      \
    X(WEFT_ECLOSED,       -4096,          "closed")                                                 \
    X(WEFT_ENOPROC,       -4097,          "the process has ended, or never was")                    \
    X(WEFT_EFOREIGN,      -4098,          "the PID belongs to no runtime that runs here")            \
    X(WEFT_ENOSTACK,      -4099,          "no stack available")                                     \
    X(WEFT_ESTOPPING,     -4100,          "the runtime is stopping")                                \
    X(WEFT_ENOTINSIDE,    -4101,          "not called from a process")                              \
    X(WEFT_EKILLED,       -4102,          "the process was killed")                                 \
    X(WEFT_ESTACK,        -4103,          "the process's stack has overflowed")                     \
    X(WEFT_EEOF,          -4104,          "it ended before all of it was read")                     \
    X(WEFT_EFAULTED,      -4105,          "the process was ended by a fault")                       \
    X(WEFT_ERESTARTS,     -4106,          "children had to be restarted too often")
/* clang-format on */

enum weft_error {
#define WEFT_ERROR_CODE(name, code, text) name = code,
    WEFT_ERRORS(WEFT_ERROR_CODE)
#undef WEFT_ERROR_CODE
};

WEFT_BEGIN

/* What a code means, in a few words. Never NULL, never to be freed; an unknown code says so. The system has more codes than are listed
 * here; calls pass them on as they are, negated, and their texts and names ("ENOTUNIQ") are the C library's. */
WEFT_API const char *weft_strerror(int code);
/* The code's name, "WEFT_ETIMEDOUT". Likewise. */
WEFT_API const char *weft_errname(int code);

WEFT_END

#endif
