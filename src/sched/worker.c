/* A worker's thread, and changing how many there are. */
#include "sched/sched.h"

#include <stdio.h>

#if !WEFT_CHECK && defined(__x86_64__)
_Thread_local struct worker *my_worker __attribute__((tls_model("initial-exec")));
#elif !WEFT_CHECK
static _Thread_local struct worker *worker_of_thread;
__attribute__((noinline)) struct worker **worker_place(void) {
    __asm__ volatile(""); /* so that no call of it is taken for another's result */
    return &worker_of_thread;
}
#endif

__attribute__((noinline)) struct worker *worker_here(void) {
    __asm__ volatile(""); /* so that no call of it is taken for another's result */
    return my_worker;
}

__attribute__((flatten)) void *worker_main(void *argument) {
    struct worker *worker = argument;
    struct loop loop = {.error_number = &errno};
    void *signals = overflow_thread_begin();
    annotate_thread(&loop.annotate);
    worker->loop = &loop;
    my_worker = worker;
    for (struct proc *proc; (proc = find_work(worker)) != NULL;)
        step_run(worker, proc);
    /* Not wanted any more: what lies here goes to the others. */
    if (worker->searching) {
        worker->searching = false;
        int next = idle_found(&worker->runtime->idle);
        if (next != IDLE_NOBODY) parker_unpark(&atom_load_rlx(&worker->runtime->workers[next])->parker); /* rlx: it sleeps */
    }
    my_worker = NULL;
    overflow_thread_end(signals);
    return NULL;
}

void actor_init(struct actor *actor, struct runtime *runtime) {
    actor->runtime = runtime;
    section_init(&actor->section);
    cache_init(&actor->cache, &runtime->pool);
    shelf_init(&actor->shelf, &runtime->table);
    stack_cache_init(&actor->stacks, &runtime->stacks);
}

struct worker *worker_new(struct runtime *runtime, unsigned index) {
    struct worker *worker = sys->alloc(sizeof *worker);
    if (!worker) return NULL;
    worker->runtime = runtime;
    worker->index = index;
    worker->policy = runtime->policy;
    worker->out = (struct weft_out){.worker = worker, .yields_end = &worker->out.yields};
    actor_init(&worker->actor, runtime);
    parker_init(&worker->parker);
    mpsc_init(&worker->inbox);
    timers_init(&worker->timers, sys->now());
    rng_seed(&worker->rng, runtime->seed, index);
    if (policy_init(worker) != 0 || table_add_section(&runtime->table, &worker->actor.section) != 0) {
        policy_destroy(worker);
        sys->free(worker, sizeof *worker);
        return NULL;
    }
    atom_store_rlx(&runtime->workers[index], worker); /* rlx: published by `made` */
    atom_store_rel(&runtime->made, index + 1);        /* rel: pairs with the acq in find_steal_pass */
    return worker;
}

/* Under the lock. */
static int worker_begin(struct runtime *runtime, unsigned index) {
    struct worker *worker = index < atom_load_rlx(&runtime->made) ? atom_load_rlx(&runtime->workers[index]) /* rlx: under the lock */
                                                                   : worker_new(runtime, index);
    if (!worker) return WEFT_ENOMEM;
    atom_store_rlx(&worker->leave, false); /* rlx: its thread is not there yet */
    atom_store_rlx(&worker->guests, 0);
    idle_resize(&runtime->idle, index + 1);
    int error = sys->thread_start(&worker->thread, worker_main, worker);
    atom_store_rlx(&worker->started, error == 0);
    return error;
}

/* rlx, all: a number, and a word that says who was first; what the worker does then goes by `leave` and the queues. */
bool worker_pin(struct worker *own) {
    if (atom_add_rlx(&own->guests, 1) & GUESTS_CLOSED) {
        atom_sub_rlx(&own->guests, 1);
        return false;
    }
    if (own->tick < GLOBAL_TICK - GUEST_TICK) own->tick = GLOBAL_TICK - GUEST_TICK;
    return true;
}
void worker_unpin(struct worker *own) { atom_sub_rlx(&own->guests, 1); }

/* No more guests from now on. False: there are some, and they cannot go elsewhere. */
static bool worker_close(struct worker *worker, bool with_guests) {
    uint32_t none = 0;
    if (with_guests) atom_or_rlx(&worker->guests, GUESTS_CLOSED);
    return with_guests || atom_cas_rlx_rlx(&worker->guests, &none, GUESTS_CLOSED);
}

void worker_dismiss(struct runtime *runtime, struct worker *worker) {
    atom_store_rlx(&worker->leave, true); /* rlx: before the fence of idle_wake_one, and that is what find_anything relies on */
    if (idle_wake_one(&runtime->idle, worker->index)) parker_unpark(&worker->parker);
}

/* Under the lock: the first worker takes over the timers of one that has no thread any more. */
static void worker_leave_timers(struct runtime *runtime, struct worker *gone) {
    struct worker *heir = atom_load_rlx(&runtime->workers[0]); /* rlx: under the lock */
    if (gone == heir || !timers_move(&heir->timers, &gone->timers)) return;
    atom_fence_light(); /* pairs with the fence in idle_enter: it sees the timers, or is seen asleep */
    if (idle_wake_one(&runtime->idle, heir->index)) parker_unpark(&heir->parker);
}

/* Under the lock: sends the worker's thread away and waits for it. Its queue stays open to thieves. */
static void worker_end(struct runtime *runtime, struct worker *worker) {
    if (!atom_load_rlx(&worker->started)) return;
    worker_dismiss(runtime, worker);
    sys->thread_join(worker->thread);
    worker_leave_timers(runtime, worker);
    atom_store_rlx(&worker->started, false);
}

void workers_rouse(struct runtime *runtime) { ready_wake(runtime, my_worker); }

int workers_set(struct runtime *runtime, unsigned workers) {
    int error = 0;
    lock_take(&runtime->resizing);
    unsigned now = atom_load_rlx(&runtime->wanted); /* rlx: written under the lock */
    while (now < workers && !(error = worker_begin(runtime, now)))
        atom_store_rlx(&runtime->wanted, ++now);
    while (now > workers) {
        struct worker *last = atom_load_rlx(&runtime->workers[now - 1]); /* rlx: under the lock */
        if (!worker_close(last, workers == 0)) {
            error = WEFT_EBUSY;
            break;
        }
        atom_store_rlx(&runtime->wanted, --now);
        worker_end(runtime, last);
        if (now > 0) idle_resize(&runtime->idle, now);
        workers_rouse(runtime);
    }
    lock_drop(&runtime->resizing);
    return error;
}

unsigned weft_workers(weft_runtime *runtime) { return atom_load_rlx(&((struct runtime *)runtime)->wanted); } /* rlx: a number */

int weft_set_workers(weft_runtime *opaque, unsigned workers) {
    if (workers == 0 || workers > WORKERS_MAX) return WEFT_EINVAL;
    if (my_worker && my_worker->runtime == (struct runtime *)opaque)
        WEFT_MISUSE("weft_set_workers", "called from a process of that runtime, whose worker would wait for itself",
                    "call it from another thread");
    int error = workers_set((struct runtime *)opaque, workers);
    return error == 0 || error == WEFT_EBUSY ? error : WEFT_EAGAIN;
}
