/* hog: a ticker that wants to run every millisecond beside endless loops; how late it is. Beside it, in the same run, a plain thread
 * that sleeps for a millisecond beside as many busy threads: what the machine itself can do. */
#include "base/atom.h"
#include "base/hist.h"
#include "bench/trial.h"

#include <weft/time.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { HOGS_DEFAULT = 4, PERIOD = 1000000 };
static atom_bool over;
static uint64_t ticks;

static void endless(void) {
    while (!atom_load_rlx(&over)) /* rlx: to be seen sometime */
        for (volatile unsigned i = 0; i < 1000; i++) {
        }
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
    endless();
}

static void hog_ticker(void *arg) {
    uint64_t *late = arg;
    for (unsigned i = 0; i < HOGS_DEFAULT; i++)
        trial_spawn_stackful(hog, NULL);
    weft_sleep(100 * WEFT_MILLISECOND); /* until they are all at it */
    trial_begin();
    uint64_t next = weft_now();
    for (uint64_t i = 0; i < ticks; i++) {
        next += PERIOD;
        if (weft_sleep_until(next)) break;
        uint64_t now = weft_now();
        late[i] = now - next;
        if (late[i] > PERIOD) next = now;
    }
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
    pthread_t busy[HOGS_DEFAULT];
    atom_store_rlx(&over, false);
    for (unsigned i = 0; i < HOGS_DEFAULT; i++)
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
    for (unsigned i = 0; i < HOGS_DEFAULT; i++)
        pthread_join(busy[i], NULL);
}

static void run(const struct bench_args *args, struct bench_result *result) {
    uint64_t *late = calloc(args->n, sizeof *late);
    if (!late) trial_must(WEFT_ENOMEM, "a list of ticks");
    ticks = args->n;
    plain_ticker(late);
    note(result, "thread_", late, ticks);
    atom_store_rlx(&over, false);
    trial_open(args, result, "stackful");
    trial_spawn_stackful(hog_ticker, late);
    trial_wait();
    trial_close(result);
    note(result, "", late, ticks);
    free(late);
}
BENCH(hog, .name = "hog", .about = "lateness of a 1 ms ticker beside 4 endless loops", .kind = "stackful", .n = 2000, .run = run)
