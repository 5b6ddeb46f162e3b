/* The scripted table's part for descriptors: the real calls, until the script says otherwise. */
#include "scripted.h"

#include <errno.h>

/* As in scripted.c: a test writes its script while other threads may read it. */
#define SCRIPTED_NET __attribute__((no_sanitize("thread")))

static atom_u64 scripted_net_calls; /* that could be interrupted */

/* What the script says of this call: an error, or 0. rlx: counters. */
SCRIPTED_NET static int scripted_net_fault(enum sys_net_call call) {
    uint64_t number = atom_add_rlx(&sys_script.counts.net[call], 1);
    if (!sys_script.net[call].error || number < sys_script.net[call].after) return 0;
    if (sys_script.net[call].times && number - sys_script.net[call].after >= sys_script.net[call].times) return 0;
    return sys_script.net[call].error;
}

SCRIPTED_NET static bool scripted_net_interrupted(void) {
    if (sys_script.net_eintr_every == 0) return false;
    return atom_add_rlx(&scripted_net_calls, 1) % sys_script.net_eintr_every == sys_script.net_eintr_every - 1;
}

SCRIPTED_NET static size_t scripted_net_size(size_t size) {
    return sys_script.net_most && size > sys_script.net_most ? sys_script.net_most : size;
}

/* The parts to write: as many as there are, or the beginning of the first one that is not empty. */
SCRIPTED_NET static const struct iovec *scripted_net_parts(const struct iovec *parts, int *count, struct iovec *one) {
    if (!sys_script.net_most) return parts;
    while (*count > 1 && parts->iov_len == 0)
        parts++, --*count;
    if (*count == 0) return parts;
    *one = (struct iovec){parts->iov_base, scripted_net_size(parts->iov_len)};
    *count = 1;
    return one;
}

SCRIPTED_NET static int scripted_net_poll_open(void) {
    int error = scripted_net_fault(SYS_NET_POLL_OPEN);
    return error ? error : sys_linux_net.poll_open();
}

SCRIPTED_NET static int scripted_net_poll_change(int set, int operation, int descriptor, uint32_t events, uint64_t data) {
    int error = scripted_net_fault(SYS_NET_POLL_CHANGE);
    return error ? error : sys_linux_net.poll_change(set, operation, descriptor, events, data);
}

SCRIPTED_NET static int scripted_net_bell_open(void) {
    int error = scripted_net_fault(SYS_NET_BELL_OPEN);
    return error ? error : sys_linux_net.bell_open();
}

SCRIPTED_NET static int scripted_net_ready(int descriptor, short events) {
    int error = scripted_net_fault(SYS_NET_READY);
    if (!error && scripted_net_interrupted()) error = -EINTR;
    return error ? error : sys_linux_net.ready(descriptor, events);
}

SCRIPTED_NET static int scripted_net_socket(int family, int type, int protocol) {
    int error = scripted_net_fault(SYS_NET_SOCKET);
    return error ? error : sys_linux_net.socket(family, type, protocol);
}

SCRIPTED_NET static int scripted_net_socket_pair(int family, int type, int pair[2]) {
    int error = scripted_net_fault(SYS_NET_SOCKET_PAIR);
    return error ? error : sys_linux_net.socket_pair(family, type, pair);
}

SCRIPTED_NET static int scripted_net_bind(int descriptor, const struct sockaddr *address, socklen_t size) {
    int error = scripted_net_fault(SYS_NET_BIND);
    return error ? error : sys_linux_net.bind(descriptor, address, size);
}

SCRIPTED_NET static int scripted_net_listen(int descriptor, int backlog) {
    int error = scripted_net_fault(SYS_NET_LISTEN);
    return error ? error : sys_linux_net.listen(descriptor, backlog);
}

SCRIPTED_NET static int scripted_net_accept(int descriptor, struct sockaddr *address, socklen_t *size) {
    int error = scripted_net_fault(SYS_NET_ACCEPT);
    if (!error && scripted_net_interrupted()) error = -EINTR;
    return error ? error : sys_linux_net.accept(descriptor, address, size);
}

