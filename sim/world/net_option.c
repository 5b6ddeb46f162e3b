/* Options of sockets: those that mean something here, and those that are only remembered. */
#include "world/net_socket.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>

static const struct {
    int level, option;
} option_remembered[SOCKET_OPTIONS] = {
    {SOL_SOCKET, SO_KEEPALIVE},      {SOL_SOCKET, SO_BROADCAST}, {SOL_SOCKET, SO_SNDBUF},     {SOL_SOCKET, SO_RCVBUF},
    {SOL_SOCKET, SO_PRIORITY},       {SOL_SOCKET, SO_OOBINLINE}, {IPPROTO_TCP, TCP_KEEPIDLE}, {IPPROTO_TCP, TCP_KEEPINTVL},
    {IPPROTO_TCP, TCP_KEEPCNT},      {IPPROTO_TCP, TCP_CORK},    {IPPROTO_TCP, TCP_QUICKACK}, {IPPROTO_TCP, TCP_USER_TIMEOUT},
    {IPPROTO_TCP, TCP_DEFER_ACCEPT}, {IPPROTO_IP, IP_TOS},       {IPPROTO_IP, IP_TTL},        {IPPROTO_IPV6, IPV6_UNICAST_HOPS},
};

/* What the level says of an option that is not known. */
static int option_error(const struct socket *socket, int level) {
    if (level == SOL_SOCKET) return -ENOPROTOOPT;
    bool tcp = level == IPPROTO_TCP && socket_is_tcp(socket), ip = level == IPPROTO_IP || level == IPPROTO_IPV6;
    return tcp || (ip && !socket_is_unix(socket)) ? -ENOPROTOOPT : -EOPNOTSUPP;
}

static int *option_place(struct socket *socket, int level, int option) {
    if (level == IPPROTO_TCP && !socket_is_tcp(socket)) return NULL;
    if (level != SOL_SOCKET && socket_is_unix(socket)) return NULL;
    for (size_t i = 0; i < SOCKET_OPTIONS; i++)
        if (option_remembered[i].level == level && option_remembered[i].option == option) return &socket->options[i];
    return NULL;
}

/* The flag that an option sets, or NULL. */
static bool *option_flag(struct socket *socket, int level, int option) {
    if (level == SOL_SOCKET && option == SO_REUSEADDR) return &socket->reuse_address;
    if (level == SOL_SOCKET && option == SO_REUSEPORT) return &socket->reuse_port;
    if (level == IPPROTO_IPV6 && option == IPV6_V6ONLY && socket->family == AF_INET6) return &socket->only_6;
    if (level == IPPROTO_TCP && option == TCP_NODELAY && socket_is_tcp(socket)) return &socket->no_delay;
    return NULL;
}

/* ---- setting -------------------------------------------------------------------------------------------------------------------------- */

static int option_linger(struct socket *socket, const void *value, socklen_t size) {
    struct linger linger;
    if (size < sizeof linger) return -EINVAL;
    memcpy(&linger, value, sizeof linger);
    socket->lingers_not = linger.l_onoff && linger.l_linger == 0;
    return 0;
}

int net_option_set(int number, int level, int option, const void *value, socklen_t size) {
    struct socket *socket;
    int error = socket_at(number, &socket), given;
    if (error) return error;
    if (level == SOL_SOCKET && option == SO_LINGER) return option_linger(socket, value, size);
    bool *flag = option_flag(socket, level, option);
    int *place = option_place(socket, level, option);
    if (!flag && !place) return option_error(socket, level);
    if (size < sizeof given) return -EINVAL;
    memcpy(&given, value, sizeof given);
    if (flag) *flag = given != 0;
    else *place = given;
    return 0;
}

/* ---- asking --------------------------------------------------------------------------------------------------------------------------- */

/* Of the socket itself. */
static int option_fact(struct socket *socket, int option, int *value) {
    switch (option) {
    case SO_TYPE: *value = socket->type; return 0;
    case SO_DOMAIN: *value = socket->family; return 0;
    case SO_ACCEPTCONN: *value = socket->state == SOCKET_LISTENS; return 0;
    case SO_ERROR: *value = socket_error(socket); return 0;
    default: return -ENOPROTOOPT;
    }
}

int net_option_get(int number, int level, int option, void *value, socklen_t *size) {
    struct socket *socket;
    int error = socket_at(number, &socket), is = 0;
    if (error) return error;
    const bool *flag = option_flag(socket, level, option);
    const int *place = option_place(socket, level, option);
    if (flag || place) is = flag ? *flag : *place;
    else error = level == SOL_SOCKET ? option_fact(socket, option, &is) : option_error(socket, level);
    if (error) return error;
    if (*size > sizeof is) *size = sizeof is;
    memcpy(value, &is, *size);
    return 0;
}
