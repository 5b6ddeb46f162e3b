/* Addresses of sockets: see place.h. */
#include "world/place.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

static const unsigned char place_four[12] = {[10] = 0xff, [11] = 0xff};
static const unsigned char place_net_4[3] = {10, 0, 0}, place_net_6[2] = {0xfd, 0};

static bool place_is_four(const struct place *place) { return memcmp(&place->ip, place_four, sizeof place_four) == 0; }

static void place_set_four(struct place *place, in_addr_t number) {
    memcpy(&place->ip, place_four, sizeof place_four);
    memcpy((char *)&place->ip + sizeof place_four, &number, sizeof number);
}

/* ---- sockaddr ------------------------------------------------------------------------------------------------------------------- */

static int place_read_unix(struct place *place, const struct sockaddr_un *address, socklen_t size) {
    size_t length = size - offsetof(struct sockaddr_un, sun_path);
    if (size < offsetof(struct sockaddr_un, sun_path) || length > sizeof place->path) return -EINVAL;
    if (length > 0 && address->sun_path[0]) length = strnlen(address->sun_path, length);
    memcpy(place->path, address->sun_path, length);
    place->size = (unsigned char)length;
    return 0;
}

static int place_read_6(struct place *place, const struct sockaddr_in6 *address, socklen_t size) {
    if (size < sizeof *address) return -EINVAL;
    place->ip = address->sin6_addr;
    place->port = address->sin6_port;
    place->scope = address->sin6_scope_id;
    return 0;
}

static int place_read_4(struct place *place, const struct sockaddr_in *address, socklen_t size) {
    if (size < sizeof *address) return -EINVAL;
    place_set_four(place, address->sin_addr.s_addr);
    place->port = address->sin_port;
    return 0;
}

int place_read(struct place *place, int family, const struct sockaddr *address, socklen_t size) {
    memset(place, 0, sizeof *place);
    if (size < sizeof address->sa_family) return -EINVAL;
    if (address->sa_family == AF_INET && family == AF_INET6) family = AF_INET; /* as Linux does for datagrams */
    if (address->sa_family != family) return family == AF_UNIX ? -EINVAL : -EAFNOSUPPORT;
    if (family == AF_UNIX) return place_read_unix(place, (const struct sockaddr_un *)address, size);
    if (family == AF_INET6) return place_read_6(place, (const struct sockaddr_in6 *)address, size);
    return place_read_4(place, (const struct sockaddr_in *)address, size);
}

static void place_give(const void *full, socklen_t length, struct sockaddr *address, socklen_t *size) {
    if (address) memcpy(address, full, length < *size ? length : *size);
    *size = length;
}

static void place_write_unix(const struct place *place, struct sockaddr *address, socklen_t *size) {
    struct sockaddr_un full = {.sun_family = AF_UNIX};
    memcpy(full.sun_path, place->path, place->size);
    bool path = place->size > 0 && place->path[0]; /* with the 0 byte at its end */
    place_give(&full, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + place->size + path), address, size);
}

void place_write(const struct place *place, int family, struct sockaddr *address, socklen_t *size) {
    if (family == AF_UNIX) {
        place_write_unix(place, address, size);
    } else if (family == AF_INET6) {
        struct sockaddr_in6 full = {
            .sin6_family = AF_INET6, .sin6_addr = place->ip, .sin6_port = place->port, .sin6_scope_id = place->scope};
        place_give(&full, sizeof full, address, size);
    } else {
        struct sockaddr_in full = {.sin_family = AF_INET, .sin_port = place->port};
        memcpy(&full.sin_addr, (const char *)&place->ip + sizeof place_four, sizeof full.sin_addr);
        place_give(&full, sizeof full, address, size);
    }
}

/* ---- what kind it is -------------------------------------------------------------------------------------------------------------- */

bool place_is_any_4(const struct place *place) {
    struct place any = {.port = 0};
    place_set_four(&any, INADDR_ANY);
    return place_same_ip(place, &any);
}
bool place_is_any(const struct place *place) { return IN6_IS_ADDR_UNSPECIFIED(&place->ip) || place_is_any_4(place); }
bool place_is_loopback(const struct place *place) {
    return IN6_IS_ADDR_LOOPBACK(&place->ip) || (place_is_four(place) && place->ip.s6_addr[12] == 127);
}
bool place_same_ip(const struct place *a, const struct place *b) { return memcmp(&a->ip, &b->ip, sizeof a->ip) == 0; }
bool place_same_path(const struct place *a, const struct place *b) { return a->size == b->size && memcmp(a->path, b->path, a->size) == 0; }

void place_set_any(struct place *place, bool four) {
    if (four) place_set_four(place, INADDR_ANY);
    else place->ip = in6addr_any;
}
void place_set_loopback(struct place *place, bool four) {
    if (four) place_set_four(place, htonl(INADDR_LOOPBACK));
    else place->ip = in6addr_loopback;
}

void place_set_machine(struct place *place, unsigned machine, bool four) {
    memset(&place->ip, 0, sizeof place->ip);
    if (four) {
        place_set_four(place, 0);
        memcpy(&place->ip.s6_addr[12], place_net_4, sizeof place_net_4);
    } else {
        memcpy(&place->ip, place_net_6, sizeof place_net_6);
    }
    place->ip.s6_addr[15] = (unsigned char)(machine + 1);
}

bool place_machine(const struct place *place, unsigned *machine) {
    struct place own = {.port = 0};
    *machine = place->ip.s6_addr[15] - 1u;
    place_set_machine(&own, *machine, place_is_four(place));
    return place->ip.s6_addr[15] > 0 && place_same_ip(place, &own);
}
