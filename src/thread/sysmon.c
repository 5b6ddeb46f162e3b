/* The monitor: a thread that looks after workers which cannot look after themselves, because their threads are stuck in a call or in a
 * process that does not give way.
 *
 * It looks every 20 us while things happen, less and less often (up to 10 ms) while there is nothing to do for it, and not at all once
 * the runtime has been idle for a second: then the first worker to wake up wakes it too. */
#include "sched/timer_event.h"
#include "thread/oscall.h"
#include "thread/backoff.h"
#include "sched/netpoll.h"
#include "thread/stopped.h"
#include "sched/parts.h"
#include "thread/sysmon.h"
#include "thread/worker.h"
#include "thread/sysmon_trim.h"

enum {
    MONITOR_WATCHFUL = 100000,   /* ns; how often at least, while somebody waits at a busy worker and another sleeps */
    MONITOR_HOG = 10000000,      /* a step that lasts so long is a hog's */
    MONITOR_TRIM = 1000000000,   /* how often stacks that nobody needs are given back */
    MONITOR_LINGER = 800000000,  /* of idleness, before it sleeps */
    MONITOR_PACE = 1000000,      /* how often it looks whether a worker is so slow that it should look round sooner */
    MONITOR_COMPLAINT = 500000000, /* how long there are too many hogs, before they are named */
    MONITOR_CALM = 100000000,    /* how long without extra workers, before fences are light again */
    MONITOR_DEADLOCK = 30000000, /* of idleness, before it asks whether that is a deadlock */
};

enum { MONITOR_SILENCE_SECONDS = 10 }; /* between two complaints */

/* ---- one worker --------------------------------------------------------------------------------------------------- */

/* Whether anybody waits at the worker. */
static bool monitor_waits_at(struct worker *worker, uint64_t now) {
    return !policy_is_empty(worker) || timers_next(&worker->timers) <= now;
}

/* And whether anywhere. */
static bool monitor_somebody_waits(struct runtime *runtime, uint64_t now) {
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    bool some = inject_size(&runtime->inject) > 0;
    for (unsigned i = 0; i < made && !some; i++)
        some = monitor_waits_at(atom_load_rlx(&runtime->workers[i]), now); /* rlx: published by `made` */
    return some;
}

/* Whether the worker's thread is in a call that has lasted a round at least, and somebody needs the worker. Or in one of several, each of
 * which may be short, that the same step has made since the last round. Those who wait at other workers need it if nobody is idle. */
static bool monitor_call(struct worker *worker, uint64_t now) {
    struct runtime *runtime = worker->runtime;
    uint32_t number = call_seen(worker);
    bool same = number == worker->seen.call,
         same_step = worker->seen.call && worker->seen.steps == atom_load_rlx(&worker->actor.counters.steps); /* rlx: as below */
    worker->seen.call = number;
    worker->seen.held &= number != 0 && same;
    if (number == 0 || !(same || same_step)) {
        worker->seen.call_since = now;
        return false;
    }
    bool idle = idle_sleepers(&runtime->idle) > 0 || idle_searchers(&runtime->idle) > 0;
    bool needed = monitor_waits_at(worker, now) || inject_size(&runtime->inject) > 0 || preempt_waiting(runtime) ||
                  (same && !idle && monitor_somebody_waits(runtime, now));
    if (worker->seen.held || (!needed && (idle || now - worker->seen.call_since < MONITOR_HOG))) return false;
    worker->seen.held = call_stays(worker); /* E4: an extra worker, as for a hog, until it is back */
    if (worker->seen.held) return false;
    uint32_t lasting = atom_load_rlx(&worker->lasting); /* rlx, both: a guess */
    if (!call_hand_over(worker, number)) return false;
    atom_store_rlx(&worker->lasting, lasting + 1);
    return true;
}

