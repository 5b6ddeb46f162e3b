/* What the benchmarks of processes share: a runtime of their own, a clock that processes start and stop, an end
 * that no thread polls for.
 *
 *     static void run(const struct bench_args *args, struct bench_result *result) {
 *         trial_run(args, result, &root, NULL, 0);
 *     }
 *
 * The root process calls trial_begin when the work begins and some process calls trial_end when it is over; starting
 * and stopping the runtime is not measured. cpu_ns is the CPU time of all threads per operation: on a machine with
 * other work it says more than the time that went by. Every process ends when it is cancelled, which is how the
 * runtime is stopped. */
#ifndef WEFT_BENCH_TRIAL_H
#define WEFT_BENCH_TRIAL_H

#include "bench/bench.h"

#include <weft/message.h>
#include <weft/stackful.h>

/* All in one: open, spawn the root with this input, wait, close. */
void trial_run(const struct bench_args *args, struct bench_result *result, const weft_behavior *root, const void *input, size_t size);

/* The same with a stackful process. */
void trial_run_stackful(const struct bench_args *args, struct bench_result *result, weft_entry root, void *arg);

/* The same in pieces, for those that look around before the runtime stops. */
void trial_open(const struct bench_args *args, struct bench_result *result, const char *kind);
weft_pid trial_spawn(const weft_behavior *behavior, const void *input, size_t size);
weft_pid trial_spawn_stackful(weft_entry entry, void *arg);
void trial_wait(void); /* until trial_end */
void trial_close(struct bench_result *result);

weft_runtime *trial_runtime(void);

/* By processes, once each. */
void trial_begin(void);
void trial_end(void);

/* What the work has added up to, told before trial_end: it becomes the result's `check`. */
void trial_check(uint64_t sum);

/* A file of so many bytes, up to 4096, without a name; to be closed. Below 0: there is none to be had, and the result says so. */
int trial_file(struct bench_result *result, size_t size);

/* A benchmark whose spawn or send fails measures nothing: says so and exits. */
_Noreturn void trial_fail(int error, const char *what);
static inline void trial_must(int error, const char *what) {
    if (__builtin_expect(error, 0)) trial_fail(error, what);
}
static inline void trial_send(weft_pid to, uint64_t tag) {
    int error = weft_send(to, tag, NULL, 0);
    trial_must(error, "a message was refused");
}

/* Waits for a message and frees it: its tag, in *tag. False when the process has been cancelled. */
static inline bool trial_recv(uint64_t *tag) {
    weft_msg *message;
    if (weft_recv(&message, WEFT_FOREVER)) return false;
    *tag = weft_msg_tag(message);
    weft_msg_free(message);
    return true;
}

/* Whether this process has been cancelled: it comes first, and then the process ends. */
static inline bool trial_cancelled(const weft_event *events, size_t count, weft_out *out) {
    if (__builtin_expect(count == 0 || events[0].type != WEFT_EVENT_CANCEL, 1)) return false;
    weft_out_status(out, WEFT_STEP_DONE);
    return true;
}

/* Processor time of all threads from trial_begin to trial_end. */
double trial_cpu_seconds(void);

/* Resident memory, in bytes. */
uint64_t trial_rss(void);
/* And of its page tables, which are not in that. */
uint64_t trial_page_tables(void);

#endif
