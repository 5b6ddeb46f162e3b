/* hog: a ticker that wants to run every millisecond beside endless loops; how late it is. Before it, in the same run, a plain thread
 * that sleeps for a millisecond beside as many busy threads: what the machine itself can do. hog.yield: they let others have a turn every
 * 9 ms, so that they never count as hogs. hog.2x, hog.8x: so many times as many as workers. */
#include "base/atom.h"
#include "base/hist.h"
#include "bench/trial.h"

#include <weft/time.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { HOGS_DEFAULT = 4, PERIOD = 1000000, TURN = 9000000 };
static atom_bool over;
static atom_u32 at_it;
static uint64_t ticks;
static unsigned hogs;
static bool polite;

static void endless(void) {
    while (!atom_load_rlx(&over)) /* rlx: to be seen sometime */
        for (volatile unsigned i = 0; i < 1000; i++) {}
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void note(struct bench_result *result, const char *name, uint64_t *late, uint64_t n) {
    char key[24];
    static const struct {
        const char *name;
        double part;
    } parts[] = {{"p50_us", 0.50}, {"p99_us", 0.99}, {"max_us", 1.0}};
    qsort(late, n, sizeof *late, by_value);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t at = (uint64_t)(parts[i].part * (double)(n - 1));
        snprintf(key, sizeof key, "%s%s", name, parts[i].name);
        bench_extra(result, key, (double)late[at] / 1000.0);
    }
}

/* ---- processes ---------------------------------------------------------------------------------------------------------- */

static void hog(void *unused) {
    (void)unused;
    atom_add_rlx(&at_it, 1); /* rlx: a count */
    if (!polite) endless();
    while (!atom_load_rlx(&over)) {
        for (uint64_t until = weft_now() + TURN; weft_now() < until;) {}
        weft_yield();
    }
}

static void hog_ticker(void *arg) {
    uint64_t *late = arg;
    atom_store_rlx(&at_it, 0);
    for (unsigned i = 0; i < hogs; i++)
        trial_spawn_stackful(hog, NULL);
    do
        weft_sleep(50 * WEFT_MILLISECOND);
    while (atom_load_rlx(&at_it) < hogs); /* rlx: as above */
    trial_begin();
    uint64_t next = weft_now();
    for (uint64_t i = 0; i < ticks; i++) {
        next += PERIOD;
        if (weft_sleep_until(next)) break;
        uint64_t now = weft_now();
        late[i] = now - next;
        if (late[i] > PERIOD) next = now;
    }
    trial_check(ticks);
    trial_end();
    atom_store_rlx(&over, true);
}

/* ---- threads ------------------------------------------------------------------------------------------------------------ */

static void *busy_thread(void *unused) {
    (void)unused;
    endless();
    return NULL;
}

static void plain_ticker(uint64_t *late) {
    pthread_t *busy = calloc(hogs, sizeof *busy);
    if (!busy) trial_must(WEFT_ENOMEM, "threads");
    atom_store_rlx(&over, false);
    for (unsigned i = 0; i < hogs; i++)
        if (pthread_create(&busy[i], NULL, busy_thread, NULL)) trial_must(WEFT_EAGAIN, "a thread");
    uint64_t next = bench_now();
    for (uint64_t i = 0; i < ticks; i++) {
        next += PERIOD;
        struct timespec at = {(time_t)(next / 1000000000), (long)(next % 1000000000)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        uint64_t now = bench_now();
        late[i] = now - next;
        if (late[i] > PERIOD) next = now;
    }
    atom_store_rlx(&over, true);
    for (unsigned i = 0; i < hogs; i++)
        pthread_join(busy[i], NULL);
    free(busy);
}

/* The same where the loops are interrupted (weft/preempt.h), after so many microseconds. */
static void interrupted(const struct bench_args *args, struct bench_result *result, const char *slice_us, const char *name,
                        uint64_t *late) {
    struct bench_result apart = {.n = 0};
    setenv("WEFT_PREEMPT", "1", 1);
    setenv("WEFT_PREEMPT_US", slice_us, 1);
    atom_store_rlx(&over, false);
    trial_open(args, &apart, "stackful");
    trial_spawn_stackful(hog_ticker, late);
    trial_wait();
    trial_close(&apart);
    note(result, name, late, ticks);
    unsetenv("WEFT_PREEMPT");
    unsetenv("WEFT_PREEMPT_US");
}

static void run_hogs(const struct bench_args *args, struct bench_result *result, unsigned count, bool yield, bool interrupt) {
    uint64_t *late = calloc(args->n, sizeof *late);
    if (!late) trial_must(WEFT_ENOMEM, "a list of ticks");
    ticks = args->n;
    hogs = count;
    polite = yield;
    plain_ticker(late);
    note(result, "thread_", late, ticks);
    atom_store_rlx(&over, false);
    trial_open(args, result, "stackful");
    trial_spawn_stackful(hog_ticker, late);
    trial_wait();
    trial_close(result);
    note(result, "", late, ticks);
    if (interrupt) {
        interrupted(args, result, "10000", "l2_", late);
        interrupted(args, result, "1000", "l2_1ms_", late);
        setenv("WEFT_PREEMPT_ALARMS", "1", 1);
        interrupted(args, result, "1000", "l2_alarms_", late);
        unsetenv("WEFT_PREEMPT_ALARMS");
    }
    free(late);
}
static unsigned workers_of(const struct bench_args *args) { return args->workers ? args->workers : bench_cpus(); }

static void run(const struct bench_args *args, struct bench_result *result) { run_hogs(args, result, HOGS_DEFAULT, false, true); }
BENCH(hog, .name = "hog", .about = "lateness of a 1 ms ticker beside 4 endless loops", .kind = "stackful", .n = 2000, .run = run)
static void run_yield(const struct bench_args *args, struct bench_result *result) { run_hogs(args, result, HOGS_DEFAULT, true, false); }
BENCH(hog_yield, .name = "hog.yield", .about = "the same, the loops yield every 9 ms", .kind = "stackful", .n = 2000, .run = run_yield)
static void run_2x(const struct bench_args *args, struct bench_result *result) {
    run_hogs(args, result, 2 * workers_of(args), false, false);
}
BENCH(hog_2x, .name = "hog.2x", .about = "the same beside twice as many endless loops as workers", .kind = "stackful", .n = 2000,
      .run = run_2x)
static void run_8x(const struct bench_args *args, struct bench_result *result) {
    run_hogs(args, result, 8 * workers_of(args), false, false);
}
BENCH(hog_8x, .name = "hog.8x", .about = "eight times as many", .kind = "stackful", .n = 2000, .run = run_8x)
