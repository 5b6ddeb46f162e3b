/* `weft demo hogs`: a ticker that wants to run every millisecond, first alone, then beside processes that compute without ever giving way
 * and others that are in blocking calls all the time. How late it is, as a histogram. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include <weft/weft.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TICKS = 600, CALLERS = 8, CALL_MS = 10, ROWS = 8, BAR = 26, STOP_SECONDS = 5 };
static const unsigned limits_us[ROWS] = {20, 50, 100, 200, 500, 1000, 5000, 0}; /* 0: all others */

struct row {
    unsigned count[ROWS];
    uint64_t worst; /* ns */
};

static struct {
    struct row alone, beside;
    unsigned hogs, calls, threads;
    volatile bool over;
} show;

/* ---- the processes ---------------------------------------------------------------------------------------------------- */

static void hog(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&show.over, __ATOMIC_RELAXED)) { /* no weft call at all */
    }
}

static void nap(void *unused) {
    struct timespec t = {0, CALL_MS * 1000000L};
    (void)unused;
    nanosleep(&t, NULL);
}
static void caller(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&show.over, __ATOMIC_RELAXED)) {
        weft_blocking(nap, NULL);
        __atomic_fetch_add(&show.calls, 1, __ATOMIC_RELAXED);
    }
}

static void note(struct row *row, uint64_t late) {
    unsigned i = 0;
    while (i < ROWS - 1 && late >= limits_us[i] * UINT64_C(1000))
        i++;
    row->count[i]++;
    if (late > row->worst) row->worst = late;
}
static void tick(struct row *row) {
    uint64_t next = weft_now();
    for (unsigned i = 0; i < TICKS; i++) {
        next += WEFT_MILLISECOND;
        if (weft_sleep_until(next)) return;
        uint64_t now = weft_now();
        note(row, now - next);
        if (now > next + WEFT_MILLISECOND) next = now;
    }
}
static void ticker(void *unused) {
    (void)unused;
    tick(&show.alone);
    for (unsigned i = 0; i < show.hogs; i++)
        weft_spawn(hog, NULL);
    for (unsigned i = 0; i < CALLERS; i++)
        weft_spawn(caller, NULL);
    weft_sleep(100 * WEFT_MILLISECOND); /* until they are all at it */
    tick(&show.beside);
    __atomic_store_n(&show.over, true, __ATOMIC_RELAXED);
}

/* ---- what is shown ---------------------------------------------------------------------------------------------------- */

static void bar(unsigned count) {
    static const char full[] = "##########################";
    unsigned length = (count * BAR + TICKS - 1) / TICKS;
    printf("%4u %.*s%*s", count, (int)length, full, (int)(BAR - length), "");
}

static void picture(void) {
    char beside[64];
    snprintf(beside, sizeof beside, "beside %u hogs and %d callers", show.hogs, CALLERS);
    printf("  late by         %-*s  %s\n", BAR + 5, "alone", beside);
    for (unsigned i = 0; i < ROWS; i++) {
        if (limits_us[i]) printf("  below %4u us   ", limits_us[i]);
        else printf("  more            ");
        bar(show.alone.count[i]);
        printf("  ");
        bar(show.beside.count[i]);
        printf("\n");
    }
    printf("  worst           %-*.2f  %.2f ms\n", BAR + 5, (double)show.alone.worst / 1e6, (double)show.beside.worst / 1e6);
}

int demo_hogs(const struct demo_options *options) {
    weft_config config = {.workers = options->workers, .policy = options->policy};
    weft_runtime *runtime;
    weft_pid pid;
    signal(SIGINT, SIG_DFL);
    memset(&show, 0, sizeof show);
    int error = weft_start(&config, &runtime);
    if (error) {
        fprintf(stderr, "weft demo: cannot start a runtime: %s\n", weft_strerror(error));
        return 1;
    }
    show.hogs = 2 * weft_workers(runtime);
    printf("A ticker wants to run every millisecond. First alone; then beside %u processes that compute and never give way (%u workers),\n"
           "and %d others, each in one blocking call of %d ms after the other.\n\n",
           show.hogs, weft_workers(runtime), CALLERS, CALL_MS);
    fflush(stdout);
    error = weft_spawn_with(ticker, NULL, &(weft_stackful_options){.runtime = runtime, .name = "ticker"}, &pid);
    if (!error) error = weft_join(pid, NULL, WEFT_FOREVER);
    __atomic_store_n(&show.over, true, __ATOMIC_RELAXED);
    int left = weft_stop(runtime, NULL, weft_now() + STOP_SECONDS * WEFT_SECOND);
    if (error || left) {
        fprintf(stderr, "weft demo: %s\n", weft_strerror(error ? error : left));
        return 1;
    }
    picture();
    printf(
        "\nMeanwhile %u blocking calls were made. No other process was held up: a worker whose thread is stuck is given to another one, and beside\n"
        "a process that does not give way an extra worker goes on with the rest.\n",
        show.calls);
    return 0;
}
