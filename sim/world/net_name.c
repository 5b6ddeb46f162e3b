/* Names: a table, instead of servers, which the program fills (weft/sim.h). A lookup takes time, and by a fault it fails (-EAGAIN). */
#include "world/net_name.h"

#include "world/net.h"
#include "world/net_socket.h"

#include <weft/errors.h>
#include <weft/sim.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_UNIT UINT64_C(50000) /* ns: a lookup takes up to 256 times as long */

struct known_address {
    struct known_address *next;
    struct place place;
};
struct known_name {
    struct known_name *next;
    struct known_address *addresses; /* in the order in which they were given */
    int error;                       /* of every lookup; 0: none */
    uint64_t delay;
    char name[];
};
static struct known_name *name_list;

/* One result, with its address behind it. */
struct name_result {
    struct addrinfo info;
    struct sockaddr_storage address;
};

/* ---- the table -------------------------------------------------------------------------------------------------------------------------- */

/* False: it is no number. */
static bool name_read_number(const char *text, struct place *place) {
    struct in_addr four;
    memset(place, 0, sizeof *place);
    if (inet_pton(AF_INET6, text, &place->ip) == 1) return true;
    if (inet_pton(AF_INET, text, &four) != 1) return false;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = four};
    return place_read(place, AF_INET, (struct sockaddr *)&address, sizeof address) == 0;
}

/* Without the dot at the end, which says that the name is whole: all names here are. */
static size_t name_length(const char *name) {
    size_t length = strlen(name);
    return length > 1 && name[length - 1] == '.' ? length - 1 : length;
}
static bool name_same(const char *one, const char *other) {
    size_t length = name_length(one);
    return name_length(other) == length && strncasecmp(one, other, length) == 0;
}

static struct known_name *name_known(const char *name) {
    struct known_name *known = name_list;
    while (known && !name_same(known->name, name))
        known = known->next;
    return known;
}

static void *name_memory(size_t size) {
    void *memory = calloc(1, size);
    if (!memory) sim_fail("memory", "the simulation itself has none left");
    return memory;
}

static struct known_name *name_enter(const char *name) {
    struct known_name *known = name_known(name);
    if (known) return known;
    size_t size = strlen(name) + 1;
    known = name_memory(sizeof *known + size);
    memcpy(known->name, name, size);
    known->next = name_list;
    return name_list = known;
}

static void name_forget(const char *name) {
    struct known_name *known = name_known(name);
    if (!known) return;
    for (struct known_address *at = known->addresses; at; at = known->addresses) {
        known->addresses = at->next;
        free(at);
    }
    known->error = 0;
    known->delay = 0;
}

static int name_add_address(const char *name, const char *address) {
    struct place place;
    if (!name_read_number(address, &place)) return WEFT_EINVAL;
    struct known_address **end = &name_enter(name)->addresses;
    while (*end)
        end = &(*end)->next;
    *end = name_memory(sizeof **end);
    (*end)->place = place;
    return 0;
}

int weft_sim_name(const char *name, const char *address) {
    sim_effect("name", 0);
    if (!name || !*name) return WEFT_EINVAL;
    if (address) return name_add_address(name, address);
    name_forget(name);
    return 0;
}
int weft_sim_name_error(const char *name, int error) {
    sim_effect("name", (uint64_t)-error);
    if (!name || !*name || error > 0) return WEFT_EINVAL;
    name_enter(name)->error = error;
    return 0;
}
int weft_sim_name_delay(const char *name, uint64_t ns) {
    sim_effect("name", ns);
    if (!name || !*name) return WEFT_EINVAL;
    name_enter(name)->delay = ns;
    return 0;
}

/* ---- results ---------------------------------------------------------------------------------------------------------------------------- */

struct name_query {
    const struct addrinfo *hints;
    in_port_t port;
    int type, protocol;
    struct addrinfo **end;
    unsigned count;
};

