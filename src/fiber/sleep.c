#include "fiber/wait.h"

#include <weft/time.h>

uint64_t weft_in(uint64_t nanoseconds) {
    uint64_t now = sys->now();
    return nanoseconds < WEFT_FOREVER - now ? now + nanoseconds : WEFT_FOREVER;
}

int weft_sleep_until(uint64_t moment) {
    struct wait wait;
    wait_begin(&wait);
    int why = wait_for(&wait, moment, "weft_sleep");
    return why == WEFT_ETIMEDOUT ? 0 : why;
}

int weft_sleep(uint64_t nanoseconds) { return weft_sleep_until(weft_in(nanoseconds)); }
