/* What the peers of `weft compare` in C and C++ share: their arguments, clocks, and the line that they print.
 *
 *     PROGRAM ROW WORKERS N SIZE [FORM]      prints    ops=… ns=… check=… key=value…
 *
 * docs/comparison.md tells what each row is. */
#ifndef WEFT_BENCH_PEERS_PEER_H
#define WEFT_BENCH_PEERS_PEER_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PEER_BURST = 32, PEER_PAIRS = 1000, PEER_FLIGHT_MEMBERS = 1000, PEER_SENDERS = 100, PEER_CHILDREN = 10 };

/* What a row is asked to do: n operations, on so much of something; in which of several forms, where it has them (FORMS in
 * tools/compare_lib/rows.py). */
struct peer_job {
    unsigned workers;
    uint64_t n, size;
    unsigned form;
};

struct peer_row {
    const char *name;
    void (*run)(const struct peer_job *job);
};

static inline uint64_t peer_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static inline uint64_t peer_now(void) { return peer_clock(CLOCK_MONOTONIC); }
static inline uint64_t peer_cpu(void) { return peer_clock(CLOCK_PROCESS_CPUTIME_ID); }

static inline double peer_rss(void) {
    unsigned long all = 0, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%lu %lu", &all, &resident) != 2) exit(1);
    fclose(statm);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* The i-th, from 0, of so many equal parts. */
static inline uint64_t peer_part(uint64_t n, uint64_t parts, uint64_t i) { return n / parts + (i < n % parts); }

/* Says what came out; more of the line may follow, the end of the line comes from peer_main. */
static inline void peer_tell(uint64_t ops, uint64_t ns, uint64_t check) {
    printf("ops=%" PRIu64 " ns=%" PRIu64 " check=%" PRIu64, ops, ns, check);
}

static inline int peer_main(int argc, char **argv, const struct peer_row *rows) {
    for (; (argc == 5 || argc == 6) && rows->name; rows++) {
        if (strcmp(argv[1], rows->name) != 0) continue;
        struct peer_job job = {(unsigned)strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10), 0};
        if (argc == 6) job.form = (unsigned)strtoul(argv[5], NULL, 10);
        rows->run(&job);
        printf("\n");
        fflush(stdout);
        _exit(0); /* without taking down what still waits */
    }
    fprintf(stderr, "usage: %s ROW WORKERS N SIZE [FORM]\n", argv[0]);
    return 2;
}

#endif
