/* A program whose first process has ended ends, although another process waits for ever. Some programs, one after the other. */
#include "oracle.h"

enum { PROGRAMS = 20 };

static void waits(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0)
        weft_msg_free(message);
}

static int program(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_spawn(waits, NULL);
    weft_yield();
    return 0;
}

int main(int argc, char **argv) {
    int status = 0;
    for (int i = 0; i < PROGRAMS && status == 0; i++)
        status = weft_main(argc, argv, program);
    return status;
}
