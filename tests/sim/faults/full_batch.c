/* A step process takes all its messages, however many come at once. */
#include "oracle.h"

enum { MESSAGES = 300 };

static weft_waitgroup taken;

static int takes(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_MESSAGE) weft_waitgroup_done(&taken);
        else weft_out_status(out, WEFT_STEP_DONE);
    }
    return 0;
}
static const weft_behavior behavior = {.name = "taker", .step = takes};

static int program(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_pid pid;
    weft_waitgroup_add(&taken, MESSAGES);
    MUST(weft_spawn_step(&behavior, NULL, &pid) == 0, "spawn");
    for (int i = 0; i < MESSAGES; i++)
        weft_send(pid, 1, NULL, 0);
    MUST(weft_waitgroup_wait(&taken, weft_in(SECOND)) == 0, "messages lie in the mailbox of a process that sleeps");
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
