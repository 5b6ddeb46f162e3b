/* weft_sleep. */
#include "sched/external_wait.h"
#include "wait/wait.h"

#include <weft/time.h>

uint64_t weft_in(uint64_t nanoseconds) {
    uint64_t now = sys->now();
    return nanoseconds < WEFT_FOREVER - now ? now + nanoseconds : WEFT_FOREVER;
}

/* A process that sleeps for ever does so on purpose: until it is cancelled, or a signal ends the program. That is no deadlock. */
static __attribute__((noinline)) int sleep_for_ever(struct wait *wait) {
    struct worker *worker = worker_here();
    if (worker) external_wait_begin(&worker->local);
    int why = wait_for(wait, WEFT_FOREVER, "weft_sleep");
    if (worker) external_wait_end(&worker_here()->local); /* the process may have moved to another worker */
    return why;
}

int weft_sleep_until(uint64_t moment) {
    struct wait own;
    fiber_spend(
        worker_here(),
        WEFT_FOREVER); /* a moment that has passed is not waited for, but costs budget: a loop around this call gives way to others */
    struct wait *wait = pack_room(worker_here(), &own, sizeof own);
    wait_begin(wait);
    int why = moment == WEFT_FOREVER ? sleep_for_ever(wait) : wait_for(wait, moment, "weft_sleep_until");
    return why == WEFT_ETIMEDOUT ? 0 : why;
}

int weft_sleep(uint64_t nanoseconds) { return weft_sleep_until(weft_in(nanoseconds)); }
