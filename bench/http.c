/* http: a raw keep-alive responder on loopback, driven by wrk with one thread and 64 connections. n rounds of 0.7 s, each followed by one
 * of a server of libuv's that does the same (uv_...). The figures are medians of the rounds:
 *
 *   cpu_us           processor time of the server for one request, all its threads together
 *   cpu_ratio        the same by libuv's, in the round after it
 *   p50_us, p99_us   what wrk says of the latency. It adds those that it could not send while it waited for a slow one
 *   per_s            requests in a second; wrk fills a processor of its own
 *
 * The rounds are short, with a pause between, because the kernel takes the processors away for 50 ms in every second from programs that run by
 * `chrt -f`, if others want them: in a longer round that would be the p99. */
#include "bench/loopback.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUND_MS = 700, PAUSE_MS = 150, ROUNDS_MAX = 60 };

struct round {
    double seconds, requests, cpu_us, p50, p99, per_s;
};

static void rest(unsigned milliseconds) {
    struct timespec time = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* "1.23ms" in microseconds, "0.70s" in seconds times a million. */
static double microseconds(const char *text) {
    char *unit;
    double value = strtod(text, &unit);
    if (strncmp(unit, "us", 2) == 0) return value;
    return strncmp(unit, "ms", 2) == 0 ? value * 1e3 : value * 1e6;
}

static void read_line(const char *line, struct round *round) {
    char text[64];
    if (sscanf(line, " %lf requests in %63[^,]", &round->requests, text) == 2) round->seconds = microseconds(text) / 1e6;
    if (sscanf(line, " 50%% %63s", text) == 1) round->p50 = microseconds(text);
    if (sscanf(line, " 99%% %63s", text) == 1) round->p99 = microseconds(text);
}

/* Runs it and stops it; it counts its seconds itself. */
static void wrk(const char *address, struct round *round) {
    struct child child;
    char url[128], line[256];
    snprintf(url, sizeof url, "http://%s/", address);
    char *command[] = {"wrk", "-t1", "-c64", "-d60s", "--latency", url, NULL};
    *round = (struct round){0};
    if (!child_begin(&child, command)) trial_must(WEFT_EIO, "wrk");
    rest(ROUND_MS);
    kill(child.pid, SIGINT);
    FILE *out = fdopen(child.out, "r");
    if (!out) trial_must(WEFT_EIO, "wrk");
    while (fgets(line, sizeof line, out))
        read_line(line, round);
    fclose(out);
    child.out = -1;
    if (!child_end(&child, 0) || round->requests == 0 || round->seconds == 0) trial_must(WEFT_EIO, "wrk");
    round->per_s = round->requests / round->seconds;
    rest(PAUSE_MS);
}

static void round_weft(struct round *round) {
    double before = loopback_cpu();
    wrk(loopback_address(), round);
    round->cpu_us = (loopback_cpu() - before) * 1e6 / round->requests;
}
static void round_peer(const struct peer *peer, struct round *round) {
    double before = peer_cpu(peer);
    wrk(peer->address, round);
    round->cpu_us = (peer_cpu(peer) - before) * 1e6 / round->requests;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
/* The median of that field of every round. */
static double median(const struct round *rounds, uint64_t count, size_t field) {
    double values[ROUNDS_MAX];
    for (uint64_t i = 0; i < count; i++)
        memcpy(&values[i], (const char *)&rounds[i] + field, sizeof values[i]);
    qsort(values, count, sizeof values[0], by_value);
    return values[(count - 1) / 2];
}

static void note(struct bench_result *result, const char *before, const struct round *rounds, uint64_t count) {
    static const struct {
        const char *name;
        size_t field;
    } fields[] = {{"cpu_us", offsetof(struct round, cpu_us)},
                  {"p50_us", offsetof(struct round, p50)},
                  {"p99_us", offsetof(struct round, p99)},
                  {"per_s", offsetof(struct round, per_s)}};
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        char key[24];
        snprintf(key, sizeof key, "%s%s", before, fields[i].name);
        bench_extra(result, key, median(rounds, count, fields[i].field));
    }
}

/* Each round's own ratio, before the median: so what the machine does to both at the time cancels out. */
static double median_ratio(const struct round *rounds, const struct round *others, uint64_t count) {
    double ratios[ROUNDS_MAX];
    for (uint64_t i = 0; i < count; i++)
        ratios[i] = rounds[i].cpu_us / others[i].cpu_us;
    qsort(ratios, count, sizeof ratios[0], by_value);
    return ratios[(count - 1) / 2];
}

static void run(const struct bench_args *args, struct bench_result *result) {
    static struct round rounds[ROUNDS_MAX], others[ROUNDS_MAX];
    uint64_t count = args->n < ROUNDS_MAX ? args->n : ROUNDS_MAX;
    struct peer peer = {.child.out = -1};
    if (system("command -v wrk >/dev/null 2>&1") != 0) {
        snprintf(result->skipped, sizeof result->skipped, "it is driven by wrk, which is not installed (Debian: wrk)");
        return;
    }
    bool there = peer_begin(&peer, "http");
    double seconds = 0, requests = 0;
    loopback_open(args, result, false);
    for (uint64_t i = 0; i < count; i++) {
        round_weft(&rounds[i]);
        if (there) round_peer(&peer, &others[i]);
        seconds += rounds[i].seconds;
        requests += rounds[i].requests;
    }
    loopback_close(result);
    peer_end(&peer);
    result->seconds = seconds;
    result->n = (uint64_t)requests;
    note(result, "", rounds, count);
    if (!there) return;
    note(result, "uv_", others, count);
    bench_extra(result, "cpu_ratio", median_ratio(rounds, others, count));
}
BENCH(http, .name = "http", .about = "n rounds of wrk -t1 -c64 against a raw keep-alive responder; uv_: the same by libuv, in turn",
      .kind = "stackful", .n = 3, .run = run)
