/* Sysmon: the thread that looks after workers which cannot look after themselves, because their threads are stuck in a call or in a
 * process that does not yield.
 *
 * A round comes every 20 us while things happen, less and less often (up to every 10 ms) while there is nothing to do for sysmon, and
 * not at all once the runtime has been idle for 0.8 s: then the first worker to wake up wakes sysmon too. */
#include "thread/sysmon.h"
#include "sched/brisk.h"
#include "sched/netpoll.h"
#include "sched/parts.h"
#include "sched/timer_event.h"
#include "thread/backoff.h"
#include "thread/cpu_time.h"
#include "thread/oscall.h"
#include "thread/stopped.h"
#include "thread/sysmon_help.h"
#include "thread/sysmon_pack.h"
#include "thread/sysmon_trim.h"
#include "thread/worker.h"

enum {
    SYSMON_WATCHFUL = 100000,     /* ns; the longest interval while a process waits at a busy worker and another worker sleeps */
    SYSMON_BRISK = 10000,         /* the shortest interval from which a worker's rate of spawns is told */
    SYSMON_HOG = 10000000,        /* a step that lasts so long is a hog's */
    SYSMON_TRIM = 1000000000,     /* how often unused stacks are given back */
    SYSMON_LINGER = 800000000,    /* of idleness, before sysmon sleeps */
    SYSMON_PACE = 1000000,        /* how often sysmon looks for slow workers, which then check timers and the kernel more often */
    SYSMON_SLOW = 500,            /* a worker's processes are slow if each runs for longer */
    SYSMON_COMPLAINT = 500000000, /* how long all workers must have hogs, before these are named */
    SYSMON_CALM = 100000000,      /* how long without extra workers, before light fences are light again (sys/fence.c) */
    SYSMON_DEADLOCK = 30000000,   /* of idleness, before it asks whether that is a deadlock */
};

enum { SYSMON_SILENCE_SECONDS = 10 }; /* between two complaints */

/* ---- one worker --------------------------------------------------------------------------------------------------- */

/* Whether a process or a due timer waits at the worker. */
static bool sysmon_waits_at(struct worker *worker, uint64_t now) { return !policy_is_empty(worker) || timers_next(&worker->timers) <= now; }

/* And whether one waits anywhere. */
static bool sysmon_somebody_waits(struct runtime *runtime, uint64_t now) {
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    bool some = inject_size(&runtime->inject) > 0;
    for (unsigned i = 0; i < made && !some; i++)
        some = sysmon_waits_at(atom_load_rlx(&runtime->workers[i]), now); /* rlx: published by `made` */
    return some;
}

/* Hands a worker over whose thread is in a call that has lasted at least a round, if a process needs the worker. Or in one of several
 * calls, each of which may be short, that the same step has made since the last round. Processes that wait at other workers need it if
 * no worker is idle. */
static bool sysmon_call(struct worker *worker, uint64_t now) {
    struct runtime *runtime = worker->runtime;
    uint32_t number = oscall_seen(worker);
    bool same = number == worker->seen.call,
         same_step = worker->seen.call && worker->seen.steps == atom_load_rlx(&worker->local.counters.steps); /* rlx: as below */
    worker->seen.call = number;
    worker->seen.held &= number != 0 && same;
    if (number == 0 || !(same || same_step)) {
        worker->seen.call_since = now;
        return false;
    }
    bool idle = idle_sleepers(&runtime->idle) > 0 || idle_searchers(&runtime->idle) > 0;
    bool needed = sysmon_waits_at(worker, now) || inject_size(&runtime->inject) > 0 || stopped_waiting(runtime) ||
                  (same && !idle && sysmon_somebody_waits(runtime, now));
    if (worker->seen.held || (!needed && (idle || now - worker->seen.call_since < SYSMON_HOG))) return false;
    worker->seen.held = oscall_stays(worker); /* oscall.h, E4: an extra worker, as for a hog, until the thread is back */
    if (worker->seen.held) return false;
    uint32_t lasting = atom_load_rlx(&worker->lasting); /* rlx, both: a guess */
    if (!oscall_hand_over(worker, number)) return false;
    atom_store_rlx(&worker->lasting, lasting + 1);
    return true;
}

