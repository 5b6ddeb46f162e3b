/* The loop of a worker's thread, and changing the number of workers: wanted, extra and relief workers. */
#include "thread/worker.h"

#include "sched/atfork.h"
#include "sched/netpoll.h"
#include "sched/parts.h"
#include "sched/timer_event.h"
#include "thread/oscall.h"
#include "thread/stopped.h"
#include "thread/thread.h"

#include <stdio.h>

/* Until when a thread that waits for a worker to leave sleeps before it looks again whether the worker's thread is in a call. */
#if WEFT_CHECK
#define WORKER_LOOK SYS_FOREVER
#else
#define WORKER_LOOK (sys->now() + UINT64_C(1000000))
#endif

/* Under `moving`: a relief worker leaves, or becomes an ordinary one. */
static void worker_no_relief(struct worker *worker) {
    atom_store_rlx(&worker->relief, false); /* rlx: under the lock */
    stopped_relieve(worker->runtime, -1);
}

/* The processes in the queue of a worker that has left go to other workers. These are told only now that nothing more can be put there:
 * a worker that sleeps is woken, and busy ones look round soon. */
static void worker_bequeath(struct worker *gone) {
    struct runtime *runtime = gone->runtime;
    unsigned wanted = atom_load_rlx(&runtime->wanted), made = atom_load_acq(&runtime->made); /* rlx, acq: as in find_orphan */
    ready_wake(runtime, NULL);
    for (unsigned i = 0; i < wanted && i < made; i++)
        tick_hurry(atom_load_rlx(&runtime->workers[i])); /* rlx: published by `made` */
}

/* Under `moving`, and `ringing` if the worker had a thread: no thread drives it from now on. rlx: a thread that arms a timer here
 * afterwards sees it by the lock of the timers, and moves the timer (worker_keep_timers). */
static void worker_leave_timers(struct worker *worker) {
    atom_store_rlx(&worker->driven, false);
    worker_pass_timers(worker->runtime, worker);
}

/* There was no thread for the worker after all; but other threads may have armed timers here. */
static void worker_not_begun(struct worker *worker) {
    lock_take(&worker->runtime->moving);
    worker_leave_timers(worker);
    lock_drop(&worker->runtime->moving);
}

/* The worker is not wanted any more. False: it is wanted again meanwhile. */
static bool worker_leave(struct worker *worker) {
    struct runtime *runtime = worker->runtime;
    spinlock_take(&worker->ringing); /* a thread that fires its timers is done before the first worker has the rest */
    lock_take(&runtime->moving);
    bool relief = atom_load_rlx(&worker->relief); /* rlx, both: under the lock */
    bool leaves = relief || atom_load_rlx(&worker->leave);
    if (leaves) {
        if (worker->searching) find_success(worker);
        worker_leave_timers(worker);
        stack_cache_flush(&worker->local.stacks);
        if (worker->abandoned) atom_sub_rlx(&runtime->threads.away, 1); /* rlx: a count */
        worker->abandoned = false;
        if (relief) worker_no_relief(worker);
        else if (worker->index > 0) idle_resize(&runtime->idle, worker->index);
        my_worker = NULL;
        parker_unpark(&worker->departure);
    }
    lock_drop(&runtime->moving);
    spinlock_drop(&worker->ringing);
    if (leaves) atom_store_rlx(&worker->brisk, false); /* rlx: the fence in ready_wake (sched/brisk.h, B3) */
    if (leaves && !policy_is_empty(worker)) worker_bequeath(worker);
    if (leaves) netpoll_unattended(runtime);
    return leaves;
}

__attribute__((flatten)) void *worker_main(void *argument) {
    struct worker *worker = argument;
    my_worker = worker;
    do {
        for (struct proc *proc; (proc = find_work(worker)) != NULL;)
            if (!(worker = parts.run(worker, proc))) return NULL;
    } while (!worker_leave(worker));
    return NULL;
}

/* Large enough to be mapped: of a worker's queues, and its shelves for small blocks, most is never touched. */
enum { WORKER_BYTES = WEFT_CHECK || sizeof(struct worker) > SYS_MAPPED ? sizeof(struct worker) : SYS_MAPPED };

void worker_free(struct worker *worker) {
    policy_destroy(worker);
    sys->free(worker, WORKER_BYTES);
}

