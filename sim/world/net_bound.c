/* Which socket is bound to which address: ports of each machine, and names of UNIX sockets. */
#include "world/net.h"
#include "world/net_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BOUND_PORT_FIRST = 32768, BOUND_PORT_LAST = 60999 }; /* what Linux gives out by default */

/* A name of UNIX sockets. One in the file system stays when its socket has been closed, until it is unlinked. */
struct unix_node {
    struct unix_node *next;
    unsigned machine;
    struct place name;
    struct socket *socket;
};

static struct socket *bound_list; /* those with ports, the last one first */
static struct unix_node *bound_nodes;
static unsigned bound_next_port, bound_next_name;

/* ---- ports ------------------------------------------------------------------------------------------------------------------------ */

/* An address that stands for all addresses of the other one's family. */
static bool bound_covers(const struct socket *socket, const struct place *place) {
    const struct place *own = &socket->local;
    if (place_same_ip(own, place)) return true;
    if (place_is_any_4(own)) return IN6_IS_ADDR_V4MAPPED(&place->ip);
    return place_is_any(own) && !(socket->only_6 && IN6_IS_ADDR_V4MAPPED(&place->ip));
}

static bool bound_may_share(const struct socket *a, const struct socket *b, bool listens) {
    if (a->reuse_port && b->reuse_port) return true;
    if (!a->reuse_address || !b->reuse_address) return false;
    return a->type == SOCK_DGRAM || (!listens && b->state != SOCKET_LISTENS);
}

bool bound_conflicts(const struct socket *socket, bool listens) {
    for (struct socket *other = bound_list; other; other = other->next_bound) {
        if (other == socket || other->fd.machine != socket->fd.machine || other->type != socket->type) continue;
        if (other->local.port != socket->local.port || bound_may_share(socket, other, listens)) continue;
        if (listens && other->state != SOCKET_LISTENS) continue;
        if (bound_covers(socket, &other->local) || bound_covers(other, &socket->local)) return true;
    }
    return false;
}

static void bound_add(struct socket *socket) {
    socket->bound = true;
    socket->next_bound = bound_list;
    bound_list = socket;
}

static int bound_choose_port(struct socket *socket) {
    enum { PORTS = BOUND_PORT_LAST - BOUND_PORT_FIRST + 1 };
    bool address = socket->reuse_address, port = socket->reuse_port, free = false;
    socket->reuse_address = socket->reuse_port = false; /* a port of its own */
    for (unsigned i = 0; i < PORTS && !free; i++) {
        socket->local.port = htons((uint16_t)(BOUND_PORT_FIRST + bound_next_port++ % PORTS));
        free = !bound_conflicts(socket, false);
    }
    socket->reuse_address = address;
    socket->reuse_port = port;
    return free ? 0 : -EADDRINUSE;
}

static int bound_bind_port(struct socket *socket, const struct place *place) {
    if (socket->bound) return -EINVAL;
    if (!IN6_IS_ADDR_V4MAPPED(&place->ip) && socket->family == AF_INET) return -EINVAL;
    socket->local = *place;
    int error = place->port == 0 ? bound_choose_port(socket) : bound_conflicts(socket, false) ? -EADDRINUSE : 0;
    if (!error) bound_add(socket);
    return error;
}

struct place bound_source(const struct socket *socket, const struct place *to) {
    struct place source = socket->local;
    bool four = IN6_IS_ADDR_V4MAPPED(&to->ip);
    if (socket->bound && !place_is_any(&source)) return source;
    if (place_is_loopback(to)) place_set_loopback(&source, four);
    else place_set_machine(&source, socket->fd.machine, four);
    return source;
}

int bound_choose(struct socket *socket, const struct place *to) {
    struct place own = bound_source(socket, to);
    if (socket->type == SOCK_DGRAM) place_set_any(&own, socket->family == AF_INET);
    if (!socket->bound) return bound_bind_port(socket, &own);
    if (socket->type == SOCK_STREAM) socket->local = own;
    return 0;
}

bool bound_machine(unsigned from, const struct place *to, unsigned *machine) {
    *machine = from;
    if (place_is_loopback(to) || place_machine(to, machine)) return true;
    for (struct socket *socket = bound_list; socket; socket = socket->next_bound)
        if (place_same_ip(&socket->local, to)) {
            *machine = socket->fd.machine;
            return true;
        }
    return false;
}

