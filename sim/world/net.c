/* The table for descriptors in the simulated world: sys_net. Each call is a point; then it acts on a virtual descriptor, or goes on to the real
 * table for a real one. */
#include "world/net.h"

#include "sys/sys.h"
#include "sys/sys_file.h"
#include "sys/sys_net.h"
#include "world/child.h"
#include "world/net_name.h"
#include "world/net_poll.h"
#include "world/net_socket.h"
#include "world/pipe.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* A call on this descriptor begins. True: it is a real one. */
static bool net_begin(const char *what, int number) {
    sim_effect(what, (uint64_t)number);
    return sim_fd_is_real(number);
}

/* ---- polling ------------------------------------------------------------------------------------------------------------------------------ */

static int table_poll_open(void) {
    sim_effect("poll_open", 0);
    return net_poll_open();
}
static int table_poll_change(int set, int operation, int number, uint32_t events, uint64_t data) {
    sim_effect("poll_change", (uint64_t)number);
    return net_poll_change(set, operation, number, events, data);
}
static int table_poll_wait(int set, struct epoll_event *events, int most, uint64_t deadline) {
    sim_effect("poll_wait", (uint64_t)set);
    return net_poll_wait(set, events, most, deadline);
}
static int table_bell_open(void) {
    sim_effect("bell_open", 0);
    return sim_bell_open();
}
static void table_bell_ring(int bell) {
    sim_effect("bell_ring", (uint64_t)bell);
    if (sim_bell_ring(bell)) sim_fail("descriptor", "the bell %d of a poll was closed before it was rung", bell);
}
static int table_ready(int number, short events) {
    struct pollfd one = {.fd = number, .events = events};
    sim_effect("ready", (uint64_t)number);
    sim_fd_poll(&one, 1, 0);
    return one.revents & POLLNVAL ? -EBADF : one.revents;
}

/* ---- sockets ------------------------------------------------------------------------------------------------------------------------------ */

static int table_socket(int family, int type, int protocol) {
    (void)protocol;
    sim_effect("socket", (uint64_t)family);
    return net_socket(family, type);
}
static int table_socket_pair(int family, int type, int pair[2]) {
    sim_effect("socket_pair", (uint64_t)family);
    return net_socket_pair(family, type, pair);
}
static int table_bind(int number, const struct sockaddr *address, socklen_t size) {
    return net_begin("bind", number) ? sys_linux_net.bind(number, address, size) : net_bind(number, address, size);
}
static int table_listen(int number, int backlog) {
    return net_begin("listen", number) ? sys_linux_net.listen(number, backlog) : net_listen(number, backlog);
}
static int table_accept(int number, struct sockaddr *address, socklen_t *size) {
    return net_begin("accept", number) ? sys_linux_net.accept(number, address, size) : net_accept(number, address, size);
}
static int table_connect(int number, const struct sockaddr *address, socklen_t size) {
    return net_begin("connect", number) ? sys_linux_net.connect(number, address, size) : net_connect(number, address, size);
}
static int table_shutdown(int number, int how) {
    return net_begin("shutdown", number) ? sys_linux_net.shutdown(number, how) : net_shutdown(number, how);
}
static int table_name(int number, bool peer, struct sockaddr *address, socklen_t *size) {
    return net_begin("name", number) ? sys_linux_net.name(number, peer, address, size) : net_name(number, peer, address, size);
}
static int table_option_set(int number, int level, int option, const void *value, socklen_t size) {
    return net_begin("option_set", number) ? sys_linux_net.option_set(number, level, option, value, size)
                                           : net_option_set(number, level, option, value, size);
}
static int table_option_get(int number, int level, int option, void *value, socklen_t *size) {
    return net_begin("option_get", number) ? sys_linux_net.option_get(number, level, option, value, size)
                                           : net_option_get(number, level, option, value, size);
}

