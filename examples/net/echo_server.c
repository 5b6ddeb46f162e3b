/* A TCP echo server: one process for each connection, written as if it were alone.
 *
 *     echo_server ADDRESS            127.0.0.1:7777, [::1]:7777, unix:/tmp/echo
 *
 * Prints the address it listens at (port 0 lets the system choose) and runs until it is interrupted (Ctrl-C) or told to end (SIGTERM). */
#include "server.h"

static void echo(void *arg) {
    weft_fd guest = (weft_fd)(intptr_t)arg;
    char data[16384];
    ssize_t n;
    while ((n = weft_fd_read(guest, data, sizeof data, WEFT_FOREVER)) > 0)
        if (weft_fd_write_all(guest, data, (size_t)n, NULL, WEFT_FOREVER) != 0) break;
    weft_fd_close(guest);
}

static int app(int argc, char **argv) {
    bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
    if (argc != 2 || help) {
        fprintf(help ? stdout : stderr,
                "usage: echo_server ADDRESS\n\n"
                "Sends back what it is sent. ADDRESS is 127.0.0.1:7777, [::1]:7777, unix:/tmp/echo; port 0: any.\n");
        return help ? 0 : 2;
    }
    return server_run("echo_server", argv[1], echo);
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
