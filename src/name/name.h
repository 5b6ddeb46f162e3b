/* Resolving names to addresses: what the two resolvers have in common.
 *
 *   name_ares   c-ares: the calling process drives its own query. Its sockets are in a set (epoll) of the query's own, and the set is
 *               what the process waits for, like for any other descriptor. A process that gives up ends the query itself
 *   name_libc   the C library, which can neither be interrupted nor left: weft_blocking_until, and a process that gives up leaves a lookup
 *               behind that owns all of its memory
 *
 * Both are called with a valid name, and a deadline that has not passed. */
#ifndef WEFT_NAME_NAME_H
#define WEFT_NAME_NAME_H

#include "net/address.h"
#include <weft/name.h>

#include <netinet/in.h>

struct name {
    const char *host;
    const char *service; /* a name; NULL: `port` is known */
    in_port_t port;      /* in the network's order */
    int family;
    const char *servers;
    uint64_t patience, deadline;
    weft_addr *list;
    size_t most, count;
};

/* Adds an address, with the port; without effect if there is no room, or it is of another family. */
void name_add(struct name *name, const struct sockaddr *address, socklen_t size);

/* 0, or an error. name_libc with a service instead of a host finds the port. */
int name_libc(struct name *name);
int name_ares(struct name *name);
/* Whether c-ares is available, 1 or 0, or an error; the first call loads it. */
int name_ares_find(uint64_t deadline);

#endif
