/* Addresses of sockets in the simulated world, in one form for all families.
 *
 * An IP address has 16 bytes, whatever its family: 127.0.0.1 is ::ffff:127.0.0.1, as dual sockets of Linux have it. A UNIX name is its bytes:
 * the first is 0 if it is abstract, and none are there if it has no name. */
#ifndef WEFT_SIM_WORLD_PLACE_H
#define WEFT_SIM_WORLD_PLACE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

struct place {
    struct in6_addr ip;
    uint32_t scope;
    in_port_t port; /* network order */
    unsigned char size;
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
};

/* 0, or -EINVAL, -EAFNOSUPPORT: it is not an address of this family. */
int place_read(struct place *place, int family, const struct sockaddr *address, socklen_t size);
/* Writes as much as there is room for; *size becomes what it needs. */
void place_write(const struct place *place, int family, struct sockaddr *address, socklen_t *size);

bool place_is_any(const struct place *place); /* 0.0.0.0 or :: */
bool place_is_any_4(const struct place *place);
bool place_is_loopback(const struct place *place);
bool place_same_ip(const struct place *a, const struct place *b);
bool place_same_path(const struct place *a, const struct place *b);
/* All addresses, the loopback address, or the address that a machine has for the others, of IPv4 if `four`; the port stays. */
void place_set_any(struct place *place, bool four);
void place_set_loopback(struct place *place, bool four);
void place_set_machine(struct place *place, unsigned machine, bool four);
/* Whether it is the address of a machine, and of which. */
bool place_machine(const struct place *place, unsigned *machine);

#endif
