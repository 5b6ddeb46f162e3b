/* fanin: a hundred processes send to one, n messages in all. A sender sends FANIN_BURST messages, lets others have a
 * turn, and goes on. */
#include "bench/trial.h"

enum { SENDERS = 100, FANIN_BURST = 16 };

static uint64_t messages;

struct sender {
    weft_pid to;
    uint64_t left;
};

static int sender_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    *(struct sender *)self = *(const struct sender *)input;
    return 0;
}

static int sender_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct sender *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    for (unsigned i = 0; i < FANIN_BURST && self->left > 0; i++)
        trial_send(self->to, self->left--);
    weft_out_status(out, self->left > 0 ? WEFT_STEP_CONTINUE : WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior sender = {.name = "sender", .state_size = sizeof(struct sender), .init = sender_init, .step = sender_step};

struct receiver {
    uint64_t left, sum;
    bool begun;
};

static void start_senders(struct receiver *self) {
    self->begun = true;
    self->left = messages;
    trial_begin();
    for (uint64_t i = 0; i < SENDERS; i++) {
        struct sender each = {.to = weft_self(), .left = messages / SENDERS + (i < messages % SENDERS)};
        trial_spawn(&sender, &each, sizeof each);
    }
}

static int receiver_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct receiver *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (!self->begun) start_senders(self);
    if (count == 0) return 0;
    for (size_t i = 0; i < count; i++)
        self->sum += events[i].tag;
    self->left -= count;
    if (self->left > 0) return 0;
    trial_check(self->sum);
    trial_end();
    return 0;
}
static const weft_behavior receiver = {.name = "receiver", .state_size = sizeof(struct receiver), .step = receiver_step};

static void run(const struct bench_args *args, struct bench_result *result) {
    messages = args->n;
    trial_run(args, result, &receiver, NULL, 0);
}
BENCH(fanin, .name = "fanin", .about = "one message, from a hundred processes to one", .kind = "step", .n = 1000000, .run = run)
