/* Processes that timers make ready while their worker is busy: they run soon, and starve no other. Without threads; turns are counted. */
#include "sched_stage.h"

#include "mail/send.h"
#include "sched/timer_event.h"

enum { CROWD = 2 * RING_SIZE, LATE = 1000000 }; /* so many that some are in the global queue; numbers of timers' processes */

static struct worker *own;

static enum weft_status goes_on(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)part, (void)events, (void)count, (void)out;
    return WEFT_STEP_CONTINUE;
}
static enum weft_status answers(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)count, (void)out;
    if (part->other != WEFT_NOBODY && events[0].type == WEFT_EVENT_MESSAGE) weft_send(part->other, 1, NULL, 0);
    return WEFT_STEP_IDLE;
}

/* ---- timers ------------------------------------------------------------------------------------------------------------- */

struct alarm {
    struct timer_event event;
    weft_pid pid;
};
static struct alarm alarms[2 * RING_SIZE];

static void sends(struct local *local, struct worker *self, struct timer_event *event) {
    EXPECT_EQ(send_copy(local, self, WEFT_NOBODY, ((struct alarm *)event)->pid, 1, NULL, 0), 0);
}
static void set_alarm(unsigned i, weft_pid pid) {
    alarms[i].pid = pid;
    timer_event_init(&alarms[i].event, sends);
    timer_event_arm(own, &alarms[i].event, sys->now() + 1000);
}

/* ---- the stage ---------------------------------------------------------------------------------------------------------- */

static void begin(enum policy_name policy) {
    stage_begin(policy, 1);
    own = stage_worker(0);
    sys_scripted_freeze();
}
static void end(void) {
    sys_scripted_unfreeze();
    stage_end();
}

/* All go on for ever, and have begun. */
static void crowd(unsigned count) {
    stage_play(0);
    for (uint32_t i = 0; i < count; i++)
        stage_spawn(i, goes_on, WEFT_NOBODY);
    for (unsigned i = 0; i < 80 * count; i++)
        EXPECT(stage_step(0));
    trace.count = 0;
}
static void steps(unsigned count) {
    for (unsigned i = 0; i < count; i++)
        EXPECT(stage_step(0));
}

static unsigned first_of(uint32_t number) {
    for (unsigned i = 0; i < trace.count; i++)
        if (trace.ran[i] == number) return i;
    return UINT32_MAX;
}

/* ---- soon --------------------------------------------------------------------------------------------------------------- */

/* It does not wait for those that are queued, however many: the worker looks round after 61 at most, and runs it then or after one more. */
TEST(due_soon_whatever_is_queued) {
    stage_for_each_policy(policy) {
        begin(policy);
        weft_pid late = stage_spawn_idle(0, LATE, answers, WEFT_NOBODY);
        crowd(CROWD);
        for (unsigned i = 0; i < 20; i++) {
            set_alarm(0, late);
            steps(i); /* at any moment of the tick */
            trace.count = 0;
            sys_scripted_jump(10000);
            steps(GLOBAL_TICK + 1);
            EXPECT(first_of(LATE) <= GLOBAL_TICK);
        }
        end();
    }
}

/* So many processes that message each other in pairs without a pause, and have done so for a while. */
static void pairs_go_on(unsigned count) {
    static weft_pid pairs[2 * CROWD];
    for (unsigned i = 0; i < count; i += 2) {
        pairs[i] = stage_spawn_idle(0, i, answers, WEFT_NOBODY);
        pairs[i + 1] = stage_spawn_idle(0, i + 1, answers, pairs[i]);
        stage_part(pairs[i])->other = pairs[i + 1];
    }
    stage_play(0);
    for (unsigned i = 0; i < count; i += 2)
        EXPECT_EQ(send_copy(&own->local, own, WEFT_NOBODY, pairs[i], 1, NULL, 0), 0);
    steps((GLOBAL_PATIENCE + 2) * GLOBAL_TICK);
}

/* And so is its answer from another process: a look round, or those that message each other without a pause, do not come between. */
TEST(due_soon_with_its_answer) {
    begin(POLICY_RING);
    weft_pid asks = stage_spawn_idle(0, LATE, answers, WEFT_NOBODY), replies = stage_spawn_idle(0, LATE + 1, answers, asks);
    enum { PAIRED = 2 * CROWD };
    pairs_go_on(PAIRED);
    EXPECT(inject_size(&stage.runtime->inject) > 0);
    for (unsigned i = 0; i < 200; i++) {
        set_alarm(0, asks);
        stage_part(asks)->other = replies;
        steps(i % GLOBAL_TICK);
        trace.count = 0;
        sys_scripted_jump(10000);
        while (first_of(LATE) == UINT32_MAX)
            steps(1);
        stage_part(asks)->other = WEFT_NOBODY;
        steps(2);
        unsigned place = first_of(LATE);
        EXPECT(place <= GLOBAL_TICK + CHAIN_WHOLE + 2); /* a look round, later by a chain; and again after one that was cut short */
        EXPECT_EQ(trace.ran[place + 1], LATE + 1);
        EXPECT_EQ(trace.ran[place + 2], LATE);
    }
    end();
}

