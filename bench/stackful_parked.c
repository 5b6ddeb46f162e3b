/* parked, packed and unborn, with stackful processes: what a million of them cost while they wait, when they have waited for long, and before
 * they have run. */
#include "base/atom.h"
#include "bench/trial.h"

#include <weft/net.h>
#include <weft/time.h>

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { PARKED_BURST = 32 };

static uint64_t processes;
static atom_u64 parked; /* how many have had their message */

static void sitter(void *unused) {
    uint64_t tag;
    (void)unused;
    if (!trial_recv(&tag)) return;
    if (atom_add_rlx(&parked, 1) + 1 == processes) { /* rlx: a count */
        trial_check(processes);
        trial_end();
    }
    trial_recv(&tag); /* which is never sent */
}

static void usher(void *unused) {
    (void)unused;
    trial_begin();
    for (uint64_t i = 0; i < processes; i++) {
        trial_send(trial_spawn_stackful(sitter, NULL), i);
        if (i % PARKED_BURST == 0) weft_yield();
    }
}

static void run_parked(const struct bench_args *args, struct bench_result *result) {
    processes = args->n;
    trial_open(args, result, "stackful");
    uint64_t before = trial_rss();
    trial_spawn_stackful(usher, NULL);
    trial_wait();
    uint64_t after = trial_rss();
    trial_close(result);
    bench_extra(result, "bytes_each", ((double)after - (double)before) / (double)args->n);
}
BENCH(stackful_parked, .name = "parked", .about = "processes that wait; bytes_each: resident memory of one", .kind = "stackful",
      .n = 1000000, .run = run_parked)

/* ---- packed ------------------------------------------------------------------------------------------------------------ */

enum { PACKED_WOKEN = 100000 };
static weft_pid *packed_pids;
static weft_fd (*packed_ends)[2];
static weft_entry packed_entry;

/* Resident memory, and what page tables come to besides. */
struct footprint {
    uint64_t resident, tables;
};
static struct footprint packed_before, packed_waiting, packed_served;
static uint64_t packed_first, packed_again; /* ns a call: of one that is packed, and of one that is not */

static void echo_until(uint64_t wait) {
    weft_msg *message;
    while (weft_recv(&message, wait == WEFT_FOREVER ? wait : weft_in(wait)) == 0) {
        trial_must(weft_reply(weft_msg_request(message), NULL, 0), "a reply");
        weft_msg_free(message);
    }
}
static void echoes(void *unused) {
    (void)unused;
    echo_until(WEFT_FOREVER);
}
static void echoes_until(void *unused) {
    (void)unused;
    echo_until(3600 * WEFT_SECOND);
}
static void echoes_bytes(void *ends) {
    weft_fd own = ((weft_fd *)ends)[0];
    char byte;
    while (weft_fd_read(own, &byte, 1, WEFT_FOREVER) == 1)
        trial_must(weft_fd_write(own, &byte, 1, WEFT_FOREVER) == 1 ? 0 : WEFT_EINVAL, "an answer");
}

/* Until resident memory has not fallen by a hundredth for a second and a half. */
static struct footprint packed_footprint(void) {
    uint64_t least = trial_rss();
    for (unsigned still = 0; still < 6; still++) {
        weft_sleep(250 * WEFT_MILLISECOND);
        uint64_t now = trial_rss();
        if (now < least - least / 100) still = 0, least = now;
    }
    return (struct footprint){least, trial_page_tables()};
}

static void packed_call(uint64_t i) {
    weft_msg *reply;
    char byte = 1;
    if (packed_ends) {
        bool answered =
            weft_fd_write(packed_ends[i][1], &byte, 1, WEFT_FOREVER) == 1 && weft_fd_read(packed_ends[i][1], &byte, 1, WEFT_FOREVER) == 1;
        trial_must(answered ? 0 : WEFT_EINVAL, "a byte");
        return;
    }
    trial_must(weft_call(packed_pids[i], 0, NULL, 0, &reply, WEFT_FOREVER), "a call");
    weft_msg_free(reply);
}
/* ns for a call of each. */
static uint64_t packed_calls(uint64_t count) {
    uint64_t begin = weft_now();
    for (uint64_t i = 0; i < count; i++)
        packed_call(i);
    return (weft_now() - begin) / count;
}

static void packed_spawn(uint64_t i) {
    static const weft_stackful_options packs = {.flags = WEFT_SPAWN_PACK};
    if (packed_ends) trial_must(weft_net_pair(packed_ends[i]), "a pair of sockets");
    trial_must(weft_spawn_with(packed_entry, packed_ends ? packed_ends[i] : NULL, &packs, &packed_pids[i]), "spawning");
    if (i % PARKED_BURST == 0) weft_yield();
}

