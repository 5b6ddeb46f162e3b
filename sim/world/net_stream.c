/* A connection: reading, writing, its end. The order in which errors and ends are reported is that of Linux. */
#include "world/net_wire.h"

#include <errno.h>

enum { STREAM_ALL = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP | EPOLLERR };

static struct flow *stream_in(const struct socket *socket) { return &socket->connection->flows[!socket->side]; }
static struct flow *stream_out(const struct socket *socket) { return &socket->connection->flows[socket->side]; }
static struct socket *stream_peer(const struct socket *socket) { return socket->connection->ends[!socket->side]; }

/* ---- readiness --------------------------------------------------------------------------------------------------------------------- */

/* Linux calls a UNIX socket writable when a quarter of its room is used at most, a TCP socket up to two thirds. */
static bool stream_has_room(const struct socket *socket) {
    const struct flow *flow = stream_out(socket);
    return socket_is_unix(socket) ? flow->used * 4 <= flow->room : flow->used * 3 <= flow->room * 2;
}

static uint32_t stream_ready_connected(struct socket *socket) {
    uint32_t there = stream_in(socket)->arrived > 0 ? EPOLLIN : 0;
    if (stream_has_room(socket) || (socket->shut_out && socket_is_tcp(socket))) there |= EPOLLOUT;
    else stream_out(socket)->full = true; /* an edge is wanted */
    return there;
}

uint32_t stream_ready(struct socket *socket) {
    if (socket->state == SOCKET_LISTENS) return socket->queue ? EPOLLIN : 0;
    uint32_t there = socket->error ? EPOLLERR : 0;
    if (socket->state == SOCKET_IDLE || socket->state == SOCKET_DEAD || (socket->shut_in && socket->shut_out)) there |= EPOLLHUP;
    if (socket->state == SOCKET_IDLE) return there | EPOLLOUT;
    if (socket->shut_in) there |= EPOLLIN | EPOLLRDHUP;
    if (socket->state == SOCKET_CONNECTED) there |= stream_ready_connected(socket);
    if (socket->state == SOCKET_DEAD) there |= EPOLLIN | EPOLLOUT;
    return there;
}

/* ---- reading ----------------------------------------------------------------------------------------------------------------------- */

/* Bytes were read: the writer may have room again. */
static void stream_made_room(struct socket *socket) {
    struct socket *writer = stream_peer(socket);
    struct flow *flow = stream_in(socket);
    if (!writer || !flow->full || !stream_has_room(writer)) return;
    flow->full = false;
    sim_fd_changed(&writer->fd, EPOLLOUT);
}

/* There is nothing to read. */
static ssize_t stream_read_nothing(struct socket *socket) {
    if (socket->ended) return 0;
    if (socket->error) return -socket_error(socket);
    if (socket->shut_in) return 0;
    if (socket->state == SOCKET_IDLE || socket->state == SOCKET_LISTENS) return socket_is_unix(socket) ? -EINVAL : -ENOTCONN;
    return socket->state == SOCKET_DEAD ? -ENOTCONN : -EAGAIN;
}

/* A TCP socket gives all that has arrived: weft, and other programs, rely on a short read to mean that there is no more. */
ssize_t stream_read(struct socket *socket, const struct iovec *parts, int count, int flags, struct parcel **parcel) {
    size_t size = parts_size(parts, count);
    *parcel = NULL;
    if (!socket->connection || stream_in(socket)->arrived == 0) return stream_read_nothing(socket);
    if (socket_is_unix(socket)) size = flow_draw_short(size);
    size = flow_take(stream_in(socket), parts, count, size, flags & MSG_PEEK, parcel);
    if (!(flags & MSG_PEEK)) stream_made_room(socket);
    return (ssize_t)size;
}

/* ---- writing ----------------------------------------------------------------------------------------------------------------------- */

/* 0: it may write. */
static int stream_write_error(struct socket *socket) {
    if (socket_is_unix(socket)) return socket->shut_out ? -EPIPE : socket->state == SOCKET_CONNECTED ? 0 : -ENOTCONN;
    if (socket->error) return -socket_error(socket);
    if (socket->state == SOCKET_CONNECTS) return -EAGAIN;
    return socket->state != SOCKET_CONNECTED || socket->shut_out ? -EPIPE : 0;
}

/* The seed breaks the connection. */
static bool stream_breaks(struct socket *socket) {
    struct connection *connection = socket->connection;
    if (!socket_is_tcp(socket) || !route_fault()) return false;
    sim_note("net:reset", 0);
    wire_send(connection, socket->side, PACKET_RESET, 0);
    stream_reset(socket, ECONNRESET);
    return true;
}

ssize_t stream_write(struct socket *socket, const struct iovec *parts, int count, struct parcel *parcel) {
    size_t size = parts_size(parts, count);
    int error = stream_write_error(socket);
    if (error || size == 0) return error;
    if (stream_breaks(socket)) return -socket_error(socket);
    route_may_cut(socket->connection->machines[0], socket->connection->machines[1]);
    struct flow *flow = stream_out(socket);
    size_t some = flow_draw_short(size);
    if (some > flow_room(flow)) some = flow_room(flow);
    if (some < size) flow->full = true;
    if (some == 0) return -EAGAIN;
    flow_put(flow, parts, count, some, parcel);
    wire_send(socket->connection, socket->side, PACKET_DATA, some);
    return (ssize_t)some;
}

