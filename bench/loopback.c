#include "bench/loopback.h"

#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the server ------------------------------------------------------------------------------------------------------------ */

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";
static char place[WEFT_ADDR_TEXT];

static void echoes_all(void *arg) {
    weft_fd fd = (weft_fd)(intptr_t)arg;
    char data[4096];
    ssize_t n;
    while ((n = weft_fd_read(fd, data, sizeof data, WEFT_FOREVER)) > 0)
        if (weft_fd_write_all(fd, data, (size_t)n, NULL, WEFT_FOREVER) != 0) break;
    weft_fd_close(fd);
}

/* One answer for each request; what there is of the next one stays. False: the other side has gone. */
static bool respond(weft_fd fd, char *data, size_t *size) {
    char *at = data, *end;
    while ((end = memmem(at, *size - (size_t)(at - data), "\r\n\r\n", 4)) != NULL) {
        if (weft_fd_write_all(fd, answer, sizeof answer - 1, NULL, WEFT_FOREVER) != 0) return false;
        at = end + 4;
    }
    *size -= (size_t)(at - data);
    memmove(data, at, *size);
    return true;
}

static void responds(void *arg) {
    weft_fd fd = (weft_fd)(intptr_t)arg;
    char data[4096];
    size_t kept = 0;
    ssize_t n;
    while (kept < sizeof data && (n = weft_fd_read(fd, data + kept, sizeof data - kept, WEFT_FOREVER)) > 0) {
        kept += (size_t)n;
        if (!respond(fd, data, &kept)) break;
    }
    weft_fd_close(fd);
}

static weft_entry serves;

static void accepts(void *unused) {
    (void)unused;
    weft_addr address;
    weft_fd door = weft_net_listen("127.0.0.1:0", NULL), guest;
    if (door < 0) trial_must((int)door, "listening");
    trial_must(weft_net_name(door, &address), "its address");
    weft_addr_text(&address, place, sizeof place);
    trial_begin();
    trial_end();
    while ((guest = weft_net_accept(door, NULL, WEFT_FOREVER)) >= 0)
        trial_spawn_stackful(serves, (void *)(intptr_t)guest);
    weft_fd_close(door);
}

void loopback_open(const struct bench_args *args, struct bench_result *result, bool echoes) {
    serves = echoes ? echoes_all : responds;
    trial_open(args, result, "stackful");
    trial_spawn_stackful(accepts, NULL);
    trial_wait();
}

void loopback_close(struct bench_result *result) {
    trial_close(result);
    result->extras = 0; /* that was the time of starting to listen */
}

const char *loopback_address(void) { return place; }

static double cpu_of(clockid_t clock) {
    struct timespec used = {0, 0};
    clock_gettime(clock, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}
double loopback_cpu(void) { return cpu_of(CLOCK_PROCESS_CPUTIME_ID); }

/* ---- other programs ---------------------------------------------------------------------------------------------------------- */

bool child_begin(struct child *child, char *const *command) {
    int ends[2];
    *child = (struct child){0, -1};
    if (pipe(ends)) return false;
    pid_t parent = getpid();
    child->pid = vfork(); /* fork would cost the server: every page that it writes to next would be copied first */
    if (child->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1); /* it had gone before */
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execvp(command[0], command);
        _exit(127);
    }
    close(ends[1]);
    child->out = ends[0];
    return child->pid > 0;
}

bool child_end(struct child *child, int signal) {
    int status = -1;
    if (child->pid > 0) {
        if (signal) kill(child->pid, signal);
        waitpid(child->pid, &status, 0);
    }
    if (child->out >= 0) close(child->out);
    *child = (struct child){0, -1};
    return status == 0;
}

/* ---- the peer ---------------------------------------------------------------------------------------------------------------- */

/* Where the build puts it: beside this command, or beside the one that build/weft is a copy of. */
static bool peer_path(char *path, size_t size) {
    static const char *const places[] = {"peers", "release/peers"};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return false;
    self[n] = '\0';
    char *folder = dirname(self);
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++)
        if ((size_t)snprintf(path, size, "%s/%s/http_uv", folder, places[i]) < size && access(path, X_OK) == 0) return true;
    return false;
}

/* Its first line is its address. */
static bool peer_listens(struct peer *peer) {
    size_t got = 0;
    ssize_t n;
    while (got < sizeof peer->address - 1 && (n = read(peer->child.out, peer->address + got, sizeof peer->address - 1 - got)) > 0) {
        got += (size_t)n;
        peer->address[got] = '\0';
        char *end = strchr(peer->address, '\n');
        if (!end) continue;
        *end = '\0';
        return true;
    }
    return false;
}

bool peer_begin(struct peer *peer, const char *how) {
    char path[PATH_MAX];
    if (!peer_path(path, sizeof path)) {
        fprintf(stderr, "weft bench: libuv is not measured beside it: the build did not find it (`make compare-setup` installs it)\n");
        return false;
    }
    char *command[] = {path, (char *)(uintptr_t)how, NULL};
    if (child_begin(&peer->child, command) && peer_listens(peer) && clock_getcpuclockid(peer->child.pid, &peer->clock) == 0) return true;
    fprintf(stderr, "weft bench: %s does not start\n", path);
    peer_end(peer);
    return false;
}

double peer_cpu(const struct peer *peer) { return cpu_of(peer->clock); }
void peer_end(struct peer *peer) { child_end(&peer->child, SIGTERM); }
