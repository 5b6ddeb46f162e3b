/* Sockets of weft/net.h: listen, accept, connect, addresses, half-close, and datagrams. */
#include "base/sized.h"
#include "net/op.h"
#include "sched/heed.h"
#include "sys/deadline.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

static struct sockaddr *socket_place(weft_addr *address) { return (struct sockaddr *)&address->place; }
static const struct sockaddr *socket_where(const weft_addr *address) { return (const struct sockaddr *)&address->place; }

static bool socket_is_tcp(const weft_addr *address) { return address->place.ss_family == AF_INET || address->place.ss_family == AF_INET6; }
static unsigned socket_kind(const weft_addr *address) { return DESC_SOCKET | (address->place.ss_family == AF_UNIX ? DESC_UNIX : 0); }
/* Of a connection. */
static unsigned socket_flags(const weft_addr *address) { return socket_kind(address) | (socket_is_tcp(address) ? DESC_TCP : 0); }

static int socket_set(int number, int level, int option) {
    int on = 1;
    return sys->net->option_set(number, level, option, &on, sizeof on);
}

/* ---- listening --------------------------------------------------------------------------------------------------------------- */

static int socket_bind(int number, const weft_addr *address, bool stream, const weft_listen_options *options) {
    int error = 0;
    if (socket_is_tcp(address)) {
        if (stream) error = socket_set(number, SOL_SOCKET, SO_REUSEADDR);           /* not held up by connections of the last run */
        if (!error && stream) error = socket_set(number, IPPROTO_TCP, TCP_NODELAY); /* inherited by what is accepted */
        if (!error && options->reuse_port) error = socket_set(number, SOL_SOCKET, SO_REUSEPORT);
    }
    if (!error) error = sys->net->bind(number, socket_where(address), address->size);
    if (!error && stream) error = sys->net->listen(number, options->backlog > 0 ? options->backlog : SOMAXCONN);
    return error;
}

static weft_fd socket_at(const char *text, int type, const weft_listen_options *options, size_t options_size, const char *call) {
    weft_addr address;
    weft_listen_options mine;
    options = sized_read(options, options_size, &mine, sizeof mine);
    if (!options || weft_addr_parse(text, &address)) return WEFT_EINVAL;
    if (!desc_may_open()) return WEFT_ENOTINSIDE;
    int number = sys->net->socket(address.place.ss_family, type, 0);
    if (number < 0) return number;
    int error = socket_bind(number, &address, type == SOCK_STREAM, options);
    if (!error) return desc_open_or_close(number, socket_kind(&address) | (type == SOCK_STREAM ? 0 : DESC_MESSAGES), call);
    sys->net->close(number);
    return error;
}

weft_fd weft_net_listen_sized(const char *address, const weft_listen_options *options, size_t options_size) {
    heed(my_worker);
    return socket_at(address, SOCK_STREAM, options, options_size, "weft_net_listen");
}

/* ---- what the kernel does not tell ---------------------------------------------------------------------------------------------- */

/* Sleeps a little, longer each time: 0. Or `late`, if there is no time left, or WEFT_ECANCELED. */
static int socket_wait_a_little(struct op_pause *pause, uint64_t deadline, int late, const char *call) {
    if (deadline <= sys->now()) {
        deadline_check(deadline, call);
        return wait_late() == WEFT_ECANCELED ? WEFT_ECANCELED : late;
    }
    return weft_sleep_until(op_pause_until(pause, deadline));
}
/* A descriptor that was closed during a pause was closed while this process waited. */
static ssize_t socket_closed_or(const struct op_pause *pause, ssize_t result) {
    return pause->was && result == WEFT_EBADF ? WEFT_ECLOSED : result;
}

/* ---- accepting --------------------------------------------------------------------------------------------------------------- */

static const struct op_pause socket_pause = {.now = WEFT_MILLISECOND, .most = 50 * WEFT_MILLISECOND};

static ssize_t socket_try_accept(struct desc *desc, int number, uint64_t seen, void *arg) {
    weft_addr *peer = arg;
    (void)seen;
    peer->size = sizeof peer->place;
    int accepted = sys->net->accept(number, socket_place(peer), &peer->size);
    /* From weft's own listeners accepted sockets inherit it. */
    if (accepted >= 0 && desc->flags & DESC_ADOPTED && socket_is_tcp(peer)) socket_set(accepted, IPPROTO_TCP, TCP_NODELAY);
    return accepted;
}

