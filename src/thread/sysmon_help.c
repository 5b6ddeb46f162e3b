/* Comparing the steps with thieves and without: see thread/sysmon_help.h. */
#include "thread/sysmon_help.h"

enum {
    HELP_WINDOW = 200000,        /* ns; how long is measured, at least */
    HELP_WINDOW_MOST = 20000000, /* what came in a longer one says nothing about now */
    HELP_GAP = 20000,            /* thefts are frequent if there is one in this time */
    HELP_SHARE = 4,              /* and last for a moment only if one of so many steps is of a process that was stolen */
    HELP_FACTOR =
        2, /* without thieves there must be so many times as many steps: steps get shorter too, where processes take turns more often */
    HELP_LEAST = 10000000, /* how long a verdict holds */
    HELP_MOST = 160000000,
};

static struct help_counts help_count(struct runtime *runtime) {
    struct help_counts all = {0};
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++) {
        struct counters *counters = &atom_load_rlx(&runtime->workers[i])->local.counters; /* rlx, all: published by `made`; numbers */
        all.steps += atom_load_rlx(&counters->steps);
        all.steals += atom_load_rlx(&counters->steals);
        all.stolen += atom_load_rlx(&counters->stolen);
    }
    return all;
}

static bool help_is_doubtful(const struct help_counts *got, uint64_t took) {
    return took < HELP_WINDOW_MOST && got->stolen * HELP_SHARE >= got->steps && got->steals * HELP_GAP >= took;
}

/* The same verdict as the last time holds for twice as long. */
static void help_judge(struct help *help, bool refused, uint64_t now) {
    bool again = refused == help->refused && help->pause != 0;
    help->pause = !again ? HELP_LEAST : help->pause < HELP_MOST ? 2 * help->pause : HELP_MOST;
    help->refused = refused;
    help->until = now + help->pause;
    help->state = refused ? HELP_REFUSED : HELP_WATCHED;
}

/* A window is over in which the workers did `got`. */
static void help_decide(struct help *help, const struct help_counts *got, uint64_t took, uint64_t now) {
    uint64_t rate = got->steps * 1000000 / took;
    switch (help->state) {
    case HELP_WATCHED:
        if (now < help->until || !help_is_doubtful(got, took)) break;
        help->rate = rate;
        help->state = HELP_SETTLED;
        break;
    case HELP_SETTLED: help->state = HELP_TRIED; break;
    case HELP_TRIED: help_judge(help, rate > help->rate * HELP_FACTOR, now); break;
    case HELP_REFUSED:
        if (now >= help->until || rate < help->rate) help->state = HELP_WATCHED, help->until = now;
        break;
    }
}

bool help_round(struct runtime *runtime, uint64_t now) {
    struct help *help = &runtime->sysmon.help;
    if (runtime->policy != POLICY_RING) return false;
    uint64_t took = now - help->since;
    if (took >= HELP_WINDOW) {
        struct help_counts all = help_count(runtime), before = help->counts;
        struct help_counts got = {all.steps - before.steps, all.steals - before.steals, all.stolen - before.stolen};
        help_decide(help, &got, took, now);
        help->counts = all;
        help->since = now;
    }
    bool alone = help->state != HELP_WATCHED;
    if (alone && help->since + HELP_WINDOW < runtime->sysmon.come_back) runtime->sysmon.come_back = help->since + HELP_WINDOW;
    return alone;
}