SCRIPTED_NET static int scripted_net_shutdown(int descriptor, int how) {
    int error = scripted_net_fault(SYS_NET_SHUTDOWN);
    return error ? error : sys_linux_net.shutdown(descriptor, how);
}

SCRIPTED_NET static int scripted_net_name(int descriptor, bool peer, struct sockaddr *address, socklen_t *size) {
    int error = scripted_net_fault(SYS_NET_NAME);
    return error ? error : sys_linux_net.name(descriptor, peer, address, size);
}

SCRIPTED_NET static int scripted_net_option_set(int descriptor, int level, int option, const void *value, socklen_t size) {
    int error = scripted_net_fault(SYS_NET_OPTION_SET);
    return error ? error : sys_linux_net.option_set(descriptor, level, option, value, size);
}

SCRIPTED_NET static int scripted_net_option_get(int descriptor, int level, int option, void *value, socklen_t *size) {
    int error = scripted_net_fault(SYS_NET_OPTION_GET);
    return error ? error : sys_linux_net.option_get(descriptor, level, option, value, size);
}

SCRIPTED_NET static ssize_t scripted_net_recv(int descriptor, void *data, size_t size, int flags) {
    int error = scripted_net_fault(SYS_NET_RECV);
    if (!error && scripted_net_interrupted()) error = -EINTR;
    return error ? error : sys_linux_net.recv(descriptor, data, scripted_net_size(size), flags);
}

SCRIPTED_NET static ssize_t scripted_net_send(int descriptor, const void *data, size_t size, int flags) {
    int error = scripted_net_fault(SYS_NET_SEND);
    if (!error && scripted_net_interrupted()) error = -EINTR;
    return error ? error : sys_linux_net.send(descriptor, data, scripted_net_size(size), flags);
}

SCRIPTED_NET static ssize_t scripted_net_recvmsg(int descriptor, struct msghdr *message, int flags) {
    int error = scripted_net_fault(SYS_NET_RECVMSG);
    if (!error && scripted_net_interrupted()) error = -EINTR;
    return error ? error : sys_linux_net.recvmsg(descriptor, message, flags);
}

SCRIPTED_NET static ssize_t scripted_net_sendmsg(int descriptor, const struct msghdr *message, int flags) {
    int error = scripted_net_fault(SYS_NET_SENDMSG);
    if (!error && scripted_net_interrupted()) error = -EINTR;
    if (error) return error;
    struct msghdr clipped = *message;
    struct iovec one;
    int count = (int)message->msg_iovlen;
    clipped.msg_iov = (struct iovec *)(uintptr_t)scripted_net_parts(message->msg_iov, &count, &one);
    clipped.msg_iovlen = (size_t)count;
    return sys_linux_net.sendmsg(descriptor, &clipped, flags);
}

SCRIPTED_NET static int scripted_net_pipe(int pair[2]) {
    int error = scripted_net_fault(SYS_NET_PIPE);
    return error ? error : sys_linux_net.pipe(pair);
}

SCRIPTED_NET static ssize_t scripted_net_readv(int descriptor, const struct iovec *parts, int count) {
    int error = scripted_net_fault(SYS_NET_READV);
    if (!error && scripted_net_interrupted()) error = -EINTR;
    return error ? error : sys_linux_net.readv(descriptor, parts, count);
}

SCRIPTED_NET static ssize_t scripted_net_writev(int descriptor, const struct iovec *parts, int count) {
    int error = scripted_net_fault(SYS_NET_WRITEV);
    if (!error && scripted_net_interrupted()) error = -EINTR;
    if (error) return error;
    struct iovec one;
    const struct iovec *clipped = scripted_net_parts(parts, &count, &one);
    return sys_linux_net.writev(descriptor, clipped, count);
}

SCRIPTED_NET static ssize_t scripted_net_sendfile(int to, int from, off_t *offset, size_t size) {
    int error = scripted_net_fault(SYS_NET_SENDFILE);
    if (!error && scripted_net_interrupted()) error = -EINTR;
    return error ? error : sys_linux_net.sendfile(to, from, offset, scripted_net_size(size));
}

