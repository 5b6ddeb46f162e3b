/* How often the monitor looks. */
#ifndef WEFT_THREAD_BACKOFF_H
#define WEFT_THREAD_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PACE_SHORTEST = 20000, /* ns */
    PACE_WAITING = 1000000, /* at most, while somebody waits in the global queue */
    PACE_LONGEST = 10000000,
    PACE_ROUNDS = 50, /* rounds without anything to do, before it looks less often */
};

struct pace {
    uint64_t period; /* from one look to the next, ns */
    unsigned quiet;  /* rounds in a row without anything to do */
};

static inline struct pace pace_begin(void) { return (struct pace){.period = PACE_SHORTEST}; }

/* Somebody has woken it from a long nap: for some rounds, because others may come who have just not seen that it dozes. */
static inline struct pace pace_woken(void) { return (struct pace){.period = PACE_WAITING, .quiet = PACE_ROUNDS - 10}; }

/* After a round. `busy`: there was something to do; `waiting`: somebody waits in the global queue. */
static inline void pace_round(struct pace *pace, bool busy, bool waiting) {
    if (busy) {
        *pace = pace_begin();
    } else if (++pace->quiet > PACE_ROUNDS) {
        uint64_t longest = waiting ? PACE_WAITING : PACE_LONGEST;
        pace->period = pace->period * 2 < longest ? pace->period * 2 : longest;
    }
}

#endif
