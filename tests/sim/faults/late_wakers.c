/* A step has an event. */
#include "oracle.h"

enum { SENDERS = 3, MESSAGES = 20 };

static weft_waitgroup taken;
static weft_pid taker;

static int takes(void *self, const weft_event *events, size_t count, weft_out *out) {
    bool *begun = self;
    MUST(count > 0 || !*begun, "a step without an event");
    *begun = true;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_MESSAGE) weft_waitgroup_done(&taken);
        else weft_out_status(out, WEFT_STEP_DONE);
    }
    return 0;
}
static const weft_behavior behavior = {.name = "taker", .state_size = sizeof(bool), .step = takes};

static void sends(void *arg) {
    (void)arg;
    for (int i = 0; i < MESSAGES; i++) {
        weft_send(taker, 1, NULL, 0);
        if (i % 3 == 0) weft_yield();
    }
}

static int program(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_waitgroup_add(&taken, SENDERS * MESSAGES);
    MUST(weft_spawn_step(&behavior, NULL, &taker) == 0, "spawn");
    for (int i = 0; i < SENDERS; i++)
        weft_spawn(sends, NULL);
    return weft_waitgroup_wait(&taken, WEFT_FOREVER);
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
