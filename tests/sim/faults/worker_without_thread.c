/* A runtime stops although there is no thread for a worker whose own is in a call. */
#include "oracle.h"

enum { ROUNDS = 10 };

static bool stopped;

static void blocks(void *arg) {
    (void)arg;
    usleep(1000);
}
static void calls(void *arg) {
    (void)arg;
    while (weft_blocking_long(blocks, NULL) == 0) {}
}

/* Has a thousand hours: threads may stall for seconds. */
static void *watches(void *arg) {
    (void)arg;
    sleep(3600 * 1000);
    MUST(stopped, "the runtime does not stop");
    return NULL;
}

int main(void) {
    weft_runtime *runtime;
    weft_pid pid;
    weft_sim_thread watcher;
    MUST(weft_sim_thread_start(&watcher, watches, NULL) == 0, "thread");
    for (int round = 0; round < ROUNDS; round++) {
        MUST(weft_start(&(weft_config){.workers = 2, .max_threads = 2}, &runtime) == 0, "start");
        for (int i = 0; i < 4; i++)
            weft_spawn_with(calls, NULL, &(weft_stackful_options){.runtime = runtime}, &pid);
        usleep(3000);
        weft_stop(runtime, NULL, WEFT_FOREVER);
    }
    stopped = true;
    return weft_sim_thread_join(watcher);
}