/* A shortage that may pass: descriptors or memory that others hold. */
static bool socket_is_short(ssize_t error) {
    return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM || error == -ENOSPC;
}
/* This connection failed before it was accepted; the next one may succeed. */
static bool socket_is_passing(ssize_t error) {
    switch (-error) {
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ETIMEDOUT: return true;
    default: return false;
    }
}

/* Makes an accepted connection a descriptor; during a shortage it is kept, and registered later. */
static weft_fd socket_register(int number, unsigned flags, uint64_t deadline) {
    for (struct op_pause pause = socket_pause;;) {
        weft_fd fd = desc_open(number, flags, "weft_net_accept");
        int error = fd > 0 ? 0 : socket_is_short(fd) ? socket_wait_a_little(&pause, deadline, (int)fd, "weft_net_accept") : (int)fd;
        if (fd > 0) return fd;
        if (!error) continue;
        sys->net->close(number);
        return error;
    }
}

static weft_fd socket_take_in(int number, unsigned flags, uint64_t deadline) {
    struct proc *proc = fiber_whole_begin();
    weft_fd fd = socket_register(number, flags, deadline);
    fiber_whole_end(proc);
    return fd;
}

weft_fd weft_net_accept(weft_fd listener, weft_addr *peer, uint64_t deadline) {
    weft_addr unwanted;
    if (!peer) peer = &unwanted;
    if (!desc_may_open()) return WEFT_ENOTINSIDE; /* before accepting, else a connection would be lost */
    for (struct op_pause pause = socket_pause;;) {
        ssize_t number = op_run(listener, READINESS_IN, deadline, "weft_net_accept", socket_try_accept, peer);
        if (number >= 0) return socket_take_in((int)number, socket_flags(peer), deadline);
        if (socket_is_short(number)) {
            int error = socket_wait_a_little(&pause, deadline, (int)number, "weft_net_accept");
            if (error) return error;
        } else if (!socket_is_passing(number) || number == WEFT_ETIMEDOUT) {
            return socket_closed_or(&pause, number);
        }
    }
}

/* ---- connecting --------------------------------------------------------------------------------------------------------------- */

/* Whether it is connected by now. */
static ssize_t socket_try_connected(struct desc *desc, int number, uint64_t seen, void *arg) {
    weft_addr peer;
    int failed = 0;
    socklen_t size = sizeof failed;
    (void)desc, (void)seen, (void)arg;
    int error = sys->net->option_get(number, SOL_SOCKET, SO_ERROR, &failed, &size);
    if (error || failed) return error ? error : -failed;
    peer.size = sizeof peer.place;
    error = sys->net->name(number, true, socket_place(&peer), &peer.size);
    return error == -ENOTCONN ? -EAGAIN : error;
}

/* Begins to connect: 0, -EINPROGRESS, or an error. A UNIX socket whose other end has no room is tried again. */
static int socket_begin(int number, const weft_addr *address, uint64_t deadline) {
    for (struct op_pause pause = socket_pause;;) {
        int error = sys->net->connect(number, socket_where(address), address->size);
        if (error == -EINTR) continue; /* the kernel goes on connecting; the next call tells how far it is: */
        if (error == -EALREADY) return -EINPROGRESS;
        if (error == -EISCONN) return 0;
        if (error != -EAGAIN) return error;
        error = socket_wait_a_little(&pause, deadline, WEFT_ETIMEDOUT, "weft_net_connect");
        if (error) return error;
    }
}

static weft_fd socket_connect(const weft_addr *address, uint64_t deadline) {
    int number = sys->net->socket(address->place.ss_family, SOCK_STREAM, 0);
    if (number < 0) return number;
    int error = socket_is_tcp(address) ? socket_set(number, IPPROTO_TCP, TCP_NODELAY) : 0;
    if (!error) error = socket_begin(number, address, deadline);
    if (error && error != -EINPROGRESS) {
        sys->net->close(number);
        return error;
    }
    weft_fd handle = desc_open_or_close(number, socket_flags(address), "weft_net_connect");
    if (handle < 0 || !error) return handle;
    error = (int)op_run(handle, READINESS_OUT, deadline, "weft_net_connect", socket_try_connected, NULL);
    if (!error) return handle;
    desc_close(handle, false);
    return error;
}

weft_fd weft_net_connect_to(const weft_addr *address, uint64_t deadline) {
    if (!desc_may_open()) return WEFT_ENOTINSIDE;
    struct proc *proc = fiber_whole_begin();
    weft_fd fd = socket_connect(address, deadline);
    fiber_whole_end(proc);
    return fd;
}

