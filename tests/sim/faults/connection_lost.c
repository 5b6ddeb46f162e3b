/* A shortage of descriptors or of the poll's watches may pass: a loop that accepts waits for that, and loses no connection. */
#include "oracle.h"

enum { CONNECTIONS = 20 };

static bool over;

/* Of the client's calls each may be refused, when it is connected already, too; then it tries again. */
static void connects(void *arg) {
    char byte;
    for (int done = 0; done < CONNECTIONS;) {
        weft_fd fd = weft_net_connect(arg, WEFT_FOREVER);
        if (fd > 0 && ++done) MUST(weft_fd_read(fd, &byte, 1, WEFT_FOREVER) == 1, "the connection is lost");
        if (fd > 0) weft_fd_close(fd);
        else weft_sleep(MILLISECOND);
    }
    over = true;
}

static int program(int argc, char **argv) {
    weft_fd door, guest;
    (void)argc, (void)argv;
    while ((door = weft_net_listen("127.0.0.1:80", NULL)) < 0)
        weft_sleep(MILLISECOND);
    weft_pid client = weft_spawn_joinable(connects, "127.0.0.1:80");
    while (!over) {
        guest = weft_net_accept(door, NULL, weft_in(10 * MILLISECOND));
        MUST(guest > 0 || guest == WEFT_ETIMEDOUT, "accepting fails");
        if (guest <= 0) continue;
        weft_fd_write(guest, "x", 1, WEFT_FOREVER);
        weft_fd_close(guest);
    }
    weft_join(client, NULL, WEFT_FOREVER);
    weft_fd_close(door);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
