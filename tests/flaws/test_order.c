/* Flaws of the documents that are about order and progress (docs/flaws.md): which process runs when.
 *
 * No interleaving is needed to see them, so they are not scenarios of the model checker but small simulations that
 * count steps: a queue discipline, a few processes, how long a process waits. Each flaw is shown in the printed form,
 * where the wait has no bound, and in the corrected form, with its bound. Once there is a scheduler, its own tests
 * assert the same bounds. */
#include "test.h"

#include <string.h>

enum { QUEUE = 64, FOREVER = 10000, NOBODY = -1 };

/* A queue of process numbers, open at both ends. */
struct queue {
    int n;
    int at[QUEUE];
};

static void put_tail(struct queue *q, int p) {
    EXPECT(q->n < QUEUE);
    q->at[q->n++] = p;
}
static int take_tail(struct queue *q) { return q->n > 0 ? q->at[--q->n] : NOBODY; }
static int take_entry(struct queue *q, int i) {
    if (i >= q->n) return NOBODY;
    int p = q->at[i];
    memmove(&q->at[i], &q->at[i + 1], (size_t)(--q->n - i) * sizeof q->at[0]);
    return p;
}
static int take_head(struct queue *q) { return take_entry(q, 0); }
static int find(const struct queue *q, int p) {
    for (int i = 0; i < q->n; i++)
        if (q->at[i] == p) return i;
    return q->n;
}

/* 000.10: every scan for a thread to enqueue on starts at thread 0. ------------------------------------------------ */

enum { THREADS = 4, SPAWNS = 40 };

/* All threads are busy and no queue is locked, so the first one asked takes the process. */
static void spawn_all(struct queue threads[THREADS], bool rotate) {
    for (int p = 0; p < SPAWNS; p++)
        put_tail(&threads[rotate ? p % THREADS : 0], p);
}
static int longest(const struct queue threads[THREADS]) {
    int n = 0;
    for (int t = 0; t < THREADS; t++)
        if (threads[t].n > n) n = threads[t].n;
    return n;
}

TEST(order_000_10_scan_from_thread_0_piles_up) {
    struct queue threads[THREADS] = {0};
    spawn_all(threads, false);
    EXPECT_EQ(longest(threads), SPAWNS);
}
TEST(order_000_10_scan_from_the_next_thread_is_even) {
    struct queue threads[THREADS] = {0};
    spawn_all(threads, true);
    EXPECT_EQ(longest(threads), SPAWNS / THREADS);
}

/* 000.10: two processes that hand the thread to each other; a third is queued. ----------------------------------- */

/* SendToProcess: the target is taken out of the queue wherever it is and runs next, the sender is queued. Returns after
 * how many steps the third process ran. A budget of 0 is none. */
static int steps_until_third_runs(int budget) {
    enum { A, B, THIRD };
    struct queue q = {0};
    put_tail(&q, THIRD);
    put_tail(&q, B);
    int now = A, in_a_row = 0;
    for (int step = 1; step < FOREVER; step++) {
        int target = now == A ? B : A;
        if (budget == 0 || in_a_row < budget) {
            EXPECT_EQ(take_entry(&q, find(&q, target)), target);
            put_tail(&q, now);
            now = target;
            in_a_row++;
            continue;
        }
        put_tail(&q, now); /* the message is sent all the same; the thread goes to its queue */
        now = take_head(&q);
        in_a_row = 0;
        if (now == THIRD) return step;
    }
    return FOREVER;
}

TEST(order_000_10_handoff_chain_starves_the_queue) { EXPECT_EQ(steps_until_third_runs(0), FOREVER); }
TEST(order_000_10_handoff_budget_bounds_the_wait) {
    for (int budget = 1; budget <= 16; budget++)
        EXPECT_EQ(steps_until_third_runs(budget), budget + 1);
}

/* 000.2: a thread that does not leave its loop on Null. ---------------------------------------------------------- */

/* One process, then nothing. Returns how many times the thread looked before it went to sleep. */
static int looks_before_sleep(bool leave_on_null) {
    struct queue q = {0};
    put_tail(&q, 0);
    for (int looks = 1; looks < FOREVER; looks++)
        if (take_head(&q) == NOBODY && leave_on_null) return looks;
    return FOREVER;
}

TEST(order_000_2_inner_loop_never_idles) { EXPECT_EQ(looks_before_sleep(false), FOREVER); }
TEST(order_000_2_leaving_on_null_idles) { EXPECT_EQ(looks_before_sleep(true), 2); }

