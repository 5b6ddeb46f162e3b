/* spawn: one process spawns n that do nothing and end.
 * It spawns SPAWN_BURST of them, lets them have their turn, and goes on; the clock stops when the last has ended. */
#include "bench/trial.h"

enum { SPAWN_BURST = 32 };

static int empty_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior empty = {.name = "empty", .step = empty_step};

static uint64_t spawns;

struct spawner {
    uint64_t left;
    bool begun, ended;
};

static void spawn_burst(struct spawner *self) {
    uint64_t burst = self->left < SPAWN_BURST ? self->left : SPAWN_BURST;
    self->left -= burst;
    for (; burst > 0; burst--) {
        weft_pid pid;
        int error = weft_spawn_step(&empty, NULL, &pid);
        if (__builtin_expect(error, 0)) trial_must(error, "spawning");
    }
}

/* Only the runtime itself counts, so that the empty ones stay empty. */
static bool all_ended(void) {
    weft_stats stats;
    weft_get_stats(trial_runtime(), &stats);
    trial_check(stats.ended);
    return stats.ended >= spawns;
}

static int spawner_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct spawner *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (!self->begun) {
        trial_begin();
        self->begun = true;
        self->left = spawns;
    }
    if (self->left > 0) {
        spawn_burst(self);
    } else if (!self->ended && all_ended()) {
        trial_end();
        self->ended = true;
    }
    weft_out_status(out, self->ended ? WEFT_STEP_IDLE : WEFT_STEP_CONTINUE);
    return 0;
}
static const weft_behavior spawner = {.name = "spawner", .state_size = sizeof(struct spawner), .step = spawner_step};

static void run(const struct bench_args *args, struct bench_result *result) {
    spawns = args->n;
    trial_run(args, result, &spawner, NULL, 0);
}
BENCH(spawn, .name = "spawn", .about = "spawn and end of an empty process", .kind = "step", .n = 1000000, .run = run)
