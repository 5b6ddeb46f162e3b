/* A connection, and what travels between its two ends.
 *
 * wires[side] carries what end `side` sends: packets in order, each with the moment at which it arrives. flows[side] has the bytes.
 *
 *   W1  Packets of a wire arrive in order. UNIX sockets and packets without latency need no wire: they arrive at once, if none is before them.
 *   W2  While a wire has packets there is an event for it, which holds a reference of the connection.
 *   W3  During a partition packets wait (TCP sends them again until it heals). After WIRE_GIVES_UP the sender gives up: -ETIMEDOUT. */
#ifndef WEFT_SIM_WORLD_NET_WIRE_H
#define WEFT_SIM_WORLD_NET_WIRE_H

#include "world/net_socket.h"

enum packet_kind {
    PACKET_DATA,
    PACKET_END,       /* FIN */
    PACKET_RESET,     /* RST */
    PACKET_CONNECTED, /* SYN, ACK */
    PACKET_ACCEPT,    /* the ACK to that: the connection can be accepted */
};

struct packet {
    struct packet *next;
    enum packet_kind kind;
    size_t size; /* of data */
    uint64_t due;
};

struct wire {
    struct packet *first, **last;
    uint64_t due;      /* of the last one: none overtakes it */
    uint64_t event;    /* the earliest one that will run; 0: none */
    uint64_t gives_up; /* 0: the first packet is not held by a partition */
};

struct connection {
    unsigned references;
    struct socket *ends[2]; /* NULL: closed */
    unsigned machines[2];
    bool near;      /* UNIX: no wires */
    unsigned tries; /* to reach a listener */
    struct place from, to;
    struct socket *unborn_of; /* the listener that has answered, until PACKET_ACCEPT comes; it counts this one */
    struct flow flows[2];
    struct wire wires[2];
    struct connection *next; /* of all */
};

struct connection *connection_new(bool near);
void connection_drop(struct connection *connection);
/* The listener ends. */
void connection_forget_listener(const struct socket *listener);

/* End `side` sends a packet. */
void wire_send(struct connection *connection, unsigned side, enum packet_kind kind, size_t size);
/* A partition has healed, or a fault is over: what was held goes on. */
void wire_release_all(void);

/* net_connect.c: it can be accepted now; or it never will be. */
void connection_born(struct connection *connection);
void connection_unborn(struct connection *connection);

/* A packet of end `side` arrives; net_stream.c. */
void stream_arrive(struct connection *connection, unsigned side, enum packet_kind kind, size_t size);

#endif
