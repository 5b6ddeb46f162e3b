/* A failure as a list of decisions, and attempts to fail in the same way with fewer: what shrinking is made of. */
#ifndef WEFT_CLI_SIM_FAILING_H
#define WEFT_CLI_SIM_FAILING_H

#include "cli/sim.h"

/* The decisions that are not 0, in the order of time. They point into the history. */
struct failing {
    struct history history;
    const struct row **draws;
    size_t count;
};

/* What is looked for, and how far it has come. */
struct shrinking {
    const struct sim_options *options;
    uint64_t seed;
    char kind[VERDICT_MAX]; /* how it has to fail */
    uint64_t tried, until;  /* until: of the real clock, ms */
    uint64_t limit_ms;      /* for an attempt */
    char *script, *record;  /* files of attempts */
    struct outcome outcome; /* of the last attempt */
    bool over;              /* time, or an error */
};

/* One attempt: the decisions of a failure, except some. */
struct attempt {
    const struct failing *failing;
    const bool *out;     /* the decisions that are left out, or NULL */
    size_t near;         /* decisions from here on are named by their time, those before exactly (sim/script.h) */
    size_t changed;      /* this decision gets ... */
    uint64_t changed_to; /* ... another value; 0: none does */
    bool whole;          /* the history is recorded with its events */
};

/* 0, or -1 with a message. */
int failing_load(struct failing *failing, const char *record);
void failing_free(struct failing *failing);
int failing_write(const struct shrinking *shrinking, const struct attempt *attempt, const char *path);
/* Whether the attempt fails in the same way: then *found has the decisions that were made in it, which may be fewer than were given. */
bool failing_again(struct shrinking *shrinking, const struct attempt *attempt, struct failing *found);

/* Leaves decisions out until none can go, or the time is over. */
void failing_shrink(struct shrinking *shrinking, struct failing *failing);
/* Looks for a quiet seed that fails in the same way, from *next on, until this time (ms). Returns it, or 0. */
uint64_t failing_search(struct shrinking *shrinking, uint64_t *next, const char *without, uint64_t until);

#endif
