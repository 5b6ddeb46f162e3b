/* Where a worker looks for work, one small function per source, and how it goes to sleep when there is none. */
#include "sched/brisk.h"
#include "sched/netpoll.h"
#include "sched/newborn.h"
#include "sched/parts.h"
#include "sched/timer_event.h"

/* ---- the global queue --------------------------------------------------------------------------------------------- */

struct proc *find_oldest(struct inject *inject) {
    struct proc *proc = NULL;
    for (uint64_t entry; !proc && inject_take_batch(inject, &entry, 1) > 0;)
        proc = find_claim(entry);
    return proc;
}

__attribute__((noinline)) struct proc *find_global_one(struct worker *worker) { return find_oldest(&worker->runtime->inject); }

/* How many to take at once: a fair share, so that one worker does not empty the queue for all. */
static size_t global_share(struct worker *worker) {
    size_t size = inject_size(&worker->runtime->inject), most;
    if (worker->runtime->policy == POLICY_DEQUE) return size < 17 ? size : 17; /* one to run, up to 16 to keep */
    unsigned workers = atom_load_rlx(&worker->runtime->wanted);                /* rlx: any recent value will do; 0 while starting */
    size_t share = size / (workers ? workers : 1) + 1;
    most = RING_BATCH;
    if (share > size) share = size;
    return share < most ? share : most;
}

static void keep(struct worker *worker, uint64_t entry) {
    bool kept = false;
    switch (worker->runtime->policy) {
    case POLICY_RING: kept = ring_push(&worker->ring, entry); break;
    case POLICY_DEQUE: kept = deque_push(&worker->deque, entry) == 0; break;
    /* Never stale: a process that is ready and in no line can be claimed only by its entry. */
    case POLICY_LINE: kept = policy_push(worker, entry_ptr(entry), entry_ticket(entry), READY_YIELDED); break;
    }
    if (kept) return;
    int error = inject_push(&worker->runtime->inject, entry);
    WEFT_ENSURE(error == 0, "no room in the global queue: %d", error);
}

struct proc *find_adopt(struct worker *worker, const uint64_t *batch, size_t n) {
    struct proc *first = NULL;
    size_t i = 0;
    while (i < n && !(first = find_claim(batch[i++]))) {}
    bool some = i < n;
    /* The deque's owner takes the newest first: the oldest must come last. */
    if (worker->runtime->policy == POLICY_DEQUE)
        while (n > i)
            keep(worker, batch[--n]);
    else
        for (; i < n; i++)
            keep(worker, batch[i]);
    /* For a moment they were in no queue, and a worker that looked everywhere just then has gone to sleep. A searcher wakes one when
     * it stops searching. */
    if (some && !worker->searching) ready_tell(worker);
    return first;
}

__attribute__((noinline)) struct proc *find_global_batch(struct worker *worker) {
    uint64_t batch[RING_BATCH];
    struct proc *first = NULL;
    do {
        size_t share = global_share(worker);
        size_t n = share > 0 ? inject_take_batch(&worker->runtime->inject, batch, share) : 0;
        if (n == 0) return NULL;
        first = find_adopt(worker, batch, n);
    } while (!first);
    return first;
}

/* ---- other workers ------------------------------------------------------------------------------------------------ */

#if WEFT_CHECK
enum { STEAL_PASSES = 1 };
#else
enum { STEAL_PASSES = 4 };
#endif

/* The timers of a worker that sleeps are its own affair: it has been told when to wake up (timer_events_bedtime). */
static bool find_shall_fire(struct worker *victim) { return !idle_is_asleep(&victim->runtime->idle, victim->index); }

/* Whatever the victim has. */
static struct proc *find_rob(struct worker *worker, struct worker *victim, bool *busy) {
    struct proc *proc = policy_steal(worker, victim, true, busy);
    return proc ? proc : policy_steal_due(worker, victim, busy);
}

static struct proc *find_steal_pass(struct worker *worker, bool last_pass, bool *busy) {
    struct runtime *runtime = worker->runtime;
    unsigned made = atom_load_acq(&runtime->made); /* acq: pairs with the rel in worker_new; the workers below exist */
    unsigned start = rng_below(&worker->rng, made);
    for (unsigned i = 0; i < made; i++) {
        struct worker *victim = atom_load_rlx(&runtime->workers[(start + i) % made]); /* rlx: published by `made` */
        if (victim == worker || brisk_left_alone(victim)) continue;
        struct proc *proc = last_pass ? find_rob(worker, victim, busy) : policy_steal(worker, victim, false, busy);
        if (!proc && last_pass && find_shall_fire(victim) && timer_events_run(worker, victim)) proc = policy_pop(worker);
        if (proc) return proc;
    }
    return NULL;
}

