/* What the runtime tells about itself: counters (weft_get_stats), and a dump for a person (weft_dump). */
#include "base/sized.h"
#include "life/cancel.h"
#include "runtime/report.h"
#include "sys/print.h"

#include <unistd.h>

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

/* ---- dump --------------------------------------------------------------------------------------------------------- */

enum { DUMP_PROCESSES = 200 };

struct dump {
    int descriptor;
    unsigned shown, more;
};

static void dump_process(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user) {
    struct dump *dump = user;
    if (dump->shown == DUMP_PROCESSES) {
        dump->more++;
        return;
    }
    dump->shown++;
    uint64_t word = atom_load_rlx(&proc->state.word); /* rlx: a racy read; the value is a hint */
    char name[128] = "", wait[128];
    report_name(runtime, proc, name, sizeof name);
    report_wait(runtime, proc, wait, sizeof wait);
    bool waiting = atom_load_rlx(&proc->box.head) != NULL; /* without the messages that the process has taken out of the box already */
    print_line(dump->descriptor, "  process %016lx %-10s %s%s%s%s%s\n", (unsigned long)pid, state_text(state_of(word)), name,
               word & STATE_NOTIFIED ? ", notified" : "", state_is_cancelled(&proc->state) ? ", cancelled" : "",
               waiting ? ", has messages" : "", wait);
}

static void dump_worker(struct worker *worker, int descriptor) {
    struct ring *ring = &worker->ring;
    print_line(descriptor, "  worker %u: %s, queue %s (ring %u, newborn %zu, deque %lu), %lu steps, %lu steals, %lu sleeps\n",
               worker->index, atom_load_rlx(&worker->driven) ? "has a thread" : "no thread",
               policy_is_empty(worker) ? "empty" : "not empty", ring_size(ring), inject_size(&worker->newborn),
               worker->runtime->policy == POLICY_DEQUE ? (unsigned long)deque_size(&worker->deque) : 0,
               (unsigned long)atom_load_rlx(&worker->local.counters.steps), (unsigned long)atom_load_rlx(&worker->local.counters.steals),
               (unsigned long)atom_load_rlx(&worker->local.counters.sleeps));
}

void weft_dump(weft_runtime *opaque, int descriptor) {
    struct runtime *runtime = (struct runtime *)opaque;
    struct dump dump = {.descriptor = descriptor};
    weft_stats stats;
    weft_get_stats(opaque, &stats);
    print_line(descriptor,
               "weft runtime %u: %lu processes (%lu spawned, %lu ended), %u workers, %u asleep, %u searching, %zu in the "
               "global queue\n",
               runtime->instance, (unsigned long)stats.processes, (unsigned long)stats.spawned, (unsigned long)stats.ended,
               atom_load_rlx(&runtime->wanted), idle_sleepers(&runtime->idle), idle_searchers(&runtime->idle),
               inject_size(&runtime->inject));
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++)
        dump_worker(atom_load_rlx(&runtime->workers[i]), descriptor);
    each_process(runtime, dump_process, &dump);
    if (dump.more) print_line(descriptor, "  and %u more processes\n", dump.more);
}
