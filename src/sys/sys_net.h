/* The part of the outside-effects table for descriptors: polling, sockets, pipes.
 *
 * All are the system calls of these names, with two differences: an error is a negative errno, and errno stays as it was. Descriptors are
 * made non-blocking and close-on-exec. None of them retries: -EINTR is for the caller. */
#ifndef WEFT_SYS_SYS_NET_H
#define WEFT_SYS_SYS_NET_H

#include <weft/child.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

struct addrinfo; /* <netdb.h> */

/* A program that is to be started. */
struct sys_start {
    const char *const *arguments, *const *environment; /* the second NULL: this program's own */
    const char *directory;                             /* NULL: this program's own */
    int ends[3];                                       /* its descriptors 0, 1 and 2; -1: this program's own */
    bool group, session;                               /* it leads one of its own; a session's controlling terminal is its descriptor 0 */
    const weft_child_limit *limits;
    size_t limit_count;
};

struct sys_net {
    /* Polling. poll_wait: until there are events, or the deadline (0: do not wait; SYS_FOREVER: none). */
    int (*poll_open)(void);
    int (*poll_change)(int set, int operation, int descriptor, uint32_t events, uint64_t data);
    int (*poll_wait)(int set, struct epoll_event *events, int most, uint64_t deadline);
    /* A descriptor that becomes readable each time it is rung. */
    int (*bell_open)(void);
    void (*bell_ring)(int bell);
    /* Which of these events (of <poll.h>) are there now. */
    int (*ready)(int descriptor, short events);

    /* Sockets. `name`: of the other end if `peer`. */
    int (*socket)(int family, int type, int protocol);
    int (*socket_pair)(int family, int type, int pair[2]);
    int (*bind)(int descriptor, const struct sockaddr *address, socklen_t size);
    int (*listen)(int descriptor, int backlog);
    int (*accept)(int descriptor, struct sockaddr *address, socklen_t *size);
    int (*connect)(int descriptor, const struct sockaddr *address, socklen_t size);
    int (*shutdown)(int descriptor, int how);
    int (*name)(int descriptor, bool peer, struct sockaddr *address, socklen_t *size);
    int (*option_set)(int descriptor, int level, int option, const void *value, socklen_t size);
    int (*option_get)(int descriptor, int level, int option, void *value, socklen_t *size);
    ssize_t (*recv)(int descriptor, void *data, size_t size, int flags);
    ssize_t (*send)(int descriptor, const void *data, size_t size, int flags);
    ssize_t (*recvmsg)(int descriptor, struct msghdr *message, int flags);
    ssize_t (*sendmsg)(int descriptor, const struct msghdr *message, int flags);

    /* Any descriptor. nonblocking: sets or clears O_NONBLOCK; returns what it was, 0 or 1. */
    int (*pipe)(int pair[2]);
    ssize_t (*readv)(int descriptor, const struct iovec *parts, int count);
    ssize_t (*writev)(int descriptor, const struct iovec *parts, int count);
    ssize_t (*sendfile)(int to, int from, off_t *offset, size_t size);
    int (*nonblocking)(int descriptor, bool on);
    /* Whether both refer to one open file, and so share its mode. Not for regular files: the test changes a flag that means something only
     * to them. */
    bool (*same_file)(int descriptor, int other);
    /* Makes room for `count` descriptors in the kernel's table, or for as many as are allowed, if it need not wait for that. */
    void (*make_room)(int count);
    int (*close)(int descriptor);

    /* A program as a child: 0 when it has been loaded. */
    int (*start)(const struct sys_start *start, pid_t *child);
    /* A pseudo-terminal: the controlling end and the other. Both block. rows 0: the size is not set. */
    int (*terminal)(unsigned rows, unsigned columns, int pair[2]);

    /* Names: getaddrinfo, which may take long; its errors as a negative errno: -ENOENT, -EAGAIN ... */
    int (*lookup)(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found);
    void (*lookup_free)(struct addrinfo *found);
};

extern const struct sys_net sys_linux_net;

/* Parts of it: linux_start.c, linux_name.c. */
int linux_net_start(const struct sys_start *start, pid_t *child);
int linux_net_terminal(unsigned rows, unsigned columns, int pair[2]);
int linux_net_lookup(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found);
void linux_net_lookup_free(struct addrinfo *found);

#endif
