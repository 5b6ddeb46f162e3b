/* A TCP client for any line of text: sends standard input to an address and prints what comes back, both at once.
 *
 *     echo_client ADDRESS < FILE
 *
 * When the input ends it says so to the other side (a half-close) and goes on reading until that ends too. */
#include <weft/weft.h>

#include <stdio.h>
#include <unistd.h>

static weft_fd line;

/* Standard input may be a terminal, a pipe or a file. The first two can be waited for; the last is read at once. */
static void sends(void *unused) {
    char data[4096];
    ssize_t n;
    (void)unused;
    weft_fd in = weft_fd_adopt(STDIN_FILENO);
    while ((n = in > 0 ? weft_fd_read(in, data, sizeof data, WEFT_FOREVER) : read(STDIN_FILENO, data, sizeof data)) > 0)
        if (weft_fd_write(line, data, (size_t)n, WEFT_FOREVER) < 0) break;
    if (in > 0) weft_fd_release(in);
    weft_net_shutdown(line, WEFT_SIDE_WRITE);
}

static int app(int argc, char **argv) {
    char data[4096];
    ssize_t n;
    if (argc != 2) {
        fprintf(stderr, "usage: echo_client ADDRESS\n");
        return 2;
    }
    line = weft_net_connect(argv[1], weft_in(5 * WEFT_SECOND));
    if (line < 0) {
        fprintf(stderr, "echo_client: %s: %s\n", argv[1], weft_strerror((int)line));
        return 1;
    }
    weft_spawn(sends, NULL);
    while ((n = weft_fd_read(line, data, sizeof data, WEFT_FOREVER)) > 0)
        fwrite(data, 1, (size_t)n, stdout);
    weft_fd_close(line);
    if (n < 0) fprintf(stderr, "echo_client: %s\n", weft_strerror((int)n));
    return n < 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