/* ---- arriving ---------------------------------------------------------------------------------------------------------------------- */

void stream_reset(struct socket *socket, int error) {
    if (socket->state == SOCKET_DEAD) return;
    socket->error = error;
    socket->state = SOCKET_DEAD;
    socket->shut_in = socket->shut_out = true;
    sim_fd_changed(&socket->fd, STREAM_ALL);
}

static void stream_reset_by_peer(struct socket *socket) {
    stream_reset(socket, socket->state == SOCKET_CONNECTS ? ECONNREFUSED : socket->ended ? EPIPE : ECONNRESET);
}

/* It was closed, or is not accepted yet: what comes is lost, and answered by a reset. */
static void stream_arrive_closed(struct connection *connection, unsigned side, enum packet_kind kind) {
    if (kind == PACKET_ACCEPT) connection_born(connection);
    else if (kind == PACKET_RESET) connection_unborn(connection);
    else if (kind != PACKET_END) wire_send(connection, !side, PACKET_RESET, 0);
}

static void stream_arrive_data(struct socket *socket, struct flow *flow, size_t size) {
    flow_arrive(flow, size);
    sim_fd_changed(&socket->fd, EPOLLIN);
}

static void stream_arrive_end(struct socket *socket) {
    socket->shut_in = socket->ended = true;
    sim_fd_changed(&socket->fd, EPOLLIN | EPOLLRDHUP | (socket->shut_out ? EPOLLHUP : 0u));
}

static void stream_arrive_connected(struct socket *socket) {
    if (socket->state != SOCKET_CONNECTS) return;
    socket->state = SOCKET_CONNECTED;
    wire_send(socket->connection, socket->side, PACKET_ACCEPT, 0);
    sim_fd_changed(&socket->fd, EPOLLOUT);
}

void stream_arrive(struct connection *connection, unsigned side, enum packet_kind kind, size_t size) {
    struct socket *socket = connection->ends[!side];
    if (!socket) stream_arrive_closed(connection, side, kind);
    else if (socket->state == SOCKET_DEAD) return; /* it was reset: what comes is lost */
    else if (kind == PACKET_DATA) stream_arrive_data(socket, &connection->flows[side], size);
    else if (kind == PACKET_END) stream_arrive_end(socket);
    else if (kind == PACKET_RESET) stream_reset_by_peer(socket);
    else stream_arrive_connected(socket);
}

/* ---- the end ----------------------------------------------------------------------------------------------------------------------- */

/* Of a UNIX socket: the other end knows at once. */
static void stream_shut_unix(struct socket *socket, bool in, bool out) {
    struct socket *peer = stream_peer(socket);
    if (!peer) return;
    peer->shut_in = peer->shut_in || out;
    peer->shut_out = peer->shut_out || in;
    sim_fd_changed(&peer->fd, STREAM_ALL);
}

static int stream_shut(struct socket *socket, bool in, bool out) {
    bool ends = out && !socket->shut_out;
    if (socket->state != SOCKET_CONNECTED) return socket_is_unix(socket) ? 0 : -ENOTCONN;
    socket->shut_in = socket->shut_in || in;
    socket->shut_out = socket->shut_out || out;
    if (socket_is_unix(socket)) stream_shut_unix(socket, in, out);
    else if (ends) wire_send(socket->connection, socket->side, PACKET_END, 0);
    sim_fd_changed(&socket->fd, STREAM_ALL);
    return 0;
}

static int stream_shut_listener(struct socket *socket, bool in) {
    if (!in) return 0;
    listener_end(socket, false);
    socket->state = SOCKET_IDLE;
    sim_fd_changed(&socket->fd, STREAM_ALL);
    return 0;
}

int net_shutdown(int number, int how) {
    struct socket *socket;
    int error = socket_at(number, &socket);
    if (error) return error;
    if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) return -EINVAL;
    bool in = how != SHUT_WR, out = how != SHUT_RD;
    if (socket->type == SOCK_DGRAM) return datagram_shut(socket, in, out);
    return socket->state == SOCKET_LISTENS ? stream_shut_listener(socket, in) : stream_shut(socket, in, out);
}

static void stream_close_unix(struct socket *socket, struct socket *peer) {
    if (stream_in(socket)->arrived > 0) peer->error = ECONNRESET;
    peer->shut_in = peer->shut_out = true;
    sim_fd_changed(&peer->fd, STREAM_ALL);
}

static void stream_close_tcp(struct socket *socket) {
    if (socket->state != SOCKET_CONNECTED) return;
    bool reset = stream_in(socket)->arrived > 0 || socket->lingers_not;
    if (reset) wire_send(socket->connection, socket->side, PACKET_RESET, 0);
    else if (!socket->shut_out) wire_send(socket->connection, socket->side, PACKET_END, 0);
}

void stream_close(struct socket *socket, bool crash) {
    struct connection *connection = socket->connection;
    if (!connection) return;
    struct socket *peer = stream_peer(socket);
    connection->ends[socket->side] = NULL; /* net_socket.h, S1 */
    if (socket_is_unix(socket) && peer) stream_close_unix(socket, peer);
    else if (!socket_is_unix(socket) && !crash) stream_close_tcp(socket);
    connection_drop(connection);
}
