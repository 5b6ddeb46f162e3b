/* Names by the C library, which blocks its thread for as long as it likes. */
#include "name/name.h"

#include "net/op.h"

#include <weft/blocking.h>
#include <weft/sync.h>

#include <netdb.h>
#include <string.h>

/* So many at a time in the whole program, those included that nobody waits for any more: each takes a thread, and with as many as the
 * system or the runtime allows there would be none to go on with the other processes. */
enum { NAME_LIBC_MOST = 64 };
static weft_sem name_libc_room = WEFT_SEM_INIT(NAME_LIBC_MOST);

/* In memory of its own: it may outlive the one who asked. */
struct lookup {
    size_t size;
    int error;
    struct addrinfo hints, *found;
    const char *host, *service;
    char text[];
};

/* The C library remembers that it could not load a part of itself (for LDAP, say), so it is not asked while descriptors are short. */
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
    weft_sem_release(&name_libc_room, 1);
}

static struct lookup *lookup_make(const struct name *name) {
    const char *asked = name->service ? name->service : name->host;
    size_t length = strlen(asked) + 1, size = sizeof(struct lookup) + length;
    struct lookup *lookup = sys->alloc(size);
    if (!lookup) return NULL;
    lookup->size = size;
    memcpy(lookup->text, asked, length);
    *(name->service ? &lookup->service : &lookup->host) = lookup->text;
    /* A service may be one for datagrams only; of an address one of each kind is enough. */
    lookup->hints = (struct addrinfo){.ai_family = name->family, .ai_socktype = name->service ? 0 : SOCK_STREAM};
    return lookup;
}

static in_port_t lookup_port(const struct addrinfo *at) {
    if (at->ai_family == AF_INET) return ((struct sockaddr_in *)at->ai_addr)->sin_port;
    return at->ai_family == AF_INET6 ? ((struct sockaddr_in6 *)at->ai_addr)->sin6_port : 0;
}

/* Of a service's ports the first: streams come before datagrams. */
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
        weft_sem_release(&name_libc_room, 1);
        return WEFT_ENOMEM;
    }
    error = weft_blocking_until(lookup_run, lookup, lookup_end, name->deadline);
    if (error) return error; /* whoever is last has ended it, or will */
    error = lookup->error;
    if (!error) lookup_collect(lookup, name);
    lookup_end(lookup);
    return error;
}
