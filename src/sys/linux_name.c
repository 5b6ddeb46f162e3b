/* The real table's name lookup: getaddrinfo of the C library. */
#include "sys/sys_net.h"

#include <errno.h>
#include <netdb.h>

static int linux_lookup_code(int code) {
    switch (code) {
    case 0: return 0;
    case EAI_SYSTEM: return errno ? -errno : -EIO;
    case EAI_AGAIN: return -EAGAIN;
    case EAI_MEMORY: return -ENOMEM;
    case EAI_FAIL: return -EPROTO;
    case EAI_BADFLAGS:
    case EAI_SOCKTYPE:
    case EAI_FAMILY: return -EINVAL;
    default: return -ENOENT; /* no such name, service or address */
    }
}

int linux_net_lookup(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    int before = errno;
    *found = NULL;
    errno = 0;
    int error = linux_lookup_code(getaddrinfo(host, service, hints, found));
    if (error) *found = NULL;
    errno = before;
    return error;
}

void linux_net_lookup_free(struct addrinfo *found) { freeaddrinfo(found); }
