/* Hand-off: the receiver runs now, on this worker, before any other; the sender goes behind the others. Without threads. */
#include "sched_stage.h"

#include "life/spawn.h"
#include "mail/send.h"
#include "runtime/stop.h"
#include "step/step.h"
#include "thread/worker.h"

static void expect_trace(unsigned line, const uint32_t *ran, unsigned count) {
    for (unsigned i = 0; i < count && i < trace.count; i++)
        if (trace.ran[i] != ran[i]) test_fail(__FILE__, (int)line, "place %u has %u, not %u", i, trace.ran[i], ran[i]);
    if (trace.count != count) test_fail(__FILE__, (int)line, "%u steps, not %u", trace.count, count);
}
#define EXPECT_TRACE(...)                                                                                                                  \
    expect_trace(__LINE__, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static uint64_t handoffs(unsigned index) { return atom_load_rlx(&stage_worker(index)->local.counters.handoffs); }

/* Hands over in its first step after it was given a message, and goes on for one more step. */
static enum weft_status hands_over(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    if (count == 0) return WEFT_STEP_IDLE;
    EXPECT_EQ(weft_out_handoff(out, part->other, events[0].tag + 1, "ball", 5), 0);
    return WEFT_STEP_CONTINUE;
}
static uint64_t last_tag;
static weft_pid last_from;
static enum weft_status catches(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)part, (void)out;
    for (size_t i = 0; i < count; i++) {
        EXPECT(events[i].size == 5 && strcmp(events[i].data, "ball") == 0);
        last_tag = events[i].tag;
        last_from = events[i].from;
    }
    return WEFT_STEP_IDLE;
}

TEST(handoff_to_one_that_waits) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 1);
        weft_pid target = stage_spawn_idle(0, 2, catches, WEFT_NOBODY), sender = stage_spawn_idle(0, 1, hands_over, target);
        EXPECT_EQ(weft_send(sender, 40, NULL, 0), 0);
        trace.count = 0;
        EXPECT(stage_step(0));
        EXPECT_TRACE(1, 2); /* both in one go */
        EXPECT(last_tag == 41 && last_from == sender);
        EXPECT_EQ(handoffs(0), 1);
        EXPECT_EQ(stage_state(sender), STATE_READY); /* queued */
        EXPECT_EQ(stage_state(target), STATE_IDLE);
        stage_run(0);
        EXPECT_TRACE(1, 2, 1);
        stage_end();
    }
}

/* While the step goes on the receiver is in no queue: what another worker's process sends reaches it there, behind what was handed over. */
static enum weft_status hands_over_and_goes_on(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    if (count == 0) return WEFT_STEP_IDLE;
    EXPECT_EQ(weft_out_handoff(out, part->other, events[0].tag + 1, "ball", 5), 0);
    trace.depth--; /* the other worker's steps are not within this one */
    stage_play(1);
    EXPECT_EQ(weft_send(part->other, 77, "ball", 5), 0);
    stage_run(1);
    EXPECT_EQ(last_tag, 77);
    stage_play(0);
    trace.depth++;
    return WEFT_STEP_IDLE;
}
TEST(handoff_does_not_make_its_receiver_deaf) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 2);
        weft_pid target = stage_spawn_idle(0, 2, catches, WEFT_NOBODY), sender = stage_spawn_idle(0, 1, hands_over_and_goes_on, target);
        EXPECT_EQ(weft_send(sender, 40, NULL, 0), 0);
        trace.count = 0;
        last_tag = 0;
        EXPECT(stage_step(0));
        EXPECT_TRACE(1, 2);
        EXPECT_EQ(stage_state(target), STATE_IDLE);
        stage_run(0);
        EXPECT_EQ(trace.count, 2); /* nothing is left for it */
        stage_end();
    }
}

