/* The three disciplines through their seam: push, pop, steal, overflow. */
#include "sched_stage.h"

#include "life/spawn.h"
#include "runtime/stop.h"
#include "sched/newborn.h"
#include "step/step.h"
#include "thread/worker.h"

static struct worker *own;

static uint16_t ticket_of(struct proc *proc) { return state_ticket(atom_load_rlx(&proc->state.word)); }

/* A process that is ready and in no queue: of the foreign door's making, its entry thrown away. */
static struct proc *loose(uint32_t number) {
    uint64_t entry;
    stage_play(-1);
    struct proc *proc = stage_proc(stage_spawn(number, NULL, WEFT_NOBODY));
    EXPECT_EQ(inject_take_batch(&stage.runtime->inject, &entry, 1), 1);
    EXPECT(entry == entry_make(proc, ticket_of(proc)));
    stage_play(0);
    return proc;
}
/* One that has run before. */
static struct proc *grown(uint32_t number) {
    struct proc *proc = loose(number);
    EXPECT(state_claim_any(&proc->state));
    state_yield(&proc->state);
    return proc;
}
static bool push(struct proc *proc, enum ready_why why) { return policy_push(own, proc, ticket_of(proc), why); }

static uint32_t popped_by(struct worker *worker) {
    struct proc *proc = policy_pop(worker);
    if (!proc) return UINT32_MAX;
    EXPECT_EQ(state_of(atom_load_rlx(&proc->state.word)), STATE_RUNNING); /* claimed */
    return ((struct part *)proc->self)->number;
}
static uint32_t popped(void) { return popped_by(own); }
static uint32_t injected(void) {
    uint64_t entry;
    if (inject_take_batch(&stage.runtime->inject, &entry, 1) == 0) return UINT32_MAX;
    return ((struct part *)((struct proc *)entry_ptr(entry))->self)->number;
}

static void begin(enum policy_name policy, unsigned workers) {
    stage_begin(policy, workers);
    own = stage_worker(0);
    stage_play(0);
}

/* ---- ring --------------------------------------------------------------------------------------------------------------- */

TEST(policy_ring_slot_first_then_in_order) {
    begin(POLICY_RING, 1);
    EXPECT(policy_is_empty(own));
    EXPECT(push(loose(1), READY_YIELDED)); /* others may want to know */
    EXPECT(!push(loose(2), READY_WOKEN));  /* alone in the slot */
    EXPECT(!policy_is_empty(own));
    EXPECT(push(loose(3), READY_SPAWNED)); /* 2 is pushed out, behind 1 */
    EXPECT(push(loose(4), READY_YIELDED));
    static const uint32_t order[] = {3, 1, 2, 4, UINT32_MAX};
    for (unsigned i = 0; i < 5; i++)
        EXPECT_EQ(popped(), order[i]);
    EXPECT(policy_is_empty(own));
    stage_end();
}

/* The slot is not used more than SLOT_RUNS_MAX times in a row while a process waits in the ring; by slow processes, SLOT_RUNS_SLOW times. */
static void slot_is_capped(uint32_t row) {
    begin(POLICY_RING, 1);
    atom_store_rlx(&own->fair.skipped, SLOT_RUNS_MAX - row);
    slot_row_begin(own);
    push(loose(1000), READY_YIELDED);
    push(loose(1001), READY_YIELDED);
    for (uint32_t i = 0; i < row; i++) {
        push(loose(i), READY_WOKEN);
        EXPECT_EQ(popped(), i);
    }
    push(loose(500), READY_WOKEN);
    EXPECT_EQ(popped(), 1000); /* its turn */
    push(loose(501), READY_WOKEN);
    EXPECT_EQ(popped(), 501); /* and the count has begun again */
    EXPECT_EQ(popped(), 1001);
    EXPECT_EQ(popped(), 500); /* the one that had its slot taken away went to the end */
    EXPECT_EQ(popped(), UINT32_MAX);
    stage_end();
}
TEST(policy_ring_slot_is_capped) {
    slot_is_capped(SLOT_RUNS_MAX);
    slot_is_capped(SLOT_RUNS_SLOW);
}

