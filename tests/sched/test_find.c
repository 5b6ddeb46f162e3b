/* Where a worker looks for work and in what order, source by source, without threads. */
#include "sched_stage.h"

#include "life/spawn.h"
#include "runtime/stop.h"
#include "step/step.h"
#include "thread/worker.h"

static void expect_trace(const uint32_t *ran, unsigned count) {
    for (unsigned i = 0; i < count && i < trace.count; i++)
        if (trace.ran[i] != ran[i]) test_fail(__FILE__, __LINE__, "place %u has %u, not %u", i, trace.ran[i], ran[i]);
    EXPECT_EQ(trace.count, count);
}

static enum weft_status goes_on(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)part, (void)events, (void)count, (void)out;
    return WEFT_STEP_CONTINUE;
}

/* ---- the tick ---------------------------------------------------------------------------------------------------------- */

/* Busy for ever with its own, a worker comes to the global queue every 61st time, and takes one. */
TEST(find_every_61st_is_from_the_global_queue) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 1);
        struct worker *worker = stage_worker(0);
        trace.count = 0;
        stage_play(0);
        if (policy == POLICY_DEQUE) { /* merely going on leads to the global queue there: births keep the deque full */
            for (uint32_t i = 0; i < 400; i++)
                stage_spawn(1, NULL, WEFT_NOBODY);
        } else {
            for (uint32_t i = 0; i < 3; i++)
                stage_spawn(1, goes_on, WEFT_NOBODY);
        }
        stage_play(-1);
        for (uint32_t i = 0; i < 4; i++)
            stage_spawn(100 + i, NULL, WEFT_NOBODY);
        EXPECT_EQ(inject_size(&stage.runtime->inject), 4);
        tick_begin(worker, GLOBAL_TICK);
        for (unsigned i = 0; i < 5 * GLOBAL_TICK; i++)
            EXPECT(stage_step(0));
        for (unsigned i = 0; i < 5 * GLOBAL_TICK; i++) {
            bool global = (i + 1) % GLOBAL_TICK == 0 && (i + 1) / GLOBAL_TICK <= 4;
            EXPECT_EQ(trace.ran[i], global ? 100 + (i + 1) / GLOBAL_TICK - 1 : 1);
        }
        stage_end();
    }
}

/* As a rule every 61st; when a worker has come often enough without ever running dry, in proportion to what is there. */
TEST(find_global_queue_is_due_more_often_when_it_is_long) {
    static const struct {
        size_t queued;
        unsigned workers, due;
    } cases[] = {
        {0, 1, GLOBAL_TICK}, {1, 1, GLOBAL_TICK}, {4, 1, GLOBAL_TICK},   {5, 1, 52},        {8, 1, 33},  {16, 1, 17},
        {17, 1, 16},         {18, 1, 16},         {256, 1, 16},          {1000000, 1, 16},  {16, 2, 33}, {16, 4, GLOBAL_TICK},
        {256, 16, 17},       {4096, 16, 16},      {50, 16, GLOBAL_TICK}, {1000000, 16, 16}, {7, 0, 16}, /* none yet: while starting */
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EXPECT_EQ(find_global_due(cases[i].queued, cases[i].workers, GLOBAL_PATIENCE + 1), cases[i].due);
        EXPECT_EQ(find_global_due(cases[i].queued, cases[i].workers, GLOBAL_PATIENCE), GLOBAL_TICK);
        EXPECT_EQ(find_global_due(cases[i].queued, cases[i].workers, 0), GLOBAL_TICK);
    }
}

/* The rule in effect: so many from the global queue, and patience begins anew when the worker has run dry. */
static unsigned globals_in(unsigned steps) {
    unsigned globals = 0;
    trace.count = 0;
    for (unsigned i = 0; i < steps; i++)
        EXPECT(stage_step(0));
    for (unsigned i = 0; i < trace.count; i++)
        globals += trace.ran[i] >= 100;
    return globals;
}
TEST(find_patience_with_a_long_global_queue_ends) {
    stage_begin(POLICY_RING, 1);
    struct worker *worker = stage_worker(0);
    stage_play(0);
    weft_pid busy = stage_spawn(1, goes_on, WEFT_NOBODY);
    stage_play(-1);
    for (uint32_t i = 0; i < 5000; i++)
        stage_spawn(100, NULL, WEFT_NOBODY);
    EXPECT_EQ(globals_in(GLOBAL_PATIENCE * GLOBAL_TICK), GLOBAL_PATIENCE);
    globals_in(GLOBAL_TICK);
    EXPECT_EQ(globals_in(100 * GLOBAL_OFTEN), 100);
    EXPECT(worker->fair.looks > GLOBAL_PATIENCE);
    stage_part(busy)->play = NULL; /* it waits: the worker runs dry, and begins anew */
    for (unsigned i = 0; i < 2 * GLOBAL_OFTEN; i++)
        EXPECT(stage_step(0));
    EXPECT(worker->fair.looks <= 1);
    stage_end();
}