static struct proc *find_steal(struct worker *worker) {
    for (unsigned pass = 1; pass <= STEAL_PASSES; pass++) {
        bool busy = false;
        struct proc *proc = find_steal_pass(worker, pass == STEAL_PASSES, &busy);
        if (proc) return proc;
    }
    /* rlx: a hint; the second look is behind a fence. */
    return __builtin_expect(atom_load_rlx(&worker->runtime->fork_regions) != 0, 0) ? parts.steal_task(worker) : NULL;
}

/* ---- the worker's own pinned queue: pinned processes, which no other worker may run -------------------------------------- */

static __attribute__((noinline)) struct proc *find_pinned(struct worker *worker) {
    struct mpsc_node *node = mpsc_pop(&worker->pinned_ready);
    if (!node) return NULL;
    struct proc *proc = (struct proc *)((unsigned char *)node - offsetof(struct proc, pinned_node));
    bool claimed = state_claim_any(&proc->state);
    WEFT_ENSURE(claimed, "a process in a pinned queue was not ready");
    return proc;
}

static inline bool find_has_pinned(struct worker *worker) {
    return __builtin_expect(atom_load_rlx(&worker->pinned_count) != 0, 0); /* rlx: this thread's, while there are any */
}

/* ---- sleeping ----------------------------------------------------------------------------------------------------- */

static bool find_is_open(struct worker *victim) { return !policy_is_empty(victim) && !brisk_left_alone(victim); }

/* Whether there is anything that this worker could run. Called after the fence of idle_enter. */
static bool find_anything(struct worker *worker) {
    struct runtime *runtime = worker->runtime;
    if (inject_size(&runtime->inject) > 0 || !mpsc_is_empty(&worker->pinned_ready) || stopped_waits_for(worker)) return true;
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++)
        if (find_is_open(atom_load_rlx(&runtime->workers[i]))) return true;
    if (atom_load_rlx(&runtime->fork_regions) != 0 && parts.any_task(worker)) return true; /* rlx: behind the fence */
    return atom_load_rlx(&worker->leave); /* rlx: behind the fence; pairs with the one in idle_wake_one */
}

/* The worker woke by itself: a timer is due, or a descriptor is ready. */
static void find_get_up(struct worker *worker) {
    worker->searching = !idle_leave(&worker->runtime->idle, worker->index, false);
    if (worker->searching) parker_park(&worker->parker, SYS_FOREVER); /* a waker has chosen this worker and is about to unpark it */
    sysmon_wake(worker->runtime);
}

/* Another worker, or a thread, has woken it. */
static void find_woken(struct worker *worker) {
    worker->searching = worker->was_woken = true;
    sysmon_wake(worker->runtime);
}

/* Sleeps in the poll, which it holds. */
static __attribute__((noinline)) void find_sleep_in_poll(struct worker *worker, uint64_t deadline) {
    struct netpoll_batch batch;
    if (netpoll_sleep(worker, deadline, &batch) == 0) find_woken(worker);
    else find_get_up(worker);
    if (batch.count >= NETPOLL_MANY) worker->netpoll_misses = 0;
    netpoll_deliver(worker->runtime, &batch);
}

/* Asks the kernel without waiting. A worker with nothing to do sleeps in the poll next, and hears of events there; so asking is worth its
 * system call only where it often brings something and saves going to sleep and waking up, which costs thrice as much (a fence of all
 * processors). */
static struct proc *find_polled(struct worker *worker) {
    if (worker->netpoll_misses >= NETPOLL_MISSES) return NULL;
    worker->netpoll_misses++;
    if (!netpoll_now(worker->runtime, NETPOLL_BATCH)) return NULL;
    worker->netpoll_misses = 0;
    struct proc *proc = policy_pop(worker);
    return proc ? proc : find_global_batch(worker);
}

enum { LINGER = 3 }; /* times 0.4 us */
/* Before it sleeps, a worker that was woken by a thread or by another worker last time waits for a microsecond, and looks everywhere once more. A sender on another core that
 * sends all the time has sent a score of messages by then; else the receiver would run for each of them, or go to sleep between two: the fence for that interrupts the sender, and
 * the next message costs it a system call. */
