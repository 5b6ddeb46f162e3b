/* UDP and UNIX datagrams.
 *
 *   U1  UDP: a datagram whose receiver is not there, or has no room left, is lost. In a network without faults those of one sender arrive in the
 *       order in which they were sent.
 *   U2  UNIX: it arrives at once; -EAGAIN when the receiver has as many as it may have. Senders that are connected to it are told when there is
 *       room again, others are not, as in Linux. */
#include "world/net_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DATAGRAM_MOST = 65507, DATAGRAM_MOST_UNIX = 96 << 10, DATAGRAM_LINE = 256, DATAGRAM_LINE_UNIX = 10 };

struct datagram {
    struct datagram *next;
    int type;
    unsigned from_machine, machine;
    struct place from, to;
    struct parcel *parcel;
    size_t size;
    unsigned char data[];
};

static struct socket *datagram_senders; /* UNIX sockets that are, or were, connected */

/* U2 */
static void datagram_tell_senders(const struct socket *receiver) {
    for (struct socket *sender = datagram_senders; sender; sender = sender->datagram_next)
        if (sender->datagram_peer == receiver) sim_fd_changed(&sender->fd, EPOLLOUT);
}

/* ---- what has come ------------------------------------------------------------------------------------------------------------------ */

static void datagram_free(struct datagram *datagram) {
    parcel_free(datagram->parcel);
    free(datagram);
}

static void datagram_put(struct socket *socket, struct datagram *datagram) {
    struct datagram **at = &socket->datagrams;
    while (*at)
        at = &(*at)->next;
    *at = datagram;
    socket->datagram_count++;
    sim_fd_changed(&socket->fd, EPOLLIN);
}

static struct datagram *datagram_take(struct socket *socket) {
    struct datagram *datagram = socket->datagrams;
    socket->datagrams = datagram->next;
    if (socket->datagram_count-- == DATAGRAM_LINE_UNIX && socket_is_unix(socket)) datagram_tell_senders(socket);
    return datagram;
}

static size_t datagram_copy_out(const struct datagram *datagram, const struct iovec *parts, int count) {
    size_t done = 0;
    for (int i = 0; i < count && done < datagram->size; i++) {
        size_t some = parts[i].iov_len < datagram->size - done ? parts[i].iov_len : datagram->size - done;
        if (some > 0) memcpy(parts[i].iov_base, datagram->data + done, some);
        done += some;
    }
    return done;
}

static ssize_t datagram_read_nothing(struct socket *socket) {
    if (socket->error) return -socket_error(socket);
    return socket->shut_in ? 0 : -EAGAIN;
}

ssize_t datagram_read(struct socket *socket, const struct iovec *parts, int count, int flags, struct datagram_info *info) {
    struct datagram *datagram = socket->datagrams;
    *info = (struct datagram_info){.parcel = NULL};
    if (!datagram || (socket->error && !socket_is_unix(socket))) return datagram_read_nothing(socket);
    size_t size = datagram_copy_out(datagram, parts, count);
    info->from = datagram->from;
    info->cut = size < datagram->size;
    if (flags & MSG_TRUNC) size = datagram->size;
    if (flags & MSG_PEEK) return (ssize_t)size;
    info->parcel = datagram->parcel;
    free(datagram_take(socket));
    return (ssize_t)size;
}

/* ---- sending ------------------------------------------------------------------------------------------------------------------------- */

static struct datagram *datagram_new(const struct socket *socket, const struct iovec *parts, int count, const struct place *to) {
    size_t size = parts_size(parts, count), done = 0;
    struct datagram *datagram = malloc(sizeof *datagram + size);
    if (!datagram) return NULL;
    *datagram = (struct datagram){.type = socket->type, .from_machine = socket->fd.machine, .to = *to, .size = size};
    datagram->from = socket_is_unix(socket) ? socket->local : bound_source(socket, to);
    for (int i = 0; i < count; done += parts[i++].iov_len)
        if (parts[i].iov_len > 0) memcpy(datagram->data + done, parts[i].iov_base, parts[i].iov_len);
    return datagram;
}

/* A socket that is connected takes datagrams of the one that it is connected to, and no others. */
static bool datagram_is_wanted(const struct socket *socket, const struct place *from) {
    return socket->state != SOCKET_CONNECTED || (place_same_ip(&socket->peer, from) && socket->peer.port == from->port);
}

/* No socket is there: a sender that is connected learns of it. */
static void datagram_refuse(const struct datagram *datagram) {
    struct socket *sender = bound_find(SOCK_DGRAM, datagram->from_machine, &datagram->from);
    if (!sender || sender->state != SOCKET_CONNECTED || !datagram_is_wanted(sender, &datagram->to)) return;
    sender->error = ECONNREFUSED;
    sim_fd_changed(&sender->fd, EPOLLIN | EPOLLOUT | EPOLLERR);
}

static void datagram_arrive(void *arg) {
    struct datagram *datagram = arg;
    bool cut = route_is_cut(datagram->from_machine, datagram->machine);
    struct socket *socket = cut ? NULL : bound_find(SOCK_DGRAM, datagram->machine, &datagram->to);
    if (!socket && !cut) datagram_refuse(datagram);
    if (socket && datagram_is_wanted(socket, &datagram->from) && socket->datagram_count < DATAGRAM_LINE) datagram_put(socket, datagram);
    else datagram_free(datagram);
}