/* ---- the global queue ------------------------------------------------------------------------------------------------- */

static size_t own_size(struct worker *worker) {
    size_t size = 0;
    switch (worker->runtime->policy) {
    case POLICY_RING: return ring_size(&worker->ring);
    case POLICY_DEQUE: return deque_size(&worker->deque);
    case POLICY_LINE:
        for (struct line_node *node = atom_load_rlx(&worker->line.head); node; node = node->next)
            size++;
    }
    return size;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

TEST(find_takes_a_fair_share_of_the_global_queue) {
    static const size_t sizes[] = {1, 2, 3, 4, 5, 10, 16, 17, 18, 100, 127, 128, 129, 255, 256, 257, 500, 1000};
    static const unsigned workers[] = {1, 2, 3, 4, 16};
    stage_for_each_policy(policy) {
        for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (unsigned w = 0; w < sizeof workers / sizeof workers[0]; w++) {
                size_t size = sizes[s];
                stage_begin(policy, workers[w]);
                stage_play(-1);
                for (uint32_t i = 0; i < size; i++)
                    stage_spawn(i, NULL, WEFT_NOBODY);
                struct worker *worker = stage_worker(0);
                stage_play(0);
                struct proc *first = find_global_batch(worker);
                size_t share = policy == POLICY_DEQUE ? least(1 + 16, size) : least(least(128, size), size / workers[w] + 1);
                EXPECT(first && ((struct part *)first->self)->number == 0); /* the oldest, claimed */
                EXPECT_EQ(state_of(atom_load_rlx(&first->state.word)), STATE_RUNNING);
                EXPECT_EQ(own_size(worker), share - 1);
                EXPECT_EQ(inject_size(&stage.runtime->inject), size - share);
                /* The others in the order in which they came. */
                for (uint32_t i = 1; i < share; i++) {
                    struct proc *next = policy_pop(worker);
                    EXPECT(next && ((struct part *)next->self)->number == i);
                }
                EXPECT(!policy_pop(worker));
                stage_end();
            }
    }
}

/* Stale entries do not count: what is left is found behind any number of them. */
TEST(find_skips_stale_entries_of_the_global_queue) {
    for (unsigned one = 0; one < 2; one++)
        for (unsigned p = 0; p < 2; p++) { /* in a line nothing goes stale */
            stage_begin(p ? POLICY_DEQUE : POLICY_RING, 2);
            stage_play(-1);
            weft_pid pids[500];
            for (uint32_t i = 0; i < 500; i++)
                pids[i] = stage_spawn(i, NULL, WEFT_NOBODY);
            for (uint32_t i = 0; i < 499; i++)
                EXPECT(state_claim_any(&stage_proc(pids[i])->state)); /* as a hand-off does */
            stage_play(0);
            struct proc *found = one ? find_global_one(stage_worker(0)) : find_global_batch(stage_worker(0));
            EXPECT(found == stage_proc(pids[499]));
            EXPECT(!find_global_one(stage_worker(0)) && !find_global_batch(stage_worker(0)));
            EXPECT_EQ(inject_size(&stage.runtime->inject), 0);
            stage_end();
        }
}

/* ---- all sources in order ------------------------------------------------------------------------------------------------ */

TEST(find_own_queue_then_global_then_others) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 2);
        trace.count = 0;
        stage_play(1);
        for (uint32_t i = 0; i < 4; i++)
            stage_spawn(30 + i, NULL, WEFT_NOBODY); /* another worker's */
        stage_play(-1);
        stage_spawn(20, NULL, WEFT_NOBODY); /* global */
        stage_play(0);
        stage_spawn(10, NULL, WEFT_NOBODY); /* own */
        tick_begin(stage_worker(0), GLOBAL_TICK);
        stage_run(0);
        EXPECT_EQ(trace.count, 6); /* all of the other worker's too, its slot included */
        EXPECT_EQ(trace.ran[0], 10);
        EXPECT_EQ(trace.ran[1], 20);
        for (unsigned i = 2; i < 6; i++)
            EXPECT(trace.ran[i] >= 30);
        EXPECT_EQ(atom_load_rlx(&stage_worker(0)->local.counters.sleeps), 1);
        EXPECT(!stage_step(1));
        stage_end();
    }
}