static bool find_lingers(struct worker *worker) {
    if (WEFT_CHECK || !worker->was_woken || worker->lingered == atom_load_rlx(&worker->local.counters.steps))
        return false; /* rlx: its own */
    worker->lingered = atom_load_rlx(&worker->local.counters.steps);
    for (unsigned i = 0; i < LINGER; i++)
        spin_pause_long();
    return true;
}

/* False: it did not sleep, because there is work somewhere, or may be. */
static __attribute__((noinline)) bool find_sleep(struct worker *worker) {
    struct idle *idle = &worker->runtime->idle;
    if (find_lingers(worker)) return false;
    worker->was_woken = false;
    idle_enter(idle, worker->index, worker->searching);
    if (find_anything(worker)) { /* recheck */
        if (idle_leave(idle, worker->index, worker->searching)) return false;
    }
    count(&worker->local.counters.sleeps);
    atom_store_rlx(&worker->finished, atom_load_rlx(&worker->local.counters.steps)); /* rlx: a hint for sysmon */
    uint64_t deadline = timer_events_bedtime(worker);
    if (netpoll_is_used(worker->runtime) && netpoll_take(worker->runtime)) { /* recheck */
        find_sleep_in_poll(worker, deadline);
        return true;
    }
    if (parker_park(&worker->parker, deadline) == -ETIMEDOUT) find_get_up(worker);
    else find_woken(worker);
    return true;
}

/* ---- all sources in order ----------------------------------------------------------------------------------------- */

/* Where processes are interrupted, workers search too seldom: so they also steal here, from workers held by a process which cannot be
 * interrupted. */
static __attribute__((noinline)) struct proc *find_held_up(struct worker *worker) {
    struct runtime *runtime = worker->runtime;
    struct proc *proc = NULL;
    bool busy = false;
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made && !proc; i++) {
        struct worker *other = atom_load_rlx(&runtime->workers[i]); /* rlx: published by `made` */
        if (other != worker && worker_shall_give_way(other)) proc = find_rob(worker, other, &busy);
    }
    return proc;
}

/* A process from the global queue or from the newborn queue: in turns, if both have some. */
static struct proc *find_stored(struct worker *worker) {
    struct proc *proc = NULL;
    bool newborn = !newborn_is_empty(worker);
    if (newborn && (worker->fair.newborn_first = !worker->fair.newborn_first)) proc = newborn_newest(worker);
    if (!proc) proc = find_global_batch(worker);
    return proc || !newborn ? proc : newborn_newest(worker);
}

void find_tell_of_due(struct worker *worker) {
    if (!ring_is_empty(&worker->due)) ready_wake(worker->runtime, worker);
}

/* Fires the timers of a worker whose own queue is empty: what they make ready goes there, unless a batch of others is about to follow. */
static bool find_fire(struct worker *worker) {
    worker->fair.firing = find_has_stored(worker);
    bool rung = timer_events_run_rested(worker);
    if (worker->fair.firing && rung) find_tell_of_due(worker);
    worker->fair.firing = false;
    return rung;
}

/* The worker's own queue is empty. Timers come first, but what they make ready waits for one process from elsewhere: where many
 * processes sleep briefly, some timers are always due. */
static __attribute__((noinline)) struct proc *find_elsewhere(struct worker *worker) {
    struct proc *proc = NULL;
    worker->fair.looks = 0;
    bool rung = find_fire(worker);
    if (preempt_is_on(worker->runtime)) proc = find_held_up(worker);
    if (!proc) proc = find_stored(worker);
    if (!proc && (rung || worker->fair.due)) proc = policy_pop(worker);
    if (!proc && find_has_pinned(worker))
        proc = find_pinned(worker); /* after the others: pinned processes have their turns in find_round */
    if (!proc && netpoll_is_used(worker->runtime)) proc = find_polled(worker);
    if (proc) return proc;
    if (!worker->searching) worker->searching = idle_search(&worker->runtime->idle);
    if (worker->searching) proc = find_steal(worker);
    if (proc || !preempt_is_on(worker->runtime) || atom_load_rlx(&worker->leave)) return proc; /* rlx: a request */
    return parts.take_stopped(worker); /* last: they have used up their time slices */
}

__attribute__((noinline)) void find_success(struct worker *worker) {
    worker->searching = false;
    int next = idle_found(&worker->runtime->idle);
    if (next == IDLE_NOBODY) return;
    netpoll_unpark(atom_load_rlx(&worker->runtime->workers[next])); /* rlx: it sleeps, so it was published long ago */
}

