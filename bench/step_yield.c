/* yield: two processes that only go on, n turns in all. */
#include "base/atom.h"
#include "bench/trial.h"

static uint64_t turns;
static atom_u32 running;
static atom_u64 turned;

struct yielder {
    uint64_t left, had;
};

static int yielder_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    *(struct yielder *)self = *(const struct yielder *)input;
    return 0;
}

static void yielder_end(const struct yielder *self) {
    atom_add_rlx(&turned, self->had);              /* rlx: the next line orders it */
    if (atom_sub_acqrel(&running, 1) != 1) return; /* acqrel: the last one to end comes after the other */
    trial_check(atom_load_rlx(&turned));
    trial_end();
}

static int yielder_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct yielder *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (self->left > 0) self->left--, self->had++;
    if (self->left == 0) yielder_end(self);
    weft_out_status(out, self->left > 0 ? WEFT_STEP_CONTINUE : WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior yielder = {.name = "yielder", .state_size = sizeof(struct yielder), .init = yielder_init, .step = yielder_step};

/* Starts the two together and goes away. */
static int starter_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    weft_out_status(out, WEFT_STEP_DONE);
    if (trial_cancelled(events, count, out)) return 0;
    trial_begin();
    trial_spawn(&yielder, &(struct yielder){.left = turns - turns / 2}, sizeof(struct yielder));
    trial_spawn(&yielder, &(struct yielder){.left = turns / 2}, sizeof(struct yielder));
    return 0;
}
static const weft_behavior starter = {.name = "starter", .step = starter_step};

static void run(const struct bench_args *args, struct bench_result *result) {
    turns = args->n;
    atom_store_rlx(&running, 2); /* rlx: before the runtime */
    trial_run(args, result, &starter, NULL, 0);
}
BENCH(yield, .name = "yield", .about = "one turn of two processes that always go on", .kind = "step", .n = 10000000, .run = run)
