/* parked: n processes, each of which has received one message and waits for another. bytes_each is the growth of
 * resident memory over n; the time is that of spawning and messaging one. */
#include "base/atom.h"
#include "bench/trial.h"

enum { PARKED_BURST = 32 };

static uint64_t processes;
static atom_u64 parked; /* how many have had their message */

struct sitter {
    uint64_t had;
};

static int sitter_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct sitter *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (count == 0) return 0;
    self->had += count;
    uint64_t now = atom_add_rlx(&parked, 1) + 1; /* rlx: a count */
    if (now < processes) return 0;
    trial_check(now);
    trial_end();
    return 0;
}
static const weft_behavior sitter = {.name = "sitter", .state_size = sizeof(struct sitter), .step = sitter_step};

struct usher {
    uint64_t spawned;
};

/* In bursts, so that messages are read and their memory serves again. */
static int usher_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct usher *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (self->spawned == 0) trial_begin();
    for (unsigned i = 0; i < PARKED_BURST && self->spawned < processes; i++, self->spawned++)
        trial_send(trial_spawn(&sitter, NULL, 0), self->spawned);
    weft_out_status(out, self->spawned < processes ? WEFT_STEP_CONTINUE : WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior usher = {.name = "usher", .state_size = sizeof(struct usher), .step = usher_step};

static void run(const struct bench_args *args, struct bench_result *result) {
    processes = args->n;
    trial_open(args, result, "step");
    uint64_t before = trial_rss();
    trial_spawn(&usher, NULL, 0);
    trial_wait();
    uint64_t after = trial_rss();
    trial_close(result);
    bench_extra(result, "bytes_each", ((double)after - (double)before) / (double)args->n);
}
BENCH(parked, .name = "parked", .about = "processes that wait; bytes_each: resident memory of one", .kind = "step", .n = 1000000,
      .run = run)
