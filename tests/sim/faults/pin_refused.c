/* A pinned process stays in its thread, and a worker can be sent away when no process is pinned to it, whatever was tried before. */
#include "oracle.h"

enum { PROCESSES = 6, PINS = 30, CHANGES = 20 };

static void pins(void *arg) {
    (void)arg;
    for (int i = 0; i < PINS; i++) {
        weft_pin_begin();
        pid_t here = gettid();
        weft_yield();
        MUST(gettid() == here, "a pinned process has moved");
        weft_pin_end();
        weft_sleep(MILLISECOND / 100);
    }
}

int main(void) {
    weft_runtime *runtime;
    weft_pid pids[PROCESSES];
    MUST(weft_start(&(weft_config){.workers = 2}, &runtime) == 0, "start");
    for (int i = 0; i < PROCESSES; i++)
        weft_spawn_with(pins, NULL, &(weft_stackful_options){.runtime = runtime, .flags = WEFT_SPAWN_JOINABLE}, &pids[i]);
    for (unsigned i = 0; i < CHANGES; i++) {
        weft_set_workers(runtime, 1 + i % 2);
        if (i % 2 || weft_sim_random(2)) weft_join(pids[0], NULL, weft_in(weft_sim_random(MILLISECOND / 20)));
    }
    weft_set_workers(runtime, 2);
    for (int i = 0; i < PROCESSES; i++)
        weft_join(pids[i], NULL, WEFT_FOREVER);
    MUST(weft_set_workers(runtime, 1) == 0, "a worker stays although no process is pinned");
    return weft_stop(runtime, NULL, WEFT_FOREVER);
}
