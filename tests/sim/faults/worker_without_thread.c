/* A runtime stops although there is no thread for a worker whose own is in a call. */
#include "oracle.h"

enum { ROUNDS = 10 };

static int rounds;

static void blocks(void *arg) {
    (void)arg;
    usleep(1000);
}
static void calls(void *arg) {
    (void)arg;
    while (weft_blocking_long(blocks, NULL) == 0) {}
}

/* A round has an hour: threads may stall for seconds, again and again. */
static void *watches(void *arg) {
    for (int before = -1; rounds < ROUNDS; sleep(3600)) {
        MUST(rounds != before, "the runtime does not stop");
        before = rounds;
    }
    return arg;
}

int main(void) {
    weft_runtime *runtime;
    weft_pid pid;
    weft_sim_thread watcher;
    MUST(weft_sim_thread_start(&watcher, watches, NULL) == 0, "thread");
    for (; rounds < ROUNDS; rounds++) {
        MUST(weft_start(&(weft_config){.workers = 2, .max_threads = 2}, &runtime) == 0, "start");
        for (int i = 0; i < 4; i++)
            weft_spawn_with(calls, NULL, &(weft_stackful_options){.runtime = runtime}, &pid);
        usleep(3000);
        weft_stop(runtime, NULL, WEFT_FOREVER);
    }
    return weft_sim_thread_join(watcher);
}
