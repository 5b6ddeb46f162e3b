/* Parses numeric IPv6 addresses, with their scopes, for name resolution. */
#ifndef WEFT_NET_ADDRESS_H
#define WEFT_NET_ADDRESS_H

#include <netinet/in.h>

/* "::1", "fe80::1%eth0", "fe80::1%2". 1: it is such a number; 0: it is not; WEFT_ENODEV: there is no such interface. */
int address_number_6(const char *text, struct in6_addr *number, uint32_t *scope);

#endif