/* After how many processes a worker that always has its own work takes one from the global queue again; `looks` is how often it has
 * looked there since it last ran out of work. As a rule every 61st, which costs nothing, and lets the oldest processes wait there while
 * their successors are worked off. But a ring that overflows again and again never runs empty, and a process moved to the global queue
 * would wait 61 times as long as the others. So after GLOBAL_PATIENCE looks the worker serves both in proportion: its own are RING_SHORT,
 * its share of the global ones is queued / workers. At least fifteen of sixteen are its own, because every look costs a lock: with one
 * of four a thousand pairs that message each other took twice as long. */
unsigned find_global_due(size_t queued, unsigned workers, uint32_t looks) {
    if (queued == 0 || looks <= GLOBAL_PATIENCE) return GLOBAL_TICK;
    size_t own = (size_t)RING_SHORT * workers / queued;
    if (own + 1 > GLOBAL_TICK) return GLOBAL_TICK;
    return own + 1 > GLOBAL_OFTEN ? (unsigned)own + 1 : GLOBAL_OFTEN;
}

/* Iterates over the workers that may have lost their thread while processes are in their queues; *place is 0 at first. NULL: there are
 * no more. */
static struct worker *find_orphan(struct runtime *runtime, unsigned *place) {
    unsigned made = atom_load_acq(&runtime->made),
             wanted = atom_load_rlx(&runtime->wanted); /* acq: as in find_steal_pass; rlx: any recent value will do */
    if (*place < wanted) *place = wanted;
    return *place < made ? atom_load_rlx(&runtime->workers[(*place)++]) : NULL; /* rlx: published by `made` */
}

static struct proc *find_orphaned(struct worker *worker) {
    struct proc *proc = NULL;
    struct worker *gone;
    bool busy = false;
    for (unsigned place = 0; !proc && (gone = find_orphan(worker->runtime, &place));)
        if (gone != worker) proc = find_rob(worker, gone, &busy);
    return proc;
}

bool find_orphans_wait(struct runtime *runtime) {
    struct worker *gone;
    for (unsigned place = 0; (gone = find_orphan(runtime, &place));)
        if (!policy_is_empty(gone)) return true;
    return false;
}

static struct proc *find_stopped(struct worker *worker) { return worker->fair.rounds % 2 ? parts.take_stopped(worker) : NULL; }
static struct proc *find_eldest(struct worker *worker) { return newborn_is_due(worker) ? newborn_eldest(worker) : NULL; }
static struct proc *find_task(struct worker *worker) {
    return __builtin_expect(atom_load_rlx(&worker->runtime->fork_regions) != 0, 0) ? parts.take_task(worker) : NULL; /* rlx: a hint */
}

/* Whether sources other than the queues may have work: mostly none has, and this is cheaper than asking them all. rlx, all: hints. */
static bool find_may_be_others(struct runtime *runtime) {
    return atom_load_rlx(&runtime->wanted) != atom_load_rlx(&runtime->made) || atom_load_rlx(&runtime->fork_regions) != 0 ||
           stopped_waiting(runtime);
}

/* One process that is not in the worker's own queue. Each time another source is asked first, so that none starves the next. */
static struct proc *find_other(struct worker *worker) {
    static struct proc *(*const sources[FAIR_SOURCES])(struct worker *) = {find_orphaned, find_stopped, find_eldest, find_task,
                                                                           find_global_one};
    struct proc *proc = NULL;
    for (unsigned i = 0; i < FAIR_SOURCES && !proc; i++)
        proc = sources[(worker->fair.rounds + i) % FAIR_SOURCES](worker);
    return proc;
}

/* Fires the timers of a busy worker. What they make ready does not go behind all that is queued: one runs at once, the others in turns with the queue. NULL: not
 * now; never at two looks round in a row. */
static struct proc *find_due(struct worker *worker) {
    worker->fair.firing = true;
    bool rung = timer_events_run(worker, worker);
    worker->fair.firing = false;
    struct proc *proc = worker->fair.cut_short || worker->fair.due_turn ? NULL : policy_pop_due(worker);
    slot_row_shorten(worker, !ring_is_empty(&worker->due));
    if (rung) find_tell_of_due(worker);
    worker->fair.cut_short = proc != NULL;
    return proc;
}

/* A worker that is never idle never searches. So a process in a long ring would have a turn much more seldom than one in a short ring; the worker with
 * the short ring takes a batch of the long one now and then. */
