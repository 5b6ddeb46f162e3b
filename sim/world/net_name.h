/* Lookups in the simulated world; weft/sim.h has what a program says of names. */
#ifndef WEFT_SIM_WORLD_NET_NAME_H
#define WEFT_SIM_WORLD_NET_NAME_H

struct addrinfo;

/* The thread waits. 0, or -ENOENT, -EAGAIN. */
int net_lookup(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found);
void net_lookup_free(struct addrinfo *found);

#endif
