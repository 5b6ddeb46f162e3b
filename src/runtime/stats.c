/* What the runtime counts: weft_get_stats. */
#include "base/sized.h"
#include "sched/sched.h"

static void add_counters(weft_stats *stats, struct counters *counters) {
    /* rlx: each has one writer, and the sum is not promised to be of one moment. */
    stats->spawned += atom_load_rlx(&counters->spawned);
    stats->steps += atom_load_rlx(&counters->steps);
    stats->messages_sent += atom_load_rlx(&counters->sent);
    stats->messages_refused += atom_load_rlx(&counters->refused);
    stats->steals += atom_load_rlx(&counters->steals);
    stats->stolen += atom_load_rlx(&counters->stolen);
    stats->injected += atom_load_rlx(&counters->injected);
    stats->handoffs += atom_load_rlx(&counters->handoffs);
    stats->sleeps += atom_load_rlx(&counters->sleeps);
    stats->wakeups += atom_load_rlx(&counters->wakeups);
    stats->late_completions += atom_load_rlx(&counters->late);
}

static void stats_collect(struct runtime *runtime, weft_stats *stats) {
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++)            /* first, and acq: as in stop.c, so that the number of processes is never too small */
        stats->ended += atom_load_acq(&atom_load_rlx(&runtime->workers[i])->local.counters.ended);
    for (unsigned i = 0; i < made; i++)
        add_counters(stats, &atom_load_rlx(&runtime->workers[i])->local.counters); /* rlx: published by `made` */
    for (unsigned i = 0; i < DOORS; i++)
        add_counters(stats, &runtime->doors[i].counters);
    stats->preemptions = atom_load_rlx(&runtime->preempt.times); /* rlx, both: numbers */
    stats->stopped = atom_load_rlx(&runtime->preempt.stopped);
    stats->processes = stats->spawned > stats->ended ? stats->spawned - stats->ended : 0;
}

void weft_get_stats_sized(weft_runtime *runtime, weft_stats *stats, size_t stats_size) {
    weft_stats mine = {.processes = 0};
    stats_collect((struct runtime *)runtime, &mine);
    sized_write(stats, stats_size, &mine, sizeof mine);
}