/* Others were ready before: the receiver comes first nevertheless, the sender after all of them. */
TEST(handoff_comes_before_others_and_the_sender_after) {
    stage_for_each_policy(policy) {
        if (policy == POLICY_DEQUE) continue; /* its own queue is last in, first out: below */
        stage_begin(policy, 1);
        weft_pid target = stage_spawn_idle(0, 2, catches, WEFT_NOBODY), sender = stage_spawn_idle(0, 1, hands_over, target);
        weft_pid a = stage_spawn_idle(0, 3, NULL, WEFT_NOBODY), b = stage_spawn_idle(0, 4, NULL, WEFT_NOBODY);
        stage_play(0);
        EXPECT_EQ(weft_send(sender, 1, "ball", 5), 0);
        struct proc *first = stage_find(0);
        EXPECT(first == stage_proc(sender));
        EXPECT_EQ(weft_send(a, 1, "ball", 5), 0);
        EXPECT_EQ(weft_send(b, 1, "ball", 5), 0);
        trace.count = 0;
        step_run(stage_worker(0), first);
        stage_run(0);
        if (policy == POLICY_RING) EXPECT_TRACE(1, 2, 4, 3, 1); /* 4 is in the slot */
        else EXPECT_TRACE(1, 2, 3, 4, 1);
        stage_end();
    }
}

TEST(handoff_on_the_deque_the_sender_goes_to_the_global_queue) {
    stage_begin(POLICY_DEQUE, 1);
    weft_pid target = stage_spawn_idle(0, 2, catches, WEFT_NOBODY), sender = stage_spawn_idle(0, 1, hands_over, target);
    stage_play(0);
    EXPECT_EQ(weft_send(sender, 1, "ball", 5), 0);
    struct proc *first = stage_find(0);
    for (uint32_t i = 3; i < 6; i++)
        stage_spawn(i, NULL, WEFT_NOBODY);
    trace.count = 0;
    step_run(stage_worker(0), first);
    stage_run(0);
    EXPECT_TRACE(1, 2, 5, 4, 3, 1);
    stage_end();
}

/* The receiver lies in another worker's queue: it is taken out of there and runs here. */
TEST(handoff_to_one_that_is_queued_elsewhere) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 2);
        weft_pid sender = stage_spawn_idle(0, 1, hands_over, WEFT_NOBODY);
        stage_play(1);
        stage_spawn(5, NULL, WEFT_NOBODY);
        weft_pid target = stage_spawn(2, catches, WEFT_NOBODY);
        stage_spawn(6, NULL, WEFT_NOBODY);
        stage_part(sender)->other = target;
        stage_play(0);
        EXPECT_EQ(weft_send(sender, 7, "ball", 5), 0);
        struct proc *first = policy == POLICY_DEQUE ? find_global_one(stage_worker(0)) : policy_pop(stage_worker(0));
        EXPECT(first == stage_proc(sender));
        trace.count = 0;
        step_run(stage_worker(0), first);
        EXPECT_TRACE(1, 2);
        EXPECT_EQ(last_tag, 8);
        EXPECT_EQ(stage_state(target), STATE_IDLE);
        /* What is left of it over there runs no process. */
        trace.count = 0;
        struct worker *other = stage_worker(1);
        my_worker = other;
        for (struct proc *proc; (proc = policy_pop(other));)
            step_run(other, proc);
        EXPECT_EQ(trace.count, 2);
        EXPECT(trace.ran[0] != 2 && trace.ran[1] != 2);
        stage_end();
    }
}

/* The receiver is running: it is told, the sender is queued, and what comes next is the next in the queue. */
TEST(handoff_to_one_that_runs) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 2);
        weft_pid target = stage_spawn_idle(0, 2, catches, WEFT_NOBODY), sender = stage_spawn_idle(0, 1, hands_over, target);
        EXPECT_EQ(policy_wake_to_run(stage.runtime, stage_proc(target)).verdict, STATE_RUN); /* by worker 1, say */
        stage_play(0);
        EXPECT_EQ(weft_send(sender, 3, "ball", 5), 0);
        trace.count = 0;
        EXPECT(stage_step(0));
        EXPECT_TRACE(1);
        EXPECT_EQ(handoffs(0), 0);
        EXPECT_EQ(stage_state(sender), STATE_READY);
        EXPECT(atom_load_rlx(&stage_proc(target)->state.word) & STATE_NOTIFIED);
        my_worker = stage_worker(1);
        step_run(stage_worker(1), stage_proc(target)); /* its step finds the message, or the next one does */
        stage_run(1);
        EXPECT_EQ(last_tag, 4);
        stage_run(0);
        stage_end();
    }
}

/* ---- the budget ------------------------------------------------------------------------------------------------------------ */