/* U1: how many times it arrives, and when. The seed loses it, sends it twice, or lets others overtake it. */
static void datagram_travel(struct socket *socket, struct datagram *datagram) {
    uint64_t due = sim_now() + route_latency(datagram->from_machine, datagram->machine);
    if (route_fault()) {
        datagram_free(datagram);
        sim_note("net:lost", 0);
        return;
    }
    bool overtaken = route_fault();
    if (!overtaken && due < socket->datagram_due) due = socket->datagram_due;
    if (!overtaken) socket->datagram_due = due;
    if (due <= sim_now()) datagram_arrive(datagram);
    else sim_at(due, datagram_arrive, datagram);
}

static ssize_t datagram_send_udp(struct socket *socket, const struct iovec *parts, int count, const struct place *to) {
    unsigned machine;
    size_t size = parts_size(parts, count);
    if (size > DATAGRAM_MOST) return -EMSGSIZE;
    if (to->port == 0) return -EINVAL;
    if (socket->error) return -socket_error(socket);
    int error = bound_choose(socket, to);
    if (error) return error;
    if (!bound_machine(socket->fd.machine, to, &machine)) return (ssize_t)size; /* lost */
    route_may_cut(socket->fd.machine, machine);
    for (unsigned copies = 1 + route_fault(); copies > 0; copies--) {
        struct datagram *datagram = datagram_new(socket, parts, count, to);
        if (!datagram) return -ENOBUFS;
        datagram->machine = machine;
        datagram_travel(socket, datagram);
    }
    return (ssize_t)size;
}

static struct socket *datagram_receiver_unix(struct socket *socket, const struct place *to, int *error) {
    struct socket *receiver = bound_find_unix(socket->fd.machine, to, error);
    if (receiver && receiver->type != SOCK_DGRAM) *error = -EPROTOTYPE;
    else if (receiver && receiver->shut_in) *error = -EPIPE;
    return *error ? NULL : receiver;
}

static ssize_t datagram_send_unix(struct socket *socket, const struct iovec *parts, int count, const struct place *to,
                                  struct parcel *parcel) {
    int error = 0;
    struct socket *receiver = to ? datagram_receiver_unix(socket, to, &error) : socket->datagram_peer;
    if (error) return error;
    if (!receiver) return -ECONNREFUSED; /* it was closed */
    if (parts_size(parts, count) > DATAGRAM_MOST_UNIX) return -EMSGSIZE;
    if (receiver->datagram_count >= DATAGRAM_LINE_UNIX) return -EAGAIN;
    struct datagram *datagram = datagram_new(socket, parts, count, &receiver->local);
    if (!datagram) return -ENOBUFS;
    datagram->parcel = parcel;
    datagram_put(receiver, datagram);
    return (ssize_t)datagram->size;
}

ssize_t datagram_write(struct socket *socket, const struct iovec *parts, int count, const struct place *to, struct parcel *parcel) {
    bool near = socket_is_unix(socket);
    if (socket->shut_out) return -EPIPE;
    if (!to && socket->state != SOCKET_CONNECTED) return near ? -ENOTCONN : -EDESTADDRREQ;
    return near ? datagram_send_unix(socket, parts, count, to, parcel) : datagram_send_udp(socket, parts, count, to ? to : &socket->peer);
}

/* ---- connecting, ready, closing -------------------------------------------------------------------------------------------------------- */

static void datagram_attach(struct socket *socket, struct socket *peer) {
    if (socket->state != SOCKET_CONNECTED) {
        socket->datagram_next = datagram_senders;
        datagram_senders = socket;
    }
    socket->datagram_peer = peer;
    socket->peer = peer->local;
    socket->state = SOCKET_CONNECTED;
}

void datagram_join(struct socket *a, struct socket *b) {
    datagram_attach(a, b);
    datagram_attach(b, a);
}

int datagram_connect(struct socket *socket, const struct place *to) {
    int error = 0;
    if (socket_is_unix(socket)) {
        struct socket *receiver = datagram_receiver_unix(socket, to, &error);
        if (receiver) datagram_attach(socket, receiver);
        return error;
    }
    error = bound_choose(socket, to);
    if (error) return error;
    socket->local = bound_source(socket, to);
    socket->peer = *to;
    socket->state = SOCKET_CONNECTED;
    return 0;
}

uint32_t datagram_ready(struct socket *socket) {
    struct socket *peer = socket->datagram_peer;
    bool full = peer && peer != socket && peer->datagram_count >= DATAGRAM_LINE_UNIX;
    return (socket->datagrams || socket->shut_in ? EPOLLIN : 0u) | (full ? 0u : EPOLLOUT) | (socket->error ? EPOLLERR : 0u) |
           (socket->shut_in ? EPOLLRDHUP : 0u) | (socket->shut_in && socket->shut_out ? EPOLLHUP : 0u);
}

int datagram_shut(struct socket *socket, bool in, bool out) {
    if (socket->state != SOCKET_CONNECTED) return -ENOTCONN;
    socket->shut_in = socket->shut_in || in;
    socket->shut_out = socket->shut_out || out;
    sim_fd_changed(&socket->fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP);
    return 0;
}

void datagram_close(struct socket *socket) {
    struct socket **at = &datagram_senders;
    while (*at && *at != socket)
        at = &(*at)->datagram_next;
    if (*at) *at = socket->datagram_next;
    for (struct socket *sender = datagram_senders; sender; sender = sender->datagram_next)
        if (sender->datagram_peer == socket) sender->datagram_peer = NULL;
    while (socket->datagrams)
        datagram_free(datagram_take(socket));
}
