/* A process that only polls learns that it was cancelled. */
#include "oracle.h"

enum { POLLS = 10000 };

static weft_chan *channel;

static void polls(void *arg) {
    uint64_t element;
    int error = WEFT_ETIMEDOUT, count = 0;
    (void)arg;
    for (; error == WEFT_ETIMEDOUT && count < POLLS; count++) {
        error = weft_chan_recv(channel, &element, 0);
        weft_yield();
    }
    MUST(error == WEFT_ECANCELED, "a process polls on although it is cancelled");
}

static int program(int argc, char **argv) {
    (void)argc, (void)argv;
    MUST(weft_chan_new(sizeof(uint64_t), 1, &channel) == 0, "channel");
    weft_pid pid = weft_spawn_joinable(polls, NULL);
    weft_cancel(pid);
    weft_join(pid, NULL, WEFT_FOREVER);
    weft_chan_free(channel);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
