/* Resolving names of hosts and services, from a stackful process or a thread of the program's own, without holding up a worker.
 *
 *     weft_addr list[8];
 *     int n = weft_resolve("www.example.org", "https", NULL, list, 8, weft_in(5 * WEFT_SECOND));
 *     weft_fd fd = weft_net_connect_name("www.example.org", "443", weft_in(5 * WEFT_SECOND));
 *
 * The resolver is c-ares, if weft was built with it and it is installed; its sockets are waited for like any others. Otherwise it is the C
 * library's getaddrinfo, on a thread of its own. docs/names.md tells how they differ. */
#ifndef WEFT_NAME_H
#define WEFT_NAME_H

#include <weft/net.h>

WEFT_BEGIN

/* Zeroed fields take the environment variable in brackets, or else the default. */
typedef struct weft_resolve_options {
    int family;           /* AF_INET or AF_INET6: addresses of this kind only; 0: both */
    bool passive;         /* without a host: an address to listen at, every one of this machine's */
    bool numeric;         /* numbers only: a name that needs a resolver is WEFT_ENOENT */
    const char *resolver; /* [WEFT_RESOLVER] "ares" or "libc"; default "ares" where it is, else "libc" */
    const char *servers;  /* [WEFT_NAMESERVERS] "10.0.0.1,127.0.0.1:5300,[::1]:53"; default the system's. For "ares" */
    uint64_t patience;    /* nanoseconds until a server is asked again, or the next one; default the system's. For "ares" */
} weft_resolve_options;

/* The addresses of a host, with the port of a service, in the order in which to try them; at most `most`. How many, 1 or more, or
 *
 *   WEFT_ENOENT        there is no such name, or it has no such address, or there is no such service
 *   WEFT_EAGAIN        a server has failed; a later attempt may succeed
 *   WEFT_ETIMEDOUT     the deadline has passed, or no server has answered in its time
 *   WEFT_ECANCELED     the process was cancelled
 *   WEFT_ECONNREFUSED  no server can be reached
 *   WEFT_EPROTO        a server refused, or its answer was malformed
 *   WEFT_EINVAL        this cannot be a name, a port or an option
 *   WEFT_ENOSYS        there is no such resolver here, or no choice of servers with it
 *   WEFT_EMFILE, WEFT_ENOMEM ...  any other error
 *
 * `host`: a number ("192.0.2.1", "2001:db8::1", "fe80::1%eth0"), "localhost" or a name that ends with ".localhost" (loopback), neither of
 * which needs a resolver; or a name of letters, digits, '-' and '_'. NULL: loopback, or with `passive` any address. `service`: a
 * number, or a name ("https") of a service of streams or datagrams. NULL: 0. Not both NULL. `options` may be NULL.
 *
 * When addresses of one family are there and the answer for the other does not come, they are the result after a second or a quarter of
 * the time. */
WEFT_API int weft_resolve_sized(const char *host, const char *service, const weft_resolve_options *options, size_t options_size,
                                weft_addr *list, size_t most, uint64_t deadline);
static inline int weft_resolve(const char *host, const char *service, const weft_resolve_options *options, weft_addr *list, size_t most,
                               uint64_t deadline) {
    return weft_resolve_sized(host, service, options, sizeof *options, list, most, deadline);
}

/* Resolves the name, and tries to connect by TCP to one address after the other, until one succeeds; each has its share of the time that is
 * left, the first ones a second if there is. The error is that of weft_resolve, or of the last address. In a stackful process. */
WEFT_API weft_fd weft_net_connect_name(const char *host, const char *service, uint64_t deadline);

/* For step processes, a command (weft/command.h): the completion's data is an array of weft_addr, 16 at most; its error as above. As
 * weft_out_yield, and WEFT_EINVAL for names of more than 300 bytes. */
WEFT_API int weft_out_resolve(weft_out *out, uint64_t tag, const char *host, const char *service, uint64_t deadline);
/* weft_net_connect_name as a command: the completion's data is a weft_fd (weft/net.h). */
WEFT_API int weft_out_net_connect_name(weft_out *out, uint64_t tag, const char *host, const char *service, uint64_t deadline);

WEFT_END

#endif
