/* Sockets: opening, closing, names, options. See net_socket.h. */
#include "world/net_socket.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- as descriptors ----------------------------------------------------------------------------------------------------------------- */

static ssize_t socket_read(struct sim_fd *fd, const struct iovec *parts, int count, int64_t offset) {
    struct socket *socket = (struct socket *)fd;
    struct parcel *parcel = NULL;
    struct datagram_info info;
    if (offset >= 0) return -ESPIPE;
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

/* ---- options ------------------------------------------------------------------------------------------------------------------------ */

/* The flag that an option sets, or NULL. */
static bool *option_flag(struct socket *socket, int level, int option) {
    if (level == SOL_SOCKET && option == SO_REUSEADDR) return &socket->reuse_address;
    if (level == SOL_SOCKET && option == SO_REUSEPORT) return &socket->reuse_port;
    if (level == SOL_SOCKET && option == SO_KEEPALIVE) return &socket->keep_alive;
    if (level == IPPROTO_IPV6 && option == IPV6_V6ONLY && socket->family == AF_INET6) return &socket->only_6;
    if (level == IPPROTO_TCP && option == TCP_NODELAY && socket_is_tcp(socket)) return &socket->no_delay;
    return NULL;
}

static int option_error(const struct socket *socket, int level) {
    if (level == SOL_SOCKET) return -ENOPROTOOPT;
    bool tcp = level == IPPROTO_TCP && socket_is_tcp(socket), ip = level == IPPROTO_IP || level == IPPROTO_IPV6;
    return tcp || (ip && !socket_is_unix(socket)) ? -ENOPROTOOPT : -EOPNOTSUPP;
}

int net_option_set(int number, int level, int option, const void *value, socklen_t size) {
    struct socket *socket;
    int error = socket_at(number, &socket), on;
    if (error) return error;
    bool *flag = option_flag(socket, level, option);
    if (!flag) return option_error(socket, level);
    if (size < sizeof on) return -EINVAL;
    memcpy(&on, value, sizeof on);
    *flag = on != 0;
    return 0;
}

static int option_value(struct socket *socket, int level, int option, int *value) {
    bool *flag = option_flag(socket, level, option);
    if (flag) *value = *flag;
    else if (level != SOL_SOCKET) return option_error(socket, level);
    else if (option == SO_TYPE) *value = socket->type;
    else if (option == SO_DOMAIN) *value = socket->family;
    else if (option == SO_ACCEPTCONN) *value = socket->state == SOCKET_LISTENS;
    else if (option == SO_ERROR) *value = socket_error(socket);
    else return -ENOPROTOOPT;
    return 0;
}

int net_option_get(int number, int level, int option, void *value, socklen_t *size) {
    struct socket *socket;
    int error = socket_at(number, &socket), is = 0;
    if (!error) error = option_value(socket, level, option, &is);
    if (error) return error;
    if (*size > sizeof is) *size = sizeof is;
    memcpy(value, &is, *size);
    return 0;
}