/* Whether the same step has been running for too long. */
static bool monitor_hog(struct worker *worker, uint64_t now) {
    uint64_t steps = atom_load_rlx(&worker->actor.counters.steps); /* rlx: a number that changes or does not */
    bool busy = !idle_is_asleep(&worker->runtime->idle, worker->index) && atom_load_rlx(&worker->driven) &&
                steps != atom_load_rlx(&worker->finished); /* rlx: likewise */
    if (!busy || steps != worker->seen.steps) {
        worker->seen.steps = steps;
        worker->seen.step_since = now;
        return false;
    }
    if (worker->seen.held) return true;
    bool in_call = call_seen(worker) != 0; /* then its worker can be had without it; but it gives way when it is back */
    enum preempt_view view = in_call ? PREEMPT_NONE : preempt_look(worker, now);
    if (view == PREEMPT_STUCK) return true;
    if (now - worker->seen.step_since < MONITOR_HOG) return false;
    if (view == PREEMPT_ASKED) return false;
    atom_store_rlx(&worker->give_way, steps); /* rlx: a request; the step that is meant sees it or not */
    budget_end(worker);
    return !in_call && atom_load_rlx(&worker->driver) != 0; /* rlx: a number. 0: it has lost the worker to its call, and no thread has it yet */
}

/* The thread of a hog leaves the CPU at once to whoever wakes up beside it, until its step is over. */
static void monitor_patience(struct worker *worker, bool hog) {
    uint32_t thread = hog ? atom_load_rlx(&worker->driver) : 0; /* rlx: a number */
    if (thread == worker->seen.patient) return;
    if (worker->seen.patient) sys->thread_patient(worker->seen.patient, false);
    if (thread) sys->thread_patient(thread, true);
    worker->seen.patient = thread;
}

/* What waits at a worker that is busy for a round or longer must not wait while another sleeps. */
static bool monitor_stuck(struct worker *worker, uint64_t now) {
    struct runtime *runtime = worker->runtime;
    if (worker->seen.step_since == now || idle_is_asleep(&runtime->idle, worker->index)) return false; /* it moves, or will by itself */
    uint64_t next = timers_next(&worker->timers);
    bool due = now >= MONITOR_WATCHFUL && next <= now - MONITOR_WATCHFUL;
    while (due && alarms_ring(&runtime->monitor.actor, NULL, worker, now) > 0) {
    }
    if (!due && next + MONITOR_WATCHFUL < runtime->monitor.come_back && next != SYS_FOREVER) runtime->monitor.come_back = next + MONITOR_WATCHFUL;
    if (due || policy_is_empty(worker) || idle_sleepers(&runtime->idle) == 0) return due;
    ready_wake(runtime, NULL);
    return true;
}

/* A worker comes to its timers and to the global queue with every 61st process. That is soon, unless each takes milliseconds and then gives
 * way, so that none is a hog. One that is so slow is told to look round with the next process. */
static void monitor_pace(struct worker *worker, uint64_t now) {
    if (now - worker->seen.paced < MONITOR_PACE) return;
    uint64_t steps = atom_load_rlx(&worker->actor.counters.steps); /* rlx: a number */
    if (steps - worker->seen.paced_steps < GLOBAL_TICK) tick_hurry(worker);
    worker->seen.paced = now;
    worker->seen.paced_steps = steps;
}

/* ---- all of them -------------------------------------------------------------------------------------------------- */

/* All workers have hogs, the extra ones too, and somebody waits: said when it lasts, and not again for a while. */
static void monitor_complain(struct runtime *runtime, unsigned hogs, uint64_t now) {
    struct monitor *monitor = &runtime->monitor;
    unsigned workers = atom_load_rlx(&runtime->wanted) + atom_load_rlx(&runtime->extra); /* rlx, both: numbers */
    if (hogs < workers || !monitor_somebody_waits(runtime, now)) monitor->crowded_since = 0;
    else if (monitor->crowded_since == 0) monitor->crowded_since = now;
    else if (now - monitor->crowded_since > MONITOR_COMPLAINT && now >= monitor->complain_at) {
        parts.hogs(runtime, now);
        monitor->complain_at = now + MONITOR_SILENCE_SECONDS * UINT64_C(1000000000);
    }
}

/* While there are hogs, the others get up and go to sleep all the time: without a system call that disturbs all CPUs. What a thread that wakes
 * up on time has used of its slice before decides whether the kernel lets it run at once beside busy ones. */
static void monitor_fences(struct runtime *runtime, uint64_t now) {
    struct monitor *monitor = &runtime->monitor;
    if (atom_load_rlx(&runtime->extra) > 0) monitor->full_until = now + MONITOR_CALM; /* rlx: a number */
    bool full = now < monitor->full_until;
    if (full == monitor->full_fences) return;
    sys_fence_wish_full(full);
    monitor->full_fences = full;
}