static enum weft_status plays_on(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)events;
    if (count > 0) EXPECT_EQ(weft_out_handoff(out, part->other, 0, "ball", 5), 0);
    return WEFT_STEP_IDLE;
}
static enum weft_status goes_on(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)part, (void)events, (void)count, (void)out;
    return WEFT_STEP_CONTINUE;
}

/* Two hand over to each other for ever; a third, merely ready, has its turns. */
TEST(handoff_chain_is_cut) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 1);
        weft_pid a = stage_spawn_idle(0, 1, plays_on, WEFT_NOBODY), b = stage_spawn_idle(0, 2, plays_on, a);
        stage_part(a)->other = b;
        stage_play(0);
        stage_spawn(3, goes_on, WEFT_NOBODY);
        EXPECT_EQ(weft_send(a, 1, "ball", 5), 0);
        unsigned longest = 0, thirds = 0;
        for (unsigned i = 0; i < 500; i++) {
            trace.count = 0;
            EXPECT(stage_step(0)); /* a chain is one step here */
            if (trace.count > longest) longest = trace.count;
            thirds += trace.ran[0] == 3;
        }
        EXPECT_EQ(longest, 1 + HANDOFFS_MAX);
        EXPECT(thirds >= 500 / (SLOT_RUNS_MAX + 2) && thirds < 500);
        stage_end();
    }
}

/* Every step of a chain counts: what is in the global queue, or due, does not wait sixteen times as long for processes that hand over. */
TEST(handoff_chain_is_charged) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 1);
        weft_pid a = stage_spawn_idle(0, 1, plays_on, WEFT_NOBODY), b = stage_spawn_idle(0, 2, plays_on, a);
        stage_part(a)->other = b;
        stage_play(0);
        EXPECT_EQ(weft_send(a, 1, "ball", 5), 0);
        stage_play(-1);
        stage_spawn(3, goes_on, WEFT_NOBODY); /* in the global queue */
        tick_begin(stage_worker(0), GLOBAL_TICK);
        trace.count = 0;
        while (trace.count == 0 || trace.ran[trace.count - 1] != 3)
            EXPECT(stage_step(0));
        EXPECT(trace.count <= GLOBAL_TICK + 2 * (HANDOFFS_MAX + 1)); /* the last process before the look may begin a chain, too */
        stage_end();
    }
}

/* The budget is for a chain: one that has ended by itself leaves nothing behind. */
static enum weft_status passes_on(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    if (count == 0 || events[0].tag == 0) return WEFT_STEP_IDLE;
    EXPECT_EQ(weft_out_handoff(out, part->other, events[0].tag - 1, "ball", 5), 0);
    return WEFT_STEP_IDLE;
}
TEST(handoff_budget_begins_again_with_each_chain) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 1);
        weft_pid a = stage_spawn_idle(0, 1, passes_on, WEFT_NOBODY), b = stage_spawn_idle(0, 2, passes_on, a);
        stage_part(a)->other = b;
        for (unsigned i = 0; i < 10; i++) {
            stage_play(0);
            EXPECT_EQ(weft_send(a, 10, "ball", 5), 0);
            trace.count = 0;
            EXPECT(stage_step(0));
            EXPECT_EQ(trace.count, 11); /* all in one chain, each time */
        }
        EXPECT_EQ(handoffs(0), 100);
        stage_end();
    }
}

/* ---- one a step, and errors -------------------------------------------------------------------------------------------------- */

static weft_pid second;
static enum weft_status hands_twice(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)events;
    if (count == 0) return WEFT_STEP_IDLE;
    EXPECT_EQ(weft_out_handoff(out, part->other, 1, "ball", 5), 0);
    EXPECT_EQ(weft_out_handoff(out, second, 2, "ball", 5), 0); /* an ordinary send */
    EXPECT_EQ(weft_out_handoff(out, part->other, 3, "ball", 5), 0);
    return WEFT_STEP_DONE;
}
TEST(handoff_one_a_step_and_from_one_that_ends) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 1);
        weft_pid target = stage_spawn_idle(0, 2, catches, WEFT_NOBODY), sender = stage_spawn_idle(0, 1, hands_twice, target);
        second = stage_spawn_idle(0, 3, catches, WEFT_NOBODY);
        stage_play(0);
        EXPECT_EQ(weft_send(sender, 1, "ball", 5), 0);
        trace.count = 0;
        EXPECT(stage_step(0));
        EXPECT_TRACE(1, 2);
        EXPECT_EQ(last_tag, 3); /* both of its messages, in order */
        EXPECT(!weft_alive(sender));
        stage_run(0);
        EXPECT_TRACE(1, 2, 3);
        EXPECT_EQ(last_tag, 2);
        EXPECT_EQ(handoffs(0), 1);
        stage_end();
    }
}

