/* echo: echoes of 32 bytes over 64 and over 1,000 connections. The client is a program of its own with one thread; it has one echo under way
 * on every connection, always (a closed loop), so the more connections there are the longer each waits for its turn. After that the same
 * with a server of libuv's (uv_...). The first tenth of the n echoes is not counted: connections are made then, and processes born. */
#include "base/hist.h"
#include "bench/loopback.h"

#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ECHO_BYTES = 32, ECHO_MOST = 1000, ECHO_EVENTS = 256 };

struct mailbox {
    int number;
    uint64_t sent;
};

static void say(struct mailbox *talk) {
    static const char data[ECHO_BYTES];
    talk->sent = bench_now();
    if (send(talk->number, data, sizeof data, MSG_NOSIGNAL) != sizeof data) _exit(1);
}

static void hear(struct mailbox *talk) {
    char data[ECHO_BYTES];
    if (recv(talk->number, data, sizeof data, MSG_WAITALL) != sizeof data) _exit(1);
}

static int open_all(struct mailbox *talks, unsigned count, const weft_addr *address) {
    int set = epoll_create1(0);
    for (unsigned i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &talks[i]};
        talks[i].number = socket(AF_INET, SOCK_STREAM, 0);
        if (talks[i].number < 0 || connect(talks[i].number, (const struct sockaddr *)&address->place, address->size)) _exit(1);
        if (epoll_ctl(set, EPOLL_CTL_ADD, talks[i].number, &event)) _exit(1);
    }
    return set;
}

static void speak(const weft_addr *address, unsigned count, uint64_t n, struct hist *hist) {
    static struct mailbox talks[ECHO_MOST];
    struct epoll_event events[ECHO_EVENTS];
    int set = open_all(talks, count, address);
    for (unsigned i = 0; i < count; i++)
        say(&talks[i]);
    for (uint64_t heard = 0; heard < n;) {
        int ready = epoll_wait(set, events, ECHO_EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            struct mailbox *talk = events[i].data.ptr;
            hear(talk);
            if (heard++ >= n / 10) hist_record(hist, bench_now() - talk->sent);
            say(talk);
        }
    }
}

/* In a program of its own, so that its processor time is not the server's. */
static void load(const char *where, unsigned count, uint64_t n, struct hist *hist) {
    weft_addr address;
    int ends[2], status = -1;
    trial_must(weft_addr_parse(where, &address), "an address");
    if (pipe(ends)) trial_must(WEFT_EIO, "a pipe");
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        hist_init(hist);
        speak(&address, count, n, hist);
        FILE *to = fdopen(ends[1], "w");
        _exit(!to || fwrite(hist, sizeof *hist, 1, to) != 1 || fflush(to));
    }
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    bool good = from && fread(hist, sizeof *hist, 1, from) == 1;
    if (from) fclose(from);
    if (child < 0 || waitpid(child, &status, 0) != child || status || !good) trial_must(WEFT_EIO, "the client");
}

static void note(struct bench_result *result, const char *before, double cpu, uint64_t n, const struct hist *hist) {
    static const struct {
        const char *name;
        double percent;
    } parts[] = {{"p50_us", 50}, {"p99_us", 99}, {"p999_us", 99.9}};
    char key[24];
    snprintf(key, sizeof key, "%scpu_us", before);
    bench_extra(result, key, cpu * 1e6 / (double)n);
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(key, sizeof key, "%s%s", before, parts[i].name);
        bench_extra(result, key, (double)hist_percentile(hist, parts[i].percent) / 1e3);
    }
}

static void run_echo(const struct bench_args *args, struct bench_result *result, unsigned connections) {
    static struct hist hist;
    struct peer peer = {.child.out = -1};
    bool there = peer_begin(&peer, "echo");
    loopback_open(args, result, true);
    double before = loopback_cpu();
    uint64_t start = bench_now();
    load(loopback_address(), connections, args->n, &hist);
    double seconds = bench_since(start), cpu = loopback_cpu() - before;
    loopback_close(result);
    result->seconds = seconds;
    note(result, "", cpu, args->n, &hist);
    if (!there) return;
    before = peer_cpu(&peer);
    load(peer.address, connections, args->n, &hist);
    note(result, "uv_", peer_cpu(&peer) - before, args->n, &hist);
    peer_end(&peer);
}
static void run_64(const struct bench_args *args, struct bench_result *result) { run_echo(args, result, 64); }
static void run_1000(const struct bench_args *args, struct bench_result *result) { run_echo(args, result, 1000); }
BENCH(echo_64, .name = "echo.64", .about = "echoes of 32 bytes, one under way on each of 64 connections; uv_: the same by libuv",
      .kind = "stackful", .n = 100000, .run = run_64)
BENCH(echo_1000, .name = "echo.1000", .about = "the same over 1,000 connections", .kind = "stackful", .n = 100000, .run = run_1000)