/* Whether the worker's step is a hog's: the same step has been running for too long. */
static bool sysmon_hog(struct worker *worker, uint64_t now) {
    uint64_t steps = atom_load_rlx(&worker->local.counters.steps); /* rlx: a number that changes or does not */
    bool busy = !idle_is_asleep(&worker->runtime->idle, worker->index) && atom_load_rlx(&worker->driven) &&
                steps != atom_load_rlx(&worker->finished); /* rlx: likewise */
    if (!busy || steps != worker->seen.steps) {
        worker->seen.steps = steps;
        worker->seen.step_since = now;
        return false;
    }
    if (worker->seen.held) return true;
    bool in_call = oscall_seen(worker) != 0; /* then its worker can be had without it; but the step should yield when the thread is back */
    enum preempt_view view = in_call ? PREEMPT_NONE : preempt_look(worker, now);
    if (view == PREEMPT_STUCK) return true;
    if (now - worker->seen.step_since < SYSMON_HOG) return false;
    if (view == PREEMPT_ASKED) return false;
    atom_store_rlx(&worker->give_way, steps); /* rlx: a request; the step that is meant sees it or not */
    budget_end(worker);
    return !in_call &&
           atom_load_rlx(&worker->driver) != 0; /* rlx: a number. 0: its thread has lost the worker in a call, and no thread has it yet */
}

/* A thread that computes lets any thread that wakes up beside it have the CPU at once, until its step is over. */
static void sysmon_patience(struct worker *worker, bool computes) {
    uint32_t thread = computes ? atom_load_rlx(&worker->driver) : 0; /* rlx: a number */
    if (thread == worker->seen.patient) return;
    if (worker->seen.patient) sys->thread_patient(worker->seen.patient, false);
    if (thread) sys->thread_patient(thread, true);
    worker->seen.patient = thread;
}

/* Processes at a worker that has been busy for a round or longer must not wait while another worker sleeps. */
static bool sysmon_stuck(struct worker *worker, uint64_t now) {
    struct runtime *runtime = worker->runtime;
    if (worker->seen.step_since == now || idle_is_asleep(&runtime->idle, worker->index))
        return false; /* it makes progress, or wakes by itself */
    uint64_t next = timers_next(&worker->timers);
    bool due = now >= SYSMON_WATCHFUL && next <= now - SYSMON_WATCHFUL;
    while (due && timer_events_ring(&runtime->sysmon.local, NULL, worker, now) > 0) {}
    if (!due && next + SYSMON_WATCHFUL < runtime->sysmon.come_back && next != SYS_FOREVER)
        runtime->sysmon.come_back = next + SYSMON_WATCHFUL;
    if (due || policy_is_empty(worker) || idle_sleepers(&runtime->idle) == 0) return due;
    ready_wake(runtime, NULL);
    return true;
}

/* Whether the worker spawns so fast that its short queue is left alone. */
static bool sysmon_spawns_fast(struct worker *worker, uint64_t now, bool was) {
    uint64_t spawned = atom_load_rlx(&worker->local.counters.spawned), took = now - worker->seen.spawned_at; /* rlx: a number */
    if (took < SYSMON_BRISK) return worker->seen.spawns_fast;
    worker->seen.spawns_fast = brisk_is_short(worker) && (spawned - worker->seen.spawned) * (was ? BRISK_SLOWER : BRISK_SPAWN) >= took;
    worker->seen.spawned = spawned;
    worker->seen.spawned_at = now;
    return worker->seen.spawns_fast;
}

/* Whether the worker's short queue is left alone (sched/brisk.h); `alone`: because stealing is no help. */
static void sysmon_brisk(struct worker *worker, uint64_t now, bool alone) {
    struct runtime *runtime = worker->runtime;
    if (runtime->policy != POLICY_RING) return;
    bool was = atom_load_rlx(&worker->brisk), moves = worker->seen.step_since == now; /* rlx, all: numbers */
    bool is = (sysmon_spawns_fast(worker, now, was) || (alone && moves)) && atom_load_rlx(&runtime->wanted) > 1 && oscall_seen(worker) == 0;
    if (is && now + SYSMON_WATCHFUL < runtime->sysmon.come_back) runtime->sysmon.come_back = now + SYSMON_WATCHFUL;
    if (is && !was) atom_store_rlx(&worker->brisk, true); /* rlx: nothing depends on when it is seen */
    if (was && !is) ready_not_brisk(worker);
}

