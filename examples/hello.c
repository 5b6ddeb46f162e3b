/* The smallest program: one process, one message. */
#include <weft/weft.h>

#include <stdio.h>

/* Runs when something has happened, never blocks, and waits again when it returns: unless it is done. */
static int greeter_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_MESSAGE) printf("hello, %s\n", (const char *)events[i].data);
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE); /* it is to end */
    }
    return 0;
}
static const weft_behavior greeter = {.name = "greeter", .step = greeter_step};

int main(void) {
    weft_runtime *runtime;
    weft_pid pid;
    if (weft_start(NULL, &runtime) != 0) return 1; /* a worker for every CPU */
    weft_spawn_step(&greeter, &(weft_spawn_options){.runtime = runtime}, &pid);
    weft_send(pid, 0, "world", sizeof "world");
    return weft_stop(runtime, NULL, WEFT_FOREVER) != 0; /* cancels everybody and waits until they have ended */
}
/* Prints:
 * hello, world
 */