/* True: there was something to do. */
static bool monitor_round(struct runtime *runtime, uint64_t now) {
    unsigned made = atom_load_acq(&runtime->made), hogs = 0; /* acq: as in find_steal_pass */
    bool some = false;
    runtime->monitor.come_back = SYS_FOREVER;
    for (unsigned i = 0; i < made; i++) {
        struct worker *worker = atom_load_rlx(&runtime->workers[i]); /* rlx: published by `made` */
        if (call_drive_again(worker) || monitor_call(worker, now)) some = true;
        bool hog = monitor_hog(worker, now);
        hogs += hog;
        monitor_patience(worker, hog);
        monitor_pace(worker, now);
        if (monitor_stuck(worker, now)) some = true;
    }
    unsigned overdue = preempt_overdue(runtime, now);
    workers_compensate(runtime, hogs + overdue);
    workers_relieve(runtime, hogs + overdue);
    if (poll_watch(runtime, now)) some = true;
    monitor_complain(runtime, hogs, now);
    monitor_fences(runtime, now);
    return some;
}

void monitor_hurry(struct runtime *runtime) {
    struct monitor *monitor = &runtime->monitor;
    if (atom_swap_rlx(&monitor->drowsy, false)) parker_unpark(&monitor->parker); /* rlx: the parker orders */
}

/* Between two rounds. True: somebody wants it to look now. rlx: who does not see that it is drowsy is looked after a little later. */
static bool monitor_nap(struct runtime *runtime, uint64_t period) {
    struct monitor *monitor = &runtime->monitor;
    uint64_t now = sys->now(), until = now + preempt_period(runtime, period);
    if (monitor->come_back < until) until = monitor->come_back;
    bool drowsy = until > now + MONITOR_PACE;
    if (drowsy) atom_store_rlx(&monitor->drowsy, true);
    bool woken = parker_park(&monitor->parker, until) == 0;
    if (drowsy) atom_store_rlx(&monitor->drowsy, false);
    return drowsy && woken;
}

static void *monitor_main(void *argument) {
    struct runtime *runtime = argument;
    struct monitor *monitor = &runtime->monitor;
    uint64_t idle_since = 0, trimmed = sys->now();
    struct pace pace = pace_begin();
    thread_is_careful = true;
    monitor->come_back = SYS_FOREVER;
    bool asked = false; /* whether it is a deadlock, since they all fell asleep */
    while (!atom_load_acq(&monitor->over)) { /* acq: pairs with the rel in monitor_stop */
        if (monitor_nap(runtime, pace.period)) pace = pace_woken();
        bool delivered = posts_deliver(&runtime->posts);
        uint64_t now = sys->now();
        monitor_tell_time(runtime, now);
        bool busy = monitor_round(runtime, now);
        pace_round(&pace, busy, inject_size(&runtime->inject) > 0);
        if (now - trimmed > MONITOR_TRIM) {
            stacks_trim(&runtime->stacks, false);
            trim_survey(runtime, false);
            trimmed = now;
        }
        trim_slice(runtime, now);
        parts.sysmon_round(runtime, now);
        if (!monitor_all_asleep(runtime) || !delivered) {
            idle_since = 0;
        } else if (idle_since == 0) {
            idle_since = now;
            asked = false;
        } else if (now - idle_since > MONITOR_DEADLOCK && !asked) {
            parts.all_asleep(runtime, now);
            asked = true;
        } else if (now - idle_since > MONITOR_LINGER && !atom_load_rlx(&runtime->deadlock.found)) { /* rlx: this thread's */
            parts.all_asleep(runtime, now); /* a thread of the program's own may have ended meanwhile */
            stacks_trim(&runtime->stacks, true);
            trim_asleep(runtime);
            monitor_sleep(runtime);
            pace = pace_begin();
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
    if (!error) monitor_tell_time(runtime, sys->now());
    return error;
}

void monitor_stop(struct runtime *runtime) {
    struct monitor *monitor = &runtime->monitor;
    if (!monitor->started) return;
    atom_store_rel(&monitor->over, true); /* rel: pairs with the acq in monitor_main */
    parker_unpark(&monitor->parker);
    sys->thread_join(monitor->thread);
    posts_deliver(&runtime->posts); /* what came in last; without memory it is lost */
    if (monitor->full_fences) sys_fence_wish_full(false);
    monitor->full_fences = monitor->started = false;
}
