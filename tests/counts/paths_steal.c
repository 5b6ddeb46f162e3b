/* A steal: two workers without threads, played by the child itself, so that the thief never runs beside its victim. */
#include "paths.h"

#include "runtime/stop.h"
#include "sched/sched.h"
#include "step/step.h"
#include "thread/worker.h"

#include <stdlib.h>
#include <unistd.h>

enum { QUEUED = 8 };

static struct runtime *staged(enum policy_name policy) {
    struct runtime *runtime = calloc(1, sizeof *runtime);
    if (!runtime) _exit(2);
    runtime->policy = policy;
    runtime->seed = 1;
    if (runtime_init(runtime, 1000) != 0) _exit(2);
    for (unsigned i = 0; i < 2; i++)
        if (!worker_new(runtime, i)) _exit(2);
    idle_resize(&runtime->idle, 2);
    atom_store_rlx(&runtime->wanted, 2);
    return runtime;
}

static int is_done(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior done = {.name = "done", .step = is_done};

static void run_all(struct worker *worker, struct proc *proc) {
    my_worker = worker;
    for (; proc; proc = policy_pop(worker))
        step_run(worker, proc);
}

/* The marks are before and after the steal: of eight processes the thief gets what its policy takes. */
static void steals(enum policy_name policy) {
    struct runtime *runtime = staged(policy);
    struct worker *thief = atom_load_rlx(&runtime->workers[0]), *victim = atom_load_rlx(&runtime->workers[1]);
    for (;;) {
        bool busy = false;
        weft_pid pid;
        my_worker = victim;
        for (unsigned i = 0; i < QUEUED; i++)
            weft_spawn_step(&done, &(weft_spawn_options){.runtime = (weft_runtime *)runtime}, &pid);
        my_worker = thief;
        mark();
        struct proc *proc = policy_steal(thief, victim, false, &busy);
        mark();
        if (!proc) _exit(2);
        run_all(thief, proc);
        run_all(victim, policy_pop(victim));
    }
}
static void steals_ring(void *unused) {
    (void)unused;
    steals(POLICY_RING);
}
static void steals_deque(void *unused) {
    (void)unused;
    steals(POLICY_DEQUE);
}
static void steals_line(void *unused) {
    (void)unused;
    steals(POLICY_LINE);
}

const struct path paths_steal[] = {
    {"steal", steals_ring, NULL, 2, 1},
    {"steal-deque", steals_deque, NULL, 2, 1},
    {"steal-line", steals_line, NULL, 2, 1},
    {NULL, NULL, NULL, 0, 0},
};
