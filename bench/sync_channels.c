/* Channels, select and mutexes between stackful processes. */
#include "bench/trial.h"

#include <weft/channel.h>
#include <weft/sync.h>

static uint64_t trips;
static weft_chan *there, *back;
static weft_mutex mutex;

static void chan_open(size_t capacity) {
    trial_must(weft_chan_new(sizeof(uint64_t), capacity, &there), "a channel");
    trial_must(weft_chan_new(sizeof(uint64_t), capacity, &back), "a channel");
}
static void chan_end(void) {
    weft_chan_free(there);
    weft_chan_free(back);
}

/* ---- alone ----------------------------------------------------------------------------------------------------------- */

static void alone(void *unused) {
    uint64_t element = 1;
    (void)unused;
    trial_begin();
    for (uint64_t i = 0; i < trips; i++) {
        weft_chan_send(there, &element, WEFT_FOREVER);
        weft_chan_recv(there, &element, WEFT_FOREVER);
    }
    trial_end();
}
static void run_alone(const struct bench_args *args, struct bench_result *result) {
    trips = args->n;
    chan_open(16);
    trial_run_stackful(args, result, alone, NULL);
    chan_end();
}
BENCH(sync_chan_alone, .name = "channel.alone", .about = "send and receive by one process, no process waits", .kind = "stackful",
      .n = 10000000, .run = run_alone)

static void mutex_alone(void *unused) {
    (void)unused;
    trial_begin();
    for (uint64_t i = 0; i < trips; i++) {
        weft_mutex_lock(&mutex, WEFT_FOREVER);
        weft_mutex_unlock(&mutex);
    }
    trial_end();
}
static void run_mutex_alone(const struct bench_args *args, struct bench_result *result) {
    trips = args->n;
    trial_run_stackful(args, result, mutex_alone, NULL);
}
BENCH(sync_mutex_alone, .name = "mutex.alone", .about = "lock and unlock, no contention", .kind = "stackful", .n = 20000000,
      .run = run_mutex_alone)

/* ---- fan-in: a hundred processes send to one, which takes turns with them: there is room for 1,024 ------------------- */

enum { SENDERS = 100, FANIN_ROOM = 1024 };

static void fanin_sender(void *number) {
    for (uint64_t left = trips / SENDERS + ((uintptr_t)number < trips % SENDERS); left > 0; left--)
        trial_must(weft_chan_send(there, &left, WEFT_FOREVER), "send");
}
static void fanin_receiver(void *unused) {
    uint64_t element, sum = 0;
    (void)unused;
    trial_begin();
    for (uintptr_t i = 0; i < SENDERS; i++)
        trial_spawn_stackful(fanin_sender, (void *)i);
    for (uint64_t i = 0; i < trips; i++) {
        trial_must(weft_chan_recv(there, &element, WEFT_FOREVER), "receive");
        sum += element;
    }
    trial_check(sum);
    trial_end();
}
static void run_fanin(const struct bench_args *args, struct bench_result *result) {
    trips = args->n;
    chan_open(FANIN_ROOM);
    trial_run_stackful(args, result, fanin_receiver, NULL);
    chan_end();
}
BENCH(sync_chan_fanin, .name = "channel.fanin", .about = "one element, from a hundred processes to one, room for 1,024", .kind = "stackful",
      .n = 1000000, .run = run_fanin)

/* ---- there and back -------------------------------------------------------------------------------------------------- */

static void echoes(void *unused) {
    uint64_t element;
    (void)unused;
    while (weft_chan_recv(there, &element, WEFT_FOREVER) == 0)
        weft_chan_send(back, &element, WEFT_FOREVER);
}
static weft_entry answerer;
static void asks(void *unused) {
    (void)unused;
    weft_pid other = trial_spawn_stackful(answerer, NULL);
    trial_begin();
    for (uint64_t i = 0; i < trips; i++) {
        uint64_t element = i;
        weft_chan_send(there, &element, WEFT_FOREVER);
        weft_chan_recv(back, &element, WEFT_FOREVER);
    }
    weft_chan_close(there);
    weft_join(other, NULL, WEFT_FOREVER);
    trial_end();
}
static void run_trips(const struct bench_args *args, struct bench_result *result, weft_entry answers) {
    trips = args->n;
    answerer = answers;
    chan_open(0);
    trial_run_stackful(args, result, asks, NULL);
    chan_end();
}
static void run_pingpong(const struct bench_args *args, struct bench_result *result) { run_trips(args, result, echoes); }
BENCH(sync_chan_pingpong, .name = "channel.pingpong", .about = "round trip over two unbuffered channels", .kind = "stackful", .n = 1000000,
      .run = run_pingpong)

/* The same, but the one that answers selects among both. */
static void selects(void *unused) {
    uint64_t element;
    (void)unused;
    for (;;) {
        weft_case cases[] = {weft_case_recv(there, &element), weft_case_recv(NULL, NULL)};
        if (weft_select(cases, 2, WEFT_FOREVER) != 0 || cases[0].error) return;
        weft_case answer[] = {weft_case_send(back, &element)};
        if (weft_select(answer, 1, WEFT_FOREVER) != 0) return;
    }
}
static void run_select(const struct bench_args *args, struct bench_result *result) { run_trips(args, result, selects); }
BENCH(sync_chan_select, .name = "channel.select", .about = "round trip, one side selects", .kind = "stackful", .n = 1000000,
      .run = run_select)

/* ---- a stream -------------------------------------------------------------------------------------------------------- */

static void drains(void *unused) {
    uint64_t element, sum = 0;
    (void)unused;
    while (weft_chan_recv(there, &element, WEFT_FOREVER) == 0)
        sum += element;
    bench_keep(sum);
}
static void pours(void *unused) {
    (void)unused;
    weft_pid other = trial_spawn_stackful(drains, NULL);
    trial_begin();
    for (uint64_t i = 0; i < trips; i++)
        weft_chan_send(there, &i, WEFT_FOREVER);
    weft_chan_close(there);
    weft_join(other, NULL, WEFT_FOREVER);
    trial_end();
}
static void run_stream(const struct bench_args *args, struct bench_result *result) {
    trips = args->n;
    chan_open(64);
    trial_run_stackful(args, result, pours, NULL);
    chan_end();
}
BENCH(sync_chan_stream, .name = "channel.stream", .about = "one element from one process to another, room for 64", .kind = "stackful",
      .n = 4000000, .run = run_stream)

/* ---- a mutex that many want ------------------------------------------------------------------------------------------ */

enum { WANT_IT = 16 };
static weft_waitgroup group;
static uint64_t guarded;

static void wants_it(void *unused) {
    (void)unused;
    for (uint64_t i = 0; i < trips / WANT_IT; i++) {
        weft_mutex_lock(&mutex, WEFT_FOREVER);
        guarded++;
        weft_mutex_unlock(&mutex);
    }
    weft_waitgroup_done(&group);
}
static void starts_them(void *unused) {
    (void)unused;
    weft_waitgroup_add(&group, WANT_IT);
    trial_begin();
    for (unsigned i = 0; i < WANT_IT; i++)
        trial_spawn_stackful(wants_it, NULL);
    weft_waitgroup_wait(&group, WEFT_FOREVER);
    trial_end();
}
static void run_crowd(const struct bench_args *args, struct bench_result *result) {
    trips = args->n;
    guarded = 0;
    trial_run_stackful(args, result, starts_them, NULL);
}
BENCH(sync_mutex_crowd, .name = "mutex.crowd", .about = "lock, count, unlock, by 16 processes", .kind = "stackful", .n = 2000000,
      .run = run_crowd)
