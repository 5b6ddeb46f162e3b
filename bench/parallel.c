/* What benchmarks share: the clock, extra values, threads that start together. */
#define _GNU_SOURCE
#include "base/atom.h"
#include "base/spin.h"
#include "bench/bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARALLEL_MAX = 64 };

struct parallel {
    void (*body)(unsigned self, void *arg);
    void *arg;
    unsigned threads;
    atom_u32 arrived;
    atom_u32 go;
};

struct member {
    struct parallel *parallel;
    unsigned self;
    uint64_t end;
    pthread_t thread;
};

uint64_t bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double bench_since(uint64_t start) { return (double)(bench_now() - start) / 1e9; }

void bench_extra(struct bench_result *result, const char *key, double value) {
    if (result->extras == BENCH_EXTRAS) {
        fprintf(stderr, "weft bench: no room for %s; raise BENCH_EXTRAS\n", key);
        abort();
    }
    struct bench_extra *extra = &result->extra[result->extras++];
    snprintf(extra->key, sizeof extra->key, "%s", key);
    extra->value = value;
}

unsigned bench_cpus(void) {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (unsigned)CPU_COUNT(&allowed) : 1;
}

/* Keeps the calling thread on the n-th CPU it may use; where that is refused it floats. */
static void pin(unsigned n) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0) return;
    n %= (unsigned)CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || n-- != 0) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

static void *member_run(void *arg) {
    struct member *member = arg;
    struct parallel *parallel = member->parallel;
    pin(member->self);
    atom_add_acqrel(&parallel->arrived, 1); /* with the starter's acq read: it starts the clock when all are here */
    struct spin spin = spin_begin();
    while (!atom_load_acq(&parallel->go)) /* with the starter's rel store */
        spin_wait(&spin);
    parallel->body(member->self, parallel->arg);
    member->end = bench_now();
    return NULL;
}

double bench_parallel(struct bench_result *result, unsigned threads, void (*body)(unsigned self, void *arg), void *arg) {
    static struct member members[PARALLEL_MAX];
    struct parallel parallel = {.body = body, .arg = arg, .threads = threads};
    if (threads > PARALLEL_MAX) abort();
    for (unsigned i = 0; i < threads; i++) {
        members[i] = (struct member){.parallel = &parallel, .self = i};
        int error = pthread_create(&members[i].thread, NULL, member_run, &members[i]);
        if (error) {
            fprintf(stderr, "weft bench: cannot start a thread: %s\n", strerror(error));
            exit(1);
        }
    }
    struct spin spin = spin_begin();
    while (atom_load_acq(&parallel.arrived) != threads) /* with each member's add */
        spin_wait(&spin);
    uint64_t start = bench_now(), end = start;
    atom_store_rel(&parallel.go, 1); /* with each member's acq read */
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(members[i].thread, NULL);
        end = members[i].end > end ? members[i].end : end;
    }
    result->workers = threads;
    return (double)(end - start) / 1e9;
}