/* A worker serves its timers and the global queue with every 61st process. That is soon, unless each process runs for milliseconds and then
 * yields, so that none is a hog. A worker that is so slow is told to look round with the next process. One whose processes run
 * for some microseconds each runs fewer of them in a row from its slot. */
static void sysmon_pace(struct worker *worker, uint64_t now) {
    if (now - worker->seen.paced < SYSMON_PACE) return;
    uint64_t steps = atom_load_rlx(&worker->local.counters.steps); /* rlx: a number */
    uint64_t ran = steps - worker->seen.paced_steps;
    if (ran < GLOBAL_TICK) tick_hurry(worker);
    bool slow = ran < (now - worker->seen.paced) / SYSMON_SLOW && !idle_is_asleep(&worker->runtime->idle, worker->index);
    uint32_t skipped = slow ? SLOT_RUNS_MAX - SLOT_RUNS_SLOW : 0;
    /* rlx, both: nothing depends on when it is seen */
    if (skipped != atom_load_rlx(&worker->fair.skipped)) atom_store_rlx(&worker->fair.skipped, skipped);
    worker->seen.paced = now;
    worker->seen.paced_steps = steps;
}

/* ---- all of them -------------------------------------------------------------------------------------------------- */

/* All workers have hogs, the extra ones too, and a process waits: reported when it lasts, and not again for a while. */
static void sysmon_complain(struct runtime *runtime, unsigned hogs, uint64_t now) {
    struct sysmon *sysmon = &runtime->sysmon;
    unsigned workers = atom_load_rlx(&runtime->wanted) + atom_load_rlx(&runtime->extra); /* rlx, both: numbers */
    if (hogs < workers || !sysmon_somebody_waits(runtime, now)) sysmon->crowded_since = 0;
    else if (sysmon->crowded_since == 0) sysmon->crowded_since = now;
    else if (now - sysmon->crowded_since > SYSMON_COMPLAINT && now >= sysmon->complain_at) {
        parts.hogs(runtime, now);
        sysmon->complain_at = now + SYSMON_SILENCE_SECONDS * UINT64_C(1000000000);
    }
}

/* While there are hogs, the other workers wake up and go to sleep all the time: they should do so without the system call that disturbs
 * all CPUs, because the kernel decides by how much of its slice a waking thread has used before whether it runs at once beside busy
 * ones. */
static void sysmon_fences(struct runtime *runtime, uint64_t now) {
    struct sysmon *sysmon = &runtime->sysmon;
    if (atom_load_rlx(&runtime->extra) > 0) sysmon->full_until = now + SYSMON_CALM; /* rlx: a number */
    bool full = now < sysmon->full_until;
    if (full == sysmon->full_fences) return;
    sys_fence_wish_full(full);
    sysmon->full_fences = full;
}

/* True: there was something to do. */
static bool sysmon_round(struct runtime *runtime, uint64_t now) {
    unsigned made = atom_load_acq(&runtime->made), hogs = 0; /* acq: as in find_steal_pass */
    bool some = false;
    runtime->sysmon.come_back = SYS_FOREVER;
    bool alone = help_round(runtime, now);
    for (unsigned i = 0; i < made; i++) {
        struct worker *worker = atom_load_rlx(&runtime->workers[i]); /* rlx: published by `made` */
        if (oscall_drive_again(worker) || sysmon_call(worker, now)) some = true;
        if (__builtin_expect(runtime->measures_cpu, 0)) cpu_time_sample(worker);
        bool hog = sysmon_hog(worker, now);
        hogs += hog;
        sysmon_patience(worker, hog || preempt_computes(worker, now));
        sysmon_pace(worker, now);
        sysmon_brisk(worker, now, alone);
        if (sysmon_stuck(worker, now)) some = true;
    }
    unsigned overdue = preempt_overdue(runtime, now);
    workers_compensate(runtime, hogs + overdue);
    workers_relieve(runtime, hogs + overdue);
    if (netpoll_watch(runtime, now)) some = true;
    sysmon_complain(runtime, hogs, now);
    sysmon_fences(runtime, now);
    return some;
}