struct worker *worker_new(struct runtime *runtime, unsigned index) {
    struct worker *worker = sys->alloc(WORKER_BYTES);
    if (!worker) return NULL;
    worker->runtime = runtime;
    worker->index = index;
    worker->policy = runtime->policy;
    worker->left = LEFT_NONE;
    atom_store_rlx(&worker->coarse, atom_load_rlx(&runtime->coarse)); /* rlx, both: an approximate time */
    worker->out = (struct weft_out){.worker = worker, .yields_end = &worker->out.yields};
    local_init(&worker->local, runtime);
    parker_init(&worker->parker);
    mpsc_init(&worker->pinned_ready);
    parker_init(&worker->departure);
    tick_begin(worker, GLOBAL_TICK);
    atom_store_rlx(&worker->give_way, UINT64_MAX); /* rlx: no other thread knows it; no step has this number */
    atom_store_rlx(&worker->asked, UINT64_MAX);
    atom_store_rlx(&worker->refused, UINT64_MAX);
    atom_store_rlx(&worker->again, UINT64_MAX);
    worker->alarm.steps = UINT64_MAX;
    timers_init(&worker->timers, sys->now());
    spinlock_init(&worker->ringing);
    rng_seed(&worker->rng, runtime->seed, index);
    worker->coin = rng_next(&worker->rng);
    if (policy_init(worker) != 0 || table_add_section(&runtime->table, &worker->local.section) != 0) {
        worker_free(worker);
        return NULL;
    }
    atom_store_rlx(&runtime->workers[index], worker); /* rlx: published by `made` */
    atom_store_rel(&runtime->made, index + 1);        /* rel: pairs with the acq in find_steal_pass */
    return worker;
}

/* Under `resizing`; NULL when there is no memory. */
static struct worker *worker_at(struct runtime *runtime, unsigned index) {
    return index < atom_load_rlx(&runtime->made) ? atom_load_rlx(&runtime->workers[index]) /* rlx: under the lock */
                                                 : worker_new(runtime, index);
}

/* Under `resizing`. */
static int worker_begin(struct runtime *runtime, unsigned index) {
    struct worker *worker = worker_at(runtime, index);
    if (!worker) return WEFT_ENOMEM;
    idle_resize(&runtime->idle, index + 1);
    lock_take(&runtime->moving);
    bool there = atom_load_rlx(&worker->driven);                  /* its thread has been dismissed and has not left yet: it may stay */
    if (atom_load_rlx(&worker->relief)) worker_no_relief(worker); /* more workers are wanted, and it is one of them now */
    atom_store_rlx(&worker->leave, false);
    atom_store_rlx(&worker->driven, true);
    lock_drop(&runtime->moving);
    /* Only now, so that no process is pinned to a thread that leaves. Not a store of 0: a refused pin may still have to take its
     * increment back. rlx: a thread whose pin has seen this comes to `moving` later than this one. */
    atom_and_rlx(&worker->pinned_count, ~PINNED_CLOSED);
    int error = there ? 0 : thread_give(runtime, worker);
    if (error) worker_not_begun(worker);
    return error;
}

/* rlx, all: a number, and a word that decides which comes first, pin or close; what the worker does then goes by `leave` and the queues. */
bool worker_pin(struct worker *own) {
    if (atom_add_rlx(&own->pinned_count, 1) & PINNED_CLOSED) {
        atom_sub_rlx(&own->pinned_count, 1);
        return false;
    }
    if (!tick_is_up(own)) tick_begin(own, PINNED_TICK);
    return true;
}
void worker_unpin(struct worker *own) { atom_sub_rlx(&own->pinned_count, 1); }

/* No process is pinned here from now on. False: some are already, and they cannot go elsewhere. */
static bool worker_close(struct worker *worker, bool with_pinned) {
    uint32_t none = 0;
    if (with_pinned) atom_or_rlx(&worker->pinned_count, PINNED_CLOSED);
    return with_pinned || atom_cas_rlx_rlx(&worker->pinned_count, &none, PINNED_CLOSED);
}

void worker_dismiss(struct runtime *runtime, struct worker *worker) {
    atom_store_rlx(&worker->leave, true); /* rlx: before the fence of idle_wake_one, on which find_anything relies */
    ready_wake_one(runtime, worker);
}

/* The step that a thread has been seen in, since when, and how much CPU time it had used by then. */
struct stuck {
    uint64_t steps, since, cpu;
};
#define WORKER_STUCK UINT64_C(100000000) /* ns */
#define WORKER_LOST UINT64_C(5000000000)

