/* A dump for a person: every worker and process, and the trees of supervisors. weft_dump, and SIGQUIT (quit.c). */
#include "life/cancel.h"
#include "runtime/report.h"
#include "sched/door.h"
#include "sched/heed.h"
#include "super/tree.h"
#include "sys/print.h"

#include <stdio.h>

enum { DUMP_PROCESSES = 200 }; /* of weft_dump; SIGQUIT and the end by a fault show more: report.h */

struct dump {
    int descriptor;
    unsigned shown, most, more;
};

/* ", 3 messages (120 bytes)" or, if their number is not known, ", has messages". */
static void dump_mailbox(const weft_process_info *info, char *text, size_t size) {
    *text = '\0';
    if (!info->has_messages) return;
    if (info->messages == WEFT_UNKNOWN) snprintf(text, size, ", has messages");
    else snprintf(text, size, ", %lu messages (%lu bytes)", (unsigned long)info->messages, (unsigned long)info->message_bytes);
}

/* ", registered as printer, child of 0100000001000201, 2 links, 1 monitor, watched by 3": what there is of that. Without waiting for locks: the
 * dump may be one of a thread that has faulted with them. */
static void dump_ties(struct runtime *runtime, struct proc *proc, weft_process_info *info, char *text, size_t size) {
    char registered[64] = "", parent[32] = "", links[24] = "", monitors[24] = "", watchers[24] = "";
    bool all = info_read_ties(runtime, proc, false, info);
    if (*info->registered) snprintf(registered, sizeof registered, ", registered as %s", info->registered);
    if (info->parent) snprintf(parent, sizeof parent, ", child of %016lx", (unsigned long)info->parent);
    if (info->links) snprintf(links, sizeof links, ", %u link%s", info->links, info->links == 1 ? "" : "s");
    if (info->monitors) snprintf(monitors, sizeof monitors, ", %u monitor%s", info->monitors, info->monitors == 1 ? "" : "s");
    if (info->watchers) snprintf(watchers, sizeof watchers, ", watched by %u", info->watchers);
    snprintf(text, size, "%s%s%s%s%s%s", registered, parent, links, monitors, watchers, all ? "" : " (its ties are in use)");
}

static void dump_stack(const weft_process_info *info, char *text, size_t size) {
    *text = '\0';
    if (info->stack_size) snprintf(text, size, ", stack %zu of %zu KiB", info->stack_used >> 10, info->stack_size >> 10);
}

static void dump_cpu(const weft_process_info *info, char *text, size_t size) {
    *text = '\0';
    if (info->cpu_time != WEFT_UNKNOWN) snprintf(text, size, ", %.3f s CPU", (double)info->cpu_time / 1e9);
}

static void dump_process(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user) {
    struct dump *dump = user;
    weft_process_info info;
    if (dump->shown == dump->most) {
        dump->more++;
        return;
    }
    dump->shown++;
    char name[192] = "", ties[224], wait[128], mailbox[64], stack[64], cpu[32];
    enum state_name state = info_read(runtime, proc, &info);
    report_name(runtime, proc, name, sizeof name);
    report_wait_of(&info, state, wait, sizeof wait);
    dump_ties(runtime, proc, &info, ties, sizeof ties);
    dump_mailbox(&info, mailbox, sizeof mailbox);
    dump_stack(&info, stack, sizeof stack);
    dump_cpu(&info, cpu, sizeof cpu);
    print_line(dump->descriptor, "  process %016lx %-10s %s%s%s%s%s%s%s, turns %u%s%s\n", (unsigned long)pid, state_text(state), name, ties,
               info.state == WEFT_STATE_STOPPED ? ", interrupted" : "", info.pinned ? ", pinned" : "", info.cancelled ? ", cancelled" : "",
               mailbox, wait, info.turns, stack, cpu);
}

static void dump_worker(struct worker *worker, int descriptor) {
    struct ring *ring = &worker->ring;
    print_line(descriptor, "  worker %u: %s, queue %s (due %u, ring %u, newborn %zu, deque %lu), %lu steps, %lu steals, %lu sleeps\n",
               worker->index, atom_load_rlx(&worker->driven) ? "has a thread" : "no thread",
               policy_is_empty(worker) ? "empty" : "not empty", ring_size(&worker->due),
               worker->policy == POLICY_RING ? ring_size(ring) + !slot_is_empty(&worker->slot) : 0, inject_size(&worker->newborn),
               worker->runtime->policy == POLICY_DEQUE ? (unsigned long)deque_size(&worker->deque) : 0,
               (unsigned long)atom_load_rlx(&worker->local.counters.steps), (unsigned long)atom_load_rlx(&worker->local.counters.steals),
               (unsigned long)atom_load_rlx(&worker->local.counters.sleeps));
}

static void dump_runtime_plainly(struct runtime *runtime, int descriptor, unsigned most) {
    struct dump dump = {.descriptor = descriptor, .most = most};
    weft_stats stats;
    weft_get_stats((weft_runtime *)runtime, &stats);
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
    if (dump.more) print_line(descriptor, "  and %u more processes: this dump shows %u of a runtime\n", dump.more, most);
}

void dump_runtime(struct runtime *runtime, int descriptor, unsigned most) {
    dump_runtime_plainly(runtime, descriptor, most);
    supers_dump(runtime, descriptor, most);
}

/* Runtimes other than the one of the fault, in whose middle threads may be: a door keeps it from going. */
static void dump_other(unsigned instance, int descriptor, bool supers) {
    unsigned door;
    struct runtime *runtime = door_hold(instance, &door);
    if (!runtime && !supers && door_runtime(instance)) print_line(descriptor, "weft runtime %u: in use, not shown\n", instance);
    if (!runtime) return;
    if (supers) supers_dump_apart(runtime, descriptor, DUMP_MOST);
    else dump_runtime_plainly(runtime, descriptor, DUMP_MOST);
    door_leave(instance, door);
}

static void dump_each_other(struct runtime *runtime, int descriptor, bool supers) {
    for (unsigned i = 0; i < INSTANCES; i++)
        if (i != runtime->instance) dump_other(i, descriptor, supers);
}

/* Supervisors come last: their lists are in memory that the fault may have hit, and a second fault would end the dump. */
void dump_after_fault(weft_runtime *opaque, int descriptor) {
    struct runtime *runtime = (struct runtime *)opaque;
    dump_runtime_plainly(runtime, descriptor, DUMP_MOST);
    dump_each_other(runtime, descriptor, false);
    supers_dump_apart(runtime, descriptor, DUMP_MOST);
    dump_each_other(runtime, descriptor, true);
}

void weft_dump(weft_runtime *runtime, int descriptor) {
    heed(my_worker);
    if (!runtime) WEFT_REFUSE("weft_dump", "no runtime", "give one");
    dump_runtime((struct runtime *)runtime, descriptor, DUMP_PROCESSES);
}