static void find_even_out(struct worker *worker) {
    struct runtime *runtime = worker->runtime;
    unsigned made = atom_load_acq(&runtime->made);                                           /* acq: as in find_steal_pass */
    struct worker *victim = atom_load_rlx(&runtime->workers[rng_below(&worker->rng, made)]); /* rlx: published by `made` */
    if (victim != worker) policy_even_out(worker, victim);
}

/* Looks round: serves what a worker that is never idle would not come to: its timers, the kernel, and all queues but its own. If a timer's process
 * cuts it short, the next look follows after one process; or the queue is empty, and the worker looks everywhere (find_elsewhere). */
static __attribute__((noinline)) struct proc *find_now_and_then(struct worker *worker) {
    struct runtime *runtime = worker->runtime;
    struct proc *proc = find_due(worker);
    if (proc) {
        tick_begin(worker, policy_is_empty(worker) ? GLOBAL_TICK : 2);
        return proc;
    }
    size_t queued = inject_size(&runtime->inject) + inject_size(&worker->newborn);
    unsigned due = find_global_due(queued, atom_load_rlx(&runtime->wanted), ++worker->fair.looks); /* rlx: any recent value */
    tick_begin(worker, due);
    worker->fair.rounds++;
    /* At most half of the processes that run until the next look come from the poll. If it were more the ring would overflow with them,
     * and a process moved to the global queue waits far longer than the next one; in the kernel the events wait in order. And while
     * processes are queued, they go first: a worker whose processes wait for descriptors soon runs out of work and polls then. */
    bool turn = queued == 0 || worker->fair.rounds % NETPOLL_SELDOM == 0;
    if (netpoll_is_used(runtime) && turn && netpoll_now(runtime, due / 2 + 1)) worker->netpoll_misses = 0;
    if (worker->policy == POLICY_RING && worker->fair.rounds % EVEN_OUT == 0) find_even_out(worker);
    return queued > 0 || find_may_be_others(runtime) ? find_other(worker) : NULL;
}

/* When the tick is up. A worker with pinned processes gives every second turn to one of them, and looks round as often as any other.
 * Other workers do not pay for that: `pinned_count` is read only here and where there is nothing else to do. */
static __attribute__((noinline)) struct proc *find_round(struct worker *worker) {
    if (!find_has_pinned(worker)) return find_now_and_then(worker);
    struct proc *proc = NULL;
    if (++worker->fair.pinned_turns >= GLOBAL_TICK / PINNED_TICK) {
        worker->fair.pinned_turns = 0;
        proc = find_now_and_then(worker);
    }
    if (!proc) proc = find_pinned(worker);
    tick_begin(worker, PINNED_TICK);
    return proc;
}

/* Whether the look round can wait for one process: a timer's process has woken one, which lies in the slot, or that one another. What a process from
 * elsewhere wakes would push it out, behind all that is queued. */
static bool find_later(struct worker *worker) {
    if (worker->fair.chain == 0 || worker->policy != POLICY_RING || (slot_is_empty(&worker->slot) && !ring_has_next(&worker->ring)))
        return false;
    worker->fair.chain--;
    return true;
}
/* The tick is up. NULL: there is nothing, or the look can wait, and comes after the next process. */
static struct proc *find_round_now(struct worker *worker) {
    if (!find_later(worker)) return find_round(worker);
    tick_begin(worker, 1);
    return NULL;
}

struct proc *find_work(struct worker *worker) {
    struct spin spin = spin_begin();
    local_begin(&worker->local);
    for (;;) {
        struct proc *proc = NULL;
        if (__builtin_expect(!tick_take(worker), 0)) {
            bool relief = atom_load_rlx(&worker->relief); /* rlx, both: a request, nothing is read on the strength of it */
            if (!relief) tick_begin(worker, GLOBAL_TICK);
            if (atom_load_rlx(&worker->leave)) return NULL;
            if (relief) return parts.take_stopped(worker); /* NULL: it leaves (stopped.h, A6) */
            proc = find_round_now(worker);
        }
        if (!proc) proc = policy_pop(worker);
        if (__builtin_expect(!proc, 0)) proc = find_elsewhere(worker);
        if (__builtin_expect(proc != NULL, 1)) {
            if (__builtin_expect(worker->searching, 0)) find_success(worker);
            return proc;
        }
        if (atom_load_rlx(&worker->leave)) return NULL; /* rlx: likewise */
        if (find_sleep(worker)) spin = spin_begin();
        else spin_wait(&spin); /* another thread is in the way, or there are enough searchers; but do not wait for long */
    }
}
