/* Listening, connecting, accepting.
 *
 *   K1  A TCP connection that finds the listener's line full tries again, after 1 s, 2 s, 4 s ..., as Linux does, and gives up at last; so it
 *       does during a partition. A UNIX connection gets -EAGAIN.
 *   K2  A TCP connection can be accepted when the client has seen the answer; a client that has given up before is never seen. Until then the
 *       listener counts it, as it counts what is in its line.
 *   K3  What can be accepted is a socket without a number; the listener's line holds its reference. */
#include "world/net_wire.h"

#include <errno.h>
#include <stdlib.h>

enum {
    CONNECT_TRIES = 7,
    CONNECT_BACKLOG_MOST = 4096,
    CONNECT_ROOM = 1 << 16,
    CONNECT_ROOM_LEAST = 1 << 14,
    CONNECT_ROOM_BAD = 4608,
    CONNECT_ROOM_UNIX = 96 << 10
};
#define CONNECT_SECOND UINT64_C(1000000000)

/* ---- the listener's line ------------------------------------------------------------------------------------------------------------ */

int net_listen(int number, int backlog) {
    struct socket *socket;
    int error = socket_at(number, &socket);
    if (error) return error;
    if (socket->type != SOCK_STREAM) return -EOPNOTSUPP;
    if (socket->state != SOCKET_IDLE && socket->state != SOCKET_LISTENS) return -EINVAL;
    if (socket_is_unix(socket) && !socket->bound) return -EINVAL;
    if (!socket->bound && (error = bound_choose(socket, &socket->local)) != 0) return error;
    if (!socket_is_unix(socket) && bound_conflicts(socket, true)) return -EADDRINUSE;
    socket->backlog = backlog < 0 || backlog > CONNECT_BACKLOG_MOST ? CONNECT_BACKLOG_MOST : (unsigned)backlog;
    socket->state = SOCKET_LISTENS;
    return 0;
}

static bool listener_is_full(const struct socket *listener) { return listener->waiting + listener->unborn > listener->backlog; }

static void listener_put(struct socket *listener, struct socket *accepted) {
    struct socket **at = &listener->queue;
    while (*at)
        at = &(*at)->queue_next;
    *at = accepted;
    listener->waiting++;
    sim_fd_changed(&listener->fd, EPOLLIN);
}

static struct socket *listener_take(struct socket *listener) {
    struct socket *accepted = listener->queue;
    listener->queue = accepted->queue_next;
    accepted->queue_next = NULL;
    listener->waiting--;
    return accepted;
}

/* Those in the line are reset. */
static void listener_refuse(struct socket *accepted, bool crash) {
    struct connection *connection = accepted->connection;
    struct socket *peer = connection->ends[0];
    if (connection->near && peer) peer->error = ECONNRESET;
    if (!connection->near && !crash) wire_send(connection, 1, PACKET_RESET, 0);
    accepted->shut_out = true; /* no ordinary end besides */
    sim_fd_drop(&accepted->fd);
}

void listener_end(struct socket *listener, bool crash) {
    connection_forget_listener(listener);
    listener->unborn = 0;
    while (listener->queue)
        listener_refuse(listener_take(listener), crash);
}

int net_accept(int number, struct sockaddr *address, socklen_t *size) {
    struct socket *listener;
    int error = socket_at(number, &listener);
    if (error) return error;
    if (listener->type != SOCK_STREAM) return -EOPNOTSUPP;
    if (listener->state != SOCKET_LISTENS) return -EINVAL;
    if (!listener->queue) return -EAGAIN;
    if ((error = sim_fd_may_open(1)) != 0) return error;
    struct socket *accepted = listener_take(listener);
    if (address) place_write(&accepted->peer, accepted->family, address, size);
    return sim_fd_number(&accepted->fd);
}

/* ---- a connection ---------------------------------------------------------------------------------------------------------------------- */

/* Not less than what Linux begins with: many programs rely on a small message to fit. In a bad network the least that Linux ever gives. */
static bool connection_make_room(struct connection *connection) {
    size_t most = connection->near ? CONNECT_ROOM_UNIX : CONNECT_ROOM;
    size_t least = sim_fault_is_on(SIM_FAULT_NET) ? CONNECT_ROOM_BAD : CONNECT_ROOM_LEAST;
    for (unsigned side = 0; side < 2; side++)
        if (!flow_begin(&connection->flows[side], flow_draw_room(most, least))) return false;
    return true;
}

static void connection_attach(struct connection *connection, unsigned side, struct socket *socket) {
    connection->ends[side] = socket;
    connection->machines[side] = socket->fd.machine;
    socket->connection = connection;
    socket->side = side;
}

static struct connection *connection_begin(struct socket *socket, bool near) {
    struct connection *connection = connection_new(near);
    if (!connection || !connection_make_room(connection)) {
        if (connection) connection_drop(connection);
        return NULL;
    }
    connection_attach(connection, 0, socket); /* which has the reference now */
    return connection;
}

int connection_pair(struct socket *a, struct socket *b) {
    struct connection *connection = connection_begin(a, true);
    if (!connection) return -ENOMEM;
    connection->references++;
    connection_attach(connection, 1, b);
    a->state = b->state = SOCKET_CONNECTED;
    return 0;
}