/* Two that wake each other for ever by way of the slot do not keep a third from running. */
static enum weft_status pings(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)out;
    if (count > 0) EXPECT_EQ(weft_send(part->other, 1, NULL, 0), 0);
    return WEFT_STEP_IDLE;
}
static enum weft_status goes_on(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)part, (void)events, (void)count, (void)out;
    return WEFT_STEP_CONTINUE;
}
TEST(policy_a_pair_does_not_starve_a_third) {
    stage_for_each_policy(policy) {
        begin(policy, 1);
        weft_pid a = stage_spawn_idle(0, 1, pings, WEFT_NOBODY), b = stage_spawn_idle(0, 2, pings, a);
        stage_part(a)->other = b;
        stage_spawn(3, goes_on, WEFT_NOBODY);
        EXPECT_EQ(weft_send(a, 1, NULL, 0), 0);
        unsigned since = 0, runs = 0;
        for (unsigned i = 0; i < 2000; i++) {
            trace.count = 0;
            EXPECT(stage_step(0));
            since = trace.ran[0] == 3 ? 0 : since + 1;
            runs += trace.ran[0] == 3;
            EXPECT(since <= SLOT_RUNS_MAX + 1);
        }
        EXPECT(runs >= 2000 / (SLOT_RUNS_MAX + 2) && runs < 1990); /* and it does not starve the pair */
        stage_end();
    }
}

TEST(policy_ring_overflow_goes_to_the_global_queue) {
    begin(POLICY_RING, 1);
    for (uint32_t i = 0; i < RING_SIZE; i++)
        push(grown(i), READY_YIELDED);
    EXPECT_EQ(inject_size(&stage.runtime->inject), 0);
    EXPECT(push(grown(RING_SIZE), READY_YIELDED));
    EXPECT_EQ(inject_size(&stage.runtime->inject), RING_BATCH + 1); /* the oldest, and the new one */
    EXPECT_EQ(ring_size(&own->ring), RING_SIZE - RING_BATCH);
    for (uint32_t i = 0; i < RING_BATCH; i++)
        EXPECT_EQ(injected(), i);
    EXPECT_EQ(injected(), RING_SIZE);
    for (uint32_t i = RING_BATCH; i < RING_SIZE; i++)
        EXPECT_EQ(popped(), i);
    EXPECT_EQ(popped(), UINT32_MAX);
    EXPECT_EQ(atom_load_rlx(&own->local.counters.injected), RING_BATCH + 1);
    stage_end();
}

TEST(policy_ring_overflow_purges_what_is_stale) {
    begin(POLICY_RING, 1);
    for (uint32_t i = 0; i < RING_SIZE; i++) {
        struct proc *proc = grown(i);
        push(proc, READY_YIELDED);
        if (i % 2) EXPECT(state_claim_any(&proc->state)); /* taken out by a hand-off */
    }
    push(grown(RING_SIZE), READY_YIELDED);
    EXPECT_EQ(inject_size(&stage.runtime->inject), RING_BATCH / 2 + 1);
    for (uint32_t i = 0; i < RING_BATCH; i += 2)
        EXPECT_EQ(injected(), i);
    EXPECT_EQ(injected(), RING_SIZE);
    for (uint32_t i = RING_BATCH; i < RING_SIZE; i += 2)
        EXPECT_EQ(popped(), i); /* a stale one is skipped */
    EXPECT_EQ(popped(), UINT32_MAX);
    stage_end();
}

/* Processes that have never run go elsewhere, when there are many: to where the newest are taken first, and the oldest by thieves. The last of `count` makes room
 * as if the ring were full. */
