/* `weft demo`: a million processes on each policy.
 *
 * A host spawns n guests. Every guest has a number and knows the PID of the guest before it. Then up to RUNNERS
 * messages set out from different places, each to be passed along its share of the guests; every guest adds its
 * number. What the last of a share adds up to goes to the host: all shares together must make n (n - 1) / 2. Then
 * all processes are asked to end. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include <weft/weft.h>

#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
enum { RUNNERS = 100, SPAWN_AT_ONCE = 32, PROGRESS_MS = 100, STOP_SECONDS = 60, INTERRUPTED = 130 };

/* What the host and the demo's own thread share: the thread reads what the host wrote once `over` is posted. */
static struct {
    uint64_t n;
    weft_pid host;
    weft_pid start[RUNNERS]; /* where the messages set out */
    uint64_t runners, sum;
    uint64_t begun_at, spawned_at, over_at;
    int error; /* a spawn or a send that failed */
    sem_t over;
} show;

static volatile sig_atomic_t interrupted;
static void on_interrupt(int number) {
    (void)number;
    interrupted = 1;
}

/* ---- guests ------------------------------------------------------------------------------------------------------ */

struct guest {
    weft_pid before;
    uint64_t number;
};

static int guest_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    *(struct guest *)self = *(const struct guest *)input;
    return 0;
}

/* A message: the tag says how many guests it still has to see, this one included; the data is the sum so far. */
static int guest_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct guest *self = state;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) {
            weft_out_status(out, WEFT_STEP_DONE);
            continue;
        }
        uint64_t sum = *(const uint64_t *)events[i].data + self->number;
        int error = weft_send(events[i].tag > 1 ? self->before : show.host, events[i].tag - 1, &sum, sizeof sum);
        if (error) return error;
    }
    return 0;
}
static const weft_behavior guest = {.name = "guest", .state_size = sizeof(struct guest), .init = guest_init, .step = guest_step};

/* ---- the host ---------------------------------------------------------------------------------------------------- */

struct host {
    uint64_t spawned, waits_for;
    weft_pid last;
};

static uint64_t share_end(uint64_t runner) { return (runner + 1) * show.n / show.runners; }

static int spawn_some(struct host *self) {
    for (unsigned i = 0; i < SPAWN_AT_ONCE && self->spawned < show.n; i++) {
        struct guest next = {.before = self->last, .number = self->spawned};
        weft_spawn_options options = {.input = &next, .input_size = sizeof next};
        int error = weft_spawn_step(&guest, &options, &self->last);
        if (error) return error;
        self->spawned++;
        /* Messages go backwards, so one sets out from the last guest of every share. */
        if (self->spawned == share_end(self->waits_for)) show.start[self->waits_for++] = self->last;
    }
    return 0;
}

static int send_runners(void) {
    uint64_t nothing = 0, begin = 0;
    show.spawned_at = weft_now();
    for (uint64_t i = 0; i < show.runners; i++) {
        int error = weft_send(show.start[i], share_end(i) - begin, &nothing, sizeof nothing);
        if (error) return error;
        begin = share_end(i);
    }
    return 0;
}

static void host_over(int error) {
    show.error = error;
    show.over_at = weft_now();
    sem_post(&show.over);
}

static int host_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct host *self = state;
    if (count > 0 && events[0].type == WEFT_EVENT_CANCEL) {
        weft_out_status(out, WEFT_STEP_DONE);
        return 0;
    }
    int error = 0;
    if (self->spawned < show.n) {
        if (self->spawned == 0) {
            show.host = weft_self();
            show.begun_at = weft_now();
        }
        error = spawn_some(self);
        if (!error && self->spawned == show.n) error = send_runners();
        weft_out_status(out, !error && self->spawned < show.n ? WEFT_STEP_CONTINUE : WEFT_STEP_IDLE);
    }
    for (size_t i = 0; i < count; i++) {
        show.sum += *(const uint64_t *)events[i].data;
        self->waits_for--;
    }
    if (error || (count > 0 && self->waits_for == 0)) host_over(error);
    return 0;
}
static const weft_behavior host = {.name = "host", .state_size = sizeof(struct host), .step = host_step};

/* ---- what is shown ----------------------------------------------------------------------------------------------- */

/* 1234567 as 1,234,567; four may be in use at once. */
static const char *grouped(uint64_t value) {
    static char texts[4][32];
    static unsigned turn;
    char *text = texts[turn++ % 4], digits[32];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    for (int i = 0; i <= length; i++) {
        if (i > 0 && i < length && (length - i) % 3 == 0) *text++ = ',';
        *text++ = digits[i];
    }
    return texts[(turn - 1) % 4];
}