#if WEFT_CHECK
static bool worker_is_stuck(struct worker *worker, struct stuck *stuck) { return (void)worker, (void)stuck, false; }
#else
/* Whether its thread has been in one step for so long that it is not waited for: asleep or computing for WORKER_STUCK, or without a CPU
 * for WORKER_LOST. Asked when the runtime stops, some processes would not end, and sysmon is gone. */
static bool worker_is_stuck(struct worker *worker, struct stuck *stuck) {
    uint64_t steps = atom_load_rlx(&worker->local.counters.steps), now = sys->now(), cpu = 0; /* rlx, all: numbers; a request */
    uint32_t driver = atom_load_rlx(&worker->driver);
    if (!atom_load_rlx(&worker->runtime->forcing) || idle_is_asleep(&worker->runtime->idle, worker->index)) return false;
    bool timed = sys->thread_time(driver, &cpu) == 0;
    if (stuck->steps != steps || stuck->since == 0)
        *stuck = (struct stuck){steps, worker->seen.steps == steps ? worker->seen.step_since : now, cpu};
    if (now - stuck->since < WORKER_STUCK) return false;
    return sys->thread_asleep(driver) || (timed && cpu - stuck->cpu >= WORKER_STUCK / 2) || now - stuck->since >= WORKER_LOST;
}
#endif

/* The thread is left where it is, with all that it may touch. If it comes back, it finds that it is to leave (its tick is up) before it
 * runs another process. */
static void worker_abandon(struct worker *worker) {
    struct runtime *runtime = worker->runtime;
    tick_begin(worker, 1);
    budget_end(worker);
    lock_take(&runtime->moving);
    if (atom_load_rlx(&worker->driven)) { /* rlx, all: under the lock; a count */
        worker->abandoned = true;
        atom_add_rlx(&runtime->threads.away, 1);
        atom_store_rlx(&worker->driven, false);
    }
    lock_drop(&runtime->moving);
}

/* Waits until the worker has no thread, or its thread is in a call and has lost the worker, or in a process that does not end. */
static void worker_wait(struct worker *worker) {
    struct stuck stuck = {0, 0, 0};
    while (atom_load_rlx(&worker->driven)) {
        uint32_t number = oscall_seen(worker);
        /* rlx: the worker is not touched before its last thread has been joined. No thread will drive it: sysmon has been stopped. */
        if (atom_load_rlx(&worker->undriven) || (number && oscall_retake(worker, number))) {
            lock_take(&worker->runtime->moving);
            atom_store_rlx(&worker->driven, false);
            lock_drop(&worker->runtime->moving);
        } else if (worker_is_stuck(worker, &stuck)) {
            worker_abandon(worker);
        } else {
            preempt_evict(worker);
            parker_park(&worker->departure, WORKER_LOOK);
        }
    }
}

/* Under `resizing`: changes the number of driven workers from `now` to `then`; `wait`: until those that are dismissed have left. */
static int workers_drive(struct runtime *runtime, unsigned now, unsigned then, bool wait, unsigned *got) {
    int error = 0;
    while (now < then && !(error = worker_begin(runtime, now)))
        now++;
    while (now > then) {
        struct worker *worker = atom_load_rlx(&runtime->workers[now - 1]); /* rlx: under the lock */
        if (!worker_close(worker, wait)) {
            error = WEFT_EBUSY;
            break;
        }
        now--;
        worker_dismiss(runtime, worker);
        if (wait) worker_wait(worker);
    }
    *got = now;
    return error;
}

int workers_set(struct runtime *runtime, unsigned workers) {
    unsigned got;
    lock_take(&runtime->resizing);
    unsigned now = atom_load_rlx(&runtime->wanted), extra = atom_load_rlx(&runtime->extra); /* rlx, both: written under the lock */
    atom_store_rlx(&runtime->wanted, workers < now ? workers : now);
    /* When none is to be left: also those that were dismissed and still have a thread, in a call or a process that does not end. */
    unsigned all = workers ? now + extra : atom_load_rlx(&runtime->made); /* rlx: written under the lock */
    int error = workers_drive(runtime, all, workers ? workers + extra : 0, workers == 0, &got);
    bool stays = error == WEFT_EBUSY; /* one with pinned processes, and those below it */
    atom_store_rlx(&runtime->wanted, stays || got < workers ? got : workers);
    atom_store_rlx(&runtime->extra, stays || got < workers ? 0 : got - workers);
    lock_drop(&runtime->resizing);
    return error;
}