enum { YOUNG_BATCH = RING_BATCH / 4 * 3 };
static uint32_t number_of(struct proc *proc) { return proc ? ((struct part *)proc->self)->number : UINT32_MAX; }
static bool is_young(uint32_t i) { return i % 4 != 3; }
static void overflows_with_newborn(void) {
    begin(POLICY_RING, 2);
    for (uint32_t i = 0; i <= RING_SHORT; i++)
        push(is_young(i) ? loose(i) : grown(i), READY_YIELDED);
    EXPECT_EQ(inject_size(&stage.runtime->inject), RING_BATCH / 4);
    EXPECT_EQ(inject_size(&own->newborn), YOUNG_BATCH + 1); /* with the new one, whose number is RING_SHORT */
    for (uint32_t i = 3; i < RING_BATCH; i += 4)
        EXPECT_EQ(injected(), i);
    for (uint32_t i = RING_BATCH; i < RING_SHORT; i++)
        EXPECT_EQ(popped(), i);
    EXPECT_EQ(popped(), UINT32_MAX);
    EXPECT(!policy_is_empty(own)); /* though the ring is */
}
TEST(policy_ring_newborn_are_taken_newest_first) {
    overflows_with_newborn();
    /* Batches of sixteen, the newest of them, each in order of age. */
    uint32_t young[RING_BATCH + 1], count = 0;
    for (uint32_t i = 0; i < RING_BATCH; i++)
        if (is_young(i)) young[count++] = i;
    young[count++] = RING_SHORT;
    for (uint32_t end = count, begin; end > 0; end = begin) {
        begin = end > 16 ? end - 16 : 0;
        for (uint32_t i = begin; i < end; i++)
            EXPECT_EQ(number_of(stage_find(0)), young[i]);
    }
    EXPECT(stage_find(0) == NULL && policy_is_empty(own));
    stage_end();
}
TEST(policy_ring_newborn_are_stolen_eldest_first) {
    overflows_with_newborn();
    struct worker *thief = stage_worker(1);
    bool busy = false;
    EXPECT_EQ(number_of(policy_steal(thief, own, false, &busy)), 0);
    EXPECT(!busy);
    EXPECT_EQ(ring_size(&thief->ring), 15);
    EXPECT_EQ(number_of(policy_pop(thief)), 1);
    EXPECT_EQ(number_of(newborn_eldest(own)), 21); /* the seventeenth */
    stage_end();
}
TEST(policy_ring_newborn_without_memory_go_to_the_global_queue) {
    begin(POLICY_RING, 1);
    for (uint32_t i = 0; i < RING_SHORT; i++)
        push(loose(i), READY_YIELDED);
    struct proc *last = loose(RING_SHORT);
    sys_script.alloc_fail_from = 1;
    push(last, READY_YIELDED);
    sys_script.alloc_fail_from = 0;
    EXPECT_EQ(inject_size(&own->newborn), 0);
    EXPECT_EQ(inject_size(&stage.runtime->inject), RING_BATCH + 1);
    stage_end();
}
/* Others that are many keep their places, and a newborn process does not send them to the global queue. */
TEST(policy_ring_newborn_beside_a_crowd) {
    begin(POLICY_RING, 1);
    for (uint32_t i = 0; i < RING_SHORT; i++)
        push(grown(i), READY_YIELDED);
    push(loose(1000), READY_YIELDED);
    push(grown(1001), READY_YIELDED);
    EXPECT_EQ(inject_size(&own->newborn), 1);
    EXPECT_EQ(inject_size(&stage.runtime->inject), 0);
    for (uint32_t i = 0; i < RING_SHORT; i++)
        EXPECT_EQ(popped(), i);
    EXPECT_EQ(popped(), 1001);
    EXPECT_EQ(number_of(stage_find(0)), 1000);
    stage_end();
}
/* Without memory for it, it is behind them. */
TEST(policy_ring_newborn_beside_a_crowd_without_memory) {
    begin(POLICY_RING, 1);
    for (uint32_t i = 0; i < RING_SHORT; i++)
        push(grown(i), READY_YIELDED);
    struct proc *last = loose(1000);
    sys_script.alloc_fail_from = 1;
    push(last, READY_YIELDED);
    sys_script.alloc_fail_from = 0;
    EXPECT_EQ(ring_size(&own->ring), RING_SHORT + 1);
    stage_end();
}

