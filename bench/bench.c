/* `weft bench`: picks benchmarks, runs each several times in a process of its own, prints the median. */
#define _GNU_SOURCE
#include "bench/bench.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BENCH_RUNS = 3, BENCH_RUNS_MAX = 1000, BENCH_WORKERS_MAX = 1024, BENCH_SIZE_MAX = 100000000, BENCH_SECONDS = 120, BENCH_SLOW = 2 };

/* One run as the parent sees it. */
struct run {
    struct bench_result result;
    long rss_kb;
    bool done;
};

struct options {
    unsigned runs;
    bool runs_given; /* by the user: then each benchmark really runs that often */
    uint64_t n;      /* 0: each benchmark's own */
    uint64_t size;   /* likewise */
    unsigned workers;
    const char *policy;
    const char *kind; /* NULL: stackful, or what there is */
    const char *by;   /* NULL: each benchmark's own */
    bool json;
    char **names;
    int count;
};

static struct bench *benches;

void bench_register(struct bench *bench) {
    struct bench **end = &benches;
    while (*end)
        end = &(*end)->next;
    *end = bench;
}

/* A benchmark is meant by its name or by its group's: "queue" means queue.ring and queue.deque. "=parked" is parked alone. */
static bool meant(const struct bench *bench, const char *name) {
    if (name[0] == '=') return strcmp(bench->name, name + 1) == 0;
    size_t length = strlen(name);
    return strncmp(bench->name, name, length) == 0 && (bench->name[length] == '\0' || bench->name[length] == '.');
}

/* Without --kind: stackful, and of those benchmarks that there are for step processes only, these. */
static bool right_kind(const struct bench *bench, const struct options *options) {
    if (!bench->kind) return true;
    if (options->kind) return strcmp(bench->kind, options->kind) == 0;
    for (const struct bench *other = benches; other && strcmp(bench->kind, "stackful") != 0; other = other->next)
        if (other->kind && strcmp(other->kind, "stackful") == 0 && strcmp(other->name, bench->name) == 0) return false;
    return true;
}

static bool wanted(const struct bench *bench, const struct options *options) {
    if (!right_kind(bench, options)) return false;
    if (options->by ? bench->by && strcmp(bench->by, options->by) != 0 : bench->not_by_default) return false;
    for (int i = 0; i < options->count; i++)
        if (meant(bench, options->names[i])) return true;
    return options->count == 0;
}

static void list(FILE *to) {
    for (struct bench *bench = benches; bench; bench = bench->next) {
        fprintf(to, "  %-27s %-9s %-8s %s", bench->name, bench->kind ? bench->kind : "", bench->by ? bench->by : "",
                bench->about ? bench->about : "");
        if (bench->size) fprintf(to, " (size %llu)", (unsigned long long)bench->size);
        fprintf(to, "\n");
    }
}

static void run_child(const struct bench *bench, const struct bench_args *args, struct run *run) {
    alarm(BENCH_SECONDS);
    bench->run(args, &run->result);
    run->done = true;
    fflush(NULL);
    _exit(0);
}

/* False, with a message, if the run crashed, hung or gave nothing. */
static bool run_once(const struct bench *bench, const struct bench_args *args, struct run *run) {
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        fprintf(stderr, "weft bench: fork: %s\n", strerror(errno));
        return false;
    }
    if (child == 0) run_child(bench, args, run);
    int status = 0;
    struct rusage usage;
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    run->rss_kb = usage.ru_maxrss;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        fprintf(stderr, "weft bench: %s still ran after %d s and was ended\n", bench->name, BENCH_SECONDS);
    else if (WIFSIGNALED(status)) fprintf(stderr, "weft bench: %s was killed by signal %d\n", bench->name, WTERMSIG(status));
    else if (!run->done) fprintf(stderr, "weft bench: %s ended with status %d\n", bench->name, WEXITSTATUS(status));
    return run->done;
}

static int by_seconds(const void *a, const void *b) {
    double x = ((const struct run *)a)->result.seconds, y = ((const struct run *)b)->result.seconds;
    return (x > y) - (x < y);
}

static void fill_in(struct bench_result *result, uint64_t n) {
    if (!result->n) result->n = n;
    if (result->ns_op == 0) result->ns_op = result->seconds * 1e9 / (double)result->n;
    if (!result->workers) result->workers = 1;
    if (!result->kind[0]) strcpy(result->kind, "part");
    if (!result->policy[0]) strcpy(result->policy, "-");
}

