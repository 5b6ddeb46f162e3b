/* The real table's part for descriptors: polling, sockets, pipes. */
#include "sys/sys_net.h"

#include "base/assert.h"
#include "sys/bare.h"
#include "sys/delayed_signals.h"
#include "sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

/* The call's result, or its error, with errno as it was before. */
#define LINUX_NET(call)                                                                                                                    \
    ({                                                                                                                                     \
        int net_before = errno;                                                                                                            \
        ssize_t net_result = (call);                                                                                                       \
        if (__builtin_expect(net_result < 0, 0)) {                                                                                         \
            net_result = -errno;                                                                                                           \
            errno = net_before;                                                                                                            \
        }                                                                                                                                  \
        net_result;                                                                                                                        \
    })

/* The calls that all the traffic goes through. */
#if SYS_BARE
static inline ssize_t linux_net_bare_wait(int set, struct epoll_event *events, int most, int milliseconds) {
    return sys_bare(SYS_epoll_pwait, set, (long)events, most, milliseconds, 0, 0);
}
static inline ssize_t linux_net_bare_recv(int number, void *data, size_t size, int flags) {
    return sys_bare(SYS_recvfrom, number, (long)data, (long)size, flags, 0, 0);
}
static inline ssize_t linux_net_bare_send(int number, const void *data, size_t size, int flags) {
    return sys_bare(SYS_sendto, number, (long)data, (long)size, flags, 0, 0);
}
#else
#define linux_net_bare_wait(...) LINUX_NET(epoll_wait(__VA_ARGS__))
#define linux_net_bare_recv(...) LINUX_NET(recv(__VA_ARGS__))
#define linux_net_bare_send(...) LINUX_NET(send(__VA_ARGS__))
#endif

/* ---- polling -------------------------------------------------------------------------------------------------------------- */

static int linux_net_poll_open(void) { return (int)LINUX_NET(epoll_create1(EPOLL_CLOEXEC)); }

static int linux_net_poll_change(int set, int operation, int descriptor, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data.u64 = data};
    return (int)LINUX_NET(epoll_ctl(set, operation, descriptor, &event));
}

/* Linux 5.11; not in every C library's headers. */
enum { LINUX_NET_EPOLL_PWAIT2 = 441 };

/* For kernels without epoll_pwait2 (nanoseconds): sleeps until the set is ready or the time is over, then fetches the events. */
static int linux_net_wait_old(int set, struct epoll_event *events, int most, const struct timespec *timeout) {
    struct pollfd one = {.fd = set, .events = POLLIN};
    int n = (int)LINUX_NET(ppoll(&one, 1, timeout, NULL));
    return n > 0 ? (int)LINUX_NET(epoll_wait(set, events, most, 0)) : n;
}

static int linux_net_poll_wait(int set, struct epoll_event *events, int most, uint64_t deadline) {
    static atom_bool old; /* rlx: several threads may find out, and write the same value */
    if (deadline == 0) return (int)linux_net_bare_wait(set, events, most, 0);
    if (deadline == SYS_FOREVER) return (int)linux_net_bare_wait(set, events, most, -1);
    uint64_t now = sys->now(), rest = deadline > now ? deadline - now : 0;
    struct timespec timeout = {(time_t)(rest / UINT64_C(1000000000)), (long)(rest % UINT64_C(1000000000))};
    if (!DELAYED_SIGNALS && !atom_load_rlx(&old)) { /* the thread sanitizer knows ppoll, and not this */
        int n = (int)LINUX_NET(syscall(LINUX_NET_EPOLL_PWAIT2, set, events, most, &timeout, NULL, 0));
        if (n != -ENOSYS && n != -EPERM) return n; /* EPERM: what sandboxes return for unknown calls */
        atom_store_rlx(&old, true);
    }
    return linux_net_wait_old(set, events, most, &timeout);
}

