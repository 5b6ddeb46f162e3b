/* A call is answered although an unread message lies in the caller's mailbox. */
#include "oracle.h"

static void answers(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_reply(weft_msg_request(message), NULL, 0);
        weft_msg_free(message);
    }
}

static int program(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_msg *reply;
    weft_pid server = weft_spawn(answers, NULL);
    weft_send(weft_self(), 1, NULL, 0);
    weft_sleep(20 * MILLISECOND); /* the server waits */
    uint64_t before = weft_now();
    weft_call(server, 2, NULL, 0, &reply, weft_in(SECOND));
    MUST(weft_now() < before + SECOND / 2, "the answer came, and the caller slept until its deadline");
    weft_msg_free(reply);
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
