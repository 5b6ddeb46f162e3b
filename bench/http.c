/* http: a raw keep-alive responder on loopback, driven by wrk (one thread, 64 connections) for n seconds; how much processor time the
 * server needs for a request, and how long the slowest hundredth waits. Beside it, in the same run and in turn, a server of libuv, if the
 * build found that (uv_...).
 *
 * echo: n small echoes over each of 64 and of 1,000 connections, by a client process of its own that speaks to all at once. */
#include "base/hist.h"
#include "bench/trial.h"

#include <weft/net.h>

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";
static weft_addr place;
static bool echoes;

/* ---- the server ------------------------------------------------------------------------------------------------------------ */

/* One answer for each request; what is left of the last one stays. */
static size_t respond(weft_fd fd, char *data, size_t size, int *error) {
    char *at = data, *end;
    while ((end = memmem(at, size - (size_t)(at - data), "\r\n\r\n", 4)) != NULL) {
        ssize_t n = weft_fd_write(fd, answer, sizeof answer - 1, WEFT_FOREVER);
        if (n < 0) *error = (int)n;
        at = end + 4;
    }
    size -= (size_t)(at - data);
    memmove(data, at, size);
    return size;
}

static void serve(void *arg) {
    weft_fd fd = (weft_fd)(intptr_t)arg;
    char data[4096];
    size_t kept = 0;
    int error = 0;
    for (ssize_t n; !error && kept < sizeof data && (n = weft_fd_read(fd, data + kept, sizeof data - kept, WEFT_FOREVER)) > 0;) {
        kept += (size_t)n;
        if (!echoes) {
            kept = respond(fd, data, kept, &error);
        } else {
            if (weft_fd_write(fd, data, kept, WEFT_FOREVER) < 0) break;
            kept = 0;
        }
    }
    weft_fd_close(fd);
}

static void accepts(void *unused) {
    (void)unused;
    weft_fd door = weft_net_listen("127.0.0.1:0", NULL), guest;
    if (door < 0) trial_must((int)door, "listening");
    trial_must(weft_net_name(door, &place), "its address");
    trial_begin();
    trial_end();
    while ((guest = weft_net_accept(door, NULL, WEFT_FOREVER)) >= 0)
        trial_spawn_stackful(serve, (void *)(intptr_t)guest);
    weft_fd_close(door);
}

static double seconds_of(const struct rusage *usage) {
    return (double)usage->ru_utime.tv_sec + (double)usage->ru_stime.tv_sec +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}
static double cpu_so_far(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return seconds_of(&usage);
}

/* ---- wrk --------------------------------------------------------------------------------------------------------------------- */

struct load {
    double seconds, requests, p50, p99; /* us */
};

/* "1.23ms" in microseconds. */
static double microseconds(const char *text) {
    char *unit;
    double value = strtod(text, &unit);
    if (strncmp(unit, "us", 2) == 0) return value;
    return strncmp(unit, "ms", 2) == 0 ? value * 1e3 : value * 1e6;
}

static bool wrk(const char *where, uint64_t seconds, struct load *load) {
    char line[256];
    snprintf(line, sizeof line, "wrk -t1 -c64 -d%us --latency http://%s/ 2>/dev/null", (unsigned)seconds, where);
    FILE *out = popen(line, "r");
    if (!out) return false;
    uint64_t start = bench_now();
    *load = (struct load){0};
    while (fgets(line, sizeof line, out)) {
        char text[64];
        sscanf(line, " %lf requests in", &load->requests);
        if (sscanf(line, " 50%% %63s", text) == 1) load->p50 = microseconds(text);
        if (sscanf(line, " 99%% %63s", text) == 1) load->p99 = microseconds(text);
    }
    load->seconds = bench_since(start);
    return pclose(out) == 0 && load->requests > 0;
}

/* ---- the peer ---------------------------------------------------------------------------------------------------------------- */

