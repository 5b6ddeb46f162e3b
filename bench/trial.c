#include "bench/trial.h"

#include "queue/parker.h"
#include "sched/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { STOP_SECONDS = 30 };

/* One run to a program: bench.c forks for each. */
static struct {
    weft_runtime *runtime;
    struct parker done;
    uint64_t begin, end, cpu_begin, cpu_end, check; /* processes write, the measuring thread reads after `done` */
} trial;

void trial_fail(int error, const char *what) {
    fprintf(stderr, "weft bench: %s: %s\n", what, weft_strerror(error));
    exit(1);
}

int trial_file(struct bench_result *result, size_t size) {
    static const char zeros[4096];
    char name[] = "/tmp/weft-bench-XXXXXX"; /* a template: mkstemp fills it in */
    int file = mkstemp(name);
    if (file >= 0) unlink(name);
    if (file >= 0 && size <= sizeof zeros && write(file, zeros, size) == (ssize_t)size) return file; /* written, so in the cache */
    if (file >= 0) close(file);
    snprintf(result->skipped, sizeof result->skipped, "no file can be made in /tmp");
    return -1;
}

weft_runtime *trial_runtime(void) { return trial.runtime; }

void trial_open(const struct bench_args *args, struct bench_result *result, const char *kind) {
    static const char *const policies[] = {[POLICY_RING] = "ring", [POLICY_DEQUE] = "deque", [POLICY_LINE] = "line"};
    parker_init(&trial.done);
    weft_config config = {.workers = args->workers, .policy = args->policy};
    trial_must(weft_start(&config, &trial.runtime), "starting a runtime");
    result->n = args->n;
    result->workers = weft_workers(trial.runtime);
    snprintf(result->kind, sizeof result->kind, "%s", kind);
    snprintf(result->policy, sizeof result->policy, "%s", policies[((struct runtime *)trial.runtime)->policy]);
}

weft_pid trial_spawn(const weft_behavior *behavior, const void *input, size_t size) {
    weft_pid pid;
    weft_spawn_options options = {.runtime = trial.runtime, .input = input, .input_size = size};
    int error = weft_spawn_step(behavior, &options, &pid);
    trial_must(error, "spawning");
    return pid;
}

weft_pid trial_spawn_stackful(weft_entry entry, void *arg) {
    weft_pid pid;
    int error = weft_spawn_with(entry, arg, &(weft_stackful_options){.runtime = trial.runtime}, &pid);
    trial_must(error, "spawning");
    return pid;
}

static uint64_t cpu_now(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

void trial_begin(void) {
    trial.cpu_begin = cpu_now();
    trial.begin = bench_now();
}

void trial_check(uint64_t sum) { trial.check = sum; }

void trial_end(void) {
    trial.end = bench_now();
    trial.cpu_end = cpu_now();
    parker_unpark(&trial.done);
}

void trial_wait(void) { parker_park(&trial.done, SYS_FOREVER); }

void trial_close(struct bench_result *result) {
    result->seconds = (double)(trial.end - trial.begin) / 1e9;
    result->check = trial.check;
    bench_extra(result, "cpu_ns", (double)(trial.cpu_end - trial.cpu_begin) / (double)result->n);
    trial_must(weft_stop(trial.runtime, NULL, weft_now() + STOP_SECONDS * UINT64_C(1000000000)), "stopping the runtime");
}

double trial_cpu_seconds(void) { return (double)(trial.cpu_end - trial.cpu_begin) / 1e9; }

void trial_run(const struct bench_args *args, struct bench_result *result, const weft_behavior *root, const void *input, size_t size) {
    trial_open(args, result, "step");
    trial_spawn(root, input, size);
    trial_wait();
    trial_close(result);
}

uint64_t trial_rss(void) {
    FILE *statm = fopen("/proc/self/statm", "r");
    unsigned long all = 0, resident = 0;
    int got = statm ? fscanf(statm, "%lu %lu", &all, &resident) : 0;
    if (statm) fclose(statm);
    if (got != 2) {
        fprintf(stderr, "weft bench: cannot read /proc/self/statm\n");
        exit(1);
    }
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t trial_page_tables(void) {
    FILE *status = fopen("/proc/self/status", "r");
    char line[128];
    unsigned long kilobytes = 0;
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmPTE: %lu kB", &kilobytes) == 1) break;
    if (status) fclose(status);
    return (uint64_t)kilobytes * 1024;
}

void trial_run_stackful(const struct bench_args *args, struct bench_result *result, weft_entry root, void *arg) {
    trial_open(args, result, "stackful");
    trial_spawn_stackful(root, arg);
    trial_wait();
    trial_close(result);
}
