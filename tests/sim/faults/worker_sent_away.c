/* Stopping keeps its deadline although a process is in a call that does not end, on a worker that was sent away meanwhile. */
#include "oracle.h"

static weft_sem begun, released;

static void blocks(void *arg) {
    (void)arg;
    weft_sem_release(&begun, 1);
    weft_sem_acquire(&released, 1, WEFT_FOREVER);
}
static void calls(void *arg) {
    (void)arg;
    weft_blocking(blocks, NULL);
}

int main(void) {
    weft_runtime *runtime;
    weft_pid pid;
    weft_sem_init(&begun, 0), weft_sem_init(&released, 0);
    MUST(weft_start(&(weft_config){.workers = 2}, &runtime) == 0, "start");
    for (int i = 0; i < 2; i++)
        weft_spawn_with(calls, NULL, &(weft_stackful_options){.runtime = runtime}, &pid);
    for (int i = 0; i < 2; i++)
        weft_sem_acquire(&begun, 1, WEFT_FOREVER);
    weft_set_workers(runtime, 1);
    MUST(weft_stop(runtime, NULL, weft_in(MILLISECOND)) == WEFT_ETIMEDOUT, "two processes are in calls");
    _exit(0); /* what they hold stays allocated, as it should */
}
