/* pingpong, pairs, fanin and mailbox, with stackful processes. */
#include "bench/trial.h"

#include <stdlib.h>

/* ---- pingpong, pairs -------------------------------------------------------------------------------------------------- */

enum { PAIRS = 1000 };

struct pair {
    weft_pid umpire;
    uint64_t trips;
};

static void pong(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        trial_send(weft_msg_from(message), weft_msg_tag(message));
        weft_msg_free(message);
    }
}

static void ping(void *arg) {
    struct pair *pair = arg;
    weft_pid other = trial_spawn_stackful(pong, NULL);
    uint64_t tag, sum = 0;
    for (uint64_t left = pair->trips; left > 0; left--) {
        trial_send(other, left);
        if (!trial_recv(&tag)) return;
        sum += tag;
    }
    trial_send(pair->umpire, sum);
    weft_cancel(other);
}

static struct { uint64_t trips, pairs; } plan;

static void umpire(void *unused) {
    (void)unused;
    struct pair *each = calloc(plan.pairs, sizeof *each);
    uint64_t tag, sum = 0;
    if (!each) trial_must(WEFT_ENOMEM, "a list of pairs");
    trial_begin();
    for (uint64_t i = 0; i < plan.pairs; i++) {
        each[i] = (struct pair){weft_self(), plan.trips / plan.pairs + (i < plan.trips % plan.pairs)};
        trial_spawn_stackful(ping, &each[i]);
    }
    for (uint64_t i = 0; i < plan.pairs && trial_recv(&tag); i++)
        sum += tag;
    trial_check(sum);
    trial_end();
    free(each);
}

static void run_pairs(const struct bench_args *args, struct bench_result *result, uint64_t pairs) {
    plan.trips = args->n;
    plan.pairs = args->n < pairs ? args->n : pairs;
    trial_run_stackful(args, result, umpire, NULL);
}
static void run_one_pair(const struct bench_args *args, struct bench_result *result) { run_pairs(args, result, 1); }
BENCH(stackful_pingpong, .name = "pingpong", .about = "round trip of two messages", .kind = "stackful", .n = 1000000, .run = run_one_pair)
static void run_many_pairs(const struct bench_args *args, struct bench_result *result) { run_pairs(args, result, PAIRS); }
BENCH(stackful_pairs, .name = "pairs", .about = "round trip, a thousand pairs at once", .kind = "stackful", .n = 1000000,
      .run = run_many_pairs)

/* ---- fanin: a hundred processes send to one, n messages in all --------------------------------------------------------- */

enum { SENDERS = 100, FANIN_BURST = 16 };
static uint64_t messages;
static weft_pid fanin_to;

static void fanin_sender(void *number) {
    uint64_t left = messages / SENDERS + ((uintptr_t)number < messages % SENDERS);
    for (unsigned burst = 1; left > 0; burst++) {
        trial_send(fanin_to, left--);
        if (burst % FANIN_BURST == 0) weft_yield();
    }
}

static void fanin_receiver(void *unused) {
    uint64_t tag, sum = 0;
    (void)unused;
    fanin_to = weft_self();
    trial_begin();
    for (uintptr_t i = 0; i < SENDERS; i++)
        trial_spawn_stackful(fanin_sender, (void *)i);
    for (uint64_t i = 0; i < messages && trial_recv(&tag); i++)
        sum += tag;
    trial_check(sum);
    trial_end();
}

static void run_fanin(const struct bench_args *args, struct bench_result *result) {
    messages = args->n;
    trial_run_stackful(args, result, fanin_receiver, NULL);
}
BENCH(stackful_fanin, .name = "fanin", .about = "one message, from a hundred processes to one", .kind = "stackful", .n = 1000000,
      .run = run_fanin)

/* ---- mailbox: one process sends so many messages that nobody has read, then another reads them all; n in all --------------- */

static uint64_t length;
static weft_pid writer;

/* Reads `length` at a time; then it says so, and adds up. */
static void mailbox_reader(void *unused) {
    uint64_t tag, sum = 0;
    (void)unused;
    for (uint64_t i = 1; trial_recv(&tag); i++) {
        sum += tag;
        if (i % length == 0) trial_send(writer, sum);
    }
}

static void mailbox_writer(void *unused) {
    (void)unused;
    writer = weft_self();
    weft_pid reader = trial_spawn_stackful(mailbox_reader, NULL);
    uint64_t sum = 0;
    trial_begin();
    for (uint64_t i = 1; i <= messages; i++) {
        trial_send(reader, i);
        if (i % length == 0 && !trial_recv(&sum)) return;
    }
    trial_check(sum);
    trial_end();
}

static void run_mailbox(const struct bench_args *args, struct bench_result *result) {
    length = args->size;
    messages = args->n < length ? length : args->n / length * length;
    trial_run_stackful(args, result, mailbox_writer, NULL);
    result->n = messages;
}
BENCH(stackful_mailbox, .name = "mailbox", .about = "one message, sent and read; as many wait at a time as --size says", .kind = "stackful",
      .n = 1000000, .size = 1000, .run = run_mailbox)
