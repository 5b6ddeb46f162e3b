/* Sockets: opening, closing, names. See net_socket.h. */
#include "world/net_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- as descriptors ----------------------------------------------------------------------------------------------------------------- */

static ssize_t socket_read(struct sim_fd *fd, const struct iovec *parts, int count, int64_t offset) {
    struct socket *socket = (struct socket *)fd;
    struct parcel *parcel = NULL;
    struct datagram_info info;
    if (offset >= 0) return -ESPIPE;
    if (parts_size(parts, count) == 0) return 0; /* recv would wait */
    if (socket->type == SOCK_DGRAM) {
        ssize_t n = datagram_read(socket, parts, count, 0, &info);
        if (n >= 0) parcel_free(info.parcel);
        return n;
    }
    ssize_t n = stream_read(socket, parts, count, 0, &parcel);
    parcel_free(parcel);
    return n;
}

static ssize_t socket_write(struct sim_fd *fd, const struct iovec *parts, int count, int64_t offset) {
    struct socket *socket = (struct socket *)fd;
    if (offset >= 0) return -ESPIPE;
    return socket->type == SOCK_DGRAM ? datagram_write(socket, parts, count, NULL, NULL) : stream_write(socket, parts, count, NULL);
}

static uint32_t socket_ready(struct sim_fd *fd) {
    struct socket *socket = (struct socket *)fd;
    return socket->type == SOCK_DGRAM ? datagram_ready(socket) : stream_ready(socket);
}

static void socket_close(struct sim_fd *fd, bool crash) {
    struct socket *socket = (struct socket *)fd;
    bound_end(socket);
    if (socket->state == SOCKET_LISTENS) listener_end(socket, crash);
    if (socket->type == SOCK_DGRAM) datagram_close(socket);
    else stream_close(socket, crash);
    free(socket);
}

static const struct sim_fd_ops socket_ops = {
    .name = "socket",
    .mode = S_IFSOCK,
    .read = socket_read,
    .write = socket_write,
    .ready = socket_ready,
    .close = socket_close,
};

int socket_at(int number, struct socket **socket) {
    struct sim_fd *fd = sim_fd_at(number);
    *socket = (struct socket *)fd;
    return !fd ? -EBADF : fd->ops != &socket_ops ? -ENOTSOCK : 0;
}

/* ---- opening ------------------------------------------------------------------------------------------------------------------------ */

struct socket *socket_new(unsigned machine, int family, int type) {
    struct socket *socket = calloc(1, sizeof *socket);
    if (!socket) return NULL;
    sim_fd_begin(&socket->fd, &socket_ops);
    socket->fd.machine = machine;
    socket->fd.nonblocking = true;
    socket->family = family;
    socket->type = type;
    return socket;
}

static int socket_kind_error(int family, int type) {
    if (family != AF_INET && family != AF_INET6 && family != AF_UNIX) return -EAFNOSUPPORT;
    return type == SOCK_STREAM || type == SOCK_DGRAM ? 0 : -ESOCKTNOSUPPORT;
}

static int socket_open(int family, int type, struct socket **socket) {
    struct sim_thread *me = sim_me();
    unsigned machine = me ? me->machine : 0;
    route_is_up(machine);
    *socket = socket_new(machine, family, type);
    return *socket ? 0 : -ENOMEM;
}

int net_socket(int family, int type) {
    struct socket *socket = NULL;
    type &= ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    int error = socket_kind_error(family, type);
    if (!error) error = sim_fd_may_open(1);
    if (!error) error = socket_open(family, type, &socket);
    return error ? error : sim_fd_number(&socket->fd);
}

static int socket_pair_join(struct socket *a, struct socket *b) {
    if (a->type == SOCK_STREAM) return connection_pair(a, b);
    datagram_join(a, b);
    return 0;
}

int net_socket_pair(int family, int type, int pair[2]) {
    struct socket *two[2] = {NULL, NULL};
    type &= ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    int error = family == AF_UNIX ? socket_kind_error(family, type) : -EOPNOTSUPP;
    if (!error) error = sim_fd_may_open(2);
    for (int i = 0; i < 2 && !error; i++)
        error = socket_open(family, type, &two[i]);
    if (!error) error = socket_pair_join(two[0], two[1]);
    for (int i = 0; i < 2; i++) {
        if (error && two[i]) sim_fd_drop(&two[i]->fd);
        else if (!error) pair[i] = sim_fd_number(&two[i]->fd);
    }
    return error;
}

/* ---- names -------------------------------------------------------------------------------------------------------------------------- */

int net_name(int number, bool peer, struct sockaddr *address, socklen_t *size) {
    struct socket *socket;
    int error = socket_at(number, &socket);
    if (error) return error;
    if (peer && socket->state != SOCKET_CONNECTED) return -ENOTCONN;
    place_write(peer ? &socket->peer : &socket->local, socket->family, address, size);
    return 0;
}
