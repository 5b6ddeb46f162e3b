/* A TCP echo server: one process for each connection, written as if it were alone.
 *
 *     echo_server ADDRESS            127.0.0.1:7777, [::1]:7777, unix:/tmp/echo
 *
 * Prints the address it listens at (port 0 lets the system choose) and runs until it is interrupted or killed. */
#include <weft/weft.h>

#include <stdio.h>

static void echo(void *arg) {
    weft_fd guest = (weft_fd)(intptr_t)arg;
    char data[16384];
    ssize_t n;
    while ((n = weft_fd_read(guest, data, sizeof data, WEFT_FOREVER)) > 0)
        if (weft_fd_write(guest, data, (size_t)n, WEFT_FOREVER) < 0) break;
    weft_fd_close(guest);
}

static int app(int argc, char **argv) {
    weft_addr address;
    char text[WEFT_ADDR_TEXT];
    if (argc != 2) {
        fprintf(stderr, "usage: echo_server ADDRESS\n");
        return 2;
    }
    weft_fd door = weft_net_listen(argv[1], NULL), guest;
    if (door < 0) {
        fprintf(stderr, "echo_server: %s: %s\n", argv[1], weft_strerror((int)door));
        return 1;
    }
    weft_net_name(door, &address);
    printf("%s\n", weft_addr_text(&address, text, sizeof text));
    fflush(stdout);
    while ((guest = weft_net_accept(door, NULL, WEFT_FOREVER)) >= 0)
        if (weft_spawn(echo, (void *)(intptr_t)guest) == WEFT_NOBODY) weft_fd_close(guest); /* no memory: not this one */
    fprintf(stderr, "echo_server: %s\n", weft_strerror((int)guest));
    return 1;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
