/* The PID of a process that has ended is no other process's, however many runtimes come after its own. */
#include "oracle.h"

enum { RUNTIMES = 300 };

static void waits(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0)
        weft_msg_free(message);
}

int main(void) {
    weft_pid first = WEFT_NOBODY, pid;
    for (int i = 0; i < RUNTIMES; i++) {
        weft_runtime *runtime;
        MUST(weft_start(&(weft_config){.workers = 1}, &runtime) == 0, "start");
        weft_spawn_with(waits, NULL, &(weft_stackful_options){.runtime = runtime}, &pid);
        MUST(pid != first, "a PID means a stranger");
        if (i == 0) first = pid;
        weft_stop(runtime, NULL, WEFT_FOREVER);
    }
    return 0;
}