/* ---- stealing -------------------------------------------------------------------------------------------------------------- */

/* How many a thief gets in one go. */
static unsigned steal_from(enum policy_name policy, uint32_t count, bool last_pass) {
    stage_begin(policy, 2);
    struct worker *thief = stage_worker(0), *victim = stage_worker(1);
    bool busy = false;
    stage_play(1);
    for (uint32_t i = 0; i < count; i++)
        stage_spawn(i, NULL, WEFT_NOBODY);
    stage_play(0);
    size_t before = own_size(victim);
    EXPECT_EQ(before, count);
    struct proc *proc = policy_steal(thief, victim, last_pass, &busy);
    unsigned got = (unsigned)(before - own_size(victim));
    EXPECT(!busy);
    EXPECT_EQ(proc != NULL, got > 0);
    if (proc) EXPECT_EQ(((struct part *)proc->self)->number, 0); /* the oldest first */
    EXPECT_EQ(own_size(thief), got > 0 ? got - 1 : 0);
    EXPECT_EQ(atom_load_rlx(&thief->local.counters.steals), got > 0);
    EXPECT_EQ(atom_load_rlx(&thief->local.counters.stolen), got);
    stage_end();
    return got;
}

TEST(find_steals_the_older_half) {
    static const uint32_t counts[] = {1, 2, 3, 4, 5, 10, 100, 200};
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint32_t n = counts[i], behind_slot = n - 1;
        /* The newest lies in the slot, which no thief looks at before the last pass, and then only if there is nothing else. */
        EXPECT_EQ(steal_from(POLICY_RING, n, false), behind_slot - behind_slot / 2);
        EXPECT_EQ(steal_from(POLICY_RING, n, true), n == 1 ? 1 : behind_slot - behind_slot / 2);
        EXPECT_EQ(steal_from(POLICY_DEQUE, n, false), n - n / 2);
        EXPECT_EQ(steal_from(POLICY_LINE, n, false), 1);
    }
}

TEST(find_the_last_pass_takes_the_slot) {
    stage_begin(POLICY_RING, 3);
    trace.count = 0;
    stage_play(2);
    stage_spawn(7, NULL, WEFT_NOBODY);
    EXPECT_EQ(own_size(stage_worker(2)), 1);
    EXPECT(stage_step(0)); /* found by the search, though in the slot */
    expect_trace((uint32_t[]){7}, 1);
    EXPECT_EQ(own_size(stage_worker(2)), 0);
    stage_end();
}

/* A slot is for its own worker: a thief that finds one takes what lies in another's ring first, whatever the order of its victims. */
TEST(find_looks_into_every_ring_before_it_takes_a_slot) {
    for (uint64_t seed = 0; seed < 40; seed++) {
        stage_begin(POLICY_RING, 6);
        for (unsigned w = 1; w < 6; w++) {
            stage_play((int)w);
            stage_spawn(w, NULL, WEFT_NOBODY); /* in the slot */
        }
        stage_play(3);
        stage_spawn(33, NULL, WEFT_NOBODY); /* pushes 3 into the ring */
        rng_seed(&stage_worker(0)->rng, seed, 0);
        trace.count = 0;
        EXPECT(stage_step(0));
        expect_trace((uint32_t[]){3}, 1);
        stage_end();
    }
}

/* Victims in random order: no worker is always robbed first. */
TEST(find_robs_in_random_order) {
    stage_for_each_policy(policy) {
        unsigned robbed[5] = {0};
        for (uint64_t seed = 0; seed < 200; seed++) {
            stage_begin(policy, 5);
            for (unsigned w = 1; w < 5; w++) {
                stage_play((int)w);
                stage_spawn(w, NULL, WEFT_NOBODY);
                stage_spawn(w, NULL, WEFT_NOBODY);
            }
            rng_seed(&stage_worker(0)->rng, seed, 0);
            trace.count = 0;
            EXPECT(stage_step(0));
            robbed[trace.ran[0]]++;
            stage_end();
        }
        for (unsigned w = 1; w < 5; w++)
            EXPECT(robbed[w] > 10);
    }
}

