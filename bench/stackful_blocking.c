/* blocking: n processes, each in a real call of 10 ms; the time until all are back. blocking.long is told that the call is long. */
#include "base/atom.h"
#include "bench/trial.h"

#include <weft/blocking.h>

#include <dirent.h>
#include <time.h>

static uint64_t callers;
static bool told;
static atom_u64 back;

static void nap(void *unused) {
    struct timespec ten_ms = {0, 10000000};
    (void)unused;
    nanosleep(&ten_ms, NULL);
}

static unsigned threads_now(void) {
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return 0;
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

static unsigned most_threads;

static void caller(void *unused) {
    (void)unused;
    if (told) weft_blocking_long(nap, NULL);
    else weft_blocking(nap, NULL);
    if (atom_add_rlx(&back, 1) + 1 < callers) return; /* rlx: a count */
    trial_check(callers);
    trial_end();
    most_threads = threads_now();
}

static void sender_out(void *unused) {
    (void)unused;
    trial_begin();
    for (uint64_t i = 0; i < callers; i++)
        trial_spawn_stackful(caller, NULL);
}

static void run_blocking(const struct bench_args *args, struct bench_result *result, bool is_long) {
    struct timespec rest = {4, 0};
    callers = args->n;
    told = is_long;
    trial_open(args, result, "stackful");
    unsigned before = threads_now();
    trial_spawn_stackful(sender_out, NULL);
    trial_wait();
    nanosleep(&rest, NULL);
    bench_extra(result, "threads", most_threads);
    bench_extra(result, "threads_resting", (double)threads_now() - (double)before);
    trial_close(result);
}
static void run_untold(const struct bench_args *args, struct bench_result *result) { run_blocking(args, result, false); }
BENCH(blocking, .name = "blocking", .about = "processes each in a real call of 10 ms, all together", .kind = "stackful", .n = 200,
      .run = run_untold)
static void run_told(const struct bench_args *args, struct bench_result *result) { run_blocking(args, result, true); }
BENCH(blocking_long, .name = "blocking.long", .about = "the same, told that the call is long", .kind = "stackful", .n = 200,
      .run = run_told)