/* And so is one through six others, also while another is due: a row that one of them has begun is not torn apart for the next. */
TEST(due_soon_through_a_chain) {
    enum { CHAIN = 6, PAIRED = 1000 }; /* few enough for the ring: what comes from the global queue may push a chain out of the slot */
    begin(POLICY_RING);
    weft_pid chain[CHAIN + 1];
    for (unsigned i = 0; i <= CHAIN; i++)
        chain[i] = stage_spawn_idle(0, LATE + i, answers, WEFT_NOBODY);
    for (unsigned i = 0; i < CHAIN; i++)
        stage_part(chain[i])->other = chain[i + 1];
    weft_pid second = stage_spawn_idle(0, LATE + 100, answers, WEFT_NOBODY);
    pairs_go_on(PAIRED);
    for (unsigned i = 0; i < 200; i++) {
        set_alarm(0, chain[0]);
        if (i % 2) set_alarm(1, second);
        steps(i % GLOBAL_TICK);
        trace.count = 0;
        sys_scripted_jump(10000);
        while (first_of(LATE + CHAIN) == UINT32_MAX && trace.count < 20 * GLOBAL_TICK)
            steps(1);
        EXPECT(first_of(LATE + CHAIN) <= 3 * (GLOBAL_TICK + CHAIN_WHOLE + 2));
        steps(2 * GLOBAL_TICK);
    }
    end();
}

/* ---- and no other starves --------------------------------------------------------------------------------------------------- */

/* Many at once: those that are queued have every second turn. More than there is room for: they are queued with those. */
static void many_at_once(enum policy_name policy, unsigned many, unsigned most_in_a_row) {
    begin(policy);
    static weft_pid pids[2 * RING_SIZE];
    for (unsigned i = 0; i < many; i++)
        pids[i] = stage_spawn_idle(0, LATE + i, answers, WEFT_NOBODY);
    crowd(100);
    for (unsigned i = 0; i < many; i++)
        set_alarm(i, pids[i]);
    sys_scripted_jump(10000);
    steps(8 * many);
    unsigned seen = 0, in_a_row = 0;
    for (unsigned i = 0; i < trace.count; i++) {
        bool late = trace.ran[i] >= LATE;
        seen += late;
        in_a_row = late ? in_a_row + 1 : 0;
        if (in_a_row > most_in_a_row) test_fail(__FILE__, __LINE__, "policy %d, place %u", policy, i);
    }
    EXPECT_EQ(seen, many);
    end();
}
TEST(due_many_at_once_take_turns_with_the_queue) {
    stage_for_each_policy(policy) {
        many_at_once(policy, 100, 1);
        many_at_once(policy, 2 * RING_SIZE, 2 * RING_SIZE);
    }
}

/* One whose timer is due again whenever it has run: the queue and the global queue are served as if it were not there, but for its turns. */
static weft_pid ticker;
static enum weft_status ticks(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)part, (void)events, (void)count, (void)out;
    set_alarm(0, ticker);
    sys_scripted_jump(10000);
    return WEFT_STEP_IDLE;
}
TEST(due_always_starves_no_other) {
    stage_for_each_policy(policy) {
        begin(policy);
        ticker = stage_spawn_idle(0, CROWD, ticks, WEFT_NOBODY);
        crowd(CROWD);
        set_alarm(0, ticker);
        sys_scripted_jump(10000);
        static unsigned runs[CROWD + 1];
        memset(runs, 0, sizeof runs);
        for (unsigned i = 0; i < 40 * CROWD; i++) {
            trace.count = 0;
            EXPECT(stage_step(0));
            runs[trace.ran[0]]++;
        }
        EXPECT(runs[CROWD] >= 40 * CROWD / (2 * GLOBAL_TICK));
        EXPECT(runs[CROWD] <= 40 * CROWD / 5);
        for (unsigned i = 0; i < CROWD; i++)
            EXPECT(runs[i] > 0);
        end();
    }
}

/* ---- other workers ------------------------------------------------------------------------------------------------------------ */

/* What the worker does not come to is taken by others: not before all else, and with the rest of its queue when it has lost its thread. */
TEST(due_is_stolen_last) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 2);
        own = stage_worker(0);
        sys_scripted_freeze();
        weft_pid late = stage_spawn_idle(0, LATE, NULL, WEFT_NOBODY);
        stage_play(0);
        own->fair.firing = true;
        EXPECT_EQ(send_copy(&own->local, own, WEFT_NOBODY, late, 1, NULL, 0), 0);
        own->fair.firing = false;
        EXPECT(!policy_is_empty(own));
        stage_spawn(1, NULL, WEFT_NOBODY);
        stage_spawn(2, NULL, WEFT_NOBODY);
        tick_begin(stage_worker(1), GLOBAL_TICK);
        stage_run(1);
        EXPECT_EQ(trace.count, 3);
        EXPECT_EQ(trace.ran[2], LATE);
        EXPECT(policy_is_empty(own));
        end();
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
