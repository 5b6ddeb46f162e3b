/* How often sysmon looks. */
#ifndef WEFT_THREAD_BACKOFF_H
#define WEFT_THREAD_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BACKOFF_SHORTEST = 20000,  /* ns */
    BACKOFF_WAITING = 1000000, /* at most, while somebody waits in the global queue */
    BACKOFF_LONGEST = 10000000,
    BACKOFF_ROUNDS = 50, /* rounds without anything to do, before it looks less often */
};

struct backoff {
    uint64_t period; /* from one look to the next, ns */
    unsigned quiet;  /* rounds in a row without anything to do */
};

static inline struct backoff backoff_begin(void) { return (struct backoff){.period = BACKOFF_SHORTEST}; }

/* Somebody has woken it from a long nap: for some rounds, because others may come who have just not seen that it dozes. */
static inline struct backoff backoff_woken(void) { return (struct backoff){.period = BACKOFF_WAITING, .quiet = BACKOFF_ROUNDS - 10}; }

/* After a round. `busy`: there was something to do; `waiting`: somebody waits in the global queue. */
static inline void backoff_round(struct backoff *backoff, bool busy, bool waiting) {
    if (busy) {
        *backoff = backoff_begin();
    } else if (++backoff->quiet > BACKOFF_ROUNDS) {
        uint64_t longest = waiting ? BACKOFF_WAITING : BACKOFF_LONGEST;
        backoff->period = backoff->period * 2 < longest ? backoff->period * 2 : longest;
    }
}

#endif
