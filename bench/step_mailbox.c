/* mailbox: one process sends as many messages as --size says before another reads them; n in all. */
#include "bench/trial.h"

static uint64_t length, messages;
static weft_pid writer_pid;

struct reader {
    uint64_t had, sum;
};

/* Reads `length` at a time; then it says so, and adds up. */
static int reader_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct reader *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    for (size_t i = 0; i < count; i++) {
        self->sum += events[i].tag;
        if (++self->had % length == 0) trial_send(writer_pid, self->sum);
    }
    return 0;
}
static const weft_behavior reader = {.name = "reader", .state_size = sizeof(struct reader), .step = reader_step};

struct writer {
    weft_pid to;
    uint64_t sent;
};

static void writer_begin(struct writer *self) {
    writer_pid = weft_self();
    self->to = trial_spawn(&reader, NULL, 0);
    trial_begin();
}

static int writer_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct writer *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (self->sent == 0) writer_begin(self);
    if (self->sent < messages) {
        for (uint64_t i = 0; i < length; i++)
            trial_send(self->to, ++self->sent);
    } else {
        trial_check(events[0].tag);
        trial_end();
    }
    return 0;
}
static const weft_behavior writer = {.name = "writer", .state_size = sizeof(struct writer), .step = writer_step};

static void run(const struct bench_args *args, struct bench_result *result) {
    length = args->size;
    messages = args->n < length ? length : args->n / length * length;
    trial_run(args, result, &writer, NULL, 0);
    result->n = messages;
}
BENCH(mailbox, .name = "mailbox", .about = "one message, sent and read; as many wait at a time as --size says", .kind = "step",
      .n = 1000000, .size = 1000, .run = run)