static void print_line(const struct bench *bench, const struct run *runs, unsigned count) {
    const struct run *median = &runs[(count - 1) / 2];
    const struct bench_result *r = &median->result;
    printf("weft %s kind=%s policy=%s workers=%u n=%llu s=%.4f ns_op=%.1f rss_kb=%ld", bench->name, r->kind, r->policy, r->workers,
           (unsigned long long)r->n, r->seconds, r->ns_op, median->rss_kb);
    if (count > 1) printf(" min=%.4f max=%.4f", runs[0].result.seconds, runs[count - 1].result.seconds);
    for (unsigned i = 0; i < r->extras; i++)
        printf(" %s=%.6g", r->extra[i].key, r->extra[i].value);
    if (bench->by) printf(" by=%s", bench->by);
    printf("\n");
    fflush(stdout);
}

static void print_json(const struct bench *bench, const struct run *runs, unsigned count, bool first) {
    const struct run *median = &runs[(count - 1) / 2];
    const struct bench_result *r = &median->result;
    printf("%s  {\"name\": \"%s\", \"kind\": \"%s\", \"policy\": \"%s\", \"workers\": %u, \"n\": %llu, \"s\": %.9g, "
           "\"ns_op\": %.6g, \"rss_kb\": %ld, \"runs\": %u, \"min\": %.9g, \"max\": %.9g",
           first ? "" : ",\n", bench->name, r->kind, r->policy, r->workers, (unsigned long long)r->n, r->seconds, r->ns_op, median->rss_kb,
           count, runs[0].result.seconds, runs[count - 1].result.seconds);
    for (unsigned i = 0; i < r->extras; i++)
        printf(", \"%s\": %.9g", r->extra[i].key, r->extra[i].value);
    if (bench->by) printf(", \"by\": \"%s\"", bench->by);
    if (r->check) printf(", \"check\": %llu", (unsigned long long)r->check);
    printf("}");
    fflush(stdout);
}

/* Runs one benchmark as often as asked; false if a run failed. `printed` counts the results so far. */
static bool run_bench(const struct bench *bench, const struct options *options, struct run *runs, unsigned *printed) {
    struct bench_args args = {.n = options->n ? options->n : bench->n,
                              .size = options->size && bench->size ? options->size : bench->size,
                              .workers = options->workers,
                              .policy = options->policy};
    uint64_t start = bench_now();
    unsigned count = 0;
    memset(runs, 0, options->runs * sizeof *runs);
    while (count < options->runs) {
        struct run *run = &runs[count++];
        if (!run_once(bench, &args, run)) return false;
        if (run->result.skipped[0]) {
            fprintf(stderr, "weft bench: %s skipped: %s\n", bench->name, run->result.skipped);
            return true;
        }
        fill_in(&run->result, args.n);
        /* On a slow or busy machine one run has to do, so that a run of everything stays short. */
        if (!options->runs_given && bench_since(start) > BENCH_SLOW) break;
    }
    qsort(runs, count, sizeof *runs, by_seconds);
    if (options->json) print_json(bench, runs, count, *printed == 0);
    else print_line(bench, runs, count);
    ++*printed;
    return true;
}

static int run_all(const struct options *options) {
    size_t size = options->runs * sizeof(struct run);
    struct run *runs = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (runs == MAP_FAILED) {
        perror("weft bench: mmap");
        return 1;
    }
    unsigned printed = 0, failed = 0;
    if (options->json) printf("[\n");
    for (struct bench *bench = benches; bench; bench = bench->next)
        if (wanted(bench, options)) failed += !run_bench(bench, options, runs, &printed);
    if (options->json) printf("\n]\n");
    munmap(runs, size);
    return failed ? 1 : 0;
}

