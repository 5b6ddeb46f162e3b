/* A port-forwarding proxy: what comes to one address goes on to another, and back.
 *
 *     proxy HERE THERE               proxy 127.0.0.1:8080 127.0.0.1:80
 *
 * Two processes for each connection, one for each direction. Each passes a half-close on, so that either side can end its part while the
 * other still speaks. A slow reader holds its writer up; nothing is piled up here. Prints the address it listens at, and runs until it is
 * interrupted or told to end. */
#include "server.h"

struct way {
    weft_fd from, to;
};

static void forward(void *arg) {
    struct way *way = arg;
    char data[16384];
    ssize_t n;
    while ((n = weft_fd_read(way->from, data, sizeof data, WEFT_FOREVER)) > 0)
        if (weft_fd_write_all(way->to, data, (size_t)n, NULL, WEFT_FOREVER) != 0) break;
    if (n != 0) { /* failed: then the other direction has no purpose either */
        weft_net_shutdown(way->from, WEFT_SIDE_BOTH);
        weft_net_shutdown(way->to, WEFT_SIDE_BOTH);
    }
    weft_net_shutdown(way->to, WEFT_SIDE_WRITE);
}

static const char *there;

static void connection(void *arg) {
    weft_fd guest = (weft_fd)(intptr_t)arg, host = weft_net_connect(there, weft_in(5 * WEFT_SECOND));
    if (host >= 0) {
        struct way ways[2] = {{guest, host}, {host, guest}};
        weft_spawn_many(2, forward, ways, sizeof ways[0]); /* until both have ended */
        weft_fd_close(host);
    } else {
        fprintf(stderr, "proxy: %s: %s\n", there, weft_strerror((int)host));
    }
    weft_fd_close(guest);
}

static int app(int argc, char **argv) {
    weft_addr address;
    bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
    if (argc != 3) {
        fprintf(help ? stdout : stderr, "usage: proxy HERE THERE\n\n"
                                        "Forwards connections. Both are addresses: 127.0.0.1:8080, [::1]:8080, unix:/tmp/socket.\n");
        return help ? 0 : 2;
    }
    there = argv[2];
    if (weft_addr_parse(there, &address)) {
        fprintf(stderr, "proxy: %s is not an address\n", there);
        return 2;
    }
    return server_run("proxy", argv[1], connection);
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
