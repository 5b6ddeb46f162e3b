/* The number of workers, up and down, while there is work: nothing is lost and no process starves. */
#include "runtime_helpers.h"

static atom_u64 heard, spins;

static int listener_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type == WEFT_EVENT_MESSAGE) atom_add_rel(&heard, 1);
    }
    return 0;
}
static const weft_behavior listener = {.name = "listener", .step = listener_step};

static int spinner_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    atom_add_rel(&spins, 1);
    weft_out_status(out, count > 0 && events[0].type == WEFT_EVENT_CANCEL ? WEFT_STEP_DONE : WEFT_STEP_CONTINUE);
    return 0;
}
static const weft_behavior spinner = {.name = "spinner", .step = spinner_step};

static void numbers(void) {
    EXPECT_EQ(weft_workers(rt.runtime), rt.workers);
    EXPECT_EQ(weft_set_workers(rt.runtime, 0), WEFT_EINVAL);
    EXPECT_EQ(weft_set_workers(rt.runtime, 1025), WEFT_EINVAL);
    EXPECT_EQ(weft_workers(rt.runtime), rt.workers);
    static const unsigned counts[] = {1, 7, 3, 70, 2, 2, 65, 1};
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        EXPECT_EQ(weft_set_workers(rt.runtime, counts[i]), 0);
        EXPECT_EQ(weft_workers(rt.runtime), counts[i]);
        atom_store_rlx(&heard, 0);
        weft_pid pid = rt_spawn(&listener);
        EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
        rt_wait(&heard, 1);
    }
}
TEST(worker_numbers) { rt_each(numbers); }

TEST(worker_as_many_as_there_may_be) {
    rt_start("ring", 1);
    EXPECT_EQ(weft_set_workers(rt.runtime, 1024), 0);
    for (unsigned i = 0; i < 100; i++) {
        weft_pid pid = rt_spawn(&listener);
        EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    }
    rt_wait(&heard, 100);
    rt_stop();
}

/* Threads that always have something to do leave all the same. */
static void leave_work(void) {
    atom_store_rlx(&spins, 0);
    EXPECT_EQ(weft_set_workers(rt.runtime, 4), 0);
    for (unsigned i = 0; i < 40; i++)
        rt_spawn(&spinner);
    rt_wait(&spins, 1000);
    EXPECT_EQ(weft_set_workers(rt.runtime, 1), 0);
    uint64_t before = atom_load_rlx(&spins);
    rt_wait(&spins, before + 1000);
    EXPECT_EQ(weft_set_workers(rt.runtime, 3), 0);
    before = atom_load_rlx(&spins);
    rt_wait(&spins, before + 1000);
}
TEST(worker_leaves_although_there_is_work) { rt_each(leave_work); }

/* What lies in the queue of a worker that has gone is run, even though the workers that stay are never idle. */
struct runner {
    uint32_t number;
};
enum { RUNNERS = 64 };
static atom_u64 runs[RUNNERS];
static int runner_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method;
    memcpy(self, input, size);
    return 0;
}
static int runner_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    atom_add_rel(&runs[((struct runner *)self)->number], 1);
    weft_out_status(out, count > 0 && events[0].type == WEFT_EVENT_CANCEL ? WEFT_STEP_DONE : WEFT_STEP_CONTINUE);
    return 0;
}
static const weft_behavior runner = {.name = "runner", .state_size = sizeof(struct runner), .init = runner_init, .step = runner_step};

static void no_orphans(void) {
    for (unsigned i = 0; i < RUNNERS; i++)
        atom_store_rlx(&runs[i], 0);
    for (uint32_t i = 0; i < RUNNERS; i++)
        rt_spawn_with(&runner, &i, sizeof i);
    for (unsigned round = 0; round < 6; round++) {
        EXPECT_EQ(weft_set_workers(rt.runtime, round % 2 ? 5 : 1), 0);
        uint64_t before[RUNNERS];
        for (unsigned i = 0; i < RUNNERS; i++)
            before[i] = atom_load_rlx(&runs[i]);
        for (unsigned i = 0; i < RUNNERS; i++)
            rt_wait(&runs[i], before[i] + 3);
    }
}
TEST(worker_leaves_no_orphans) { rt_each(no_orphans); }

/* ---- under a load of messages --------------------------------------------------------------------------------------------- */

/* Pairs that play ping-pong, each a fixed number of times. */
enum { PAIRS = 32 };
static atom_u64 finished;
struct player {
    weft_pid other;
    uint64_t left;
};
static int player_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct player *player = self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type != WEFT_EVENT_MESSAGE) continue;
        if (events[i].size == sizeof *player) memcpy(player, events[i].data, sizeof *player);
        else player->left--;
        if (player->left == 0) atom_add_rel(&finished, 1);
        else if (events[i].size == 0 || events[i].tag == 1) EXPECT_EQ(weft_send(player->other, 0, NULL, 0), 0);
    }
    return 0;
}
static const weft_behavior player_behavior = {.name = "player", .state_size = sizeof(struct player), .step = player_step};

static void pairs_play_on(void) {
    uint64_t rounds = 3000 / RT_SLOW * test_scale();
    unsigned changes = 0;
    atom_store_rlx(&finished, 0);
    for (unsigned i = 0; i < PAIRS; i++) {
        weft_pid a = rt_spawn(&player_behavior), b = rt_spawn(&player_behavior);
        /* a serves; each counts the balls it gets; the last one is b's. */
        struct player to_b = {a, rounds}, to_a = {b, rounds};
        EXPECT_EQ(weft_send(b, 0, &to_b, sizeof to_b), 0);
        EXPECT_EQ(weft_send(a, 1, &to_a, sizeof to_a), 0);
    }
    struct rng rng;
    rng_seed(&rng, test_seed(1), 1);
    while (atom_load_acq(&finished) < PAIRS) {
        EXPECT_EQ(weft_set_workers(rt.runtime, 1 + rng_below(&rng, 8)), 0);
        changes++;
        sched_yield();
    }
    EXPECT(changes > 0);
}
TEST(worker_changes_under_load) { rt_each(pairs_play_on); }

int main(int argc, char **argv) { return test_main(argc, argv); }
