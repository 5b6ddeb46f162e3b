/* Resolving names to addresses: what needs no query (numbers, localhost), and which resolver to ask otherwise. */
#include "name/name.h"
#include "base/sized.h"
#include "sched/heed.h"
#include "sys/deadline.h"
#include "sys/setting.h"

#include "net/op.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void name_add(struct name *name, const struct sockaddr *address, socklen_t size) {
    if (name->count == name->most || size > sizeof name->list->place) return;
    if (name->family != AF_UNSPEC && name->family != address->sa_family) return;
    weft_addr *place = &name->list[name->count];
    memset(place, 0, sizeof *place);
    memcpy(&place->place, address, size);
    place->size = size;
    if (address->sa_family == AF_INET) ((struct sockaddr_in *)&place->place)->sin_port = name->port;
    else if (address->sa_family == AF_INET6) ((struct sockaddr_in6 *)&place->place)->sin6_port = name->port;
    else return;
    name->count++;
}

/* ---- what is known without asking ---------------------------------------------------------------------------------------------- */

static void name_add_4(struct name *name, struct in_addr number) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = number};
    name_add(name, (struct sockaddr *)&address, sizeof address);
}
static void name_add_6(struct name *name, struct in6_addr number, uint32_t scope) {
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = number, .sin6_scope_id = scope};
    name_add(name, (struct sockaddr *)&address, sizeof address);
}

/* 1: it is a number, and has been added if it is of the family. 0: it is no number. */
static int name_number(struct name *name, const char *host) {
    struct in_addr four;
    struct in6_addr six;
    uint32_t scope;
    if (inet_pton(AF_INET, host, &four) == 1) {
        name_add_4(name, four);
        return 1;
    }
    int number = address_number_6(host, &six, &scope);
    if (number > 0) name_add_6(name, six, scope);
    return number;
}

static void name_add_own(struct name *name, bool any) {
    name_add_6(name, any ? in6addr_any : in6addr_loopback, 0);
    name_add_4(name, (struct in_addr){htonl(any ? INADDR_ANY : INADDR_LOOPBACK)});
}

/* RFC 6761: no server is ever asked for it. */
static bool name_is_localhost(const char *host) {
    static const char local[] = "localhost";
    size_t length = strlen(host), own = sizeof local - 1;
    if (length > 0 && host[length - 1] == '.') length--;
    if (length < own || strncasecmp(host + length - own, local, own) != 0) return false;
    return length == own || host[length - own - 1] == '.';
}

/* Labels of 1 to 63 letters, digits, '-' and '_'; 253 in all. The last one is no number: some resolvers take "127.1" for an address, some
 * for a name; weft refuses it. */
static bool name_is_name(const char *host) {
    const char *label = host, *at = host;
    char *end = NULL;
    for (;; at++) {
        bool ends = *at == '\0' || *at == '.';
        if (!ends && !(*at >= 'a' && *at <= 'z') && !(*at >= 'A' && *at <= 'Z') && !(*at >= '0' && *at <= '9') && *at != '-' && *at != '_')
            return false;
        if (!ends) continue;
        if (at == label || at - label > 63) return false;
        if (*at == '\0' || at[1] == '\0') break; /* one dot may be at the end */
        label = at + 1;
    }
    if (*label >= '0' && *label <= '9') (void)strtoul(label, &end, 0);
    return at - host <= 253 && end != at;
}

/* ---- services ------------------------------------------------------------------------------------------------------------------ */

/* Services that are known even on small systems without a list of services. */
static int name_known_port(const char *service) {
    static const struct {
        const char *service;
        int port;
    } known[] = {{"http", 80}, {"https", 443}, {"domain", 53}, {"ssh", 22}, {"smtp", 25}, {"imaps", 993}, {"ldap", 389}, {"ntp", 123}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(service, known[i].service) == 0) return known[i].port;
    return -1;
}

/* Without a lookup: 1 and the port; 0: it is a name that has to be looked up; or WEFT_EINVAL. */
static int name_port(struct name *name, const char *service) {
    char *end;
    long port = 0;
    if (service && *service >= '0' && *service <= '9') {
        port = strtol(service, &end, 10);
        if (*end || port > 65535) return WEFT_EINVAL;
    } else if (service) {
        if (!*service) return WEFT_EINVAL;
        port = name_known_port(service);
    }
    if (port < 0) return 0;
    name->port = htons((uint16_t)port);
    return 1;
}