weft_fd weft_net_connect(const char *text, uint64_t deadline) {
    weft_addr address;
    return weft_addr_parse(text, &address) ? WEFT_EINVAL : weft_net_connect_to(&address, deadline);
}

/* ---- names, half-close --------------------------------------------------------------------------------------------------------- */

static int socket_name(weft_fd fd, weft_addr *address, bool peer) {
    struct desc *desc = desc_use(fd);
    if (!desc) return WEFT_EBADF;
    address->size = sizeof address->place;
    int error = sys->net->name(desc_number(fd), peer, socket_place(address), &address->size);
    desc_done(desc, desc_number(fd));
    return error;
}
int weft_net_name(weft_fd fd, weft_addr *address) { return socket_name(fd, address, false); }
int weft_net_peer(weft_fd fd, weft_addr *address) { return socket_name(fd, address, true); }

int weft_net_shutdown(weft_fd fd, enum weft_side side) {
    heed(my_worker);
    static const int hows[] = {[WEFT_SIDE_READ] = SHUT_RD, [WEFT_SIDE_WRITE] = SHUT_WR, [WEFT_SIDE_BOTH] = SHUT_RDWR};
    if ((unsigned)side > WEFT_SIDE_BOTH) return WEFT_EINVAL;
    struct desc *desc = desc_use(fd);
    if (!desc) return WEFT_EBADF;
    int error = sys->net->shutdown(desc_number(fd), hows[side]);
    if (!error) readiness_retry(&desc->readiness); /* the kernel tells a writer at a full UNIX socket nothing */
    desc_done(desc, desc_number(fd));
    return error;
}

/* ---- datagrams ------------------------------------------------------------------------------------------------------------------ */

weft_fd weft_net_udp_sized(const char *address, const weft_listen_options *options, size_t options_size) {
    heed(my_worker);
    return socket_at(address ? address : "0.0.0.0:0", SOCK_DGRAM, options, options_size, "weft_net_udp");
}

struct socket_datagram {
    void *data;
    size_t size;
    weft_addr *from;
    const weft_addr *to;
};

static ssize_t socket_try_recv_from(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct socket_datagram *datagram = arg;
    struct iovec part = {datagram->data, datagram->size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    (void)desc, (void)seen;
    if (datagram->from) {
        message.msg_name = &datagram->from->place;
        message.msg_namelen = sizeof datagram->from->place;
    }
    ssize_t n = sys->net->recvmsg(number, &message, 0);
    if (n >= 0 && datagram->from) datagram->from->size = message.msg_namelen;
    return n;
}

ssize_t weft_net_recv_from(weft_fd fd, void *data, size_t size, weft_addr *from, uint64_t deadline) {
    struct socket_datagram datagram = {.data = data, .size = size, .from = from};
    return op_run(fd, READINESS_IN, deadline, "weft_net_recv_from", socket_try_recv_from, &datagram);
}

static ssize_t socket_try_send_to(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct socket_datagram *datagram = arg;
    struct iovec part = {datagram->data, datagram->size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    (void)desc, (void)seen;
    if (datagram->to) {
        message.msg_name = (void *)(uintptr_t)&datagram->to->place;
        message.msg_namelen = datagram->to->size;
    }
    return sys->net->sendmsg(number, &message, MSG_NOSIGNAL);
}

/* To a UNIX socket, which may have no room left (it holds about 10 datagrams). When there is room again the kernel tells senders that are
 * connected to it, and no others: so this one tries again, in pauses. */
static ssize_t socket_send_again(weft_fd fd, struct socket_datagram *datagram, uint64_t deadline) {
    for (struct op_pause pause = {.now = 20 * WEFT_MICROSECOND, .most = 5 * WEFT_MILLISECOND};;) {
        ssize_t n = op_run(fd, READINESS_OUT, 0, "weft_net_send_to", socket_try_send_to, datagram);
        if (n != WEFT_ETIMEDOUT) return socket_closed_or(&pause, n);
        n = socket_wait_a_little(&pause, deadline, WEFT_ETIMEDOUT, "weft_net_send_to");
        if (n) return n;
    }
}

ssize_t weft_net_send_to(weft_fd fd, const void *data, size_t size, const weft_addr *to, uint64_t deadline) {
    struct socket_datagram datagram = {.data = (void *)(uintptr_t)data, .size = size, .to = to};
    if (to && to->place.ss_family == AF_UNIX) return socket_send_again(fd, &datagram, deadline);
    return op_run(fd, READINESS_OUT, deadline, "weft_net_send_to", socket_try_send_to, &datagram);
}
