/* Preemption, the scheduler's side: the list of stopped threads, and sysmon's decision to interrupt. */
#include "thread/stopped.h"

#include "sched/parts.h"
#include "thread/maker.h"
#include "thread/oscall.h"

/* ---- the list of stopped threads ---------------------------------------------------------------------------------- */

/* rlx: under the lock, or a hint. */
static bool stopped_is_full(struct preempt *preempt) {
    return atom_load_rlx(&preempt->stopped) + atom_load_rlx(&preempt->relief) >= preempt->most;
}

bool stopped_list(struct thread *thread) {
    struct preempt *preempt = &thread->runtime->preempt;
    lock_take(&preempt->lock);
    /* rlx, here and below: under the lock; other threads want a number. Settling: processes are resumed only to be settled. */
    bool may = !stopped_is_full(preempt) || atom_load_rlx(&preempt->settling);
    if (may) {
        atom_store_rlx(&preempt->stopped, atom_load_rlx(&preempt->stopped) + 1);
        thread->waits = false;
        thread->sooner = preempt->last;
        thread->later = NULL;
        *(preempt->last ? &preempt->last->later : &preempt->first) = thread;
        preempt->last = thread;
    }
    lock_drop(&preempt->lock);
    /* When the runtime stops it does not wait for a thread that sleeps in the handler. rlx: a count. */
    if (may) atom_add_rlx(&thread->runtime->threads.away, 1);
    return may;
}

/* Under the lock. */
static void stopped_waits_no_more(struct thread *thread) {
    struct preempt *preempt = &thread->runtime->preempt;
    if (!thread->waits) return;
    thread->waits = false;
    atom_store_rlx(&preempt->waiting, atom_load_rlx(&preempt->waiting) - 1);
    count(&preempt->taken);
}

void stopped_relieve(struct runtime *runtime, int more) {
    struct preempt *preempt = &runtime->preempt;
    lock_take(&preempt->lock);
    atom_store_rlx(&preempt->relief,
                   atom_load_rlx(&preempt->relief) + (unsigned)more); /* rlx: under the lock; other threads want a number */
    lock_drop(&preempt->lock);
}

void stopped_unlist(struct thread *thread) {
    struct preempt *preempt = &thread->runtime->preempt;
    lock_take(&preempt->lock);
    *(thread->sooner ? &thread->sooner->later : &preempt->first) = thread->later;
    *(thread->later ? &thread->later->sooner : &preempt->last) = thread->sooner;
    atom_store_rlx(&preempt->stopped, atom_load_rlx(&preempt->stopped) - 1);
    stopped_waits_no_more(thread);
    lock_drop(&preempt->lock);
    atom_sub_rlx(&thread->runtime->threads.away, 1);
}

/* The thread is in the list and no other thread has claimed its process: that can be resumed, unless the runtime settles. */
static void stopped_can_be_resumed(struct thread *thread) {
    struct runtime *runtime = thread->runtime;
    struct preempt *preempt = &runtime->preempt;
    lock_take(&preempt->lock);
    if (!thread->waits &&
        !atom_load_rlx(&preempt->settling)) { /* rlx, all: under the lock; `waiting`, behind the fence in ready_wake too */
        thread->waits = true;
        atom_store_rlx(&preempt->waiting, atom_load_rlx(&preempt->waiting) + 1);
    }
    state_yield(&thread->stopped->state); /* not pinned. Its ticket is not used: it is in no queue but the list */
    lock_drop(&preempt->lock);
    ready_wake(runtime, NULL);
}

void stopped_took(struct worker *worker, uint32_t number) {
    struct thread *stopped = worker->stopped;
    atom_store_rlx(&worker->driver, number); /* rlx: a number */
    if (!stopped) return;
    worker->stopped = NULL;
    stopped_can_be_resumed(stopped);
}

/* The thread that has been stopped for longest, its process claimed; or NULL, as stopped_take. */
static struct thread *stopped_claim(struct worker *worker) {
    struct preempt *preempt = &worker->runtime->preempt;
    if (!stopped_waits_for(worker)) return NULL;
    lock_take(&preempt->lock);
    struct thread *thread = preempt->first;
    while (thread && !(thread->waits && state_claim_any(&thread->stopped->state))) /* the claim fails: it was handed over to */
        thread = thread->later;
    if (thread) stopped_waits_no_more(thread);
    lock_drop(&preempt->lock);
    return thread;
}

