/* What the kernel has for a descriptor is read, though there is no time to wait for it. */
#include "oracle.h"

enum { BYTES = 20 };

static void writes(void *arg) {
    weft_fd fd = *(weft_fd *)arg;
    for (int i = 0; i < BYTES; i++) {
        weft_fd_write(fd, "x", 1, WEFT_FOREVER);
        weft_sleep(MILLISECOND);
    }
}

static int program(int argc, char **argv) {
    (void)argc, (void)argv;
    char data[16];
    weft_fd listener = weft_net_listen("127.0.0.1:7000", NULL);
    weft_fd writer = weft_net_connect("127.0.0.1:7000", WEFT_FOREVER), reader = weft_net_accept(listener, NULL, WEFT_FOREVER);
    MUST(listener > 0 && writer > 0 && reader > 0, "connect");
    weft_pid pid = weft_spawn_joinable(writes, &writer);
    for (ssize_t read = 0, n; read < BYTES; read += n) {
        while ((n = weft_fd_wait(reader, WEFT_READABLE, 0)) != WEFT_READABLE)
            weft_yield();
        n = weft_fd_read(reader, data, sizeof data, 0);
        MUST(n > 0, "there is something to read, and it is not read");
    }
    weft_join(pid, NULL, WEFT_FOREVER);
    weft_fd_close(reader), weft_fd_close(writer), weft_fd_close(listener);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