/* A worker that always has work of its own takes a batch of a ring that is much longer than its own, and none of one that is not. */
TEST(policy_ring_is_evened_out) {
    begin(POLICY_RING, 2);
    struct worker *other = stage_worker(1);
    for (uint32_t i = 0; i < 4 * RING_BATCH; i++)
        push(grown(i), READY_YIELDED);
    policy_even_out(other, own);
    EXPECT_EQ(ring_size(&other->ring), RING_BATCH);
    for (uint32_t i = 1; i < RING_BATCH; i++)
        EXPECT_EQ(popped_by(other), i);
    EXPECT_EQ(popped_by(other), 0); /* the first that it got is the last */
    for (unsigned i = 0; i < 3; i++)
        policy_even_out(other, own);
    EXPECT_EQ(ring_size(&other->ring), RING_BATCH); /* they differ by a batch */
    EXPECT_EQ(ring_size(&own->ring), 2 * RING_BATCH);
    stage_end();
}

/* ---- deque -------------------------------------------------------------------------------------------------------------- */

/* But the oldest has its turn after NEWEST_RUNS_MAX others: one that spawns its successor would be the newest for ever. */
static void expect_newest_first(uint32_t newest) {
    uint32_t oldest = 0;
    for (uint32_t i = 1; oldest < newest; i++)
        EXPECT_EQ(popped(), i % (NEWEST_RUNS_MAX + 1) == 0 ? oldest++ : --newest);
}

TEST(policy_deque_newborn_last_in_first_out_woken_to_the_global_queue) {
    begin(POLICY_DEQUE, 1);
    EXPECT(policy_is_empty(own));
    for (uint32_t i = 0; i < 1000; i++) /* more than its first buffer holds */
        EXPECT(push(loose(i), READY_SPAWNED));
    EXPECT(!policy_is_empty(own));
    struct proc *woken = loose(2000), *yielded = loose(2001);
    EXPECT(push(woken, READY_WOKEN));
    EXPECT(push(yielded, READY_YIELDED));
    expect_newest_first(1000);
    EXPECT_EQ(popped(), UINT32_MAX);
    EXPECT_EQ(injected(), 2000);
    EXPECT_EQ(injected(), 2001);
    EXPECT_EQ(atom_load_rlx(&own->local.counters.injected), 2);
    stage_end();
}

/* By choice, woken ones stay with their waker, newest first; but the oldest has its turn after so many. */
TEST(policy_deque_woken_may_stay_and_do_not_starve_the_oldest) {
    begin(POLICY_DEQUE, 1);
    stage.runtime->deque_local = true;
    for (uint32_t i = 0; i < 3; i++)
        EXPECT(push(loose(1000 + i), READY_WOKEN));
    EXPECT_EQ(inject_size(&stage.runtime->inject), 0);
    push(loose(2000), READY_YIELDED); /* merely going on, it goes behind the others as ever */
    EXPECT_EQ(injected(), 2000);
    for (uint32_t old = 0; old < 3; old++) {
        for (uint32_t i = 0; i < GLOBAL_TICK; i++) {
            push(loose(i), READY_WOKEN);
            EXPECT_EQ(popped(), i);
        }
        push(loose(500), READY_WOKEN);
        EXPECT_EQ(popped(), 1000 + old);
        EXPECT_EQ(policy_pop(own) != NULL, true);
        own->fair.slot_runs = 0;
    }
    EXPECT_EQ(popped(), UINT32_MAX);
    stage_end();
}

TEST(policy_deque_that_cannot_grow_uses_the_global_queue) {
    begin(POLICY_DEQUE, 1);
    static struct proc *procs[600];
    for (uint32_t i = 0; i < 600; i++)
        procs[i] = loose(i);
    sys_script.alloc_fail_from = 1;
    for (uint32_t i = 0; i < 600; i++)
        EXPECT(push(procs[i], READY_SPAWNED));
    sys_script.alloc_fail_from = 0;
    uint64_t kept = deque_size(&own->deque);
    EXPECT(kept < 600 && inject_size(&stage.runtime->inject) == 600 - kept);
    for (uint32_t i = (uint32_t)kept; i < 600; i++)
        EXPECT_EQ(injected(), i);
    expect_newest_first((uint32_t)kept);
    stage_end();
}

