/* Fork and join: fib with one task a call, and skynet as a tree of tasks. */
#include "bench/trial.h"

#include <weft/fork.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void wrong(const char *name, uint64_t got, uint64_t right) {
    if (got == right) return;
    fprintf(stderr, "weft bench: %s gave %" PRIu64 " instead of %" PRIu64 "\n", name, got, right);
    exit(1);
}

/* ---- fib ---------------------------------------------------------------------------------------------------------- */

static uint64_t fib_right(unsigned n) {
    uint64_t a = 0, b = 1;
    for (unsigned i = 0; i < n; i++) {
        uint64_t c = a + b;
        a = b;
        b = c;
    }
    return a;
}

/* fib(n) makes fib(n + 1) - 1 tasks: one for each call that is not a leaf. */
static uint64_t fib_tasks(unsigned n) { return fib_right(n + 1) - 1; }

WEFT_TASK(uint64_t, fib, unsigned, n) {
    if (n < 2) return n;
    WEFT_FORK(fib, n - 1);
    uint64_t b = WEFT_CALL(fib, n - 2);
    return WEFT_JOIN(fib) + b;
}

static unsigned argument;

static void fib_join_root(void *unused) {
    (void)unused;
    trial_begin();
    uint64_t got = WEFT_RUN(fib, argument);
    trial_check(got);
    trial_end();
    wrong("forkjoin", got, fib_right(argument));
}

/* The same with a process instead of each task. The calls for n - 2 are one loop, and the answers come in any order. */
struct fib_child {
    weft_pid parent;
    unsigned n;
};

static uint64_t fib_by_message(unsigned n);
static void fib_process(void *arg) {
    struct fib_child self = *(struct fib_child *)arg; /* in its parent's frame, which waits */
    trial_send(self.parent, fib_by_message(self.n));
}
static uint64_t fib_by_message(unsigned n) {
    struct fib_child child[32];
    unsigned children = 0;
    for (; n >= 2; n -= 2) {
        child[children] = (struct fib_child){weft_self(), n - 1};
        trial_spawn_stackful(fib_process, &child[children++]);
    }
    uint64_t sum = n, tag;
    while (children-- > 0 && trial_recv(&tag))
        sum += tag;
    return sum;
}
static void fib_message_root(void *unused) {
    (void)unused;
    trial_begin();
    uint64_t got = fib_by_message(argument);
    trial_check(got);
    trial_end();
    wrong("forkjoin", got, fib_right(argument));
}

static void fib_run(const struct bench_args *args, struct bench_result *result, weft_entry root) {
    if (args->n < 2 || args->n > 60) {
        strcpy(result->skipped, "n is the argument of fib: 2 to 60");
        return;
    }
    argument = (unsigned)args->n;
    trial_open(args, result, "stackful");
    trial_spawn_stackful(root, NULL);
    trial_wait();
    result->n = fib_tasks(argument); /* what is counted */
    trial_close(result);
    result->ns_op = result->seconds * 1e9 / (double)fib_tasks(argument);
    result->n = args->n;
}
static void run_forkjoin(const struct bench_args *args, struct bench_result *result) { fib_run(args, result, fib_join_root); }
static void run_forkjoin_message(const struct bench_args *args, struct bench_result *result) { fib_run(args, result, fib_message_root); }
BENCH(forkjoin, .name = "forkjoin", .about = "fib(n) with a task a call, per task", .kind = "stackful", .by = "join", .n = 30,
      .run = run_forkjoin)
BENCH(forkjoin_message, .name = "forkjoin", .about = "fib(n) with a process a call, per process", .kind = "stackful", .by = "message",
      .not_by_default = true, .n = 22, .run = run_forkjoin_message)

/* ---- skynet ------------------------------------------------------------------------------------------------------- */

enum { CHILDREN = 10 };

WEFT_TASK(uint64_t, sky, uint32_t, first, uint32_t, leaves) {
    if (leaves == 1) return first;
    uint32_t children = leaves < CHILDREN ? leaves : CHILDREN;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < children; i++) {
        uint32_t below = leaves / children + (i < leaves % children);
        WEFT_FORK(sky, first, below);
        first += below;
    }
    for (uint32_t i = 0; i < children; i++)
        sum += WEFT_JOIN(sky);
    return sum;
}

static uint32_t all_leaves;

static void sky_root(void *unused) {
    (void)unused;
    trial_begin();
    uint64_t sum = WEFT_RUN(sky, 0, all_leaves);
    trial_check(sum);
    trial_end();
    wrong("skynet", sum, (uint64_t)all_leaves * (all_leaves - 1) / 2);
}

static void run_sky(const struct bench_args *args, struct bench_result *result) {
    if (args->n > UINT32_MAX) {
        strcpy(result->skipped, "more than 4,294,967,295 leaves cannot be numbered");
        return;
    }
    all_leaves = (uint32_t)args->n;
    trial_run_stackful(args, result, sky_root, NULL);
}
BENCH(sky_join, .name = "skynet", .about = "a tree of tasks that add up, per leaf", .kind = "stackful", .by = "join",
      .not_by_default = true, .n = 1000000, .run = run_sky)