static bool bound_takes(const struct socket *socket, int type, unsigned machine, const struct place *to) {
    if (socket->fd.machine != machine || socket->type != type || socket->local.port != to->port) return false;
    return (socket->type == SOCK_DGRAM || socket->state == SOCKET_LISTENS) && bound_covers(socket, to);
}

/* One with the very address before one for all addresses. Of several that share it (SO_REUSEPORT) the seed takes one. */
struct socket *bound_find(int type, unsigned machine, const struct place *to) {
    struct socket *found = NULL;
    unsigned sharing = 0;
    for (struct socket *socket = bound_list; socket; socket = socket->next_bound) {
        if (!bound_takes(socket, type, machine, to)) continue;
        bool better = found && place_is_any(&found->local) && !place_is_any(&socket->local);
        bool equal = found && place_is_any(&found->local) == place_is_any(&socket->local);
        if (!found || better) found = socket, sharing = 1;
        else if (equal && sim_draw(SIM_NET, ++sharing) == 1) found = socket;
    }
    return found;
}

/* ---- UNIX names ------------------------------------------------------------------------------------------------------------------- */

static struct unix_node **bound_node(unsigned machine, const struct place *name) {
    struct unix_node **at = &bound_nodes;
    while (*at && ((*at)->machine != machine || !place_same_path(&(*at)->name, name)))
        at = &(*at)->next;
    return at;
}

/* An abstract name of five digits, as Linux chooses one. */
static void bound_choose_name(struct socket *socket, struct place *name) {
    name->size = 6;
    do {
        unsigned number = bound_next_name++;
        for (int i = 5; i > 0; i--, number /= 16)
            name->path[i] = "0123456789abcdef"[number % 16];
    } while (*bound_node(socket->fd.machine, name));
}

/* 0: the name is free. One in the file system needs its directory. */
static int bound_may_bind(struct socket *socket, const struct place *name) {
    char path[sizeof name->path + 1];
    if (*bound_node(socket->fd.machine, name)) return -EADDRINUSE;
    if (!name->path[0]) return 0;
    memcpy(path, name->path, name->size);
    path[name->size] = '\0';
    return sim_file_may_bind(path);
}

static int bound_bind_unix(struct socket *socket, struct place *name) {
    if (socket->bound) return -EINVAL;
    if (name->size == 0) bound_choose_name(socket, name);
    int error = bound_may_bind(socket, name);
    if (error) return error;
    struct unix_node *node = calloc(1, sizeof *node);
    if (!node) return -ENOMEM;
    *node = (struct unix_node){.next = bound_nodes, .machine = socket->fd.machine, .name = *name, .socket = socket};
    bound_nodes = node;
    socket->node = node;
    socket->local = *name;
    socket->bound = true;
    return 0;
}

struct socket *bound_find_unix(unsigned machine, const struct place *to, int *error) {
    struct unix_node *node = *bound_node(machine, to);
    bool file = to->size > 0 && to->path[0];
    *error = node && node->socket ? 0 : node || !file ? -ECONNREFUSED : -ENOENT;
    return *error ? NULL : node->socket;
}

static void bound_free_node(struct unix_node **at) {
    struct unix_node *node = *at;
    *at = node->next;
    if (node->socket) node->socket->node = NULL;
    free(node);
}

static struct unix_node **bound_path(const char *path) {
    struct place name = {.size = (unsigned char)strnlen(path, sizeof name.path)};
    struct sim_thread *me = sim_me();
    memcpy(name.path, path, name.size);
    return bound_node(me ? me->machine : 0, &name);
}

bool sim_net_is_socket(const char *path) { return *path && *bound_path(path); }

bool sim_net_unlink(const char *path) {
    struct unix_node **at = bound_path(path);
    if (!*path || !*at) return false;
    bound_free_node(at);
    return true;
}

/* ---- both ------------------------------------------------------------------------------------------------------------------------- */

int net_bind(int number, const struct sockaddr *address, socklen_t size) {
    struct socket *socket;
    struct place place;
    int error = socket_at(number, &socket);
    if (!error) error = place_read(&place, socket->family, address, size);
    if (error) return error;
    return socket_is_unix(socket) ? bound_bind_unix(socket, &place) : bound_bind_port(socket, &place);
}

/* A name in the file system outlives its socket, and a crash. */
void bound_end(struct socket *socket) {
    struct socket **at = &bound_list;
    struct unix_node *node = socket->node;
    if (node) node->socket = NULL;
    if (node && !node->name.path[0]) bound_free_node(bound_node(node->machine, &node->name));
    while (*at && *at != socket)
        at = &(*at)->next_bound;
    if (*at) *at = socket->next_bound;
}
