/* Whether stealing helps: what sysmon makes of what it counts, and that nothing waits for long while short queues are left alone. */
#include "sched_stage.h"

#include "thread/sysmon_help.h"

#include <weft/weft.h>

/* ---- without threads: windows and verdicts ---------------------------------------------------------------------------------- */

enum { WINDOW = 200000, MS = 1000000, HOLDS = 10 * MS };

static uint64_t now;

static void add(atom_u64 *counter, uint64_t n) { atom_add_rlx(counter, n); }

/* A window in which the workers made so many steps, so many of them of stolen processes. True: queues are left alone after it. */
static bool window(uint64_t steps, uint64_t stolen) {
    struct counters *owner = &stage_worker(0)->local.counters, *thief = &stage_worker(1)->local.counters;
    add(&owner->steps, steps - stolen);
    add(&thief->steps, stolen);
    add(&thief->stolen, stolen);
    add(&thief->steals, stolen ? WINDOW / 10000 : 0);
    now += WINDOW;
    return help_round(stage.runtime, now);
}
static void begin(enum policy_name policy) {
    stage_begin(policy, 2);
    now = 1000 * MS;
    EXPECT(!help_round(stage.runtime, now));
}
/* Thieves are tried: two windows without them, and the steps of the second are what counts. */
static bool tried(uint64_t with, uint64_t without) {
    EXPECT(window(with, with / 2));
    EXPECT(window(with / 10, 0));
    return window(without, 0);
}
/* For how long the verdict holds, in windows; `steps` in each of them. */
static unsigned holds(bool alone, uint64_t steps, uint64_t stolen) {
    unsigned n = 0;
    while (window(steps, stolen) == alone)
        n++;
    return n;
}

TEST(help_that_is_none_is_refused_for_a_while) {
    begin(POLICY_RING);
    EXPECT(tried(1000, 2100));
    EXPECT_EQ(holds(true, 2100, 0), HOLDS / WINDOW - 1);
    EXPECT(tried(1000, 2100)); /* the same again: for longer */
    EXPECT_EQ(holds(true, 2100, 0), 2 * HOLDS / WINDOW - 1);
    stage_end();
}
TEST(help_that_is_some_is_not_doubted_for_a_while) {
    begin(POLICY_RING);
    EXPECT(!tried(1000, 1900));
    EXPECT_EQ(holds(false, 1000, 500), HOLDS / WINDOW - 1);
    EXPECT(window(100, 0)); /* that was the first of a trial */
    EXPECT(!window(1900, 0));
    EXPECT_EQ(holds(false, 1000, 500), 2 * HOLDS / WINDOW - 1);
    stage_end();
}
TEST(help_is_wanted_again_when_it_gets_slower) {
    begin(POLICY_RING);
    EXPECT(tried(1000, 5000));
    EXPECT(window(5000, 0));
    EXPECT(!window(900, 0)); /* less than with thieves */
    stage_end();
}
TEST(help_is_not_doubted_without_reason) {
    begin(POLICY_RING);
    EXPECT(!window(1000, 200)); /* what was stolen stays for five steps */
    EXPECT(!window(1000, 0));
    add(&stage_worker(1)->local.counters.steals, 1); /* a theft now and then */
    add(&stage_worker(1)->local.counters.stolen, 64);
    EXPECT(!window(64, 0));
    now += 1000 * MS; /* what came in a long window says nothing about now */
    EXPECT(!window(1000, 500));
    stage_end();
    begin(POLICY_DEQUE);
    EXPECT(!window(1000, 500));
    stage_end();
}

/* ---- with threads: a hundred senders to one channel, then two processes that need a worker each --------------------------------- */

enum { SENDERS = 100, ROUNDS = 5 };

static weft_chan *channel;
static atom_u32 begun;
static atom_u64 done, left;

static void sends(void *unused) {
    uint64_t one = 1;
    (void)unused;
    while (weft_chan_send(channel, &one, WEFT_FOREVER) == 0) {}
    atom_sub_rel(&left, 1);
}
/* Ends when another has begun, which needs a second worker: this one makes no call. */
static void waits_for_another(void *unused) {
    (void)unused;
    atom_add_rlx(&begun, 1);
    while (atom_load_rlx(&begun) % 2 != 0) {}
    atom_add_rel(&done, 1);
}
static void receives(void *unused) {
    (void)unused;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        uint64_t element;
        EXPECT_EQ(weft_chan_new(sizeof element, 1024, &channel), 0);
        atom_store_rlx(&left, SENDERS);
        for (unsigned i = 0; i < SENDERS; i++)
            EXPECT(weft_spawn(sends, NULL) != WEFT_NOBODY);
        for (uint64_t until = weft_now() + 30 * RT_MS; weft_now() < until;)
            EXPECT_EQ(weft_chan_recv(channel, &element, WEFT_FOREVER), 0);
        weft_spawn(waits_for_another, NULL);
        weft_spawn(waits_for_another, NULL);
        while (atom_load_acq(&done) < 2 * round)
            EXPECT_EQ(weft_chan_recv(channel, &element, WEFT_FOREVER), 0);
        weft_chan_close(channel);
        while (atom_load_acq(&left) > 0)
            weft_sleep(RT_MS / 10);
        weft_chan_free(channel);
    }
    atom_add_rel(&done, 1);
}
TEST(help_comes_to_those_that_need_it) {
    rt_start("ring", 2);
    EXPECT_EQ(weft_spawn_with(receives, NULL, &(weft_stackful_options){.runtime = rt.runtime}, &(weft_pid){0}), 0);
    rt_wait(&done, 2 * ROUNDS + 1);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