struct proc *stopped_take(struct worker *worker) {
    struct thread *thread = stopped_claim(worker);
    return thread ? thread->stopped : NULL;
}

struct thread *stopped_next(struct worker *worker) {
    struct thread *thread = stopped_claim(worker);
    if (!thread) return NULL;
    stopped_unlist(thread);
    worker->current = thread->stopped;
    count(&worker->local.counters.steps);
    stopped_goes_on(worker);
    return thread;
}

struct worker *stopped_sleep(struct worker *worker, struct thread *self, struct thread *heir) {
    worker->stopped = self;
    my_worker = NULL;
    /* thread.h, D1: nothing of the worker's is touched from here on. */
    if (heir) thread_wake(heir, worker);
    else atom_store_rlx(&worker->undriven, true); /* rlx: for worker_wait; sysmon, which might drive it again, has been stopped */
    parker_park(&self->parker, SYS_FOREVER);
    return self->given;
}

void stopped_hand_back(struct worker *worker, struct thread *thread) {
    stopped_unlist(thread);
    stopped_goes_on(worker);
    my_worker = NULL;
    thread_wake(thread, worker);
}

void stopped_resume(struct worker *worker, struct thread *thread) {
    if (oscall_stays(worker)) stopped_can_be_resumed(thread);
    else stopped_hand_back(worker, thread);
}

/* ---- sysmon's side ------------------------------------------------------------------------------------------- */

#if !WEFT_CHECK
#include <signal.h>

enum {
    PREEMPT_AGAIN = 50000,       /* ns from one signal to the next, for the same step */
    PREEMPT_AGAIN_PART = 10,     /* a process that was stopped before has 1/10 of the time slice, if others wait */
    PREEMPT_PATIENCE = 10000000, /* so much CPU time after the first signal, the process is a hog like others */
    PREEMPT_ASLEEP = 500000,     /* without any CPU time for so long: sysmon asks whether its thread sleeps */
    PREEMPT_OVERDUE = 100000000, /* no process was resumed for so long, though one could be: one worker more */
    PREEMPT_OVERDUE_PINNED = 1000000,
    PREEMPT_PERIOD_LEAST = 20000,
    PREEMPT_PERIOD_MOST = 500000,
    PREEMPT_SETTLE = 1000000000, /* at most, until all processes that do not end are where they can be left */
};

/* Whether a process that was not stopped needs the worker: it could take what waits at other workers. */
static bool preempt_needed(struct worker *worker, uint64_t now) {
    struct runtime *runtime = worker->runtime;
    if (inject_size(&runtime->inject) > 0 || timers_next(&worker->timers) <= now || atom_load_rlx(&worker->leave))
        return true;                               /* rlx: a request */
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++)
        if (!policy_is_empty(atom_load_rlx(&runtime->workers[i]))) return true; /* rlx: published by `made` */
    return false;
}

/* Whether the running process may have been condemned, as far as that is known. rlx: a request. */
static bool preempt_ends_some(struct runtime *runtime, uint64_t now) { return now < atom_load_rlx(&runtime->preempt.condemned); }

/* The same, by sysmon, which finds out. When the time for which that was known is over, all processes are asked, with a pause
 * that is long beside that. rlx, all: a request; one that comes meanwhile is not overwritten. */
static bool preempt_to_end(struct runtime *runtime, uint64_t now) {
    atom_u64 *until = &runtime->preempt.condemned;
    uint64_t found = atom_load_rlx(until);
    if (__builtin_expect(found == 0, 1)) return false;
    if (now < found) return true;
    bool any = parts.condemned_any(runtime);
    uint64_t after = sys->now(), pause = (after - now) * 100;
    atom_cas_rlx_rlx(until, &found, any ? after + (pause > CONDEMNED_LOOKS ? pause : CONDEMNED_LOOKS) : 0);
    return any;
}

/* A relief worker runs only processes that were stopped. rlx, both: hints. */
static bool preempt_runs_stopped(struct worker *worker) { return atom_load_rlx(&worker->relief) && !atom_load_rlx(&worker->leave); }

/* Whether there is, or may soon be, a thread at rest, which could run a process that was not stopped. Else a worker passes among the stopped ones only. */
static bool preempt_has_heir(struct runtime *runtime) {
    return atom_load_rlx(&runtime->threads.at_rest) > 0 || !atom_load_rlx(&runtime->preempt.maker.refused); /* rlx, both: numbers */
}

/* Whether the running process, whose step began at `since`, has used up its time slice. One that was stopped before (`again`) has the whole slice if only
 * stopped ones wait, and a tenth if others do. */
