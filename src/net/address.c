/* Addresses as text: weft_addr_parse, weft_addr_text. */
#include "net/address.h"

#include <weft/net.h>

#include "ctx/aarch64.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum { ADDRESS_HOST = INET6_ADDRSTRLEN + IF_NAMESIZE };

static int address_unix(weft_addr *address, const char *path) {
    struct sockaddr_un *place = (struct sockaddr_un *)&address->place;
    size_t length = strlen(path);
    bool abstract = path[0] == '@'; /* its length delimits the name, not a 0 byte. "@" alone: the system chooses one */
    if (length == 0 || length + !abstract > sizeof place->sun_path) return WEFT_EINVAL;
    place->sun_family = AF_UNIX;
    memcpy(place->sun_path, path, length); /* the rest is 0 */
    if (abstract) place->sun_path[0] = '\0';
    address->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (abstract && length == 1 ? 0 : length + !abstract));
    return 0;
}

static int address_port(const char *text, in_port_t *port) {
    char *end;
    if (*text < '0' || *text > '9') return WEFT_EINVAL;
    unsigned long number = strtoul(text, &end, 10);
    if (*end || number > 65535) return WEFT_EINVAL;
    *port = htons((uint16_t)number);
    return 0;
}

/* "HOST:PORT", the host without brackets in `host`. */
static int address_split(const char *text, char *host, size_t size, const char **port) {
    const char *colon = strrchr(text, ':'), *end = colon;
    bool brackets = text[0] == '[';
    if (!colon) return WEFT_EINVAL;
    if (brackets && (colon == text || colon[-1] != ']')) return WEFT_EINVAL;
    if (brackets) text++, end--;
    size_t length = (size_t)(end - text);
    if (length >= size || (!brackets && memchr(text, ':', length))) return WEFT_EINVAL;
    memcpy(host, text, length);
    host[length] = '\0';
    *port = colon + 1;
    return 0;
}

/* "eth0" or "2". 0: there is none. */
static uint32_t address_scope(const char *text) {
    char *end;
    unsigned long number = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    return number && !*end && number <= UINT32_MAX ? (uint32_t)number : if_nametoindex(text);
}

int address_number_6(const char *text, struct in6_addr *number, uint32_t *scope) {
    char plain[ADDRESS_HOST], *percent;
    *scope = 0;
    if (strlen(text) >= sizeof plain) return 0;
    strcpy(plain, text);
    if ((percent = strchr(plain, '%')) != NULL) *percent = '\0';
    if (inet_pton(AF_INET6, plain, number) != 1) return 0;
    return percent && (*scope = address_scope(percent + 1)) == 0 ? WEFT_ENODEV : 1;
}

int weft_addr_parse(const char *text, weft_addr *address) {
    char host[ADDRESS_HOST];
    const char *port;
    memset(address, 0, sizeof *address);
    if (!text) return WEFT_EINVAL;
    if (strncmp(text, "unix:", 5) == 0) return address_unix(address, text + 5);
    if (address_split(text, host, sizeof host, &port)) return WEFT_EINVAL;
    if (text[0] == '[') {
        struct sockaddr_in6 *place = (struct sockaddr_in6 *)&address->place;
        place->sin6_family = AF_INET6;
        address->size = sizeof *place;
        return address_number_6(host, &place->sin6_addr, &place->sin6_scope_id) == 1 ? address_port(port, &place->sin6_port) : WEFT_EINVAL;
    }
    struct sockaddr_in *place = (struct sockaddr_in *)&address->place;
    place->sin_family = AF_INET;
    address->size = sizeof *place;
    return inet_pton(AF_INET, host, &place->sin_addr) == 1 ? address_port(port, &place->sin_port) : WEFT_EINVAL;
}

static void address_unix_text(const weft_addr *address, char *text, size_t size) {
    const struct sockaddr_un *place = (const struct sockaddr_un *)&address->place;
    size_t start = offsetof(struct sockaddr_un, sun_path), length = address->size > start ? address->size - start : 0;
    bool abstract = length > 0 && place->sun_path[0] == '\0';
    if (length == 0) snprintf(text, size, "unix:@"); /* no name, or one that the system will choose: the kernel has one form for both */
    else if (abstract) snprintf(text, size, "unix:@%.*s", (int)length - 1, place->sun_path + 1);
    else snprintf(text, size, "unix:%.*s", (int)length, place->sun_path);
}

const char *weft_addr_text(const weft_addr *address, char *text, size_t size) {
    char host[INET6_ADDRSTRLEN];
    if (size == 0) return "";
    text[0] = '\0';
    if (address->size == 0) return text;
    if (address->place.ss_family == AF_INET) {
        const struct sockaddr_in *place = (const struct sockaddr_in *)&address->place;
        snprintf(text, size, "%s:%u", inet_ntop(AF_INET, &place->sin_addr, host, sizeof host), ntohs(place->sin_port));
    } else if (address->place.ss_family == AF_INET6) {
        const struct sockaddr_in6 *place = (const struct sockaddr_in6 *)&address->place;
        inet_ntop(AF_INET6, &place->sin6_addr, host, sizeof host);
        if (place->sin6_scope_id) snprintf(text, size, "[%s%%%u]:%u", host, place->sin6_scope_id, ntohs(place->sin6_port));
        else snprintf(text, size, "[%s]:%u", host, ntohs(place->sin6_port));
    } else if (address->place.ss_family == AF_UNIX) {
        address_unix_text(address, text, size);
    }
    return text;
}
