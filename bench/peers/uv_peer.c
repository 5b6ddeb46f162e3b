/* Peer of `weft compare`: libuv, one loop. It has no processes: blocking calls in its pool of threads, and timers. (http and echo: http_uv.c.) */
#include "peer.h"

#include <uv.h>

enum { NAP_NS = 10000000 };

static uint64_t back;

static void nap(uv_work_t *unused) {
    struct timespec ten_ms = {0, NAP_NS};
    (void)unused;
    nanosleep(&ten_ms, NULL);
}
static void is_back(uv_work_t *unused, int status) {
    (void)unused;
    back += status == 0;
}

/* The pool has as many threads as there are calls: four, its own number, would take half a second. */
static void blocking_row(const struct peer_job *job) {
    uv_work_t *all = calloc(job->n, sizeof *all);
    char threads[16];
    snprintf(threads, sizeof threads, "%u", (unsigned)job->n);
    setenv("UV_THREADPOOL_SIZE", threads, 1);
    uint64_t start = peer_now();
    for (uint64_t i = 0; i < job->n; i++)
        if (uv_queue_work(uv_default_loop(), &all[i], nap, is_back)) exit(1);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    peer_tell(job->n, peer_now() - start, back);
}

static void too_early(uv_timer_t *unused) {
    (void)unused;
    exit(1);
}

/* `size` timers stay armed; the oldest is stopped and armed again. */
static void timers_row(const struct peer_job *job) {
    uv_timer_t *all = calloc(job->size, sizeof *all);
    uint64_t stopped = 0;
    srandom(1);
    for (uint64_t i = 0; i < job->size; i++) {
        uv_timer_init(uv_default_loop(), &all[i]);
        uv_timer_start(&all[i], too_early, 3600000 + (uint64_t)random() % 1000, 0);
    }
    uint64_t start = peer_now();
    for (uint64_t i = 0; i < job->n; i++) {
        uv_timer_t *oldest = &all[i % job->size];
        stopped += uv_is_active((uv_handle_t *)oldest) && uv_timer_stop(oldest) == 0;
        uv_timer_start(oldest, too_early, 3600000 + (uint64_t)random() % 1000, 0);
    }
    peer_tell(job->n, peer_now() - start, stopped);
}

int main(int argc, char **argv) {
    static const struct peer_row rows[] = {{"blocking", blocking_row}, {"timers", timers_row}, {NULL, NULL}};
    return peer_main(argc, argv, rows);
}