static void scripted_net_make_room(int count) { sys_linux_net.make_room(count); }
SCRIPTED_NET static int scripted_net_nonblocking(int descriptor, bool on) {
    int error = scripted_net_fault(SYS_NET_NONBLOCKING);
    return error ? error : sys_linux_net.nonblocking(descriptor, on);
}

static bool scripted_net_same_file(int descriptor, int other) { return sys_linux_net.same_file(descriptor, other); }

SCRIPTED_NET static int scripted_net_connect(int descriptor, const struct sockaddr *address, socklen_t size) {
    int error = scripted_net_fault(SYS_NET_CONNECT);
    if (error) return error;
    error = sys_linux_net.connect(descriptor, address, size);
    return error == -EINPROGRESS && scripted_net_interrupted() ? -EINTR : error;
}

SCRIPTED_NET static int scripted_net_close(int descriptor) {
    int fault = scripted_net_fault(SYS_NET_CLOSE), error = sys_linux_net.close(descriptor);
    if (!fault && scripted_net_interrupted()) fault = -EINTR;
    return fault ? fault : error;
}

SCRIPTED_NET static int scripted_net_poll_wait(int set, struct epoll_event *events, int most, uint64_t deadline) {
    enum { SLICE = 1000 * 1000 };
    int error = scripted_net_fault(SYS_NET_POLL_WAIT);
    if (!error && scripted_net_interrupted()) error = -EINTR;
    if (error) return error;
    /* The scripted clock may move meanwhile: read it now and then. */
    while (deadline != 0 && deadline != SYS_FOREVER) {
        uint64_t now = sys->now();
        if (now >= deadline) return sys_linux_net.poll_wait(set, events, most, 0);
        int n = sys_linux_net.poll_wait(set, events, most, now + (deadline - now < SLICE ? deadline - now : SLICE));
        if (n != 0) return n;
    }
    return sys_linux_net.poll_wait(set, events, most, deadline);
}

SCRIPTED_NET static void scripted_net_bell_ring(int bell) { sys_linux_net.bell_ring(bell); }

SCRIPTED_NET static int scripted_net_start(const struct sys_start *start, pid_t *child) {
    int error = scripted_net_fault(SYS_NET_START);
    return error ? error : linux_net_start(start, child);
}

SCRIPTED_NET static int scripted_net_lookup(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    return (sys_script.net_lookup ? sys_script.net_lookup : linux_net_lookup)(host, service, hints, found);
}

const struct sys_net sys_scripted_net = {
    .poll_open = scripted_net_poll_open,
    .poll_change = scripted_net_poll_change,
    .poll_wait = scripted_net_poll_wait,
    .bell_open = scripted_net_bell_open,
    .ready = scripted_net_ready,
    .socket = scripted_net_socket,
    .socket_pair = scripted_net_socket_pair,
    .bind = scripted_net_bind,
    .listen = scripted_net_listen,
    .accept = scripted_net_accept,
    .connect = scripted_net_connect,
    .shutdown = scripted_net_shutdown,
    .name = scripted_net_name,
    .option_set = scripted_net_option_set,
    .option_get = scripted_net_option_get,
    .recv = scripted_net_recv,
    .send = scripted_net_send,
    .recvmsg = scripted_net_recvmsg,
    .sendmsg = scripted_net_sendmsg,
    .pipe = scripted_net_pipe,
    .readv = scripted_net_readv,
    .writev = scripted_net_writev,
    .sendfile = scripted_net_sendfile,
    .nonblocking = scripted_net_nonblocking,
    .same_file = scripted_net_same_file,
    .make_room = scripted_net_make_room,
    .close = scripted_net_close,
    .bell_ring = scripted_net_bell_ring,
    .start = scripted_net_start,
    .terminal = linux_net_terminal,
    .lookup = scripted_net_lookup,
    .lookup_free = linux_net_lookup_free,
};