static int usage(FILE *to) {
    fprintf(
        to,
        "usage: weft bench [NAME...] [--kind step|stackful] [--by message|join] [--policy ring|deque|line] [--workers N] [--n N] [--size N] "
        "[--runs K] [--json] [--list]\n\n"
        "Runs the named benchmarks, or all of them, and prints one line each: the median of K runs (3).\n"
        "NAME is a benchmark or a group: `queue` means every queue.*; `=parked` means parked without parked.*\n"
        "  --kind K     of process: stackful (default) or step\n"
        "  --by B       how skynet and forkjoin bring results together: message (processes) or join (tasks)\n"
        "  --policy P   of the scheduler: ring, deque or line (WEFT_POLICY, or ring)\n"
        "  --workers N  1 to 1024 (WEFT_WORKERS, or the CPUs there are)\n"
        "  --runs K     runs of each, 1 to 1000; without it slow ones stop after 2 s\n"
        "  --n N        operations a run, instead of each benchmark's own number\n"
        "  --size N     of what they are done on, where --list shows a size: members of the ring, messages in flight, timers armed\n"
        "  --json       an array of objects instead of lines\n"
        "  --list       say what there is\n");
    return to == stderr ? 2 : 0;
}

/* Names are checked before anything runs. */
static bool known(const struct options *options) {
    for (int i = 0; i < options->count; i++) {
        struct bench *bench = benches;
        while (bench && !meant(bench, options->names[i]))
            bench = bench->next;
        if (!bench) {
            fprintf(stderr, "weft bench: no benchmark is called `%s`; there are:\n", options->names[i]);
            list(stderr);
            return false;
        }
    }
    return true;
}

static bool one_of(const char *option, const char *text, const char *const names[]) {
    for (int i = 0; names[i]; i++)
        if (text && strcmp(text, names[i]) == 0) return true;
    fprintf(stderr, "weft bench: %s needs one of", option);
    for (int i = 0; names[i]; i++)
        fprintf(stderr, " %s", names[i]);
    fprintf(stderr, ", not `%s`\n", text ? text : "nothing");
    return false;
}

static bool set_by(struct options *options, const char *value) {
    static const char *const ways[] = {"message", "join", NULL};
    if (!one_of("--by", value, ways)) return false;
    options->by = value;
    return true;
}

static bool set_kind(struct options *options, const char *value) {
    static const char *const kinds[] = {"step", "stackful", NULL};
    if (!one_of("--kind", value, kinds)) return false;
    options->kind = value;
    return true;
}

/* Takes an option that has a value. 1: taken; 0: there is no such option; -1: the value is wrong, and it was said. */
static int set_option(struct options *options, const char *name, const char *value) {
    static const char *const policies[] = {"ring", "deque", "line", NULL};
    bool good;
    if (strcmp(name, "--runs") == 0) {
        options->runs_given = true;
        good = (options->runs = (unsigned)cli_number("bench", name, value, BENCH_RUNS_MAX)) != 0;
    } else if (strcmp(name, "--n") == 0) {
        good = (options->n = cli_number("bench", name, value, UINT64_MAX / 1000)) != 0;
    } else if (strcmp(name, "--size") == 0) {
        good = (options->size = cli_number("bench", name, value, BENCH_SIZE_MAX)) != 0;
    } else if (strcmp(name, "--workers") == 0) {
        good = (options->workers = (unsigned)cli_number("bench", name, value, BENCH_WORKERS_MAX)) != 0;
    } else if (strcmp(name, "--policy") == 0) {
        good = one_of(name, options->policy = value, policies);
    } else if (strcmp(name, "--kind") == 0) {
        good = set_kind(options, value);
    } else if (strcmp(name, "--by") == 0) {
        good = set_by(options, value);
    } else {
        return 0;
    }
    return good ? 1 : -1;
}

int bench_main(int argc, char **argv) {
    struct options options = {.runs = BENCH_RUNS, .names = argv};
    for (int i = 0; i < argc; i++) {
        const char *argument = argv[i];
        int taken = set_option(&options, argument, i + 1 < argc ? argv[i + 1] : NULL);
        if (taken < 0) return 2;
        if (taken) {
            i++;
        } else if (strcmp(argument, "--json") == 0) {
            options.json = true;
        } else if (strcmp(argument, "--list") == 0) {
            list(stdout);
            return 0;
        } else if (strcmp(argument, "--help") == 0) {
            return usage(stdout);
        } else if (argument[0] == '-') {
            fprintf(stderr, "weft bench: unknown option `%s`\n", argument);
            return usage(stderr);
        } else {
            options.names[options.count++] = argv[i];
        }
    }
    return known(&options) ? run_all(&options) : 2;
}
