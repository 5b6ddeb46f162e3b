/* Resolving names by the C library, which blocks its thread for any length of time. */
#include "name/name.h"

#include "net/op.h"
#include "sync/sem.h"

#include <weft/blocking.h>
#include <weft/sync.h>

#include <netdb.h>
#include <string.h>

/* Most lookups at a time in the whole program, abandoned ones included: each takes a thread, and without a limit they could take all
 * threads that the system or the runtime allows, and leave none to run the other processes. */
enum { NAME_LIBC_MOST = 64 };
static weft_sem name_libc_room = WEFT_SEM_INIT(NAME_LIBC_MOST);

/* In memory of its own: it may outlive the process that asked. */
struct lookup {
    size_t size;
    int error;
    struct addrinfo hints, *found;
    const char *host, *service;
    char text[];
};

/* The C library remembers that it failed to load a part of itself (for LDAP, say), so it is not called while descriptors are short. */
static void lookup_run(void *arg) {
    struct lookup *lookup = arg;
    int spare = sys->net->bell_open();
    if (spare >= 0) sys->net->close(spare);
    lookup->error = spare < 0 ? spare : sys->net->lookup(lookup->host, lookup->service, &lookup->hints, &lookup->found);
}

static void lookup_end(void *arg) {
    struct lookup *lookup = arg;
    if (lookup->found) sys->net->lookup_free(lookup->found);
    sys->free(lookup, lookup->size);
    sem_release(sem_of(&name_libc_room), 1);
}

static struct lookup *lookup_make(const struct name *name) {
    const char *asked = name->service ? name->service : name->host;
    size_t length = strlen(asked) + 1, size = sizeof(struct lookup) + length;
    struct lookup *lookup = sys->alloc(size);
    if (!lookup) return NULL;
    lookup->size = size;
    memcpy(lookup->text, asked, length);
    *(name->service ? &lookup->service : &lookup->host) = lookup->text;
    /* A service may be for datagrams only; an address is wanted once, not once for each socket type. */
    lookup->hints = (struct addrinfo){.ai_family = name->family, .ai_socktype = name->service ? 0 : SOCK_STREAM};
    return lookup;
}

static in_port_t lookup_port(const struct addrinfo *at) {
    if (at->ai_family == AF_INET) return ((struct sockaddr_in *)at->ai_addr)->sin_port;
    return at->ai_family == AF_INET6 ? ((struct sockaddr_in6 *)at->ai_addr)->sin6_port : 0;
}

/* The first of a service's ports: streams come before datagrams. */
static void lookup_collect(const struct lookup *lookup, struct name *name) {
    for (struct addrinfo *at = lookup->found; at; at = at->ai_next) {
        if (!name->service) name_add(name, at->ai_addr, at->ai_addrlen);
        else if (name->port == 0) name->port = lookup_port(at);
    }
}

int name_libc(struct name *name) {
    int error = weft_sem_acquire(&name_libc_room, 1, name->deadline);
    if (error) return error;
    struct lookup *lookup = lookup_make(name);
    if (!lookup) {
        sem_release(sem_of(&name_libc_room), 1);
        return WEFT_ENOMEM;
    }
    error = weft_blocking_until(lookup_run, lookup, lookup_end, name->deadline);
    if (error) return error; /* weft_blocking_until has called lookup_end, or will when the lookup returns */
    error = lookup->error;
    if (!error) lookup_collect(lookup, name);
    lookup_end(lookup);
    return error;
}
