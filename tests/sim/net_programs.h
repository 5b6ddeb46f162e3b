/* What the simulated programs of the network's tests share: a listener, an echo server, and a check that says which line it is. */
#ifndef WEFT_TESTS_SIM_NET_PROGRAMS_H
#define WEFT_TESTS_SIM_NET_PROGRAMS_H

#include "need.h"
#include "seeds.h"

#include <weft/weft.h>

#define SECOND UINT64_C(1000000000)

/* A body for seeds_pass out of a function that runs as the first process. */
#define PROGRAM(name)                                                                                                                      \
    static int name##_main(int argc, char **argv) {                                                                                        \
        (void)argc, (void)argv;                                                                                                            \
        name();                                                                                                                            \
        return 0;                                                                                                                          \
    }                                                                                                                                      \
    static int name##_body(void) { return weft_main(0, NULL, name##_main); }

/* A listener, and its address as text for weft_net_connect. */
static inline weft_fd net_listen_at(const char *where, int backlog, char *text, size_t size) {
    weft_listen_options options = {.backlog = backlog};
    weft_addr address;
    weft_fd listener = weft_net_listen(where, backlog ? &options : NULL);
    NEED(listener > 0 && weft_net_name(listener, &address) == 0);
    weft_addr_text(&address, text, size);
    return listener;
}

/* Two ends of a connection to a listener at `where`. */
static inline void net_connected(const char *where, weft_fd *client, weft_fd *server) {
    char text[128];
    weft_fd listener = net_listen_at(where, 0, text, sizeof text);
    *client = weft_net_connect(text, WEFT_FOREVER);
    NEED(*client > 0);
    *server = weft_net_accept(listener, NULL, WEFT_FOREVER);
    NEED(*server > 0 && weft_fd_close(listener) == 0);
}

/* Reads until there is no more; how many bytes came, fewer than there is room for. */
static inline size_t net_read_to_end(weft_fd fd, void *data, size_t room) {
    size_t got;
    NEED(weft_fd_read_all(fd, data, room, &got, WEFT_FOREVER) == WEFT_EEOF);
    return got;
}

static inline void net_echo(void *arg) {
    weft_fd fd = *(weft_fd *)arg;
    char data[100];
    ssize_t n;
    free(arg);
    while ((n = weft_fd_read(fd, data, sizeof data, WEFT_FOREVER)) > 0)
        NEED(weft_fd_write_all(fd, data, (size_t)n, NULL, WEFT_FOREVER) == 0);
    NEED(n == 0 && weft_fd_close(fd) == 0);
}

/* Serves so many connections, each by a process of its own, and waits for these. */
enum { NET_CONNECTIONS = 32 };
struct net_server {
    weft_fd listener;
    int connections;
};
static inline void net_serve(void *arg) {
    struct net_server *server = arg;
    weft_pid pids[NET_CONNECTIONS];
    for (int i = 0; i < server->connections; i++) {
        weft_fd *fd = malloc(sizeof *fd);
        *fd = weft_net_accept(server->listener, NULL, WEFT_FOREVER);
        NEED(*fd > 0 && (pids[i] = weft_spawn_joinable(net_echo, fd)));
    }
    for (int i = 0; i < server->connections; i++)
        NEED(weft_join(pids[i], NULL, WEFT_FOREVER) == 0);
    weft_fd_close(server->listener);
}

#endif
