/* The network, and whatever else has a descriptor that can be waited for: sockets and pipes as plain blocking calls.
 *
 *     weft_fd listener = weft_net_listen("127.0.0.1:7777", NULL), fd;
 *     while ((fd = weft_net_accept(listener, NULL, WEFT_FOREVER)) >= 0)          talk: weft_fd_read, weft_fd_write_all, weft_fd_close
 *         if (weft_spawn(talk, (void *)(intptr_t)fd) == WEFT_NOBODY) weft_fd_close(fd);
 *
 * A process that has to wait parks; its worker runs others meanwhile. Threads that are not workers may use descriptors too, but not make
 * them. A step process may use those calls that take a deadline with the deadline 0, and yields commands for the rest.
 *
 * Every call that may wait takes a deadline, a moment of the monotonic clock: WEFT_FOREVER for none, 0 for "only if it can happen at
 * once". It returns WEFT_ETIMEDOUT when the deadline has passed, WEFT_ECANCELED when the process was cancelled and it cannot happen at
 * once, whatever the deadline (weft/stackful.h), WEFT_ECLOSED when the descriptor was closed during the call, WEFT_EBADF when it had been
 * closed before, and otherwise what the operating system says, negated.
 *
 * Several processes may read and write one descriptor at once. What the kernel takes in one piece is whole (docs/network.md says how much
 * that is); longer writes may be mixed with another process's: take a lock if that matters. */
#ifndef WEFT_NET_H
#define WEFT_NET_H

#include <weft/command.h>
#include <weft/time.h>

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

WEFT_BEGIN

/* A descriptor: its number and a generation, so that a closed descriptor never means the next one of the same number. 0 and negative values
 * are none: calls that make descriptors return errors so. It belongs to the runtime that it was made in, and is closed with it. */
typedef int64_t weft_fd;
#define WEFT_NO_FD ((weft_fd)0)

/* ---- addresses ----------------------------------------------------------------------------------------------------------- */

typedef struct weft_addr {
    socklen_t size;
    struct sockaddr_storage place;
} weft_addr;

enum { WEFT_ADDR_TEXT = 128 };

/* From "127.0.0.1:80", "[::1]:80", "[fe80::1%eth0]:80", "unix:/some/path" or "unix:@name" (an abstract name; "unix:@": one that the system
 * chooses, for a socket that is made there). Numbers only: there is no name resolution in it. 0 or WEFT_EINVAL. */
WEFT_API int weft_addr_parse(const char *text, weft_addr *address);
/* The same back, interfaces as numbers ("[fe80::1%2]:80"); returns `text`, always terminated. */
WEFT_API const char *weft_addr_text(const weft_addr *address, char *text, size_t size);

/* ---- connections --------------------------------------------------------------------------------------------------------- */

typedef struct weft_listen_options {
    int backlog;     /* 0: as many as the system allows */
    bool reuse_port; /* several listeners share the address, and the kernel the connections among them (SO_REUSEPORT) */
} weft_listen_options;

/* Listens at an address as above; port 0: any (weft_net_name tells which). `options` may be NULL. */
WEFT_API weft_fd weft_net_listen_sized(const char *address, const weft_listen_options *options, size_t options_size);
static inline weft_fd weft_net_listen(const char *address, const weft_listen_options *options) {
    return weft_net_listen_sized(address, options, sizeof *options);
}
/* The next connection, with its address (`peer` may be NULL). TCP connections have TCP_NODELAY. When no descriptors are left
 * (WEFT_EMFILE, WEFT_ENFILE) or no memory, it waits until there are, trying every 50 ms at least, and returns that error only when the
 * deadline has passed. The same if the connection cannot be registered (WEFT_ENOSPC, WEFT_ENOMEM); at the deadline it is closed then. */
WEFT_API weft_fd weft_net_accept(weft_fd listener, weft_addr *peer, uint64_t deadline);
WEFT_API weft_fd weft_net_connect(const char *address, uint64_t deadline);
WEFT_API weft_fd weft_net_connect_to(const weft_addr *address, uint64_t deadline);