/* Beside this command, where the build puts it. */
static bool peer_path(char *path, size_t size) {
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return false;
    self[n] = '\0';
    return (size_t)snprintf(path, size, "%s/peers/http_uv", dirname(self)) < size && access(path, X_OK) == 0;
}

struct peer {
    pid_t pid;
    FILE *out;
    char where[64];
};

static bool peer_begin(struct peer *peer, const char *how) {
    char path[PATH_MAX];
    int ends[2];
    *peer = (struct peer){0};
    if (!peer_path(path, sizeof path) || pipe(ends)) return false;
    peer->pid = fork();
    if (peer->pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl(path, path, how, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    peer->out = fdopen(ends[0], "r"); /* its first line is its address */
    if (peer->pid < 0 || !fgets(peer->where, sizeof peer->where, peer->out)) return false;
    peer->where[strcspn(peer->where, "\n")] = '\0';
    return true;
}

/* The processor time that it needed. */
static double peer_end(struct peer *peer) {
    struct rusage usage = {0};
    if (peer->pid > 0) {
        kill(peer->pid, SIGTERM);
        wait4(peer->pid, NULL, 0, &usage);
    }
    if (peer->out) fclose(peer->out);
    return seconds_of(&usage);
}

static void peer_run(uint64_t seconds, struct bench_result *result) {
    struct load load;
    struct peer peer;
    bool good = peer_begin(&peer, NULL) && wrk(peer.where, seconds, &load);
    double cpu = peer_end(&peer);
    if (!good) return;
    bench_extra(result, "uv_cpu_us", cpu * 1e6 / load.requests);
    bench_extra(result, "uv_p99_us", load.p99);
    bench_extra(result, "uv_per_s", load.requests / load.seconds);
}

/* ---- http ---------------------------------------------------------------------------------------------------------------------- */

static void run_http(const struct bench_args *args, struct bench_result *result) {
    char where[WEFT_ADDR_TEXT];
    struct load load;
    if (system("command -v wrk >/dev/null 2>&1") != 0) {
        snprintf(result->skipped, sizeof result->skipped, "wrk is not installed");
        return;
    }
    trial_open(args, result, "stackful");
    trial_spawn_stackful(accepts, NULL);
    trial_wait();
    weft_addr_text(&place, where, sizeof where);
    double before = cpu_so_far();
    if (!wrk(where, args->n, &load)) trial_must(WEFT_EIO, "wrk");
    double cpu = cpu_so_far() - before;
    trial_close(result);
    result->seconds = load.seconds;
    result->n = (uint64_t)load.requests;
    result->extras = 0;
    bench_extra(result, "cpu_us", cpu * 1e6 / load.requests);
    bench_extra(result, "p50_us", load.p50);
    bench_extra(result, "p99_us", load.p99);
    bench_extra(result, "per_s", load.requests / load.seconds);
    peer_run(args->n, result);
}
BENCH(http, .name = "http", .about = "a raw keep-alive responder, wrk -t1 -c64 for n seconds; uv_: the same by libuv", .kind = "stackful",
      .n = 2, .run = run_http)

/* ---- echo ---------------------------------------------------------------------------------------------------------------------- */

enum { ECHO_BYTES = 32, ECHO_MOST = 1000 };
struct echo_line {
    int number;
    uint64_t sent;
};

static int echo_connect(void) {
    int number = socket(place.place.ss_family, SOCK_STREAM, 0);
    if (number < 0 || connect(number, (struct sockaddr *)&place.place, place.size)) _exit(1);
    return number;
}

static void echo_say(struct echo_line *line) {
    static const char data[ECHO_BYTES];
    line->sent = bench_now();
    if (send(line->number, data, sizeof data, MSG_NOSIGNAL) != sizeof data) _exit(1);
}

/* The client, a process of its own: every connection always has one echo under way. */
static void echo_speak(unsigned count, uint64_t echoes_in_all, struct hist *hist) {
    static struct echo_line lines[ECHO_MOST];
    struct epoll_event events[256];
    char data[ECHO_BYTES];
    int set = epoll_create1(0);
    for (unsigned i = 0; i < count; i++) {
        lines[i].number = echo_connect();
        events[0] = (struct epoll_event){.events = EPOLLIN, .data.ptr = &lines[i]};
        if (epoll_ctl(set, EPOLL_CTL_ADD, lines[i].number, &events[0])) _exit(1);
    }
    for (unsigned i = 0; i < count; i++)
        echo_say(&lines[i]);
    while (hist->count < echoes_in_all) {
        int n = epoll_wait(set, events, 256, -1);
        for (int i = 0; i < n; i++) {
            struct echo_line *line = events[i].data.ptr;
            if (recv(line->number, data, sizeof data, MSG_WAITALL) != sizeof data) _exit(1);
            hist_record(hist, bench_now() - line->sent);
            echo_say(line);
        }
    }
}

static void echo_load(unsigned count, uint64_t n, struct hist *hist) {
    int ends[2], status;
    if (pipe(ends)) trial_must(WEFT_EIO, "a pipe");
    pid_t child = fork();
    if (child == 0) {
        hist_init(hist);
        echo_speak(count, n, hist);
        _exit(write(ends[1], hist, sizeof *hist) != sizeof *hist);
    }
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    bool good = fread(hist, sizeof *hist, 1, in) == 1;
    fclose(in);
    if (child < 0 || waitpid(child, &status, 0) != child || status || !good) trial_must(WEFT_EIO, "the client");
}

static unsigned echo_connections;

static void echo_note(struct bench_result *result, const char *before, const struct hist *hist) {
    static const struct {
        const char *name;
        double percent;
    } parts[] = {{"p50_us", 50}, {"p99_us", 99}, {"p999_us", 99.9}};
    for (unsigned i = 0; i < 3; i++) {
        char key[24];
        snprintf(key, sizeof key, "%s%s", before, parts[i].name);
        bench_extra(result, key, (double)hist_percentile(hist, parts[i].percent) / 1e3);
    }
}

static void echo_peer(uint64_t n, struct bench_result *result) {
    static struct hist hist;
    struct peer peer;
    if (peer_begin(&peer, "echo") && weft_addr_parse(&place, peer.where) == 0) {
        echo_load(echo_connections, n, &hist);
        bench_extra(result, "uv_cpu_us", peer_end(&peer) * 1e6 / (double)hist.count);
        echo_note(result, "uv_", &hist);
    } else {
        peer_end(&peer);
    }
}

static void run_echo(const struct bench_args *args, struct bench_result *result) {
    static struct hist hist;
    echoes = true;
    trial_open(args, result, "stackful");
    trial_spawn_stackful(accepts, NULL);
    trial_wait();
    double before = cpu_so_far();
    uint64_t start = bench_now();
    echo_load(echo_connections, args->n, &hist);
    double seconds = bench_since(start), cpu = cpu_so_far() - before;
    trial_close(result);
    result->seconds = seconds;
    result->extras = 0;
    bench_extra(result, "cpu_us", cpu * 1e6 / (double)hist.count);
    echo_note(result, "", &hist);
    echo_peer(args->n, result);
}
static void run_echo_64(const struct bench_args *args, struct bench_result *result) {
    echo_connections = 64;
    run_echo(args, result);
}
static void run_echo_1000(const struct bench_args *args, struct bench_result *result) {
    echo_connections = 1000;
    run_echo(args, result);
}
BENCH(echo_64, .name = "echo.64", .about = "echoes of 32 bytes over 64 connections, one under way on each; uv_: the same by libuv",
      .kind = "stackful", .n = 100000, .run = run_echo_64)
BENCH(echo_1000, .name = "echo.1000", .about = "the same over 1,000 connections", .kind = "stackful", .n = 100000, .run = run_echo_1000)
