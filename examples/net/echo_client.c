/* A TCP client for any text: sends standard input to an address and prints what comes back, both at once.
 *
 *     echo_client ADDRESS < FILE
 *
 * When the input ends it says so to the other side (a half-close) and goes on reading until that ends too. */
#include <weft/weft.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static weft_fd line;

/* Standard input may be a terminal, which others share: so it is waited for and left as it is. A file cannot be waited for, and need
 * not. */
static ssize_t input(void *data, size_t size) {
    int ready = weft_fd_wait_raw(STDIN_FILENO, WEFT_READABLE, WEFT_FOREVER);
    return ready < 0 && ready != WEFT_EPERM ? ready : read(STDIN_FILENO, data, size);
}

static void sends(void *unused) {
    char data[4096];
    ssize_t n;
    (void)unused;
    while ((n = input(data, sizeof data)) > 0)
        if (weft_fd_write_all(line, data, (size_t)n, NULL, WEFT_FOREVER) != 0) break;
    weft_net_shutdown(line, WEFT_SIDE_WRITE);
}

static int app(int argc, char **argv) {
    char data[4096];
    ssize_t n;
    bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
    if (argc != 2 || help) {
        fprintf(help ? stdout : stderr, "usage: echo_client ADDRESS\n\n"
                                        "Sends standard input there and prints what comes back. ADDRESS is 127.0.0.1:7777, [::1]:7777, "
                                        "unix:/tmp/echo.\n");
        return help ? 0 : 2;
    }
    line = weft_net_connect(argv[1], weft_in(5 * WEFT_SECOND));
    if (line < 0) {
        fprintf(stderr, "echo_client: %s: %s\n", argv[1], weft_strerror((int)line));
        return 1;
    }
    weft_spawn(sends, NULL);
    while ((n = weft_fd_read(line, data, sizeof data, WEFT_FOREVER)) > 0)
        if (fwrite(data, 1, (size_t)n, stdout) != (size_t)n || fflush(stdout)) break;
    if (n > 0) perror("echo_client: standard output");
    if (n < 0) fprintf(stderr, "echo_client: %s\n", weft_strerror((int)n));
    weft_fd_close(line);
    return n != 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