static void name_add_result(struct name_query *query, const struct place *place) {
    int family = IN6_IS_ADDR_V4MAPPED(&place->ip) ? AF_INET : AF_INET6, wanted = query->hints ? query->hints->ai_family : AF_UNSPEC;
    struct place full = *place;
    if (wanted != AF_UNSPEC && wanted != family) return;
    struct name_result *result = name_memory(sizeof *result);
    full.port = query->port;
    result->info = (struct addrinfo){.ai_family = family, .ai_socktype = query->type, .ai_protocol = query->protocol};
    result->info.ai_addr = (struct sockaddr *)&result->address;
    result->info.ai_addrlen = sizeof result->address;
    place_write(&full, family, result->info.ai_addr, &result->info.ai_addrlen);
    *query->end = &result->info;
    query->end = &result->info.ai_next;
    query->count++;
}

static void name_add_own(struct name_query *query, bool any) {
    struct place place = {.port = 0};
    for (int four = 0; four < 2; four++) {
        if (any) place_set_any(&place, four);
        else place_set_loopback(&place, four);
        name_add_result(query, &place);
    }
}

static void name_find(struct name_query *query, const char *host) {
    struct place place;
    struct known_name *known = host ? name_known(host) : NULL;
    if (!host) name_add_own(query, query->hints && query->hints->ai_flags & AI_PASSIVE);
    else if (name_read_number(host, &place)) name_add_result(query, &place);
    else if (name_same(host, "localhost")) name_add_own(query, false);
    else
        for (struct known_address *at = known ? known->addresses : NULL; at; at = at->next)
            name_add_result(query, &at->place);
}

/* A number, or one of a few that every program knows; some are of datagrams alone. */
static int name_service(const char *service, int type, in_port_t *port) {
    static const struct {
        const char *name;
        uint16_t port;
        int only;
    } known[] = {{"ssh", 22, 0},  {"smtp", 25, 0},   {"domain", 53, 0},          {"http", 80, 0},
                 {"ntp", 123, 0}, {"https", 443, 0}, {"syslog", 514, SOCK_DGRAM}};
    char *end;
    *port = 0;
    if (!service) return 0;
    unsigned long number = strtoul(service, &end, 10);
    for (size_t i = 0; *end && i < sizeof known / sizeof *known; i++)
        if (strcmp(service, known[i].name) == 0 && (!type || !known[i].only || type == known[i].only)) number = known[i].port, end = "";
    if (*end || number > 65535) return -ENOENT;
    *port = htons((uint16_t)number);
    return 0;
}

/* What the program has said of the name decides when the thread has waited: it may have changed meanwhile. */
static int name_wait(const char *host, const void *query) {
    struct known_name *known = host ? name_known(host) : NULL;
    uint64_t usual = sim_draw(SIM_LATENCY, 256) * NAME_UNIT, delay = known ? known->delay : 0;
    uint64_t until = sim_in(delay < SIM_FOREVER - usual ? delay + usual : SIM_FOREVER);
    while (sim_block("lookup", query, until) != -ETIMEDOUT) {}
    known = host ? name_known(host) : NULL;
    return known && known->error ? known->error : route_fault() ? -EAGAIN : 0;
}

int net_lookup(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    struct name_query query = {.hints = hints, .type = SOCK_STREAM, .end = found};
    *found = NULL;
    int error = name_wait(host, &query);
    if (error) return error;
    if (hints && hints->ai_socktype) query.type = hints->ai_socktype;
    query.protocol = query.type == SOCK_DGRAM ? IPPROTO_UDP : IPPROTO_TCP;
    error = name_service(service, hints ? hints->ai_socktype : 0, &query.port);
    if (error) return error;
    name_find(&query, host);
    return query.count > 0 ? 0 : -ENOENT;
}

void net_lookup_free(struct addrinfo *found) {
    while (found) {
        struct name_result *result = (struct name_result *)found;
        found = found->ai_next;
        free(result);
    }
}