static bool preempt_is_due(struct worker *worker, uint64_t since, bool again, uint64_t now) {
    struct preempt *preempt = &worker->runtime->preempt;
    uint64_t age = now - since;
    if (age < preempt->slice / PREEMPT_AGAIN_PART) return false;
    if (!preempt_runs_stopped(worker) && preempt_needed(worker, now) && preempt_has_heir(worker->runtime))
        return again || age >= preempt->slice;
    return age >= preempt->slice && stopped_waiting(worker->runtime);
}

/* Whether sysmon should have it interrupted. */
static bool preempt_is_wanted(struct worker *worker, uint64_t now) {
    uint64_t since = worker->seen.step_since;
    bool again = atom_load_rlx(&worker->again) == worker->seen.steps; /* rlx: a number */
    return (now - since >= worker->runtime->preempt.slice && preempt_to_end(worker->runtime, now)) ||
           preempt_is_due(worker, since, again, now);
}

static void preempt_signal_thread(struct worker *worker, uint64_t steps) {
    atom_store_rlx(&worker->asked, steps);                      /* rlx: the signal comes after it; A1 */
    sys->thread_signal(atom_load_rlx(&worker->driver), SIGURG); /* rlx: a number. If the thread is gone: A1 */
}

/* ASKED: the thread has used the CPU since the last look at this step, or waits for it. STUCK: it sleeps. NONE: not known
 * yet. */
static enum preempt_view preempt_at_work(struct worker *worker, uint64_t now) {
    uint32_t driver = atom_load_rlx(&worker->driver); /* rlx: a number */
    uint64_t cpu;
    if (sys->thread_time(driver, &cpu) != 0) return PREEMPT_NONE;
    bool first = worker->seen.cpu_step != worker->seen.steps;
    uint64_t ran = cpu - worker->seen.cpu, since = now - worker->seen.cpu_at;
    if (first || ran > 0) {
        worker->seen.cpu_step = worker->seen.steps;
        worker->seen.cpu = cpu;
        worker->seen.cpu_at = now;
        worker->seen.asleep_at = 0;
        return !first && ran * 4 >= since ? PREEMPT_ASKED : PREEMPT_NONE;
    }
    if (since < PREEMPT_ASLEEP) return PREEMPT_NONE;
    if (worker->seen.asleep_at && now - worker->seen.asleep_at < PREEMPT_ASLEEP) return PREEMPT_STUCK;
    if (!sys->thread_asleep(driver)) return PREEMPT_ASKED;
    worker->seen.asleep_at = now;
    return PREEMPT_STUCK;
}

/* Signals the thread, unless it did so just now. False: the step has used much CPU time since the first signal, and cannot be
 * interrupted. */
static bool preempt_ask(struct worker *worker, uint64_t now) {
    uint64_t steps = worker->seen.steps;
    bool first = worker->seen.signalled_step != steps;
    if (first) worker->seen.signalled_cpu = worker->seen.cpu;
    if (first || now - worker->seen.signalled > PREEMPT_AGAIN) {
        worker->seen.signalled_step = steps;
        worker->seen.signalled = now;
        preempt_signal_thread(worker, steps);
    }
    return worker->seen.cpu - worker->seen.signalled_cpu < PREEMPT_PATIENCE;
}

enum preempt_view preempt_look(struct worker *worker, uint64_t now) {
    struct runtime *runtime = worker->runtime;
    struct preempt *preempt = &runtime->preempt;
    if (!preempt_is_on(runtime) || now - worker->seen.step_since < preempt->slice / PREEMPT_AGAIN_PART / 2) return PREEMPT_NONE;
    if (atom_load_rlx(&worker->driver) == 0) return PREEMPT_ASKED; /* rlx: a number. The worker is passing from one thread to the next */
    enum preempt_view view = preempt_at_work(worker, now);
    /* rlx, here and below: numbers, which the handler checks again. */
    if (view == PREEMPT_STUCK) return atom_load_rlx(&preempt->stopped) > 0 ? PREEMPT_STUCK : PREEMPT_NONE;
    if (atom_load_rlx(&worker->refused) == worker->seen.steps) return PREEMPT_NONE;
    if (!preempt_is_wanted(worker, now)) return PREEMPT_ASKED; /* when a process needs the worker */
    if (stopped_is_full(preempt)) return PREEMPT_NONE;
    if (atom_load_rlx(&runtime->threads.at_rest) == 0) {
        thread_maker_call(runtime);
        if (atom_load_rlx(&preempt->stopped) == 0) return atom_load_rlx(&preempt->maker.refused) ? PREEMPT_NONE : PREEMPT_ASKED;
    }
    /* It has used little CPU time: because it sleeps, or because other threads have the CPU. */
    if (view == PREEMPT_NONE && sys->thread_asleep(atom_load_rlx(&worker->driver))) return PREEMPT_ASKED;
    return preempt_ask(worker, now) ? PREEMPT_ASKED : PREEMPT_NONE;
}

