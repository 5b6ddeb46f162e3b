/* Stealing tasks: an idle worker starts a thief, a process that takes open tasks of other processes and runs them. */
#include "fiber/upcall.h"
#include "forkjoin/regions.h"
#include "wait/wait.h"

enum { THIEF_ROUNDS = 100, THIEF_PAUSES = 4 }; /* how long a worker that has asked waits for a task before it sleeps */

/* The class of the stack that some open task needs, or REGION_NONE; then, with `ask`, all owners have been asked. */
static int thief_look(struct worker *worker, struct regions *regions, bool ask) {
    uint32_t made = atom_load_acq(&regions->made); /* acq: pairs with the rel in region_new; regions below are set up */
    uint32_t start = made ? rng_below(&worker->rng, made) : 0;
    for (uint32_t i = 0; i < made; i++) {
        struct region *region = atom_load_rlx(&regions->seen[(start + i) % made]); /* rlx: published by `made` */
        if (!atom_load_rlx(&region->active)) continue;                             /* rlx: a hint, or after the fence of idle_enter */
        int class = region_has_open(region);
        if (class != REGION_NONE) return class;
        if (ask) region_ask(region);
    }
    return REGION_NONE;
}

static weft_task *thief_steal(struct worker *worker, unsigned class, weft_task_run **run) {
    struct regions *regions = atom_load_rlx(&worker->runtime->regions); /* rlx: the thief has a region of its own */
    uint32_t made = atom_load_acq(&regions->made);                      /* acq: as in thief_look */
    uint32_t start = rng_below(&worker->rng, made);
    for (uint32_t i = 0; i < made; i++) {
        struct region *region = atom_load_rlx(&regions->seen[(start + i) % made]);                  /* rlx: likewise */
        weft_task *task = atom_load_rlx(&region->active) ? region_steal(region, class, run) : NULL; /* rlx: a hint */
        if (task) return task;
    }
    return NULL;
}

/* No thief can run: there is no process, or no region, for it. */
static void thief_refuse(struct regions *regions) { atom_store_rlx(&regions->refused, true); /* rlx: a hint */ }

/* ---- the process -------------------------------------------------------------------------------------------------- */

static void thief_complete(weft_task *task) {
    struct wait *wait = task_complete(task);
    struct wake wake;
    if (wait && wait_claim(wait, 1, &wake)) wait_wake(&wake);
}

/* Whether the worker has no ready process. */
static bool thief_may_go_on(struct worker *worker) { return policy_is_empty(worker) && inject_size(&worker->runtime->inject) == 0; }

static void thief_main(void *unused) {
    (void)unused;
    struct worker *worker = worker_here();
    struct proc *proc = worker->current;
    struct region *region = regions_take(worker->runtime);
    if (!region) {
        thief_refuse(atom_load_rlx(&worker->runtime->regions)); /* rlx: set since a process called WEFT_RUN */
        return;
    }
    weft_task_run *run;
    weft_task *task;
    do {
        if (!(task = thief_steal(worker, proc->stack_class, &run))) break;
        region_begin(region);
        tasks_enter(proc, region, region_of(task)->root, region_of(task)->name); /* the task's owner does not end before this */
        upcall_here((uintptr_t)run, (uintptr_t)task, (uintptr_t)region_task(region, REGION_FIRST), &(struct upcall){.strict = "weft_fork"});
        tasks_leave(proc, region);
        thief_complete(task);
        worker = worker_here();
    } while (thief_may_go_on(worker));
    regions_give(region);
}

/* ---- the worker --------------------------------------------------------------------------------------------------- */

static struct proc *thief_spawn(struct worker *worker, struct regions *regions, int class) {
    weft_stackful_options options = {.stack_size = stack_class_size((unsigned)class), .name = "task", .flags = WEFT_SPAWN_STACK_NOW};
    weft_pid pid;
    if (fiber_spawn(thief_main, NULL, &options, &pid)) {
        thief_refuse(regions);
        return NULL;
    }
    return policy_pop(worker); /* NULL if another worker has stolen it */
}

struct proc *forkjoin_steal(struct worker *worker) {
    struct regions *regions = atom_load_acq(&worker->runtime->regions); /* acq: pairs with the rel in regions_of */
    if (atom_load_rlx(&regions->refused)) return NULL;                  /* rlx: a hint */
    for (unsigned round = 0; round < THIEF_ROUNDS; round++) {
        int class = thief_look(worker, regions, true);
        if (class != REGION_NONE) return thief_spawn(worker, regions, class);
        if (!thief_may_go_on(worker)) return policy_pop(worker);
        if (atom_load_rlx(&worker->runtime->fork_regions) == 0) return NULL; /* rlx: a hint */
        for (unsigned pause = 0; pause < THIEF_PAUSES; pause++)
            spin_pause();
    }
    return NULL;
}

struct proc *forkjoin_take(struct worker *worker) {
    struct regions *regions = atom_load_acq(&worker->runtime->regions); /* acq: as in forkjoin_steal */
    if (atom_load_rlx(&regions->refused)) return NULL;                  /* rlx: a hint */
    int class = thief_look(worker, regions, false);
    return class == REGION_NONE ? NULL : thief_spawn(worker, regions, class);
}

bool forkjoin_anything(struct worker *worker) {
    struct regions *regions = atom_load_acq(&worker->runtime->regions); /* acq: as in forkjoin_steal */
    return regions && !atom_load_rlx(&regions->refused) && thief_look(worker, regions, true) != REGION_NONE;
}
