/* The monitor: a thread that looks after workers which cannot look after themselves, because their threads are stuck in a call or in a
 * process that does not give way.
 *
 * It looks every 20 us while things happen, less and less often (up to 10 ms) while there is nothing to do for it, and not at all once
 * the runtime has been idle for a second: then the first worker to wake up wakes it too. */
#include "sched/alarm.h"
#include "sched/call.h"

enum {
    MONITOR_SHORTEST = 20000,    /* ns */
    MONITOR_WATCHFUL = 100000,   /* at most, while somebody waits at a busy worker and another sleeps */
    MONITOR_LONGEST = 10000000,
    MONITOR_ROUNDS = 50,         /* rounds without anything to do, before it looks less often */
    MONITOR_HOG = 10000000,      /* a step that lasts so long is a hog's */
    MONITOR_TRIM = 1000000000,   /* how often stacks that nobody needs are given back */
    MONITOR_LINGER = 800000000,  /* of idleness, before it sleeps */
};

/* ---- one worker --------------------------------------------------------------------------------------------------- */

/* Whether the worker's thread is in a call that has lasted a round at least, and somebody needs the worker. */
static bool monitor_call(struct worker *worker, uint64_t now) {
    struct runtime *runtime = worker->runtime;
    uint32_t number = call_seen(worker);
    if (number == 0 || number != worker->seen.call) {
        worker->seen.call = number;
        worker->seen.call_since = now;
        return false;
    }
    bool idle = idle_sleepers(&runtime->idle) > 0 || idle_searchers(&runtime->idle) > 0;
    bool needed = !policy_is_empty(worker) || inject_size(&runtime->inject) > 0 || timers_next(&worker->timers) <= now;
    if (!needed && (idle || now - worker->seen.call_since < MONITOR_HOG)) return false;
    return call_hand_over(worker, number);
}

/* Whether the same step has been running for too long. */
static bool monitor_hog(struct worker *worker, uint64_t now) {
    uint64_t steps = atom_load_rlx(&worker->actor.counters.steps); /* rlx: a number that changes or does not */
    bool busy = !idle_is_asleep(&worker->runtime->idle, worker->index) && call_seen(worker) == 0 &&
                atom_load_rlx(&worker->driven) && steps != atom_load_rlx(&worker->finished); /* rlx: likewise */
    if (!busy || steps != worker->seen.steps) {
        worker->seen.steps = steps;
        worker->seen.step_since = now;
        return false;
    }
    if (now - worker->seen.step_since < MONITOR_HOG) return false;
    atom_store_rlx(&worker->give_way, steps); /* rlx: a request; the step that is meant sees it or not */
    return true;
}

/* What waits at a worker that is busy for a round or longer must not wait while another sleeps. */
static bool monitor_stuck(struct worker *worker, uint64_t now) {
    struct runtime *runtime = worker->runtime;
    if (worker->seen.step_since == now || idle_is_asleep(&runtime->idle, worker->index)) return false; /* it moves, or will by itself */
    bool due = now >= MONITOR_WATCHFUL && timers_next(&worker->timers) <= now - MONITOR_WATCHFUL;
    if (due) alarms_run_as(&runtime->monitor.actor, NULL, worker);
    if (due || policy_is_empty(worker) || idle_sleepers(&runtime->idle) == 0) return due;
    ready_wake(runtime, NULL);
    return true;
}

/* ---- all of them -------------------------------------------------------------------------------------------------- */

/* True: there was something to do. */
static bool monitor_round(struct runtime *runtime, uint64_t now) {
    unsigned made = atom_load_acq(&runtime->made), hogs = 0; /* acq: as in find_steal_pass */
    bool some = false;
    for (unsigned i = 0; i < made; i++) {
        struct worker *worker = atom_load_rlx(&runtime->workers[i]); /* rlx: published by `made` */
        if (call_drive_again(worker) || monitor_call(worker, now)) some = true;
        hogs += monitor_hog(worker, now);
        if (monitor_stuck(worker, now)) some = true;
    }
    workers_compensate(runtime, hogs);
    return some;
}

static bool monitor_all_asleep(struct runtime *runtime) {
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++) {
        struct worker *worker = atom_load_rlx(&runtime->workers[i]); /* rlx: published by `made` */
        if (atom_load_rlx(&worker->driven) && !idle_is_asleep(&runtime->idle, i)) return false;
    }
    return true;
}

/* Nothing has happened for long. Sleeps until a worker wakes up. */
static void monitor_sleep(struct runtime *runtime) {
    struct monitor *monitor = &runtime->monitor;
    atom_store_rlx(&monitor->asleep, true); /* rlx: the fence */
    stacks_trim(&runtime->stacks, true);
    sys_fence_heavy();                       /* pairs with the light one in monitor_wake: it sees `asleep`, or is seen awake */
    if (!monitor_all_asleep(runtime) || atom_load_rlx(&monitor->over)) {
        atom_store_rlx(&monitor->asleep, false);
        return;
    }
    parker_park(&monitor->parker, SYS_FOREVER);
}

void monitor_unpark(struct runtime *runtime) {
    if (atom_swap_rlx(&runtime->monitor.asleep, false)) parker_unpark(&runtime->monitor.parker); /* rlx: the parker orders */
}

static void *monitor_main(void *argument) {
    struct runtime *runtime = argument;
    struct monitor *monitor = &runtime->monitor;
    uint64_t period = MONITOR_SHORTEST, idle_since = 0, trimmed = sys->now();
    unsigned quiet = 0;
    while (!atom_load_acq(&monitor->over)) { /* acq: pairs with the rel in monitor_stop */
        parker_park(&monitor->parker, sys->now() + period);
        uint64_t now = sys->now();
        if (monitor_round(runtime, now)) {
            quiet = 0;
            period = MONITOR_SHORTEST;
        } else if (++quiet > MONITOR_ROUNDS && period < MONITOR_LONGEST) {
            period = period * 2 < MONITOR_LONGEST ? period * 2 : MONITOR_LONGEST;
        }
        if (now - trimmed > MONITOR_TRIM) {
            stacks_trim(&runtime->stacks, false);
            trimmed = now;
        }
        if (!monitor_all_asleep(runtime)) idle_since = 0;
        else if (idle_since == 0) idle_since = now;
        else if (now - idle_since > MONITOR_LINGER) {
            monitor_sleep(runtime);
            quiet = 0;
            period = MONITOR_SHORTEST;
            idle_since = 0;
        }
    }
    return NULL;
}

int monitor_start(struct runtime *runtime) {
    struct monitor *monitor = &runtime->monitor;
    parker_init(&monitor->parker);
    actor_init(&monitor->actor, runtime);
    int error = table_add_section(&runtime->table, &monitor->actor.section);
    if (!error) error = sys->thread_start(&monitor->thread, monitor_main, runtime);
    monitor->started = error == 0;
    return error;
}

void monitor_stop(struct runtime *runtime) {
    struct monitor *monitor = &runtime->monitor;
    if (!monitor->started) return;
    atom_store_rel(&monitor->over, true); /* rel: pairs with the acq in monitor_main */
    parker_unpark(&monitor->parker);
    sys->thread_join(monitor->thread);
    monitor->started = false;
}
