/* Stopping a runtime: all processes are asked to end and run on until none is left or time is up, then the runtime is taken down. */
#include "base/sim_hooks.h"
#include "base/sized.h"
#include "command/command.h"
#include "fiber/fault.h"
#include "fiber/held_locks.h"
#include "fiber/pack.h"
#include "fiber/stack_usage.h"
#include "forkjoin/thief.h"
#include "life/cancel.h"
#include "life/monitor.h"
#include "life/spawn.h"
#include "life/ties.h"
#include "mail/bounds.h"
#include "mail/lane.h"
#include "mail/post.h"
#include "mail/send_after.h"
#include "net/desc.h"
#include "os/signal.h"
#include "preempt/preempt.h"
#include "registry/registry.h"
#include "runtime/quit.h"
#include "runtime/report.h"
#include "sched/atfork.h"
#include "sched/door.h"
#include "sched/netpoll.h"
#include "sys/deadline.h"
#include "thread/cpu_time.h"
#include "thread/stopped.h"
#include "thread/sysmon.h"
#include "thread/thread.h"
#include "thread/worker.h"

#include <stdio.h>

/* Processes spawned minus ended, plus those being spawned. Read in this order it is never too small. */
static uint64_t living(struct runtime *runtime) {
    uint64_t births = atom_load_acq(&runtime->births); /* acq: pairs with the rel in birth_over */
    uint64_t ended = 0, spawned = 0;
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++)
        ended += atom_load_acq(&atom_load_rlx(&runtime->workers[i])->local.counters.ended);
    for (unsigned i = 0; i < made; i++)
        spawned += atom_load_rlx(&atom_load_rlx(&runtime->workers[i])->local.counters.spawned);
    for (unsigned i = 0; i < DOORS; i++)
        spawned += atom_load_rlx(&runtime->doors[i].counters.spawned);
    return spawned - ended + births;
}

static void left_visit(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user) {
    weft_stop_report *report = user;
    (void)runtime, (void)proc;
    if (report->left < sizeof report->first / sizeof report->first[0]) report->first[report->left] = pid;
    report->left++;
}

/* A process that a thread is still running is not touched, but its monitors are told that it has ended. */
static void close_visit(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user) {
    struct local *local = &runtime->doors[0];
    bool newborn = state_is_newborn(&proc->state), seized = state_seize(&proc->state), alone = *(bool *)user;
    (void)pid;
    if ((seized || alone) && proc->stackful == PROC_PACKED) pack_abandon(local, proc);
    if (newborn && seized && info_is_stackful(proc)) fiber_discard(local, proc);
    if (seized || alone) proc_end(local, proc, WEFT_EKILLED);
    else bounds_forsake(proc);
    if (!seized && !alone && state_is_monitored(&proc->state))
        monitor_tell(local, NULL, proc_slot(proc), &(struct reason){WEFT_EKILLED, NULL}, true);
}

/* Gives the messages' memory back, but for messages that the program has kept. */
static void messages_leave(struct runtime *runtime) {
    for (unsigned i = 0; i < DOORS; i++)
        cache_flush(&runtime->doors[i].cache.pool);
    cache_flush(&runtime->sysmon.local.cache.pool);
    pool_trim_all(&message_pool);
}

void runtime_destroy(struct runtime *runtime) {
    door_close(runtime, true);
    netpoll_destroy(runtime);
    unsigned made = atom_load_rlx(&runtime->made); /* rlx, here and below: no other thread is left */
    for (unsigned i = 0; i < made; i++) {
        struct worker *worker = atom_load_rlx(&runtime->workers[i]);
        cache_flush(&worker->local.cache.pool);
        worker_free(worker);
    }
    command_destroy_all(runtime);
    forkjoin_destroy_all(runtime);
    monitor_destroy_all(runtime);
    ties_destroy_all(runtime);
    side_destroy(&runtime->sides.names, sizeof(struct fiber_name));
    pack_destroy_all(runtime);
    held_locks_destroy(runtime);
    cpu_times_destroy(runtime);
    registry_destroy(runtime);
    stack_usage_destroy(runtime);
    send_after_destroy_all(runtime);
    lane_destroy_all(runtime);
    bounds_runtime_ends(runtime->bounded);
    messages_leave(runtime);
    table_destroy(&runtime->table);
    inject_destroy(&runtime->inject);
    pool_destroy(&runtime->pool);
    stacks_destroy(&runtime->stacks);
    sys->free(runtime, sizeof *runtime);
}

/* ---- asking, forcing, giving up ----------------------------------------------------------------------------------- */

