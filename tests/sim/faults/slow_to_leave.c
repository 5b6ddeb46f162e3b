/* All memory is given back when a runtime has stopped and no process is left, although one had to be ended by force. What weft writes to
 * standard error says if not. */
#include "oracle.h"

#include <string.h>
#include <sys/mman.h>

enum { RUNTIMES = 10 };

static void goes_on(void *arg) {
    weft_msg *message;
    (void)arg;
    for (;;)
        if (weft_recv(&message, WEFT_FOREVER) == 0) weft_msg_free(message);
}

static void starts_and_stops(void) {
    weft_runtime *runtime;
    weft_pid pid;
    MUST(weft_start(&(weft_config){.workers = 2, .grace_ms = 1}, &runtime) == 0, "start");
    weft_spawn_with(goes_on, NULL, &(weft_stackful_options){.runtime = runtime}, &pid);
    MUST(weft_stop(runtime, NULL, WEFT_FOREVER) == 0, "a process is left");
}

int main(void) {
    char text[4096] = "";
    int said = memfd_create("said", 0), before = dup(STDERR_FILENO);
    dup2(said, STDERR_FILENO);
    for (int i = 0; i < RUNTIMES; i++)
        starts_and_stops();
    dup2(before, STDERR_FILENO);
    MUST(pread(said, text, sizeof text - 1, 0) >= 0, "read");
    MUST(!strstr(text, "memory stays"), "the memory of a runtime without processes stays");
    return 0;
}
