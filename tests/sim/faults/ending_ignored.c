/* Stopping ends a process that calls weft again and again without a look at the answer. */
#include "oracle.h"

static void goes_on(void *arg) {
    weft_msg *message;
    (void)arg;
    for (;;)
        if (weft_recv(&message, WEFT_FOREVER) == 0) weft_msg_free(message);
}

int main(void) {
    weft_runtime *runtime;
    weft_pid pid;
    weft_stop_report report;
    MUST(weft_start(&(weft_config){.workers = 1}, &runtime) == 0, "start");
    weft_spawn_with(goes_on, NULL, &(weft_stackful_options){.runtime = runtime}, &pid);
    MUST(weft_stop(runtime, &report, weft_in(10 * MILLISECOND)) == 0, "a process is left");
    return 0;
}