void workers_compensate(struct runtime *runtime, unsigned hogs) {
    if (hogs > runtime->extra_most) hogs = runtime->extra_most;
    if (hogs == atom_load_rlx(&runtime->extra) || !lock_try(&runtime->resizing)) return; /* rlx: checked again under the lock */
    unsigned wanted = atom_load_rlx(&runtime->wanted), extra = atom_load_rlx(&runtime->extra), got;
    if (wanted > 0 && wanted + hogs <= PLACES_MAX && hogs != extra) {
        workers_drive(runtime, wanted + extra, wanted + hogs, false, &got);
        atom_store_rlx(&runtime->extra, got - wanted);
    }
    lock_drop(&runtime->resizing);
}

/* ---- relief workers: for processes that were stopped (stopped.h, A6) ------------------------------------------------ */

/* Under `resizing`: gives a worker that has no thread to the process that was stopped first. False: none can be had just now. */
static bool worker_relieves(struct worker *worker) {
    struct runtime *runtime = worker->runtime;
    stopped_relieve(runtime, 1); /* first: stopped processes and relief workers are never too many, not for a moment */
    struct thread *thread = stopped_next(worker);
    if (!thread) {
        stopped_relieve(runtime, -1);
        return false;
    }
    atom_or_rlx(&worker->pinned_count, PINNED_CLOSED); /* rlx, all: no other thread has it, and its thread comes later */
    atom_store_rlx(&worker->leave, false);
    tick_begin(worker, 1); /* and stays so: a relief worker checks `relief` and `leave` before every process */
    atom_store_rlx(&worker->relief, true);
    thread_wake(thread, worker);
    return true;
}

/* Under `resizing`: whether the worker is a relief worker, or becomes one now because it `shall`. */
static bool worker_relief(struct worker *worker, bool shall) {
    lock_take(&worker->runtime->moving);
    bool relief = atom_load_rlx(&worker->relief); /* rlx, here and below: under the lock */
    bool begins = shall && !atom_load_rlx(&worker->driven) && stopped_waiting(worker->runtime);
    if (relief) atom_store_rlx(&worker->leave, !shall);
    if (begins) atom_store_rlx(&worker->driven, true);
    lock_drop(&worker->runtime->moving);
    if (!begins) return relief;
    begins = worker_relieves(worker);
    if (!begins) worker_not_begun(worker);
    return begins;
}

/* rlx, all: numbers, written under the lock; the first reads are hints. */
void workers_relieve(struct runtime *runtime, unsigned hogs) {
    struct preempt *preempt = &runtime->preempt;
    unsigned count = hogs > runtime->extra_most ? hogs - runtime->extra_most : 0;
    if (!preempt_is_on(runtime) || (count == 0 && atom_load_rlx(&preempt->relief) == 0) || !lock_try(&runtime->resizing)) return;
    unsigned wanted = atom_load_rlx(&runtime->wanted), most = wanted > 0 ? PLACES_MAX : 0; /* 0: the runtime stops */
    for (unsigned i = wanted + runtime->extra_most; i < most && i <= atom_load_rlx(&runtime->made); i++) {
        bool known = i<atom_load_rlx(&runtime->made), shall = count> 0;
        struct worker *worker = known || (shall && stopped_waiting(runtime)) ? worker_at(runtime, i) : NULL;
        if (worker && worker_relief(worker, shall)) count -= shall;
    }
    lock_drop(&runtime->resizing);
}

unsigned weft_workers(weft_runtime *runtime) { return atom_load_rlx(&((struct runtime *)runtime)->wanted); } /* rlx: a number */

int weft_set_workers(weft_runtime *opaque, unsigned workers) {
    atfork_check("weft_set_workers");
    unsigned most = ((struct runtime *)opaque)->exclusive ? 1 : WORKERS_MAX;
    if (workers == 0 || workers > most) return WEFT_EINVAL;
    if (my_worker && my_worker->runtime == (struct runtime *)opaque)
        WEFT_MISUSE("weft_set_workers", "called from a process of that runtime, whose worker would wait for itself",
                    "call it from another thread");
    int error = workers_set((struct runtime *)opaque, workers);
    return error == 0 || error == WEFT_EBUSY ? error : WEFT_EAGAIN;
}