/* ---- alarms (A8) --------------------------------------------------------------------------------------------- */

/* When it may next be another process's turn: when the worker's next timer is due, or when the time slice is over. SYS_FOREVER: unforeseeable. */
static uint64_t preempt_turn(struct worker *worker, uint64_t now) {
    uint64_t end = worker->alarm.since + worker->runtime->preempt.slice, next = SYS_FOREVER;
    if (!preempt_runs_stopped(worker)) next = preempt_needed(worker, now) ? now : timers_next(&worker->timers);
    return end <= now || next < end ? next : end;
}

static void preempt_set_alarm(struct worker *worker, struct thread *self, uint64_t now) {
    uint64_t slice = worker->runtime->preempt.slice, least = slice / PREEMPT_AGAIN_PART, at = preempt_turn(worker, now);
    if (at == SYS_FOREVER) return; /* sysmon looks every so often */
    uint64_t ahead = at > now ? at - now : 0;
    worker->alarm.at = now + (ahead < least ? least : ahead > slice ? slice : ahead);
    self->alarm_is_set = self->alarm.kind == SYS_ALARM_ANYWHERE;
    sys->alarm_set(&self->alarm, worker->alarm.at);
}

/* False: there is none. */
static bool stopped_has_alarm(struct worker *worker, struct thread *self) {
    enum sys_alarm_kind kind = atom_load_rlx(&worker->runtime->preempt.alarms); /* rlx: a number */
    if (!kind || self->alarm_refused) return false;
    if (self->alarm.kind) return true;
    self->alarm_refused = sys->alarm_make(&self->alarm, kind, SIGURG) != 0;
    return !self->alarm_refused;
}

void stopped_set_alarm(struct worker *worker, struct thread *self) {
    if (!stopped_has_alarm(worker, self)) return;
    uint64_t now = sys->now();
    worker->alarm.steps = atom_load_rlx(&worker->local.counters.steps); /* rlx: this thread's */
    worker->alarm.since = now;
    preempt_set_alarm(worker, self, now);
}

void stopped_no_alarm(struct thread *self, struct worker *own) {
    if (!self || !self->alarm_is_set) return;
    if (own) own->alarm.steps = UINT64_MAX; /* first, so that the handler does not set it again */
    __asm__ volatile("" ::: "memory");
    sys->alarm_set(&self->alarm, 0);
    self->alarm_is_set = false;
}

void preempt_alarm_again(struct worker *worker, struct thread *self) {
    if (self->alarm.kind != SYS_ALARM_COMPUTING) return; /* a timer might ring in a call: preempt.h, X8 */
    worker->alarm.at = sys->now() + worker->runtime->preempt.slice / PREEMPT_AGAIN_PART;
    sys->alarm_set(&self->alarm, worker->alarm.at);
}

bool preempt_alarm(struct worker *worker, struct thread *self) {
    uint64_t steps = atom_load_rlx(&worker->local.counters.steps), now = sys->now(); /* rlx: this thread's */
    if (worker->alarm.steps != steps || now < worker->alarm.at) return false;
    struct runtime *runtime = worker->runtime;
    uint64_t since = worker->alarm.since;
    bool ends = now - since >= runtime->preempt.slice && preempt_ends_some(runtime, now);
    if (!ends && !preempt_is_due(worker, since, true, now)) {
        preempt_set_alarm(worker, self, now);
        return false;
    }
    /* rlx, both: a number; a request of the thread to itself. */
    if (atom_load_rlx(&runtime->threads.at_rest) == 0) thread_maker_call(runtime);
    atom_store_rlx(&worker->asked, steps);
    return true;
}

/* ---- what else sysmon asks --------------------------------------------------------------------------------------- */

bool preempt_computes(struct worker *worker, uint64_t now) {
    if (!preempt_is_on(worker->runtime) || worker->seen.step_since == now) return false; /* a step that was not there at the last look */
    return atom_load_rlx(&worker->again) == worker->seen.steps ||                        /* rlx: a number */
           now - worker->seen.step_since >= worker->runtime->preempt.slice / PREEMPT_AGAIN_PART;
}