enum {
    STOP_PRESS = 10000000,     /* ns; how often stop_press is repeated */
    STOP_CLEANUP = 1000000000, /* how long processes have for their cleanup functions, before those that are left are reported */
    STOP_LAST = 100000000,     /* likewise, if the deadline has passed by then */
};

/* Waits until no process is left: true; or until the deadline. */
static bool stop_until(struct runtime *runtime, uint64_t deadline) {
    while (living(runtime) > 0)
        if (parker_park(&runtime->stopper, deadline) == -ETIMEDOUT) return living(runtime) == 0;
    return true;
}

void stop_wait(struct runtime *runtime, uint64_t deadline) {
    atom_store_rlx(&runtime->stopping, true); /* rlx: the fence */
    /* Pairs with the light one in spawn_open: it sees `stopping` and cancels the new process itself, or the process is seen by
     * cancel_all. And with the one in proc_end: it sees `stopping` and tells, or its count is seen by living. */
    sys_fence_heavy();
    door_settle(runtime->instance); /* threads at a door that did not see it have finished spawning and are counted */
    cancel_all(runtime, NULL);
    stop_until(runtime, deadline);
}

static uint64_t stop_earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* A process that runs now checks at its next call whether it is to end. rlx: a request. */
void stop_press(struct runtime *runtime) {
    atom_store_rlx(&runtime->forcing, true);
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++) {
        struct worker *worker = atom_load_rlx(&runtime->workers[i]); /* rlx: published by `made` */
        atom_store_rlx(&worker->give_way, atom_load_rlx(&worker->local.counters.steps));
        budget_end(worker);
    }
}

/* Forces processes to end, as far as that is possible; true: none is left. */
static bool stop_force(struct runtime *runtime, uint64_t deadline) {
    bool none = living(runtime) == 0;
    for (uint64_t now; !none && (now = sys->now()) < deadline;) {
        stop_press(runtime);
        none = stop_until(runtime, stop_earlier(deadline, now + STOP_PRESS));
    }
    return none;
}

/* The grace period is over, or the deadline has passed. */
static void stop_insist(struct runtime *runtime, uint64_t began, uint64_t deadline) {
    uint64_t now = sys->now(), last = stop_earlier(deadline, now + STOP_CLEANUP), least = now + STOP_LAST;
    if (stop_force(runtime, last > least ? last : least)) return;
    report_left(runtime, sys->now() - began);
    stop_force(runtime, deadline);
}

static void runtime_stop(struct runtime *runtime, weft_stop_report *report, uint64_t deadline) {
    if (my_worker && my_worker->runtime == runtime)
        WEFT_MISUSE("weft_stop", "called from a process of that runtime, which would wait for itself", "call it from another thread");
    uint64_t began = sys->now();
    stop_wait(runtime, stop_earlier(deadline, began + runtime->grace));
    if (living(runtime) > 0) stop_insist(runtime, began, deadline);
    if (living(runtime) > 0) preempt_settle(runtime);
    if (runtime->sysmon.started) post_close(runtime);
    sysmon_stop(runtime);
    /* rlx: read by this thread (worker_wait). No thread is in a process, so all threads are waited for. */
    if (living(runtime) == 0) atom_store_rlx(&runtime->forcing, false);
    workers_set(runtime, 0);
    preempt_finish(runtime);
    bool all = threads_end(runtime);
    door_close(runtime, all);
    net_destroy(runtime); /* while the waiters' stacks still exist */
    signal_forsake(runtime);
    quit_finish(runtime); /* after that: a watch of SIGQUIT would put its handler back */
    each_process(runtime, left_visit, report);
    /* acq: as in find_steal_pass. */
    for (unsigned i = 0, made = atom_load_acq(&runtime->made); i < made; i++)
        policy_let_go(atom_load_rlx(&runtime->workers[i])); /* rlx: published by `made` */
    each_process(runtime, close_visit, &all);
    message_check_left(runtime->instance);
    uint32_t births = atom_load_rlx(&runtime->births); /* rlx: all doors are closed */
    report->left += births;
    if (all && births == 0) {
        runtime_destroy(runtime);
        fault_finish();
    } else {
        sim_runtime_left();
        fprintf(stderr, "weft: a thread is still in a process that has not ended: the runtime's memory stays\n");
    }
}

int weft_stop_sized(weft_runtime *runtime, weft_stop_report *report, size_t report_size, uint64_t deadline) {
    weft_stop_report mine = {.left = 0};
    atfork_check("weft_stop");
    deadline_check(deadline, "weft_stop");
    if (runtime) runtime_stop((struct runtime *)runtime, &mine, deadline);
    if (report) sized_write(report, report_size, &mine, sizeof mine);
    return mine.left > 0 ? WEFT_ETIMEDOUT : 0;
}
