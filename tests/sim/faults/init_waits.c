/* The init of a step process may wait. */
#include "oracle.h"

enum { SPAWNERS = 6, CHILDREN = 5 };

static weft_waitgroup ended;

static int sleeps(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)input, (void)size;
    return weft_sleep(MILLISECOND);
}
static int steps(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static void closes(void *self) {
    (void)self;
    weft_waitgroup_done(&ended);
}
static const weft_behavior behavior = {.name = "child", .init = sleeps, .step = steps, .close = closes};

static void spawns(void *arg) {
    weft_pid pid;
    (void)arg;
    for (int i = 0; i < CHILDREN; i++) {
        weft_waitgroup_add(&ended, 1);
        MUST(weft_spawn_step(&behavior, NULL, &pid) == 0, "spawn");
    }
    weft_waitgroup_done(&ended);
}

static int program(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_waitgroup_add(&ended, SPAWNERS);
    for (int i = 0; i < SPAWNERS; i++)
        weft_spawn(spawns, NULL);
    MUST(weft_waitgroup_wait(&ended, weft_in(10 * SECOND)) == 0, "processes are lost");
    return 0;
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