/* How long may pass without a process being resumed. Workers with pinned processes do not resume (A7), and may have been woken for it in
 * vain. */
static uint64_t preempt_bound(struct runtime *runtime) {
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++)
        if (oscall_stays(atom_load_rlx(&runtime->workers[i]))) return PREEMPT_OVERDUE_PINNED; /* rlx: published by `made` */
    return PREEMPT_OVERDUE;
}

/* rlx: numbers. */
unsigned preempt_overdue(struct runtime *runtime, uint64_t now) {
    struct preempt *preempt = &runtime->preempt;
    uint64_t taken = atom_load_rlx(&preempt->taken);
    if (!stopped_waiting(runtime) || taken != preempt->overdue.taken) {
        preempt->overdue.taken = taken;
        preempt->overdue.since = now;
        preempt->overdue.times = 0;
    } else if (now - preempt->overdue.since > PREEMPT_OVERDUE_PINNED && now - preempt->overdue.since > preempt_bound(runtime)) {
        preempt->overdue.since = now;
        preempt->overdue.times++;
    }
    return preempt->overdue.times;
}

uint64_t preempt_period(struct runtime *runtime, uint64_t period) {
    if (!preempt_is_on(runtime)) return period;
    uint64_t most = runtime->preempt.slice / PREEMPT_AGAIN_PART / 2;
    if (most < PREEMPT_PERIOD_LEAST) most = PREEMPT_PERIOD_LEAST;
    if (most > PREEMPT_PERIOD_MOST) most = PREEMPT_PERIOD_MOST;
    return period < most ? period : most;
}

/* The thread may be anywhere, or nowhere: A1. */
void preempt_evict(struct worker *worker) {
    struct runtime *runtime = worker->runtime;
    if (!preempt_is_on(runtime)) return;
    if (atom_load_rlx(&runtime->threads.at_rest) == 0) thread_maker_call(runtime); /* rlx, both: numbers */
    preempt_signal_thread(worker, atom_load_rlx(&worker->local.counters.steps));
}

/* rlx, both: requests; the first is never taken back, the second not by a runtime that stops. */
bool stopped_is_last(struct worker *worker) { return atom_load_rlx(&worker->runtime->preempt.settling) && atom_load_rlx(&worker->leave); }

struct thread *stopped_heir(struct worker *worker) {
    struct runtime *runtime = worker->runtime;
    if (!preempt_is_on(runtime)) return NULL;
    /* rlx, both: numbers. */
    bool extra = worker->index >= atom_load_rlx(&runtime->wanted), alone = atom_load_rlx(&runtime->threads.at_rest) == 0;
    return extra || alone ? stopped_next(worker) : NULL;
}

/* ---- stopping ----------------------------------------------------------------------------------------------------- */

/* Processes that may sleep for ever do; the others are resumed, until they are interrupted where they may. False: there are such. */
static bool preempt_settled(struct runtime *runtime) {
    struct preempt *preempt = &runtime->preempt;
    bool all = true;
    lock_take(&preempt->lock);
    atom_store_rlx(&preempt->settling, true);
    for (struct thread *thread = preempt->first; thread; thread = thread->later) {
        if (!thread->waits) continue; /* it sleeps for good, or is being resumed: then its worker is awake */
        if (parts.in_program(thread)) stopped_waits_no_more(thread);
        else all = false;
    }
    lock_drop(&preempt->lock);
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++) {
        struct worker *worker = atom_load_rlx(&runtime->workers[i]);                       /* rlx: published by `made` */
        if (!atom_load_rlx(&worker->driven) || atom_load_rlx(&worker->undriven)) continue; /* rlx, both: hints */
        if (idle_is_asleep(&runtime->idle, i) || oscall_seen(worker)) continue;
        preempt_evict(worker);
        all = false;
    }
    return all;
}

void preempt_settle(struct runtime *runtime) {
    if (!preempt_is_on(runtime)) return;
    uint64_t end = sys->now() + PREEMPT_SETTLE;
    struct parker pause;
    parker_init(&pause);
    while (!preempt_settled(runtime) && sys->now() < end)
        parker_park(&pause, sys->now() + PREEMPT_SETTLE / 1000);
    atom_store_rlx(&runtime->preempt.anywhere, true); /* rlx: a request, as `settling` */
}
#endif
