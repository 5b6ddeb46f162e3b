/* For scenarios about the end of a process: one that ends in its first step, and a listener that is told of it. */
#ifndef WEFT_CHECK_SCENARIOS_MORTAL_H
#define WEFT_CHECK_SCENARIOS_MORTAL_H

#include "small_runtime.h"

#include "life/monitor.h"

enum { REASON = -5 };

static inline int mortal_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    return REASON;
}
static const weft_behavior mortal = {.name = "mortal", .step = mortal_step};

struct listener {
    struct monitor monitor; /* first */
    unsigned told;
    int reason;
};
static inline bool hear(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *reason) {
    struct listener *listener = (struct listener *)monitor;
    (void)local, (void)self;
    listener->told++;
    listener->reason = reason->code;
    return false;
}

#endif
