/* file.command: the same reads as commands of a step process, a hundred under way at a time. file.call: functions that do nothing. */
#include "bench/trial.h"

#include <weft/command.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PORTION = 64, AT_ONCE = 100 };

static uint64_t wanted;
static int file;
static bool calls;

struct reader {
    uint64_t begun, done;
};

static int nothing(void *data, size_t size) {
    (void)data, (void)size;
    return 0;
}

static int reader_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    static const weft_command_call call = {.run = nothing};
    struct reader *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (self->begun == 0) trial_begin();
    for (size_t i = 0; i < count; i++)
        trial_must(events[i].error, "a command failed");
    self->done += count;
    if (self->done == wanted) trial_end();
    for (; self->begun < wanted && self->begun - self->done < AT_ONCE; self->begun++) {
        int error = calls ? weft_out_call(out, 0, &call, NULL, 0) : weft_out_read(out, 0, file, PORTION, 0, WEFT_FOREVER);
        trial_must(error, "a command was refused");
    }
    weft_out_status(out, WEFT_STEP_BLOCKED);
    return 0;
}
static const weft_behavior reader = {.name = "reader", .state_size = sizeof(struct reader), .step = reader_step};

static void run_commands(const struct bench_args *args, struct bench_result *result, bool are_calls) {
    file = trial_file(result, PORTION);
    if (file < 0) return;
    wanted = args->n;
    calls = are_calls;
    trial_run(args, result, &reader, NULL, 0);
    close(file);
}
static void run_reads(const struct bench_args *args, struct bench_result *result) { run_commands(args, result, false); }
BENCH(file_command, .name = "file.command", .about = "read of 64 cached bytes as a command, 100 at a time", .kind = "step", .n = 100000,
      .run = run_reads)
static void run_calls(const struct bench_args *args, struct bench_result *result) { run_commands(args, result, true); }
BENCH(file_call, .name = "file.call", .about = "a function that does nothing, called by a command, 100 at a time", .kind = "step",
      .n = 100000, .run = run_calls)
