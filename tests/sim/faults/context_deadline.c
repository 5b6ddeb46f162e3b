/* A process that lives when its context's deadline comes is cancelled. */
#include "oracle.h"

static void waits(void *arg) {
    weft_msg *message;
    (void)arg;
    MUST(weft_recv(&message, weft_in(SECOND)) == WEFT_ECANCELED, "a process was not cancelled at its context's deadline");
}

static int program(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_context *context;
    weft_pid pid;
    MUST(weft_context_new(NULL, &context, weft_in(10 * MILLISECOND)) == 0, "context");
    MUST(weft_spawn_with(waits, NULL, &(weft_stackful_options){.context = context, .flags = WEFT_SPAWN_JOINABLE}, &pid) == 0, "spawn");
    weft_context_drop(context);
    return weft_join(pid, NULL, WEFT_FOREVER);
}

int main(int argc, char **argv) { return weft_main(argc, argv, program); }