/* A worker may search only while twice the searchers are fewer than those awake. One that may not leaves others' queues alone. */
TEST(find_searches_only_while_few_do) {
    stage_for_each_policy(policy) {
        for (unsigned searchers = 0; searchers < 3; searchers++)
            for (unsigned sleepers = 0; sleepers < 3; sleepers++) {
                stage_begin(policy, 4);
                struct worker *worker = stage_worker(0);
                struct idle *idle = &stage.runtime->idle;
                stage_play(3);
                stage_spawn(1, NULL, WEFT_NOBODY);
                if (policy == POLICY_RING) stage_spawn(2, NULL, WEFT_NOBODY);
                for (unsigned i = 0; i < sleepers; i++)
                    idle_enter(idle, 1 + i, false);
                atom_store_rlx(&idle->searching, searchers);
                atom_store_rlx(&worker->leave, true); /* so that it comes back with nothing instead of waiting */
                stage_play(0);
                struct proc *found = find_work(worker);
                EXPECT_EQ(found != NULL, 2 * searchers < 4 - sleepers);
                stage_end();
            }
    }
}

/* ---- leaving -------------------------------------------------------------------------------------------------------------- */

/* A worker that is not wanted leaves after a few steps at most, whatever there is to do, and with it goes no work. */
TEST(find_leaves_in_time) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 1);
        stage_play(0);
        for (uint32_t i = 0; i < 5; i++)
            stage_spawn(i, goes_on, WEFT_NOBODY);
        struct worker *worker = stage_worker(0);
        atom_store_rlx(&worker->leave, true);
        unsigned found = 0;
        for (struct proc *proc; (proc = find_work(worker)); found++)
            step_run(worker, proc);
        EXPECT(found <= GLOBAL_TICK);
        atom_store_rlx(&worker->leave, false);
        trace.count = 0;
        for (unsigned i = 0; i < 5; i++)
            EXPECT(stage_step(0));
        uint32_t seen = 0;
        for (unsigned i = 0; i < 5; i++)
            seen |= UINT32_C(1) << trace.ran[i];
        EXPECT_EQ(seen, 31);
        stage_end();
    }
}

/* Queues that have lost their thread are looked after by workers that always have something of their own. */
TEST(find_looks_after_orphans) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 3);
        stage_play(2);
        for (uint32_t i = 0; i < 10; i++)
            stage_spawn(10 + i, goes_on, WEFT_NOBODY);
        stage_play(0);
        stage_spawn(1, goes_on, WEFT_NOBODY);
        atom_store_rlx(&stage.runtime->wanted, 1);
        trace.count = 0;
        for (unsigned i = 0; i < 100 * GLOBAL_TICK; i++)
            EXPECT(stage_step(0));
        unsigned runs[20] = {0};
        for (unsigned i = 0; i < trace.count; i++)
            runs[trace.ran[i]]++;
        for (unsigned i = 0; i < 10; i++)
            EXPECT(runs[10 + i] > 10);
        EXPECT(runs[1] > 10);
        stage_end();
    }
}

/* ---- sleeping --------------------------------------------------------------------------------------------------------------- */

/* Work wakes one sleeper, and none while a worker searches; a process alone in the slot wakes no worker. */
TEST(find_new_work_wakes_one_sleeper) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 4);
        struct idle *idle = &stage.runtime->idle;
        for (unsigned i = 1; i < 4; i++)
            idle_enter(idle, i, false);
        stage_play(0);
        if (policy == POLICY_RING) {
            stage_spawn(1, NULL, WEFT_NOBODY);
            EXPECT_EQ(idle_sleepers(idle), 3); /* this worker comes to it next */
        }
        stage_spawn(2, NULL, WEFT_NOBODY);
        EXPECT_EQ(idle_sleepers(idle), 2);
        EXPECT_EQ(idle_searchers(idle), 1);
        stage_spawn(3, NULL, WEFT_NOBODY);
        stage_play(-1);
        stage_spawn(4, NULL, WEFT_NOBODY);
        EXPECT_EQ(idle_sleepers(idle), 2);
        EXPECT_EQ(idle_searchers(idle), 1);
        EXPECT_EQ(atom_load_rlx(&stage_worker(0)->local.counters.wakeups), 1);
        /* The one that was woken finds something, is the last searcher, and so another is sent. */
        struct worker *woken = stage_worker(1);
        woken->searching = true;
        my_worker = woken;
        EXPECT(find_work(woken));
        EXPECT(!woken->searching);
        EXPECT_EQ(idle_sleepers(idle), 1);
        EXPECT_EQ(idle_searchers(idle), 1);
        stage_end();
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
