/* A blocking call does not hold up a pinned process of the same worker, which completes it. */
#include "oracle.h"

static weft_sem completed;

static void blocks(void *arg) {
    (void)arg;
    MUST(weft_sem_acquire(&completed, 1, weft_in(SECOND)) == 0, "the pinned process does not run");
}
static void calls(void *arg) {
    (void)arg;
    weft_blocking(blocks, NULL);
}
static void pinned(void *arg) {
    weft_pid pid;
    (void)arg;
    weft_pin_begin();
    weft_spawn_with(calls, NULL, &(weft_stackful_options){.flags = WEFT_SPAWN_JOINABLE}, &pid);
    weft_sleep(MILLISECOND);
    weft_sem_release(&completed, 1);
    weft_join(pid, NULL, WEFT_FOREVER);
    weft_pin_end();
}

int main(void) {
    weft_runtime *runtime;
    weft_pid pid;
    weft_sem_init(&completed, 0);
    MUST(weft_start(&(weft_config){.workers = 1}, &runtime) == 0, "start");
    weft_spawn_with(pinned, NULL, &(weft_stackful_options){.runtime = runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid);
    weft_join(pid, NULL, WEFT_FOREVER);
    return weft_stop(runtime, NULL, WEFT_FOREVER);
}
