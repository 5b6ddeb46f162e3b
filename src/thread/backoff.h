/* The interval between sysmon's rounds: short while there is something to do, doubling while there is not. */
#ifndef WEFT_THREAD_BACKOFF_H
#define WEFT_THREAD_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BACKOFF_SHORTEST = 20000,  /* ns */
    BACKOFF_WAITING = 1000000, /* at most, while a process waits in the global queue */
    BACKOFF_LONGEST = 10000000,
    BACKOFF_ROUNDS = 50, /* rounds without anything to do, before the interval grows */
};

struct backoff {
    uint64_t period; /* from one round to the next, ns */
    unsigned quiet;  /* rounds in a row without anything to do */
};

static inline struct backoff backoff_begin(void) { return (struct backoff){.period = BACKOFF_SHORTEST}; }

/* A thread has woken sysmon from a long nap: it stays watchful for some rounds, because other threads may have missed that it naps. */
static inline struct backoff backoff_woken(void) { return (struct backoff){.period = BACKOFF_WAITING, .quiet = BACKOFF_ROUNDS - 10}; }

/* After a round. `busy`: there was something to do; `waiting`: a process waits in the global queue. */
static inline void backoff_round(struct backoff *backoff, bool busy, bool waiting) {
    if (busy) {
        *backoff = backoff_begin();
    } else if (++backoff->quiet > BACKOFF_ROUNDS) {
        uint64_t longest = waiting ? BACKOFF_WAITING : BACKOFF_LONGEST;
        backoff->period = backoff->period * 2 < longest ? backoff->period * 2 : longest;
    }
}

#endif
