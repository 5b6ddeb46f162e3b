/* Benchmarks: each one registers itself and is run by `weft bench`.
 *
 *     static void run(const struct bench_args *args, struct bench_result *result) {
 *         uint64_t start = bench_now();
 *         for (uint64_t i = 0; i < args->n; i++) ...;
 *         result->seconds = bench_since(start);
 *     }
 *     BENCH(queue_ring, .name = "queue.ring", .about = "push and pop by the owner", .n = 20000000, .run = run)
 *
 * Each run happens in a process of its own, so runs do not share a heap, a cache state or a peak of memory, and a
 * crash is one failed line. The printed line is the median of the runs by time:
 *
 *     weft NAME kind=K policy=P workers=W n=N s=0.1234 ns_op=12.3 rss_kb=1234 min=0.1200 max=0.1300 key=value...
 *
 * A name is `part` or `group.part`; a group's name selects all of it. Choose n so that a run takes 0.1 to 0.3 s.
 * Those that measure processes share bench/trial.h. */
#ifndef WEFT_BENCH_BENCH_H
#define WEFT_BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

struct bench_args {
    uint64_t n;         /* operations asked for: the benchmark's default or --n */
    uint64_t size;      /* --size, or the benchmark's default: of what they are done on; 0 where it has no size */
    unsigned workers;   /* --workers; 0: as a runtime has by itself. This and the policy are for those that start one */
    const char *policy; /* --policy; NULL: likewise */
};

enum { BENCH_EXTRAS = 16 };

struct bench_extra {
    char key[24];
    double value;
};

/* Zeroed before the run; only `seconds` must be filled in. */
struct bench_result {
    double seconds;    /* for all of n */
    uint64_t n;        /* 0: what was asked for */
    uint64_t check;    /* what the work added up to, for `weft compare`; 0: it does not tell */
    double ns_op;      /* 0: seconds / n */
    unsigned workers;  /* threads that took part; 0: 1 */
    char kind[16];     /* "": "part" */
    char policy[16];   /* "": "-" */
    char skipped[128]; /* not "": this machine cannot run it, and why */
    struct bench_extra extra[BENCH_EXTRAS];
    unsigned extras;
};

struct bench {
    const char *name;
    const char *about;
    const char *kind;    /* of the processes that it measures, as --kind says it; NULL: it measures a part */
    const char *by;      /* as --by says it; NULL: there is only one way */
    bool not_by_default; /* only when --by asks for it */
    uint64_t n;          /* the default */
    uint64_t size;       /* the default; 0: it takes no --size */
    void (*run)(const struct bench_args *args, struct bench_result *result);
    struct bench *next;
};

void bench_register(struct bench *bench);

#define BENCH(id, ...)                                                                                                                     \
    static struct bench bench_##id = {__VA_ARGS__};                                                                                        \
    __attribute__((constructor)) static void bench_register_##id(void) { bench_register(&bench_##id); }

/* `weft bench ARGS`, without those two words. */
int bench_main(int argc, char **argv);

/* Nanoseconds of the monotonic clock, and seconds since such a moment. */
uint64_t bench_now(void);
double bench_since(uint64_t start);

/* Adds ` key=value` to the line; the value of the median run is printed. */
void bench_extra(struct bench_result *result, const char *key, double value);

/* CPUs this process may use. */
unsigned bench_cpus(void);

/* Runs body(0, arg) … body(threads - 1, arg) on threads of their own, each kept on its own CPU as far as there are
 * enough, released together; returns the seconds from the release until the last one ended, and notes the number of
 * threads in the result. */
double bench_parallel(struct bench_result *result, unsigned threads, void (*body)(unsigned self, void *arg), void *arg);

/* Keeps a value that is computed but never used. */
#define bench_keep(value) __asm__ volatile("" ::"g"(value) : "memory")

#endif