void sysmon_hurry(struct runtime *runtime) {
    struct sysmon *sysmon = &runtime->sysmon;
    if (atom_swap_rlx(&sysmon->drowsy, false)) parker_unpark(&sysmon->parker); /* rlx: the parker orders */
}

/* Between two rounds. True: a thread wants a round now. rlx: a thread that misses `drowsy` is served at the next round. */
static bool sysmon_nap(struct runtime *runtime, uint64_t period) {
    struct sysmon *sysmon = &runtime->sysmon;
    uint64_t now = sys->now(), until = now + preempt_period(runtime, period);
    if (sysmon->come_back < until) until = sysmon->come_back;
    bool drowsy = until > now + SYSMON_PACE;
    if (drowsy) atom_store_rlx(&sysmon->drowsy, true);
    bool woken = parker_park(&sysmon->parker, until) == 0;
    if (drowsy) atom_store_rlx(&sysmon->drowsy, false);
    return drowsy && woken;
}

static void *sysmon_main(void *argument) {
    struct runtime *runtime = argument;
    struct sysmon *sysmon = &runtime->sysmon;
    uint64_t idle_since = 0, trimmed = sys->now();
    struct backoff backoff = backoff_begin();
    thread_is_careful = true;
    sys->thread_name("weft-sysmon");
    sysmon->come_back = SYS_FOREVER;
    bool asked = false;                     /* whether it has checked for a deadlock since all workers fell asleep */
    while (!atom_load_acq(&sysmon->over)) { /* acq: pairs with the rel in sysmon_stop */
        if (sysmon_nap(runtime, backoff.period)) backoff = backoff_woken();
        bool delivered = posts_deliver(&runtime->posts);
        uint64_t now = sys->now();
        sysmon_tell_time(runtime, now);
        bool busy = sysmon_round(runtime, now);
        backoff_round(&backoff, busy, inject_size(&runtime->inject) > 0);
        if (now - trimmed > SYSMON_TRIM) {
            stacks_trim(&runtime->stacks, false);
            trim_survey(runtime, false);
            pack_survey(runtime);
            trimmed = now;
        }
        trim_slice(runtime, now);
        pack_slice(runtime, now);
        parts.sysmon_round(runtime, now);
        if (!sysmon_all_asleep(runtime) || !delivered) {
            idle_since = 0;
        } else if (idle_since == 0) {
            idle_since = now;
            asked = false;
        } else if (now - idle_since > SYSMON_DEADLOCK && !asked) {
            parts.all_asleep(runtime, now);
            asked = true;
        } else if (now - idle_since > SYSMON_LINGER && !atom_load_rlx(&runtime->deadlock.found)) { /* rlx: this thread's */
            parts.all_asleep(runtime, now); /* a thread of the program's own may have ended meanwhile */
            stacks_trim(&runtime->stacks, true);
            trim_asleep(runtime);
            if (!pack_asleep(runtime)) sysmon_sleep(runtime);
            backoff = backoff_begin();
            idle_since = 0;
        }
    }
    return NULL;
}

int sysmon_start(struct runtime *runtime) {
    struct sysmon *sysmon = &runtime->sysmon;
    parker_init(&sysmon->parker);
    local_init(&sysmon->local, runtime);
    int error = table_add_section(&runtime->table, &sysmon->local.section);
    if (!error) error = sys->thread_start(&sysmon->thread, sysmon_main, runtime);
    sysmon->started = error == 0;
    if (!error) sysmon_tell_time(runtime, sys->now());
    return error;
}

void sysmon_stop(struct runtime *runtime) {
    struct sysmon *sysmon = &runtime->sysmon;
    if (!sysmon->started) return;
    atom_store_rel(&sysmon->over, true); /* rel: pairs with the acq in sysmon_main */
    parker_unpark(&sysmon->parker);
    sys->thread_join(sysmon->thread);
    posts_deliver(&runtime->posts); /* the last posts; without memory they are lost */
    if (sysmon->full_fences) sys_fence_wish_full(false);
    sysmon->full_fences = sysmon->started = false;
}