/* ---- the call ------------------------------------------------------------------------------------------------------------------ */

/* 1: done. 0: a resolver has to be asked. */
static int name_without_asking(struct name *name, bool passive) {
    if (!name->host) {
        name_add_own(name, passive);
        return 1;
    }
    int number = name_number(name, name->host);
    if (number) return number;
    if (!name_is_name(name->host)) return WEFT_EINVAL;
    if (!name_is_localhost(name->host)) return 0;
    name_add_own(name, false);
    return 1;
}

static int name_ask(struct name *name, const char *resolver) {
    bool servers = name->servers != NULL;
    if (!resolver) resolver = setting_value(SETTING_RESOLVER);
    if (!servers) name->servers = setting_value(SETTING_NAMESERVERS);
    if (resolver && strcmp(resolver, "ares") != 0 && strcmp(resolver, "libc") != 0) return WEFT_EINVAL;
    int ares = resolver && strcmp(resolver, "libc") == 0 ? 0 : name_ares_find(name->deadline);
    if (ares < 0) return ares;
    if (!ares && ((resolver && strcmp(resolver, "ares") == 0) || servers)) return WEFT_ENOSYS;
    return ares ? name_ares(name) : name_libc(name);
}

/* 0: a resolver may be asked. */
static int name_may_ask(const struct name *name, const weft_resolve_options *options) {
    if (options->numeric) return WEFT_ENOENT;
    if (name->deadline != WEFT_FOREVER && name->deadline <= sys->now()) {
        deadline_check(name->deadline, "weft_resolve");
        return wait_late();
    }
    if (worker_here()) fiber_worker("weft_resolve"); /* a step process must not wait */
    return 0;
}

static int name_resolve(struct name *name, const char *service, const weft_resolve_options *options) {
    int port = name_port(name, service), error = port < 0 ? port : 0;
    if (port == 0 && (error = name_may_ask(name, options)) == 0) { /* before the addresses, which contain the port */
        struct name only = {.service = service, .deadline = name->deadline};
        error = name_libc(&only);
        name->port = only.port;
    }
    if (error) return error;
    int found = name_without_asking(name, options->passive);
    if (found < 0) return found;
    if (found == 0 && (error = name_may_ask(name, options)) == 0) error = name_ask(name, options->resolver);
    if (error) return error;
    return name->count > 0 ? (int)name->count : WEFT_ENOENT;
}

int weft_resolve_sized(const char *host, const char *service, const weft_resolve_options *options, size_t options_size, weft_addr *list,
                       size_t most, uint64_t deadline) {
    weft_resolve_options mine;
    heed(worker_here());
    options = sized_read(options, options_size, &mine, sizeof mine);
    if (!options || (!host && !service) || !list || most == 0) return WEFT_EINVAL;
    if (options->family != AF_UNSPEC && options->family != AF_INET && options->family != AF_INET6) return WEFT_EINVAL;
    struct name name = {
        .host = host,
        .family = options->family,
        .servers = options->servers,
        .patience = options->patience,
        .deadline = deadline,
        .list = list,
        .most = most < INT32_MAX ? most : INT32_MAX,
    };
    int before = errno, result = name_resolve(&name, service, options);
    errno = before;
    return result;
}

/* Deadline for connecting to one of so many addresses: its share of the time that is left. If that share is small, the first ones get more:
 * a second, after which a lost packet is sent again, but at most half of what is left. */
static uint64_t name_patience(uint64_t deadline, unsigned addresses) {
    uint64_t now = sys->now();
    if (deadline == WEFT_FOREVER) return deadline;
    if (deadline <= now) return 0;
    uint64_t left = deadline - now, share = left / addresses, some = left / 2 < WEFT_SECOND ? left / 2 : WEFT_SECOND;
    return addresses == 1 ? deadline : now + (share > some ? share : some);
}

weft_fd weft_net_connect_name(const char *host, const char *service, uint64_t deadline) {
    weft_addr list[16];
    if (!host || !service) return WEFT_EINVAL;
    deadline_check(deadline, "weft_net_connect_name"); /* here: the calls that it is made of would name themselves */
    int count = weft_resolve(host, service, NULL, list, sizeof list / sizeof *list, deadline);
    weft_fd fd = count;
    for (int i = 0; i < count; i++) {
        fd = weft_net_connect_to(&list[i], name_patience(deadline, (unsigned)(count - i)));
        if (fd > 0 || fd == WEFT_ECANCELED) break;
    }
    return fd;
}
