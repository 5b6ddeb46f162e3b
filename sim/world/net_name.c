/* Names: a table, instead of servers. A lookup takes time, and by a fault it fails (-EAGAIN). */
#include "world/net_name.h"

#include "world/net.h"
#include "world/net_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_UNIT UINT64_C(50000) /* ns: a lookup takes up to 256 times as long */

struct known_name {
    struct known_name *next;
    struct place place;
    char name[];
};
static struct known_name *name_list; /* in the order in which they were given */

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

int sim_net_name(const char *name, const char *address) {
    struct place place;
    struct known_name **end = &name_list;
    if (!name_read_number(address, &place)) return -EINVAL;
    size_t size = strlen(name) + 1;
    struct known_name *known = malloc(sizeof *known + size);
    if (!known) return -ENOMEM;
    *known = (struct known_name){.place = place};
    memcpy(known->name, name, size);
    while (*end)
        end = &(*end)->next;
    *end = known;
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
    struct name_result *result = calloc(1, sizeof *result);
    if (!result) sim_fail("memory", "the simulation itself has none left");
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
    if (!host) name_add_own(query, query->hints && query->hints->ai_flags & AI_PASSIVE);
    else if (name_read_number(host, &place)) name_add_result(query, &place);
    else if (strcasecmp(host, "localhost") == 0) name_add_own(query, false);
    else
        for (struct known_name *known = name_list; known; known = known->next)
            if (strcasecmp(known->name, host) == 0) name_add_result(query, &known->place);
}

/* A number, or one of a few that every program knows. */
static int name_service(const char *service, in_port_t *port) {
    static const struct {
        const char *name;
        uint16_t port;
    } known[] = {{"ssh", 22}, {"smtp", 25}, {"domain", 53}, {"http", 80}, {"ntp", 123}, {"https", 443}};
    char *end;
    *port = 0;
    if (!service) return 0;
    unsigned long number = strtoul(service, &end, 10);
    for (size_t i = 0; *end && i < sizeof known / sizeof *known; i++)
        if (strcmp(service, known[i].name) == 0) number = known[i].port, end = "";
    if (*end || number > 65535) return -ENOENT;
    *port = htons((uint16_t)number);
    return 0;
}

int net_lookup(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    struct name_query query = {.hints = hints, .type = SOCK_STREAM, .end = found};
    *found = NULL;
    sim_block("lookup", &query, sim_now() + sim_draw(SIM_LATENCY, 256) * NAME_UNIT);
    if (route_fault()) return -EAGAIN;
    if (hints && hints->ai_socktype) query.type = hints->ai_socktype;
    query.protocol = query.type == SOCK_DGRAM ? IPPROTO_UDP : IPPROTO_TCP;
    int error = name_service(service, &query.port);
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
