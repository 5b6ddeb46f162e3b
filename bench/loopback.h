/* What http and echo share: a server of weft's on loopback in this program, the same by libuv in another, and processor time of both.
 *
 *     loopback_open(args, result, false);                weft's, at loopback.address
 *     struct peer peer = {0};
 *     bool there = peer_begin(&peer, "http");            the other's, at peer.address, if the build found libuv */
#ifndef WEFT_BENCH_LOOPBACK_H
#define WEFT_BENCH_LOOPBACK_H

#include "bench/trial.h"

#include <weft/net.h>

#include <sys/types.h>
#include <time.h>

/* Starts a runtime and a process that accepts connections. Each has a process of its own, which sends back what it reads, or a fixed answer
 * for every HTTP request. */
void loopback_open(const struct bench_args *args, struct bench_result *result, bool echoes);
void loopback_close(struct bench_result *result);
const char *loopback_address(void);

/* Seconds of processor time that this program has needed so far. */
double loopback_cpu(void);

/* A program that runs until it is told to stop, or until this one has ended, however that may be. Its standard output is `out`. */
struct child {
    pid_t pid;
    int out;
};
bool child_begin(struct child *child, char *const *command);
/* Sends the signal and waits for it; true if it ended well. */
bool child_end(struct child *child, int signal);

struct peer {
    struct child child;
    clockid_t clock;
    char address[64];
};
/* `how`: "http" or "echo". False, with a word on standard error, if there is none. */
bool peer_begin(struct peer *peer, const char *how);
double peer_cpu(const struct peer *peer);
void peer_end(struct peer *peer);

#endif
