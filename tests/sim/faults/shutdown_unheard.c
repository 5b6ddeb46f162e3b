/* A writer that waits at a full UNIX stream is told when writing has been shut down. */
#include "oracle.h"

static weft_fd pair[2];

static void writes(void *arg) {
    static char data[1 << 20];
    (void)arg;
    uint64_t before = weft_now();
    weft_fd_write_all(pair[0], data, sizeof data, NULL, weft_in(60 * SECOND));
    MUST(weft_now() < before + 50 * SECOND, "the writer waits on");
}

static int program(int argc, char **argv) {
    (void)argc, (void)argv;
    MUST(weft_net_pair(pair) == 0, "pair");
    weft_pid pid = weft_spawn_joinable(writes, NULL);
    weft_sleep(100 * MILLISECOND); /* it is full */
    weft_net_shutdown(pair[0], WEFT_SIDE_WRITE);
    weft_join(pid, NULL, WEFT_FOREVER);
    weft_fd_close(pair[0]), weft_fd_close(pair[1]);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
