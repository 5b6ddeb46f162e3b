/* Searching the executions of a scenario. */
#ifndef CHECK_SEARCH_H
#define CHECK_SEARCH_H

#include "run.h"

struct search_limits {
    uint64_t executions;  /* stop after this many */
    unsigned preemptions; /* not 0: bounded search */
    uint64_t random_runs; /* not 0: random executions */
    uint64_t seed;
    bool oracle; /* exhaustive, by the naive enumeration */
    bool progress;
};

enum verdict { V_EXHAUSTED, V_VIOLATION, V_CAPPED };

struct search_result {
    enum verdict verdict;
    uint64_t complete, blocked, cut, discarded;
    enum chk_flaw flaw;
    char what[400];
    struct graph *graph; /* the violating one, owned by the search; valid until the next */
    unsigned violator;   /* the thread that was running, or 0 */
    const char *capped_by;
};

/* Every execution graph, each once. */
void search_all(const struct chk_scenario *scenario, const struct search_limits *limits, struct search_result *result);

/* Forward searches: by interleavings with few preemptions, at random, or all (as an oracle for search_all). */
void search_forward(const struct chk_scenario *scenario, const struct search_limits *limits, struct search_result *result);

/* Runs again to the same graph, or along a replay string. Both give the order in which events were added, and the choices
 * as a replay string's steps. */
struct trace {
    eid step[T_MAX * E_MAX];
    unsigned steps;
    char string[4 * T_MAX * E_MAX];
};
enum run_end forward_follow(const struct chk_scenario *scenario, const struct search_result *violation, struct graph *out,
                            struct trace *trace);
/* NULL, or what is wrong with the string. */
const char *forward_replay(const struct chk_scenario *scenario, const char *steps, struct graph *out, struct trace *trace,
                           enum run_end *end);

/* Counts a run that ended without violation. */
void search_count(struct search_result *result, enum run_end end);
void search_progress(const struct chk_scenario *scenario, const struct search_result *result);

#endif
