/* Brisk workers: their short queues are left alone, and nothing waits there for long. */
#include "sched_stage.h"

#include "sched/brisk.h"

#include <weft/weft.h>

/* ---- without threads: which queue is left alone --------------------------------------------------------------------------- */

static void brisk_with(unsigned queued) {
    stage_begin(POLICY_RING, 2);
    stage_play(0);
    for (uint32_t i = 0; i < queued; i++)
        stage_spawn(i, NULL, WEFT_NOBODY);
    atom_store_rlx(&stage_worker(0)->brisk, true);
}

TEST(brisk_short_queue_is_left_alone) {
    brisk_with(BRISK_SHORT);
    EXPECT(!stage_step(1));
    atom_store_rlx(&stage_worker(0)->brisk, false);
    EXPECT(stage_step(1));
    stage_end();
}
TEST(brisk_long_queue_is_not) {
    brisk_with(BRISK_SHORT + 1);
    EXPECT(stage_step(1));
    stage_end();
}

/* It wakes a worker for the first that makes its queue long, and for none before. */
TEST(brisk_wakes_for_a_long_queue) {
    brisk_with(0);
    struct idle *idle = &stage.runtime->idle;
    idle_enter(idle, 1, false);
    stage_play(0);
    for (uint32_t i = 0; i < BRISK_SHORT; i++)
        stage_spawn(i, NULL, WEFT_NOBODY);
    EXPECT_EQ(idle_sleepers(idle), 1);
    stage_spawn(BRISK_SHORT, NULL, WEFT_NOBODY);
    EXPECT_EQ(idle_sleepers(idle), 0);
    EXPECT_EQ(idle_found(idle), IDLE_NOBODY); /* as the worker that was woken */
    stage_end();
}

TEST(brisk_no_more_wakes_for_what_is_queued) {
    for (unsigned queued = 0; queued < 2; queued++) {
        brisk_with(queued);
        struct idle *idle = &stage.runtime->idle;
        idle_enter(idle, 1, false);
        ready_not_brisk(stage_worker(0));
        EXPECT_EQ(idle_sleepers(idle), 1 - queued);
        if (queued) EXPECT_EQ(idle_found(idle), IDLE_NOBODY);
        else EXPECT(idle_leave(idle, 1, false));
        stage_end();
    }
}

/* ---- with threads: one that was brisk is helped --------------------------------------------------------------------------- */

enum { ROUNDS = 20 };

static atom_u32 begun;
static atom_u64 done;

static void ends(void *unused) { (void)unused; }

/* Ends when another has begun, which needs a second worker: this one makes no call. */
static void waits_for_another(void *unused) {
    (void)unused;
    atom_add_rlx(&begun, 1);
    while (atom_load_rlx(&begun) % 2 != 0) {}
    atom_add_rel(&done, 1);
}

/* Spawns as fast as it can for a while, then two that need a worker each. */
static void spawns(void *unused) {
    (void)unused;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        for (uint64_t until = weft_now() + 2 * RT_MS; weft_now() < until; weft_yield())
            for (unsigned i = 0; i < 32; i++)
                weft_spawn(ends, NULL);
        weft_spawn(waits_for_another, NULL);
        weft_spawn(waits_for_another, NULL);
        while (atom_load_acq(&done) < 2 * round)
            weft_sleep(RT_MS / 10);
    }
    atom_add_rel(&done, 1);
}

TEST(brisk_then_slow_is_helped) {
    rt_start("ring", 2);
    EXPECT_EQ(weft_spawn_with(spawns, NULL, &(weft_stackful_options){.runtime = rt.runtime}, &(weft_pid){0}), 0);
    rt_wait(&done, 2 * ROUNDS + 1);
    rt_stop();
}

/* With the other policies no worker is: their queues may be of any length. */
static void is_never_brisk(void *unused) {
    (void)unused;
    for (uint64_t until = weft_now() + 30 * RT_MS; weft_now() < until; weft_yield())
        for (unsigned i = 0; i < 32; i++) {
            weft_spawn(ends, NULL);
            EXPECT(!atom_load_rlx(&my_worker->brisk));
        }
    atom_store_rel(&done, 1);
}
TEST(brisk_is_for_one_policy) {
    static const char *const others[] = {"deque", "line"};
    for (unsigned i = 0; i < 2; i++) {
        atom_store_rlx(&done, 0);
        rt_start(others[i], 2);
        EXPECT_EQ(weft_spawn_with(is_never_brisk, NULL, &(weft_stackful_options){.runtime = rt.runtime}, &(weft_pid){0}), 0);
        rt_wait(&done, 1);
        rt_stop();
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
