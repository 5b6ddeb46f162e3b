/* Sockets of the simulated world: what all kinds have in common, and the calls of each kind.
 *
 *   net_socket.c     opening, closing, names
 *   net_option.c     options
 *   net_bound.c      which socket is bound to which address
 *   net_stream.c     reading and writing a connection, its end
 *   net_connect.c    listening, connecting, accepting
 *   net_wire.c       what travels between the two ends of a TCP connection
 *   net_datagram.c   UDP and UNIX datagrams
 *   net_message.c    recvmsg and sendmsg: addresses and descriptors in messages
 *   net_route.c      latency and partitions
 *
 *   S1  A connection has two ends. An end that was closed is NULL; the other end, and what is on its way, keep the connection.
 *   S2  shut_in, shut_out are the kernel's RCV_SHUTDOWN and SEND_SHUTDOWN; `ended` is its SOCK_DONE: the other side's end has come. */
#ifndef WEFT_SIM_WORLD_NET_SOCKET_H
#define WEFT_SIM_WORLD_NET_SOCKET_H

#include "world/flow.h"
#include "world/place.h"

#include <sys/epoll.h>

enum socket_state { SOCKET_IDLE, SOCKET_LISTENS, SOCKET_CONNECTS, SOCKET_CONNECTED, SOCKET_DEAD };

enum { SOCKET_OPTIONS = 16 };

struct connection;
struct datagram;
struct unix_node;

struct socket {
    struct sim_fd fd;
    int family, type;
    enum socket_state state;
    bool bound, shut_in, shut_out, ended;
    bool reuse_address, reuse_port, only_6, no_delay;
    bool lingers_not;            /* SO_LINGER with 0 s: closing resets the connection */
    int options[SOCKET_OPTIONS]; /* those that are remembered and do nothing */
    int error;
    struct place local, peer;
    struct socket *next_bound; /* net_bound.c */
    struct unix_node *node;

    /* A connection: end number `side` of it. */
    struct connection *connection;
    unsigned side;
    /* A listener: what can be accepted, and how many will be. */
    unsigned backlog, waiting, unborn;
    struct socket *queue, *queue_next;
    /* Datagrams that have come; when the last one sent will arrive at the latest. */
    struct datagram *datagrams;
    unsigned datagram_count;
    uint64_t datagram_due;
    struct socket *datagram_peer, *datagram_next; /* UNIX: the one it is connected to; the next of all senders */
};

/* The socket of a number: 0, or -EBADF, -ENOTSOCK. */
int socket_at(int number, struct socket **socket);
struct socket *socket_new(unsigned machine, int family, int type);
static inline bool socket_is_unix(const struct socket *socket) { return socket->family == AF_UNIX; }
static inline bool socket_is_tcp(const struct socket *socket) { return socket->type == SOCK_STREAM && !socket_is_unix(socket); }

/* What has gone wrong since it was last asked. */
static inline int socket_error(struct socket *socket) {
    int error = socket->error;
    socket->error = 0;
    return error;
}

int net_socket(int family, int type);
int net_socket_pair(int family, int type, int pair[2]);
int net_name(int number, bool peer, struct sockaddr *address, socklen_t *size);
/* net_option.c. */
int net_option_set(int number, int level, int option, const void *value, socklen_t size);
int net_option_get(int number, int level, int option, void *value, socklen_t *size);

/* net_bound.c. */
int net_bind(int number, const struct sockaddr *address, socklen_t size);
/* An address that the system chooses, if the socket has none yet; for packets to `to`. */
int bound_choose(struct socket *socket, const struct place *to);
/* The address that a packet to `to` comes from. */
struct place bound_source(const struct socket *socket, const struct place *to);
bool bound_conflicts(const struct socket *socket, bool listens);
/* The machine that has the address, seen from machine `from`: itself, one whose own address it is, or one with a socket bound to it. False: none
 * has it. */
bool bound_machine(unsigned from, const struct place *to, unsigned *machine);
/* The socket of that machine, of this type, that a packet to the address reaches: a listener, or one for datagrams. */
struct socket *bound_find(int type, unsigned machine, const struct place *to);
struct socket *bound_find_unix(unsigned machine, const struct place *to, int *error);
void bound_end(struct socket *socket);

/* net_connect.c. */
int net_listen(int number, int backlog);
int net_accept(int number, struct sockaddr *address, socklen_t *size);
int net_connect(int number, const struct sockaddr *address, socklen_t size);
void listener_end(struct socket *socket, bool crash);
/* Both are connected at once: UNIX sockets. */
int connection_pair(struct socket *a, struct socket *b);

/* net_stream.c. The parcel stays the caller's unless something was written. */
ssize_t stream_write(struct socket *socket, const struct iovec *parts, int count, struct parcel *parcel);
ssize_t stream_read(struct socket *socket, const struct iovec *parts, int count, int flags, struct parcel **parcel);
uint32_t stream_ready(struct socket *socket);
int net_shutdown(int number, int how);
void stream_close(struct socket *socket, bool crash);
/* The connection is broken. */
void stream_reset(struct socket *socket, int error);

/* net_datagram.c. `to` may be NULL: the one it is connected to. */
ssize_t datagram_write(struct socket *socket, const struct iovec *parts, int count, const struct place *to, struct parcel *parcel);
struct datagram_info {
    struct place from;
    bool cut;
    struct parcel *parcel;
};
ssize_t datagram_read(struct socket *socket, const struct iovec *parts, int count, int flags, struct datagram_info *info);
uint32_t datagram_ready(struct socket *socket);
int datagram_connect(struct socket *socket, const struct place *to);
/* Both are connected to each other: a pair of UNIX sockets. */
void datagram_join(struct socket *a, struct socket *b);
int datagram_shut(struct socket *socket, bool in, bool out);
void datagram_close(struct socket *socket);

/* net_message.c. */
ssize_t net_recvmsg(int number, struct msghdr *message, int flags);
ssize_t net_sendmsg(int number, const struct msghdr *message, int flags);

/* net_route.c. Nanoseconds; draws. */
uint64_t route_latency(unsigned from, unsigned to);
bool route_is_cut(unsigned a, unsigned b);
/* A machine uses the network: it runs, again if it had crashed. */
void route_is_up(unsigned machine);
/* A fault of the network happens now. */
bool route_fault(void);
/* Before a packet is sent from machine to machine: the seed may part the two for a while. */
void route_may_cut(unsigned a, unsigned b);

#endif