static ssize_t table_recv(int number, void *data, size_t size, int flags) {
    struct iovec part = {data, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return net_begin("recv", number) ? sys_linux_net.recv(number, data, size, flags) : net_recvmsg(number, &message, flags);
}
static ssize_t table_send(int number, const void *data, size_t size, int flags) {
    struct iovec part = {(void *)(uintptr_t)data, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return net_begin("send", number) ? sys_linux_net.send(number, data, size, flags) : net_sendmsg(number, &message, flags);
}
static ssize_t table_recvmsg(int number, struct msghdr *message, int flags) {
    return net_begin("recvmsg", number) ? sys_linux_net.recvmsg(number, message, flags) : net_recvmsg(number, message, flags);
}
static ssize_t table_sendmsg(int number, const struct msghdr *message, int flags) {
    return net_begin("sendmsg", number) ? sys_linux_net.sendmsg(number, message, flags) : net_sendmsg(number, message, flags);
}

/* ---- anything ----------------------------------------------------------------------------------------------------------------------------- */

static int table_pipe(int pair[2]) {
    sim_effect("pipe", 0);
    return sim_pipe(pair);
}
static ssize_t table_readv(int number, const struct iovec *parts, int count) {
    return net_begin("readv", number) ? sys_linux_net.readv(number, parts, count) : sim_fd_read(number, parts, count, -1, false);
}
static ssize_t table_writev(int number, const struct iovec *parts, int count) {
    return net_begin("writev", number) ? sys_linux_net.writev(number, parts, count) : sim_fd_write(number, parts, count, -1, false);
}

enum { NET_SENDFILE = 16 << 10 };

static ssize_t net_read_file(int from, void *data, size_t size, off_t offset) {
    struct iovec part = {data, size};
    if (sim_fd_is_real(from)) return sys_linux_file.read(from, &part, 1, offset, false);
    struct sim_fd *file = sim_fd_at(from);
    if (!file) return -EBADF;
    return file->ops->always_ready ? sim_fd_read(from, &part, 1, offset, false) : -EINVAL;
}

/* One piece from this place of the file; as much as the other end takes. */
static ssize_t net_send_piece(int to, int from, off_t offset, size_t size) {
    if (size > NET_SENDFILE) size = NET_SENDFILE;
    void *data = malloc(size);
    if (!data) return -ENOMEM;
    ssize_t n = net_read_file(from, data, size, offset);
    if (n > 0) {
        struct iovec part = {data, (size_t)n};
        n = sim_fd_write(to, &part, 1, -1, false);
    }
    free(data);
    return n;
}

/* A real file's own position is moved by lseek, a virtual one's by hand. */
static off_t net_file_position(int from, off_t moved) {
    struct sim_fd *file = sim_fd_at(from);
    if (sim_fd_is_real(from)) return lseek(from, moved, SEEK_CUR);
    return file ? file->position += moved : -1;
}

static ssize_t table_sendfile(int to, int from, off_t *offset, size_t size) {
    if (net_begin("sendfile", to)) return sim_fd_is_real(from) ? sys_linux_net.sendfile(to, from, offset, size) : -EINVAL;
    off_t place = offset ? *offset : net_file_position(from, 0);
    if (place < 0) return -EINVAL;
    ssize_t n = net_send_piece(to, from, place, size);
    if (n > 0 && offset) *offset += n;
    else if (n > 0) net_file_position(from, n);
    return n;
}

/* A real descriptor stays as it is: what it does is outside the simulation, and waiting for it blocks the whole program. */
static int table_nonblocking(int number, bool on) {
    if (net_begin("nonblocking", number)) return 1;
    struct sim_fd *fd = sim_fd_at(number);
    if (!fd) return -EBADF;
    bool was = fd->nonblocking;
    fd->nonblocking = on;
    return was;
}
static bool table_same_file(int number, int other) {
    if (net_begin("same_file", number)) return sim_fd_is_real(other) && sys_linux_net.same_file(number, other);
    return sim_fd_at(number) && sim_fd_at(number) == sim_fd_at(other);
}
static void table_make_room(int count) { (void)count; }
static int table_close(int number) {
    if (!net_begin("close", number)) return sim_fd_close(number);
    net_poll_forget_real(number);
    return sys_linux_net.close(number);
}

static int table_lookup(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    sim_effect("lookup", 0);
    return net_lookup(host, service, hints, found);
}

/* There are none in the simulated world. */
static int table_terminal(unsigned rows, unsigned columns, int pair[2]) {
    (void)rows, (void)columns, (void)pair;
    return -ENOSYS;
}

const struct sys_net sim_net = {
    .poll_open = table_poll_open,
    .poll_change = table_poll_change,
    .poll_wait = table_poll_wait,
    .bell_open = table_bell_open,
    .bell_ring = table_bell_ring,
    .ready = table_ready,
    .socket = table_socket,
    .socket_pair = table_socket_pair,
    .bind = table_bind,
    .listen = table_listen,
    .accept = table_accept,
    .connect = table_connect,
    .shutdown = table_shutdown,
    .name = table_name,
    .option_set = table_option_set,
    .option_get = table_option_get,
    .recv = table_recv,
    .send = table_send,
    .recvmsg = table_recvmsg,
    .sendmsg = table_sendmsg,
    .pipe = table_pipe,
    .readv = table_readv,
    .writev = table_writev,
    .sendfile = table_sendfile,
    .nonblocking = table_nonblocking,
    .same_file = table_same_file,
    .make_room = table_make_room,
    .close = table_close,
    .start = sim_child_start,
    .terminal = table_terminal,
    .lookup = table_lookup,
    .lookup_free = net_lookup_free,
};