static int linux_net_bell_open(void) { return (int)LINUX_NET(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

static void linux_net_bell_ring(int bell) {
    uint64_t one = 1;
    ssize_t n = LINUX_NET(write(bell, &one, sizeof one));
    /* It fails only when the count reaches 2^64. Without the bell a worker would sleep on although there is work. */
    WEFT_ENSURE(n == sizeof one, "ringing the bell of a poll failed with %zd", n);
}

static int linux_net_ready(int descriptor, short events) {
    struct pollfd one = {.fd = descriptor, .events = events};
    int n = (int)LINUX_NET(poll(&one, 1, 0));
    return n < 0 ? n : one.revents & POLLNVAL ? -EBADF : one.revents;
}

/* ---- sockets -------------------------------------------------------------------------------------------------------------- */

static int linux_net_socket(int family, int type, int protocol) {
    return (int)LINUX_NET(socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
}
static int linux_net_socket_pair(int family, int type, int pair[2]) {
    return (int)LINUX_NET(socketpair(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
}
static int linux_net_bind(int descriptor, const struct sockaddr *address, socklen_t size) {
    return (int)LINUX_NET(bind(descriptor, address, size));
}
static int linux_net_listen(int descriptor, int backlog) { return (int)LINUX_NET(listen(descriptor, backlog)); }
static int linux_net_accept(int descriptor, struct sockaddr *address, socklen_t *size) {
    return (int)LINUX_NET(accept4(descriptor, address, size, SOCK_NONBLOCK | SOCK_CLOEXEC));
}
static int linux_net_connect(int descriptor, const struct sockaddr *address, socklen_t size) {
    return (int)LINUX_NET(connect(descriptor, address, size));
}
static int linux_net_shutdown(int descriptor, int how) { return (int)LINUX_NET(shutdown(descriptor, how)); }
static int linux_net_name(int descriptor, bool peer, struct sockaddr *address, socklen_t *size) {
    return (int)LINUX_NET(peer ? getpeername(descriptor, address, size) : getsockname(descriptor, address, size));
}
static int linux_net_option_set(int descriptor, int level, int option, const void *value, socklen_t size) {
    return (int)LINUX_NET(setsockopt(descriptor, level, option, value, size));
}
static int linux_net_option_get(int descriptor, int level, int option, void *value, socklen_t *size) {
    return (int)LINUX_NET(getsockopt(descriptor, level, option, value, size));
}
/* Each call asks not to wait: another program that shares an adopted socket may make it blocking again. */
static ssize_t linux_net_recv(int descriptor, void *data, size_t size, int flags) {
    return linux_net_bare_recv(descriptor, data, size, flags | MSG_DONTWAIT);
}
static ssize_t linux_net_send(int descriptor, const void *data, size_t size, int flags) {
    return linux_net_bare_send(descriptor, data, size, flags | MSG_DONTWAIT);
}
static ssize_t linux_net_recvmsg(int descriptor, struct msghdr *message, int flags) {
    return LINUX_NET(recvmsg(descriptor, message, flags | MSG_DONTWAIT));
}
static ssize_t linux_net_sendmsg(int descriptor, const struct msghdr *message, int flags) {
    return LINUX_NET(sendmsg(descriptor, message, flags | MSG_DONTWAIT));
}

/* ---- anything -------------------------------------------------------------------------------------------------------------- */

static int linux_net_pipe(int pair[2]) { return (int)LINUX_NET(pipe2(pair, O_NONBLOCK | O_CLOEXEC)); }
static ssize_t linux_net_readv(int descriptor, const struct iovec *parts, int count) {
    return LINUX_NET(count == 1 ? read(descriptor, parts->iov_base, parts->iov_len) : readv(descriptor, parts, count));
}
static ssize_t linux_net_writev(int descriptor, const struct iovec *parts, int count) {
    return LINUX_NET(count == 1 ? write(descriptor, parts->iov_base, parts->iov_len) : writev(descriptor, parts, count));
}
static ssize_t linux_net_sendfile(int to, int from, off_t *offset, size_t size) { return LINUX_NET(sendfile(to, from, offset, size)); }

static int linux_net_nonblocking(int descriptor, bool on) {
    int flags = (int)LINUX_NET(fcntl(descriptor, F_GETFL));
    if (flags < 0) return flags;
    bool was = flags & O_NONBLOCK;
    int error = was == on ? 0 : (int)LINUX_NET(fcntl(descriptor, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
    return error < 0 ? error : was;
}
/* Few sandboxes allow kcmp, the proper call. So a flag that matters to regular files alone (O_APPEND) is changed for a moment. */
static bool linux_net_same_file(int descriptor, int other) {
    int flags = (int)LINUX_NET(fcntl(descriptor, F_GETFL)), others = (int)LINUX_NET(fcntl(other, F_GETFL));
    if (flags < 0 || flags != others || LINUX_NET(fcntl(descriptor, F_SETFL, flags ^ O_APPEND)) < 0) return false;
    bool same = LINUX_NET(fcntl(other, F_GETFL)) != others;
    LINUX_NET(fcntl(descriptor, F_SETFL, flags));
    return same;
}
/* In a program with threads the kernel, whenever it doubles the table of descriptors, waits until every processor has let go of the
 * old one: 8 to 16 ms for the thread that opens the first descriptor without a place. In a program with one thread it need not wait.
 * So this grows the table before the first thread is started, by a few system calls, and does nothing later. */
static void linux_net_make_room(int count) {
#if __has_include(<sys/single_threaded.h>)
    struct rlimit most;
    if (!__libc_single_threaded || getrlimit(RLIMIT_NOFILE, &most)) return;
    int highest = most.rlim_cur < (rlim_t)count ? (int)most.rlim_cur - 1 : count - 1;
    int zero = (int)LINUX_NET(epoll_create1(EPOLL_CLOEXEC)); /* any descriptor */
    int there = zero < 0 ? zero : (int)LINUX_NET(fcntl(zero, F_DUPFD_CLOEXEC, highest));
    if (there >= 0) close(there);
    if (zero >= 0) close(zero);
#else
    (void)count;
#endif
}
static int linux_net_close(int descriptor) { return (int)LINUX_NET(close(descriptor)); }

const struct sys_net sys_linux_net = {
    .poll_open = linux_net_poll_open,
    .poll_change = linux_net_poll_change,
    .poll_wait = linux_net_poll_wait,
    .bell_open = linux_net_bell_open,
    .bell_ring = linux_net_bell_ring,
    .ready = linux_net_ready,
    .socket = linux_net_socket,
    .socket_pair = linux_net_socket_pair,
    .bind = linux_net_bind,
    .listen = linux_net_listen,
    .accept = linux_net_accept,
    .connect = linux_net_connect,
    .shutdown = linux_net_shutdown,
    .name = linux_net_name,
    .option_set = linux_net_option_set,
    .option_get = linux_net_option_get,
    .recv = linux_net_recv,
    .send = linux_net_send,
    .recvmsg = linux_net_recvmsg,
    .sendmsg = linux_net_sendmsg,
    .pipe = linux_net_pipe,
    .readv = linux_net_readv,
    .writev = linux_net_writev,
    .sendfile = linux_net_sendfile,
    .nonblocking = linux_net_nonblocking,
    .same_file = linux_net_same_file,
    .make_room = linux_net_make_room,
    .close = linux_net_close,
    .start = linux_net_start,
    .terminal = linux_net_terminal,
    .lookup = linux_net_lookup,
    .lookup_free = linux_net_lookup_free,
};