static uint64_t resident(void) {
    unsigned long all = 0, pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm) return 0;
    if (fscanf(statm, "%lu %lu", &all, &pages) != 2) pages = 0;
    fclose(statm);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* On a terminal one line that changes. */
static void progress(const char *policy, weft_runtime *runtime) {
    weft_stats stats;
    weft_get_stats(runtime, &stats);
    uint64_t guests = stats.spawned > 0 ? stats.spawned - 1 : 0;
    if (guests < show.n) printf("\r\033[K  %-6s %s of %s processes spawned", policy, grouped(guests), grouped(show.n));
    else printf("\r\033[K  %-6s %s of %s messages passed on", policy, grouped(stats.messages_sent), grouped(show.n));
    fflush(stdout);
}

/* Until the host says that it is over, or the user that it is enough. */
static void watch(const char *policy, weft_runtime *runtime, bool terminal) {
    struct timespec wake;
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &wake);
        wake.tv_nsec += PROGRESS_MS * 1000000L;
        wake.tv_sec += wake.tv_nsec / (long)SECOND;
        wake.tv_nsec %= (long)SECOND;
        if (sem_clockwait(&show.over, CLOCK_MONOTONIC, &wake) == 0 || interrupted) break;
        if (terminal) progress(policy, runtime);
    }
    if (terminal) printf("\r\033[K");
}

static double seconds(uint64_t from, uint64_t to) { return (double)(to - from) / 1e9; }

static void summary(const char *policy, uint64_t memory, uint64_t steals, uint64_t stop_began) {
    double spawning = seconds(show.begun_at, show.spawned_at), passing = seconds(show.spawned_at, show.over_at);
    printf("  %-6s %6.2f s %5.0f ns  %6.2f s %5.0f ns  %6.0f MB %5.0f B  %10s  %6.2f s\n", policy, spawning,
           spawning * 1e9 / (double)show.n, passing, passing * 1e9 / (double)show.n, (double)memory / 1e6, (double)memory / (double)show.n,
           grouped(steals), seconds(stop_began, weft_now()));
    fflush(stdout);
}

/* ---- one policy -------------------------------------------------------------------------------------------------- */

static int run_policy(const struct demo_options *options, const char *policy) {
    weft_config config = {.workers = options->workers, .policy = policy};
    weft_runtime *runtime;
    uint64_t before = resident();
    show.n = options->n;
    show.runners = options->n < RUNNERS ? options->n : RUNNERS;
    show.sum = 0;
    sem_init(&show.over, 0, 0);
    int error = weft_start(&config, &runtime);
    if (error) {
        fprintf(stderr, "weft demo: cannot start a runtime: %s\n", weft_strerror(error));
        return 1;
    }
    weft_pid pid;
    error = weft_spawn_step(&host, &(weft_spawn_options){.runtime = runtime}, &pid);
    if (error) host_over(error);
    else watch(policy, runtime, isatty(STDOUT_FILENO));
    uint64_t memory = resident() - before, right = show.n * (show.n - 1) / 2, stop_began = weft_now();
    weft_stats stats;
    weft_get_stats(runtime, &stats);
    error = weft_stop(runtime, NULL, weft_now() + STOP_SECONDS * SECOND);
    if (interrupted) return INTERRUPTED;
    if (!error) error = show.error;
    if (error) {
        fprintf(stderr, "weft demo: %s: %s\n", policy, weft_strerror(error));
        return 1;
    }
    summary(policy, memory, stats.steals, stop_began);
    if (show.sum == right) return 0;
    fprintf(stderr, "weft demo: %s: the sum is %s instead of %s\n", policy, grouped(show.sum), grouped(right));
    return 1;
}

int demo_processes(const struct demo_options *options) {
    static const char *const policies[] = {"ring", "deque", "line"};
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND}; /* a second Ctrl-C ends it at once */
    sigaction(SIGINT, &action, NULL);
    uint64_t runners = options->n < RUNNERS ? options->n : RUNNERS;
    printf("%s processes are spawned, each with a number and a mailbox. %s messages set out from different places and\n"
           "are passed from process to process, each of which adds its number. Then all are asked to end.\n\n"
           "  policy          spawned           passed on            memory      steals     ended\n",
           grouped(options->n), grouped(runners));
    fflush(stdout);
    int status = 0;
    for (unsigned i = 0; i < sizeof policies / sizeof policies[0] && !status; i++)
        if (!options->policy || strcmp(options->policy, policies[i]) == 0) status = run_policy(options, policies[i]);
    if (status == INTERRUPTED) fprintf(stderr, "weft demo: interrupted\n");
    if (status) return status;
    printf("\nEvery time the numbers made %s, as they should. All of it ran in one program.\n"
           "Go on with `weft bench`, `weft demo checker` (the model checker that proved the parts), and README.md.\n",
           grouped(options->n * (options->n - 1) / 2));
    return 0;
}
