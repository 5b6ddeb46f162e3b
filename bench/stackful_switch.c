/* yield, poll and spawn, with stackful processes. */
#include "base/atom.h"
#include "bench/trial.h"

/* ---- yield: two processes that only go on, n turns in all ------------------------------------------------------------ */

static uint64_t turns;
static atom_u32 running;
static atom_u64 turned;

static void yielder(void *half) {
    uint64_t had = 0;
    for (uint64_t left = turns / 2 + (half ? turns % 2 : 0); left > 0; left--, had++)
        weft_yield();
    atom_add_rlx(&turned, had);                    /* rlx: the next line orders it */
    if (atom_sub_acqrel(&running, 1) != 1) return; /* acqrel: the last one to end comes after the other */
    trial_check(atom_load_rlx(&turned));
    trial_end();
}

static void starter(void *unused) {
    (void)unused;
    trial_begin();
    trial_spawn_stackful(yielder, NULL);
    trial_spawn_stackful(yielder, &turns);
}

static void run_yield(const struct bench_args *args, struct bench_result *result) {
    turns = args->n;
    atom_store_rlx(&running, 2); /* rlx: before the runtime */
    trial_run_stackful(args, result, starter, NULL);
}
BENCH(stackful_yield, .name = "yield", .about = "one switch between two processes", .kind = "stackful", .n = 10000000, .run = run_yield)

/* ---- poll: one process that asks n times whether it has had its time ------------------------------------------------- */

static uint64_t looks;

static void looker(void *unused) {
    (void)unused;
    trial_begin();
    for (uint64_t left = looks; left > 0; left--)
        weft_checkpoint();
    trial_end();
}

static void run_poll(const struct bench_args *args, struct bench_result *result) {
    looks = args->n;
    trial_run_stackful(args, result, looker, NULL);
}
BENCH(stackful_poll, .name = "poll", .about = "weft_checkpoint in a loop", .kind = "stackful", .n = 100000000, .run = run_poll)

/* ---- spawn: one process spawns n that do nothing and end, in bursts ------------------------------------------------- */

enum { SPAWN_BURST = 32 };
static uint64_t spawns;

static void empty(void *unused) { (void)unused; }

static void spawner(void *unused) {
    (void)unused;
    trial_begin();
    for (uint64_t i = 1; i <= spawns; i++) {
        if (weft_spawn(empty, NULL) == WEFT_NOBODY) trial_must(WEFT_ENOMEM, "spawning");
        if (i % SPAWN_BURST == 0) weft_yield();
    }
    weft_stats stats = {.ended = 0};
    for (; stats.ended < spawns; weft_get_stats(trial_runtime(), &stats))
        weft_yield();
    trial_check(stats.ended);
    trial_end();
}

static void run_spawn(const struct bench_args *args, struct bench_result *result) {
    spawns = args->n;
    trial_run_stackful(args, result, spawner, NULL);
}
BENCH(stackful_spawn, .name = "spawn", .about = "spawn and end of an empty process", .kind = "stackful", .n = 1000000, .run = run_spawn)
