/* A process whose calls never have to wait lets another one have its turn. */
#include "oracle.h"

enum { CALLS = 2000 };

static weft_sem sem;
static bool ran;

static void calls(void *arg) {
    (void)arg;
    for (int i = 0; !ran; i++) {
        weft_sem_release(&sem, 1);
        weft_sem_acquire(&sem, 1, WEFT_FOREVER);
        MUST(i < CALLS, "the other process waits");
    }
}

static void runs(void *arg) {
    (void)arg;
    ran = true;
}

static void begins(void *arg) {
    (void)arg;
    weft_spawn(runs, NULL);
    calls(NULL);
}

int main(void) {
    weft_runtime *runtime;
    weft_pid pid;
    weft_sem_init(&sem, 1);
    MUST(weft_start(&(weft_config){.workers = 1}, &runtime) == 0, "start");
    weft_spawn_with(begins, NULL, &(weft_stackful_options){.runtime = runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid);
    weft_join(pid, NULL, WEFT_FOREVER);
    return weft_stop(runtime, NULL, WEFT_FOREVER);
}