/* 002.6: a LIFO deque alone. ------------------------------------------------------------------------------------- */

enum { EAGER, PATIENT, REMOTE };
enum { TICK = 61 };

struct worker {
    struct queue own;    /* popped at the tail */
    struct queue global; /* popped at the head */
    bool tail_requeue;   /* a process that merely continues goes to the global tail, not back on top */
    bool tick;           /* every 61st step begins with the global queue */
};

static int next_process(struct worker *w, int step) {
    int p = w->tick && step % TICK == 0 ? take_head(&w->global) : NOBODY;
    if (p == NOBODY) p = take_tail(&w->own);
    return p == NOBODY ? take_head(&w->global) : p;
}
/* EAGER always continues. Returns after how many steps `wanted` ran. */
static int steps_until_runs(struct worker *w, int wanted) {
    for (int step = 1; step < FOREVER; step++) {
        int p = next_process(w, step);
        if (p == wanted) return step;
        put_tail(w->tail_requeue ? &w->global : &w->own, p);
    }
    return FOREVER;
}

TEST(order_002_6_lifo_runs_the_eager_one_for_ever) {
    struct worker w = {0};
    put_tail(&w.own, PATIENT);
    put_tail(&w.own, EAGER);
    EXPECT_EQ(steps_until_runs(&w, PATIENT), FOREVER);
}
TEST(order_002_6_lifo_never_reaches_the_global_queue) {
    struct worker w = {0};
    put_tail(&w.own, EAGER);
    put_tail(&w.global, REMOTE);
    EXPECT_EQ(steps_until_runs(&w, REMOTE), FOREVER);
}
TEST(order_002_6_tail_requeue_lets_the_others_run) {
    struct worker w = {.tail_requeue = true};
    put_tail(&w.own, PATIENT);
    put_tail(&w.own, EAGER);
    EXPECT_EQ(steps_until_runs(&w, PATIENT), 2);
}
TEST(order_002_6_tick_bounds_the_wait_in_the_global_queue) {
    struct worker w = {.tick = true};
    put_tail(&w.own, EAGER);
    put_tail(&w.global, REMOTE);
    EXPECT_EQ(steps_until_runs(&w, REMOTE), TICK);
}

/* Two processes that wake each other through the one-entry LIFO slot, one queued behind it. A cap of 0 is none. */
static int steps_until_behind_slot_runs(int cap) {
    enum { A, B, BEHIND };
    struct queue ring = {0};
    put_tail(&ring, BEHIND);
    int slot = A, in_a_row = 0;
    for (int step = 1; step < FOREVER; step++) {
        int p = slot;
        if (cap > 0 && ++in_a_row > cap) { /* once over the cap, the slot's process goes to the ring like any other */
            put_tail(&ring, p);
            p = take_head(&ring);
            in_a_row = 0;
        }
        if (p == BEHIND) return step;
        slot = p == A ? B : A; /* wakes the other, and parks */
    }
    return FOREVER;
}

TEST(order_002_6_slot_runs_uncapped_starve_the_ring) { EXPECT_EQ(steps_until_behind_slot_runs(0), FOREVER); }
TEST(order_002_6_slot_cap_bounds_the_wait) {
    for (int cap = 1; cap <= 8; cap++)
        EXPECT_EQ(steps_until_behind_slot_runs(cap), cap + 1);
}

/* 002.7: a wake-up handed to a busy worker while another sleeps. ------------------------------------------------- */

enum { LONG_RUN = 500 };

/* Worker 0 runs something long, worker 1 sleeps. A process becomes ready at step 0; returns at which step it begins. */
static int begins_at(bool wake_a_sleeper) {
    struct queue queues[2] = {0};
    bool asleep[2] = {false, true};
    int busy_until[2] = {LONG_RUN, 0};
    int target = wake_a_sleeper ? 1 : 0;
    put_tail(&queues[target], PATIENT);
    asleep[target] = false;
    for (int step = 0; step < FOREVER; step++)
        for (int w = 0; w < 2; w++)
            if (!asleep[w] && step >= busy_until[w] && take_head(&queues[w]) == PATIENT) return step;
    return FOREVER;
}

TEST(order_002_7_wakeup_to_the_busy_waits_for_it) { EXPECT_EQ(begins_at(false), LONG_RUN); }
TEST(order_002_7_wakeup_to_a_sleeper_begins_at_once) { EXPECT_EQ(begins_at(true), 0); }

int main(int argc, char **argv) { return test_main(argc, argv); }