/* ---- UNIX -------------------------------------------------------------------------------------------------------------------------------- */

static int connect_unix(struct socket *socket, const struct place *to) {
    int error;
    if (socket->state == SOCKET_CONNECTED) return -EISCONN;
    if (socket->state != SOCKET_IDLE) return -EINVAL;
    struct socket *listener = bound_find_unix(socket->fd.machine, to, &error);
    if (!listener) return error;
    if (listener->type != SOCK_STREAM) return -EPROTOTYPE;
    if (listener->state != SOCKET_LISTENS) return -ECONNREFUSED;
    if (listener_is_full(listener)) return -EAGAIN;
    struct socket *accepted = socket_new(listener->fd.machine, AF_UNIX, SOCK_STREAM);
    error = accepted ? connection_pair(socket, accepted) : -ENOMEM;
    if (error) {
        free(accepted);
        return error;
    }
    socket->peer = accepted->local = listener->local;
    accepted->peer = socket->local;
    listener_put(listener, accepted);
    return 0;
}

/* ---- TCP ---------------------------------------------------------------------------------------------------------------------------------- */

static void connect_reach(void *connection);

/* K1 */
static void connect_again(struct connection *connection) {
    struct socket *socket = connection->ends[0];
    if (connection->tries == CONNECT_TRIES) {
        stream_reset(socket, ETIMEDOUT);
        connection_drop(connection);
        return;
    }
    sim_at(sim_now() + (CONNECT_SECOND << connection->tries++), connect_reach, connection);
}

void connection_unborn(struct connection *connection) {
    if (connection->unborn_of) connection->unborn_of->unborn--;
    connection->unborn_of = NULL;
}

void connection_born(struct connection *connection) {
    struct socket *listener = connection->unborn_of;
    connection_unborn(connection);
    if (!listener) {
        wire_send(connection, 1, PACKET_RESET, 0);
        return;
    }
    struct socket *accepted = socket_new(listener->fd.machine, listener->family, SOCK_STREAM);
    if (!accepted) sim_fail("memory", "the simulation itself has none left");
    connection->references++;
    connection_attach(connection, 1, accepted);
    accepted->state = SOCKET_CONNECTED;
    accepted->no_delay = listener->no_delay;
    accepted->local = connection->to;
    accepted->peer = connection->from;
    listener_put(listener, accepted);
}

static void connect_answer(struct connection *connection, struct socket *listener) {
    connection->unborn_of = listener;
    listener->unborn++;
    wire_send(connection, 1, PACKET_CONNECTED, 0);
}

/* The first packet arrives at the other machine, if there is one. The event holds a reference. */
static void connect_reach(void *arg) {
    struct connection *connection = arg;
    struct socket *socket = connection->ends[0];
    if (!socket || socket->state != SOCKET_CONNECTS) {
        connection_drop(connection);
        return;
    }
    bool known = bound_machine(socket->fd.machine, &connection->to, &connection->machines[1]);
    struct socket *listener = known ? bound_find(SOCK_STREAM, connection->machines[1], &connection->to) : NULL;
    if (!known || route_is_cut(socket->fd.machine, connection->machines[1]) || (listener && listener_is_full(listener))) {
        connect_again(connection);
        return;
    }
    if (listener && !route_fault()) connect_answer(connection, listener);
    else wire_send(connection, 1, PACKET_RESET, 0);
    connection_drop(connection);
}

static int connect_tcp_state(struct socket *socket) {
    if (socket->error) return -socket_error(socket);
    if (socket->state == SOCKET_CONNECTS) return -EALREADY;
    return socket->state == SOCKET_CONNECTED ? -EISCONN : socket->state == SOCKET_IDLE ? 0 : -ECONNABORTED;
}

static int connect_tcp(struct socket *socket, const struct place *to) {
    int error = connect_tcp_state(socket);
    if (!error) error = bound_choose(socket, to);
    if (error) return error;
    struct connection *connection = connection_begin(socket, false);
    if (!connection) return -ENOMEM;
    socket->state = SOCKET_CONNECTS;
    socket->peer = connection->to = *to;
    connection->from = socket->local;
    bound_machine(socket->fd.machine, to, &connection->machines[1]);
    route_may_cut(socket->fd.machine, connection->machines[1]);
    connection->references++;
    uint64_t latency = route_latency(socket->fd.machine, connection->machines[1]);
    if (latency) sim_at(sim_now() + latency, connect_reach, connection);
    else connect_reach(connection);
    return -EINPROGRESS;
}

int net_connect(int number, const struct sockaddr *address, socklen_t size) {
    struct socket *socket;
    struct place to;
    int error = socket_at(number, &socket);
    if (!error) error = place_read(&to, socket->family, address, size);
    if (error) return error;
    if (place_is_any(&to)) place_set_loopback(&to, IN6_IS_ADDR_V4MAPPED(&to.ip));
    if (socket->type == SOCK_DGRAM) return datagram_connect(socket, &to);
    return socket_is_unix(socket) ? connect_unix(socket, &to) : connect_tcp(socket, &to);
}
