/* A thousand pairs exchange a million messages: for tests/sim/speed, which says how long that takes in the simulation. */
#include <weft/weft.h>

#include <assert.h>

enum { PAIRS = 1000, TRIPS = 500 }; /* of two messages */

static void pong(void *unused) {
    weft_msg *message;
    (void)unused;
    for (int i = 0; i < TRIPS && weft_recv(&message, WEFT_FOREVER) == 0; i++) {
        weft_send(weft_msg_from(message), weft_msg_tag(message), NULL, 0);
        weft_msg_free(message);
    }
}

static void ping(void *unused) {
    weft_pid other = weft_spawn(pong, NULL);
    weft_msg *message;
    (void)unused;
    for (uint64_t i = 0; i < TRIPS; i++) {
        weft_send(other, i, NULL, 0);
        if (weft_recv(&message, WEFT_FOREVER) != 0) return;
        assert(weft_msg_tag(message) == i);
        weft_msg_free(message);
    }
}

static int pairs(int argc, char **argv) {
    static weft_pid pids[PAIRS];
    (void)argc, (void)argv;
    for (int i = 0; i < PAIRS; i++)
        pids[i] = weft_spawn_joinable(ping, NULL);
    for (int i = 0; i < PAIRS; i++)
        weft_join(pids[i], NULL, WEFT_FOREVER);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, pairs); }