/* The descriptor's own address, or that of the other end. 0 or an error. */
WEFT_API int weft_net_name(weft_fd fd, weft_addr *address);
WEFT_API int weft_net_peer(weft_fd fd, weft_addr *address);

enum weft_side { WEFT_SIDE_READ, WEFT_SIDE_WRITE, WEFT_SIDE_BOTH };
/* Ends one direction of a connection, or both; the descriptor stays. After WEFT_SIDE_WRITE the other end reads to the end and can still
 * answer. Processes that wait for a direction that has ended are woken. */
WEFT_API int weft_net_shutdown(weft_fd fd, enum weft_side side);

/* ---- bytes ---------------------------------------------------------------------------------------------------------------- */

/* One rule for these, and for those of weft/file.h: a plain call moves some bytes, at least one, and returns how many, or an error, and then it has
 * moved none. A call that ends in _all moves all of them: 0, or an error; *got, *written or *sent (may be NULL) is how many were moved, in either
 * case. WEFT_EEOF: there were no more before all were read. A deadline is for the whole call. */

/* 0: there are no more (or `size` is 0). */
WEFT_API ssize_t weft_fd_read(weft_fd fd, void *data, size_t size, uint64_t deadline);
WEFT_API ssize_t weft_fd_readv(weft_fd fd, const struct iovec *parts, int count, uint64_t deadline);
WEFT_API int weft_fd_read_all(weft_fd fd, void *data, size_t size, size_t *got, uint64_t deadline);

WEFT_API ssize_t weft_fd_write(weft_fd fd, const void *data, size_t size, uint64_t deadline);
WEFT_API ssize_t weft_fd_writev(weft_fd fd, const struct iovec *parts, int count, uint64_t deadline);
WEFT_API int weft_fd_write_all(weft_fd fd, const void *data, size_t size, size_t *written, uint64_t deadline);
/* There may be more parts than IOV_MAX, unless the descriptor keeps the bounds of messages (WEFT_EMSGSIZE). */
WEFT_API int weft_fd_writev_all(weft_fd fd, const struct iovec *parts, int count, size_t *written, uint64_t deadline);

/* Up to `size` bytes of a file (an operating system's descriptor) from *offset on, which is advanced by what was sent (NULL: from the file's own
 * position). 0: the file has ended. */
WEFT_API ssize_t weft_fd_sendfile(weft_fd fd, int file, off_t *offset, size_t size, uint64_t deadline);
WEFT_API int weft_fd_sendfile_all(weft_fd fd, int file, off_t *offset, size_t size, size_t *sent, uint64_t deadline);

/* ---- datagrams ------------------------------------------------------------------------------------------------------------ */

/* A socket for datagrams at an address: UDP, or between UNIX sockets ("unix:..."). NULL: "0.0.0.0:0", UDP with any port. */
WEFT_API weft_fd weft_net_udp_sized(const char *address, const weft_listen_options *options, size_t options_size);
static inline weft_fd weft_net_udp(const char *address, const weft_listen_options *options) {
    return weft_net_udp_sized(address, options, sizeof *options);
}
/* One datagram; what does not fit is lost. Its length, and the sender's address (may be NULL). */
WEFT_API ssize_t weft_net_recv_from(weft_fd fd, void *data, size_t size, weft_addr *from, uint64_t deadline);
WEFT_API ssize_t weft_net_send_to(weft_fd fd, const void *data, size_t size, const weft_addr *to, uint64_t deadline);

/* ---- UNIX sockets and pipes ----------------------------------------------------------------------------------------------- */

/* Two connected stream sockets; a pipe, read from [0], written to [1]. 0 or an error. */
WEFT_API int weft_net_pair(weft_fd pair[2]);
WEFT_API int weft_pipe(weft_fd pair[2]);

enum { WEFT_PASS_MOST = 64 };
/* Data, at least a byte, with operating system's descriptors beside it, WEFT_PASS_MOST at most; they stay the sender's too. How many bytes
 * were sent; if any were, the descriptors were. */