static void packed_root(void *unused) {
    uint64_t woken = processes < PACKED_WOKEN ? processes : PACKED_WOKEN;
    (void)unused;
    packed_before = (struct footprint){trial_rss(), trial_page_tables()};
    trial_begin();
    for (uint64_t i = 0; i < processes; i++)
        packed_spawn(i);
    trial_end();
    packed_waiting = packed_footprint();
    packed_first = packed_calls(woken);
    packed_again = packed_calls(woken);
    packed_calls(processes); /* each has served once at least, and waits again; without an answer this would not come to its end */
    trial_check(processes);
    packed_served = packed_footprint();
    for (uint64_t i = 0; packed_ends && i < processes; i++)
        weft_fd_close(packed_ends[i][1]);
}

static double packed_each(uint64_t after, uint64_t before) { return ((double)after - (double)before) / (double)processes; }

static void packed_run(const struct bench_args *args, struct bench_result *result, weft_entry entry) {
    processes = args->n;
    packed_entry = entry;
    packed_pids = calloc(processes, sizeof *packed_pids);
    if (!packed_pids) trial_fail(WEFT_ENOMEM, "the PIDs");
    memset(packed_pids, 1, processes * sizeof *packed_pids);
    trial_open(args, result, "stackful");
    weft_pid root;
    trial_must(
        weft_spawn_with(packed_root, NULL, &(weft_stackful_options){.runtime = trial_runtime(), .flags = WEFT_SPAWN_JOINABLE}, &root),
        "spawning");
    trial_must(weft_join(root, NULL, WEFT_FOREVER), "joining");
    trial_close(result);
    free(packed_pids);
    bench_extra(result, "bytes_each", packed_each(packed_waiting.resident, packed_before.resident));
    bench_extra(result, "tables_each", packed_each(packed_waiting.tables, packed_before.tables));
    bench_extra(result, "served_bytes_each", packed_each(packed_served.resident, packed_before.resident));
    bench_extra(result, "served_tables_each", packed_each(packed_served.tables, packed_before.tables));
    bench_extra(result, "wake_ns", (double)packed_first - (double)packed_again);
    bench_extra(result, "call_ns", (double)packed_again);
}
static void run_packed(const struct bench_args *args, struct bench_result *result) { packed_run(args, result, echoes); }
static void run_packed_until(const struct bench_args *args, struct bench_result *result) { packed_run(args, result, echoes_until); }
/* Two descriptors each: as many as the program may have. */
static void packed_raise_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}
static void run_packed_sockets(const struct bench_args *args, struct bench_result *result) {
    packed_raise_limit();
    packed_ends = calloc(args->n, sizeof *packed_ends);
    if (!packed_ends) trial_fail(WEFT_ENOMEM, "the sockets");
    memset(packed_ends, 1, args->n * sizeof *packed_ends);
    packed_run(args, result, echoes_bytes);
    free(packed_ends);
    packed_ends = NULL;
}
BENCH(
    stackful_packed, .name = "parked.packed",
    .about =
        "echo servers that have waited for long; bytes_each: resident memory of one, tables_each: page tables besides, served_: when each has served, wake_ns: what a call of one takes more, once",
    .kind = "stackful", .n = 1000000, .run = run_packed)
BENCH(stackful_packed_until, .name = "parked.packed.deadline", .about = "the same, waiting with a deadline", .kind = "stackful",
      .n = 1000000, .run = run_packed_until)
BENCH(stackful_packed_sockets, .name = "parked.packed.socket", .about = "the same, waiting at a socket", .kind = "stackful", .n = 4000,
      .run = run_packed_sockets)

/* ---- unborn ------------------------------------------------------------------------------------------------------------ */

static uint64_t unborn_bytes;

static void unborn_spawner(void *unused) {
    (void)unused;
    uint64_t before = trial_rss();
    trial_begin();
    for (uint64_t i = 0; i < processes; i++)
        trial_spawn_stackful(sitter, NULL);
    unborn_bytes = trial_rss() - before;
    trial_end();
}

static void run_unborn(const struct bench_args *args, struct bench_result *result) {
    struct bench_args one = *args;
    one.workers = 1; /* no other worker may run them */
    processes = args->n;
    trial_run_stackful(&one, result, unborn_spawner, NULL);
    bench_extra(result, "bytes_each", (double)unborn_bytes / (double)args->n);
}
BENCH(stackful_unborn, .name = "parked.unborn", .about = "spawned and not yet run; bytes_each: resident memory of one", .kind = "stackful",
      .n = 1000000, .run = run_unborn)
