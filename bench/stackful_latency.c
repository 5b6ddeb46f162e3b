/* latency: n requests, one due every millisecond, while a thousand pairs of other processes exchange messages without a pause and keep all workers
 * busy. A request is a message to another process and its answer. How long after it was due the answer was there: a request that had to wait for the
 * one before it counts from its own time. */
#include "base/atom.h"
#include "base/hist.h"
#include "bench/trial.h"

#include <weft/time.h>

enum { LATENCY_PAIRS = 1000, WARM_UP_MS = 100 };

static uint64_t requests;
static atom_bool over;
static struct hist took;

static void answers(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        int refused = weft_send(weft_msg_from(message), weft_msg_tag(message), NULL, 0);
        weft_msg_free(message);
        if (refused) return; /* the other one has gone: the runtime is stopped */
    }
}

/* One that begins so late that the runtime is being stopped has nothing to do. */
static void never_pauses(void *unused) {
    weft_pid other = weft_spawn(answers, NULL);
    uint64_t tag;
    (void)unused;
    while (!atom_load_rlx(&over)) /* rlx: to be seen sometime */
        if (weft_send(other, 1, NULL, 0) || !trial_recv(&tag)) return;
    weft_cancel(other);
}

static void asks(void *unused) {
    weft_pid other = trial_spawn_stackful(answers, NULL);
    uint64_t tag, sum = 0;
    (void)unused;
    for (unsigned i = 0; i < LATENCY_PAIRS; i++)
        trial_spawn_stackful(never_pauses, NULL);
    trial_must(weft_sleep(WARM_UP_MS * WEFT_MILLISECOND), "sleeping");
    trial_begin();
    uint64_t due = weft_now();
    for (uint64_t i = 1; i <= requests; i++) {
        due += WEFT_MILLISECOND;
        if (weft_now() < due) trial_must(weft_sleep_until(due), "sleeping");
        trial_send(other, i);
        if (!trial_recv(&tag)) return;
        hist_record(&took, weft_now() - due);
        sum += tag;
    }
    trial_check(sum);
    trial_end();
    atom_store_rlx(&over, true); /* rlx: likewise */
    weft_cancel(other);
}

static void run(const struct bench_args *args, struct bench_result *result) {
    requests = args->n;
    hist_init(&took);
    trial_run_stackful(args, result, asks, NULL);
    bench_extra(result, "p50_us", (double)hist_percentile(&took, 50) / 1e3);
    bench_extra(result, "p99_us", (double)hist_percentile(&took, 99) / 1e3);
    bench_extra(result, "p999_us", (double)hist_percentile(&took, 99.9) / 1e3);
}
BENCH(stackful_latency, .name = "latency",
      .about = "a request every ms beside 1,000 pairs that never pause; p50_us...: from when it was due", .kind = "stackful", .n = 1000,
      .run = run)