WEFT_API ssize_t weft_net_send_fds(weft_fd fd, const void *data, size_t size, const int *descriptors, size_t count, uint64_t deadline);
/* The same at the other end: *count is how many there is room for, and then how many came; they are close-on-exec, and the caller's to
 * close, or to adopt. WEFT_EMSGSIZE: there were more; WEFT_EMFILE: not all of them could be opened. Then none is left open, and the data
 * that came with them is lost. */
WEFT_API ssize_t weft_net_recv_fds(weft_fd fd, void *data, size_t size, int *descriptors, size_t *count, uint64_t deadline);

/* ---- descriptors that are not weft's -------------------------------------------------------------------------------------- */

/* A descriptor of the operating system becomes weft's: it is made non-blocking, and must not be closed but by weft_fd_close. WEFT_EPERM: it
 * cannot be waited for (a regular file); WEFT_EEXIST: it is weft's already. When the runtime stops it is given back, not closed. */
WEFT_API weft_fd weft_fd_adopt(int descriptor);
/* And back, blocking if it was so before: the operating system's number, or an error. Processes that wait for it get WEFT_ECLOSED, and the
 * call waits until no other process or thread uses it any more. A step process, which must not wait, gets WEFT_EBUSY while others use it,
 * and nothing has happened then: it may yield weft_out_fd_release. */
WEFT_API int weft_fd_release(weft_fd fd);
/* The operating system's number, to ask or to set options; or WEFT_EBADF. It stays weft's. */
WEFT_API int weft_fd_number(weft_fd fd);

enum weft_ready { WEFT_READABLE = 1, WEFT_WRITABLE = 2 };
/* Waits until it can be read from, or written to, or either (WEFT_READABLE | WEFT_WRITABLE), or it has ended or failed; and nothing else.
 * Which of the directions in `what` would not have to wait now, 1 or more, or an error. */
WEFT_API int weft_fd_wait(weft_fd fd, int what, uint64_t deadline);
/* The same for an operating system's descriptor that is not weft's, a library's for example; it stays as it is, and must not be closed
 * meanwhile. In a stackful process. */
WEFT_API int weft_fd_wait_raw(int descriptor, int what, uint64_t deadline);

/* Processes and threads that wait for it are woken with WEFT_ECLOSED. 0 or WEFT_EBADF. */
WEFT_API int weft_fd_close(weft_fd fd);

/* ---- commands of step processes ------------------------------------------------------------------------------------------- */

/* The calls that may have to wait, as commands (weft/command.h); all others a step process may make itself. If the process has ended by
 * then, a connection that was made is closed. The completion's data:
 *
 *   accept, connect   a weft_fd
 *   read              what was read, nothing at the end
 *   recv_from         a weft_addr, and behind it the datagram
 *   write_all, sendfile_all, send_to
 *                     a size_t: how many bytes were sent, also with an error (but none if the command was refused before it began)
 *   wait, release     an int, as weft_fd_wait and weft_fd_release answer */
/* As weft_out_yield. */
WEFT_API int weft_out_net_accept(weft_out *out, uint64_t tag, weft_fd listener, uint64_t deadline);
WEFT_API int weft_out_net_connect(weft_out *out, uint64_t tag, const char *address, uint64_t deadline);
WEFT_API int weft_out_fd_read(weft_out *out, uint64_t tag, weft_fd fd, size_t size, uint64_t deadline);
WEFT_API int weft_out_fd_write_all(weft_out *out, uint64_t tag, weft_fd fd, const void *data, size_t size, uint64_t deadline);
WEFT_API int weft_out_fd_wait(weft_out *out, uint64_t tag, weft_fd fd, int what, uint64_t deadline);
WEFT_API int weft_out_fd_sendfile_all(weft_out *out, uint64_t tag, weft_fd fd, int file, int64_t offset, size_t size, uint64_t deadline);
WEFT_API int weft_out_net_recv_from(weft_out *out, uint64_t tag, weft_fd fd, size_t size, uint64_t deadline);
WEFT_API int weft_out_net_send_to(weft_out *out, uint64_t tag, weft_fd fd, const void *data, size_t size, const weft_addr *to,
                                  uint64_t deadline);
WEFT_API int weft_out_fd_release(weft_out *out, uint64_t tag, weft_fd fd);

WEFT_END

#endif
