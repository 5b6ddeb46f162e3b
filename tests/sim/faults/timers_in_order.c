/* Messages of weft_after reach one receiver in the order of their times, whichever workers arm them, and while workers come and go. */
#include "oracle.h"

enum { ARMERS = 4, TIMERS = 100 };

static weft_mutex mutex;
static weft_pid receiver;
static uint64_t armed;

static void receives(void *arg) {
    uint64_t last = 0, tag;
    weft_msg *message;
    (void)arg;
    while (last < TIMERS) {
        MUST(weft_recv(&message, WEFT_FOREVER) == 0, "receive");
        tag = weft_msg_tag(message);
        weft_msg_free(message);
        MUST(tag > last, "a later timer came first");
        last = tag;
    }
}

/* All with the same delay, one after the other: in the order of their numbers. */
static void arms(void *arg) {
    (void)arg;
    while (armed < TIMERS) {
        if (weft_mutex_lock(&mutex, WEFT_FOREVER) != 0) return; /* the runtime is stopped */
        weft_after(MILLISECOND / 10, receiver, ++armed, NULL, 0, NULL);
        weft_mutex_unlock(&mutex);
        if (weft_sim_random(4) == 0) weft_sleep(weft_sim_random(MILLISECOND / 10));
        else weft_yield();
    }
}

int main(void) {
    weft_runtime *runtime;
    weft_pid pid;
    MUST(weft_start(&(weft_config){.workers = 2}, &runtime) == 0, "start");
    weft_stackful_options options = {.runtime = runtime, .flags = WEFT_SPAWN_JOINABLE};
    weft_spawn_with(receives, NULL, &options, &receiver);
    for (int i = 0; i < ARMERS; i++)
        weft_spawn_with(arms, NULL, &options, &pid);
    for (unsigned workers = 1; weft_join(receiver, NULL, weft_in(weft_sim_random(MILLISECOND / 10))) == WEFT_ETIMEDOUT;
         workers = 3 - workers)
        weft_set_workers(runtime, workers);
    return weft_stop(runtime, NULL, WEFT_FOREVER);
}
