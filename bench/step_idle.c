/* idle: a burst of work, then nothing. Counts the context switches of all threads but the measuring one over five
 * seconds, after one second in which they may settle: a runtime without work must not wake up at all. The time is
 * that of the burst. */
#define _GNU_SOURCE
#include "bench/trial.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SETTLE_SECONDS = 1, WATCH_SECONDS = 5, CROWD = 100 };

static uint64_t rounds;

/* The burst: a crowd in which everybody goes on for a while, so that all workers are busy. */
struct idler {
    uint64_t left;
    bool leads;
};

static int idler_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    *(struct idler *)self = *(const struct idler *)input;
    return 0;
}

static int idler_step(void *state, const weft_event *events, size_t count, weft_out *out);
static const weft_behavior idler = {.name = "idler", .state_size = sizeof(struct idler), .init = idler_init, .step = idler_step};

static void gather(void) {
    trial_begin();
    for (unsigned i = 1; i < CROWD; i++)
        trial_spawn(&idler, &(struct idler){.left = rounds / CROWD}, sizeof(struct idler));
}

static int idler_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct idler *self = state;
    if (trial_cancelled(events, count, out)) return 0;
    if (self->leads && self->left == rounds / CROWD) gather();
    if (self->left > 0) {
        self->left--;
        weft_out_status(out, WEFT_STEP_CONTINUE);
    } else if (self->leads) {
        trial_end();
        self->leads = false;
    }
    return 0;
}

/* ---- watching ---------------------------------------------------------------------------------------------------- */

static uint64_t switches_of(const char *task) {
    char path[64], line[256];
    unsigned long voluntary = 0, forced = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task);
    FILE *status = fopen(path, "r");
    if (!status) return 0;
    while (fgets(line, sizeof line, status)) {
        sscanf(line, "voluntary_ctxt_switches: %lu", &voluntary);
        sscanf(line, "nonvoluntary_ctxt_switches: %lu", &forced);
    }
    fclose(status);
    return voluntary + forced;
}

static uint64_t switches(void) {
    uint64_t sum = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) {
        perror("weft bench: /proc/self/task");
        exit(1);
    }
    for (struct dirent *task; (task = readdir(tasks)) != NULL;)
        if (task->d_name[0] != '.' && atoi(task->d_name) != (int)gettid()) sum += switches_of(task->d_name);
    closedir(tasks);
    return sum;
}

static double cpu_seconds(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static void wait_seconds(time_t seconds) { nanosleep(&(struct timespec){.tv_sec = seconds}, NULL); }

static void run(const struct bench_args *args, struct bench_result *result) {
    rounds = args->n;
    trial_open(args, result, "step");
    trial_spawn(&idler, &(struct idler){.left = rounds / CROWD, .leads = true}, sizeof(struct idler));
    trial_wait();
    wait_seconds(SETTLE_SECONDS);
    uint64_t before = switches();
    double cpu_before = cpu_seconds();
    wait_seconds(WATCH_SECONDS);
    double cpu = cpu_seconds() - cpu_before;
    uint64_t after = switches();
    trial_close(result);
    bench_extra(result, "switches", (double)(after - before));
    bench_extra(result, "watched_s", WATCH_SECONDS);
    bench_extra(result, "cpu_ms", cpu * 1e3);
}
BENCH(idle_runtime, .name = "idle", .about = "a burst of work, then switches: how often a thread woke in 5 s of nothing", .kind = "step",
      .n = 1000000, .run = run)