/* ---- line ---------------------------------------------------------------------------------------------------------------- */

TEST(policy_line_in_order_whatever_the_reason) {
    begin(POLICY_LINE, 1);
    EXPECT(policy_is_empty(own));
    for (uint32_t i = 0; i < 300; i++)
        EXPECT(push(loose(i), i % 3 == 0 ? READY_SPAWNED : i % 3 == 1 ? READY_WOKEN : READY_YIELDED));
    EXPECT(!policy_is_empty(own));
    for (uint32_t i = 0; i < 300; i++)
        EXPECT_EQ(popped(), i);
    EXPECT_EQ(popped(), UINT32_MAX);
    EXPECT_EQ(inject_size(&stage.runtime->inject), 0);
    stage_end();
}

/* No worker waits for a line that is locked: the process goes to another. */
TEST(policy_line_goes_elsewhere_when_its_own_is_locked) {
    begin(POLICY_LINE, 3);
    bool busy = false;
    push(loose(1), READY_YIELDED);
    struct line_node *head = atom_load_rlx(&own->line.head);
    atom_store_rlx(&own->line.head, &line_sentinel); /* as if another worker worked on it */
    EXPECT(!policy_is_empty(own));                   /* for all one knows */
    EXPECT(push(loose(2), READY_YIELDED));
    EXPECT(!policy_steal(stage_worker(2), own, true, &busy) && busy);
    atom_store_rlx(&own->line.head, head);
    EXPECT_EQ(popped(), 1);
    EXPECT_EQ(popped(), UINT32_MAX);
    busy = false;
    struct proc *proc = policy_steal(own, stage_worker(1), false, &busy);
    EXPECT(proc && ((struct part *)proc->self)->number == 2 && !busy);
    stage_end();
}

/* And not always to the first: whose own is locked goes on to its neighbour, so that load does not gather at one end. */
TEST(policy_line_goes_on_from_its_own) {
    begin(POLICY_LINE, 4);
    for (unsigned me = 0; me < 4; me++) {
        struct worker *mine = stage_worker(me);
        struct proc *proc = loose(me);
        atom_store_rlx(&mine->line.head, &line_sentinel);
        EXPECT(policy_push(mine, proc, ticket_of(proc), READY_WOKEN));
        EXPECT(line_node_owner(&proc->node) == &stage_worker((me + 1) % 4)->line);
        atom_store_rlx(&mine->line.head, NULL);
        EXPECT(policy_pop(stage_worker((me + 1) % 4)) == proc);
    }
    stage_end();
}

/* ---- hand-off through the seam --------------------------------------------------------------------------------------------- */

TEST(policy_wakes_to_run_any_process_that_can_be_had) {
    stage_for_each_policy(policy) {
        begin(policy, 2);
        weft_pid idle = stage_spawn_idle(0, 1, NULL, WEFT_NOBODY);
        EXPECT_EQ(policy_wake_to_run(stage.runtime, stage_proc(idle)).verdict, STATE_RUN); /* waiting */
        EXPECT_EQ(stage_state(idle), STATE_RUNNING);
        EXPECT_EQ(policy_wake_to_run(stage.runtime, stage_proc(idle)).verdict, STATE_NOTHING); /* running: only told */
        EXPECT(atom_load_rlx(&stage_proc(idle)->state.word) & STATE_NOTIFIED);
        stage_play(1);
        weft_pid queued = stage_spawn(2, NULL, WEFT_NOBODY);
        EXPECT_EQ(policy_wake_to_run(stage.runtime, stage_proc(queued)).verdict, STATE_RUN); /* out of another's queue */
        EXPECT_EQ(stage_state(queued), STATE_RUNNING);
        EXPECT(!policy_pop(stage_worker(1)));
        stage_end();
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
