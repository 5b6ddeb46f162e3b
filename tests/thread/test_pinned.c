/* A worker's pinned queue, one step at a time: order, turns, thieves, hand-off. */
#include "sched_stage.h"

#include "life/spawn.h"
#include "runtime/stop.h"
#include "step/step.h"
#include "thread/worker.h"

static void pin_to(weft_pid pid, unsigned pinned_to) {
    EXPECT(worker_pin(stage_worker(pinned_to)));
    state_pin(&stage_proc(pid)->state, pinned_to + 1);
}
static enum weft_status goes_on(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)part, (void)events, (void)count, (void)out;
    return WEFT_STEP_CONTINUE;
}

/* No other worker sees it; its own worker finds it. */
TEST(pinned_is_found_by_its_worker_alone) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 3);
        weft_pid pid = stage_spawn_idle(0, 1, NULL, WEFT_NOBODY);
        pin_to(pid, 2);
        stage_play(0);
        EXPECT_EQ(weft_send(pid, 0, NULL, 0), 0);
        EXPECT(!stage_step(0) && !stage_step(1) && stage_state(pid) == STATE_READY);
        EXPECT(stage_step(2) && stage_state(pid) == STATE_IDLE);
        stage_play(-1); /* as a foreign thread */
        EXPECT_EQ(weft_send(pid, 0, NULL, 0), 0);
        EXPECT(inject_size(&stage.runtime->inject) == 0 && !stage_step(1) && stage_step(2));
        EXPECT_EQ(weft_cancel(pid), 0);
        EXPECT(!stage_step(0) && stage_step(2) && !stage_step(2));
        EXPECT_EQ(trace.count, 3);
        stage_end();
    }
}

/* In the order in which they were made ready, every second turn while there are others. */
TEST(pinned_take_turns_with_others) {
    stage_begin(POLICY_RING, 1);
    weft_pid pid[4];
    for (unsigned i = 0; i < 4; i++)
        pid[i] = stage_spawn_idle(0, i, goes_on, WEFT_NOBODY);
    pin_to(pid[0], 0);
    pin_to(pid[1], 0);
    stage_play(0);
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(weft_send(pid[i], 0, NULL, 0), 0);
    for (unsigned i = 0; i < 400; i++)
        EXPECT(stage_step(0));
    unsigned turns[4] = {0}, last_pinned = 1;
    for (unsigned i = 0; i < 400; i++) {
        uint32_t ran = trace.ran[i];
        turns[ran]++;
        if (ran > 1) continue;
        EXPECT(ran != last_pinned); /* fair among themselves */
        last_pinned = ran;
    }
    for (unsigned i = 0; i < 4; i++)
        EXPECT(turns[i] >= 95 && turns[i] <= 105);
    stage_end();
}

/* A hand-off is a message: the receiver runs on its own worker, later. */
static enum weft_status hands_over(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)count;
    EXPECT_EQ(weft_out_handoff(out, part->other, 0, NULL, 0), 0);
    return WEFT_STEP_IDLE;
}
TEST(pinned_is_not_handed_over_to) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 2);
        weft_pid pinned = stage_spawn_idle(0, 1, NULL, WEFT_NOBODY), giver = stage_spawn_idle(0, 2, hands_over, pinned);
        pin_to(pinned, 1);
        stage_play(0);
        EXPECT_EQ(weft_send(giver, 0, NULL, 0), 0);
        EXPECT(stage_step(0) && !stage_step(0));
        EXPECT(trace.count == 1 && trace.ran[0] == 2 && stage_state(pinned) == STATE_READY);
        EXPECT(stage_step(1) && trace.count == 2 && trace.ran[1] == 1);
        stage_end();
    }
}

/* Entries that lie in queues from before do not run it, whatever their tickets. */
TEST(pinned_is_not_claimed_by_an_old_entry) {
    stage_begin(POLICY_RING, 2);
    stage_play(0);
    weft_pid pid = stage_spawn(1, goes_on, WEFT_NOBODY);
    struct proc *proc = stage_find(0);
    EXPECT(proc == stage_proc(pid));
    uint16_t ticket = (uint16_t)(state_ticket(atom_load_rlx(&proc->state.word)) + 1);
    EXPECT(ring_push(&stage_worker(0)->ring, entry_make(proc, ticket))); /* as one that has come round */
    pin_to(pid, 1);
    step_run(stage_worker(0), proc); /* ready again, with that ticket */
    EXPECT(!stage_step(0));
    EXPECT(stage_step(1));
    stage_end();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