static enum weft_status hands_to_no_process(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)events;
    if (count == 0) return WEFT_STEP_IDLE;
    EXPECT_EQ(weft_out_handoff(out, part->other, 1, "ball", 5), WEFT_ENOPROC);
    EXPECT_EQ(weft_out_handoff(out, WEFT_NOBODY, 1, "ball", 5), WEFT_EFOREIGN);
    EXPECT_EQ(weft_out_handoff(out, second, 1, "ball", 5), 0); /* what failed does not count as the one */
    return WEFT_STEP_IDLE;
}
static enum weft_status ends(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)part, (void)events, (void)count, (void)out;
    return WEFT_STEP_DONE;
}
TEST(handoff_to_no_process) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 1);
        weft_pid dead = stage_spawn_idle(0, 2, ends, WEFT_NOBODY), sender = stage_spawn_idle(0, 1, hands_to_no_process, dead);
        second = stage_spawn_idle(0, 3, catches, WEFT_NOBODY);
        stage_play(0);
        EXPECT_EQ(weft_send(dead, 1, NULL, 0), 0);
        stage_run(0);
        EXPECT(!weft_alive(dead));
        EXPECT_EQ(weft_send(sender, 1, NULL, 0), 0);
        trace.count = 0;
        EXPECT(stage_step(0));
        EXPECT_TRACE(1, 3);
        EXPECT_EQ(handoffs(0), 1);
        stage_end();
    }
}

/* The receiver ends between the call and the end of the step: nothing happens. */
static enum weft_status kills_and_hands(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)events;
    if (count == 0) return WEFT_STEP_IDLE;
    EXPECT_EQ(weft_out_handoff(out, part->other, 1, "ball", 5), 0);
    struct proc *victim = stage_proc(part->other); /* as if another worker ran it just now */
    EXPECT_EQ(policy_wake_to_run(stage.runtime, victim).verdict, STATE_RUN);
    proc_end(&stage_worker(1)->local, victim, 0);
    return WEFT_STEP_IDLE;
}
TEST(handoff_to_one_that_ends_meanwhile) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 2);
        weft_pid target = stage_spawn_idle(0, 2, catches, WEFT_NOBODY), sender = stage_spawn_idle(0, 1, kills_and_hands, target);
        stage_play(0);
        EXPECT_EQ(weft_send(sender, 1, NULL, 0), 0);
        trace.count = 0;
        EXPECT(stage_step(0));
        EXPECT_TRACE(1);
        EXPECT_EQ(handoffs(0), 0);
        stage_end();
    }
}

/* The wake-up comes when the receiver has seen the message already: it is not given a step for nothing. */
TEST(handoff_wakes_one_that_has_seen_it) {
    stage_for_each_policy(policy) {
        for (unsigned to_run = 0; to_run < 2; to_run++) {
            stage_begin(policy, 1);
            struct local *local = &stage_worker(0)->local;
            weft_pid target = stage_spawn_idle(0, 2, NULL, WEFT_NOBODY);
            stage_play(0);
            EXPECT_EQ(weft_send(target, 1, NULL, 0), 0);
            struct message *second = message_new(&local->cache, 0);
            second->type = WEFT_EVENT_MESSAGE;
            EXPECT_EQ(send_unheard(local, target, second), 0);
            EXPECT(stage_step(0));
            EXPECT_TRACE(2); /* both at once */
            struct proc *claimed = send_wake(local, stage_worker(0), target, to_run);
            EXPECT(claimed == (to_run ? stage_proc(target) : NULL));
            if (claimed) step_run(stage_worker(0), claimed);
            stage_run(0);
            EXPECT_TRACE(2);
            EXPECT_EQ(stage_state(target), STATE_IDLE);
            stage_end();
        }
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
