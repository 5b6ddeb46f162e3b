/* A server whose clients are killed, or give up, at any moment goes on. */
#include "oracle.h"

enum { CLIENTS = 30 };

static int answers(void *state, const weft_incoming *in) {
    long *count = state;
    ++*count;
    return weft_reply(in->request, count, sizeof *count);
}
static const weft_server_spec counter = {.name = "counter", .state_size = sizeof(long), .call = answers};

static void client(void *server) {
    weft_msg *reply;
    if (weft_call(*(weft_pid *)server, 1, NULL, 0, &reply, WEFT_FOREVER) == 0) weft_msg_free(reply);
}

static int program(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_pid server;
    weft_msg *reply;
    MUST(weft_server_start(&counter, NULL, NULL, &server, WEFT_FOREVER) == 0, "the server does not start");
    for (unsigned i = 0; i < CLIENTS; i++) {
        weft_pid one = weft_spawn(client, &server);
        if (i % 2) weft_yield();
        weft_kill(one);
    }
    MUST(weft_call(server, 1, NULL, 0, &reply, WEFT_FOREVER) == 0, "the server has ended with one of its clients");
    weft_msg_free(reply);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
