/* The newborn for which a ring had no room: found by a worker that has nothing to do, once each. As in find.c, a worker takes one process
 * and is busy with it for ever; there are as many as workers, and one that is not found means a worker asleep for ever. */
#include "sleepers.h"

#include "mail/send.h"
#include "sched/door.h"
#include "sched/newborn.h"
#include "step/step.h"

/* `count` that have never run, in the first worker's newborn queue. */
static void set_up(unsigned workers, unsigned count) {
    small_begin(POLICY_RING, workers, 4);
    small_play(0);
    for (unsigned i = 0; i < count; i++) {
        chk_assert(weft_spawn_step(&counts, &(weft_spawn_options){.input = &i, .input_size = sizeof i}, &pid[i]) == 0, "spawned");
        small_name(pid[i]);
        uint64_t entry = ring_take_next(&small_worker(0)->ring);
        chk_assert(state_is_newborn(&small_proc(pid[i])->state) && newborn_put(small_worker(0), &entry, 1), "it has never run");
    }
    chk_name(&small_worker(0)->newborn.size, "newborn");
}
static void two(void) { set_up(2, 2); }
static void works_once(void) {
    struct worker *worker = small_play(chk_self());
    step_run(worker, find_work(worker));
}
static void two_ran(void) {
    for (unsigned i = 0; i < 2; i++)
        chk_assert(runs[i] == 1, "each has run once");
    chk_assert(idle_searchers(&small->idle) == 0 && idle_sleepers(&small->idle) == 0, "no worker is counted that is not there");
    small_end();
}
SCENARIO(newborn_two, .about = "a worker takes two of its newborn || another steals, or goes to sleep", .setup = two,
         .threads = {works_once, works_once}, .finish = two_ran)

/* The owner's look round is for the eldest. */
static void two_due(void) {
    two();
    tick_begin(small_worker(0), 1);
    small_worker(0)->fair.newborn_looks = 1; /* with the next it is the eldest's turn */
}
SCENARIO(newborn_eldest, .about = "a worker takes the eldest || another steals, or goes to sleep", .setup = two_due,
         .threads = {works_once, works_once}, .finish = two_ran)

/* A ring that is full: what does not fit is told to a sleeper as well. */
static void full(void) {
    small_begin(POLICY_RING, 2, 4);
    small_play(0);
}
static void spawns_until_it_overflows(void) {
    struct worker *worker = small_play(0);
    for (unsigned i = 0; i < 2; i++)
        chk_assert(weft_spawn_step(&counts, &(weft_spawn_options){.input = &i, .input_size = sizeof i}, &pid[i]) == 0, "spawned");
    uint64_t entry = ring_pop(&worker->ring); /* as if the ring had been full */
    if (entry != ENTRY_NONE) {
        chk_assert(newborn_put(worker, &entry, 1), "there is memory");
        ready_wake(small, worker);
    }
    step_run(worker, find_work(worker));
}
SCENARIO(newborn_put, .about = "a worker puts one of two newborn into its newborn queue and runs the other || another goes to sleep",
         .setup = full, .threads = {spawns_until_it_overflows, works_once}, .finish = two_ran)

/* Both are taken, one is kept, and no worker is told. */
static void takes_both_silently(void) {
    struct worker *worker = small_play(0);
    uint64_t batch[2];
    size_t n = inject_take_newest(&worker->newborn, batch, 2);
    if (n == 0) {
        step_run(worker, find_work(worker));
        return;
    }
    struct proc *proc = find_claim(batch[0]);
    if (n == 2) ring_push(&worker->ring, batch[1]);
    step_run(worker, proc ? proc : find_work(worker));
}
SCENARIO(newborn_twin_silent, .about = "broken: a worker takes both and keeps one without a word || another goes to sleep", .setup = two,
         .threads = {takes_both_silently, works_once}, .finish = two_ran, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

static unsigned ended; /* changed by one thread at a time: in `finish`, and by the thief */
static int brief_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    ended++;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior brief = {.name = "brief", .step = brief_step};

/* A ring that its owner has found long, and thieves empty meanwhile: its oldest entry is none, in a place that was never used. (The owner's thread may have
 * lost the CPU between its two looks.) */
enum { CROWD = RING_SHORT + 2 };
static weft_pid crowd[CROWD];
static void spawn_crowd(unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++)
        chk_assert(weft_spawn_step(&brief, NULL, &crowd[i]) == 0, "spawned");
}
static void long_ring(void) {
    small_begin(POLICY_RING, 2, CROWD);
    small_play(0);
    ended = 0;
    spawn_crowd(0, CROWD - 1); /* one of them lies in the slot */
    chk_assert(ring_size(&small_worker(0)->ring) == RING_SHORT + 1, "it is long");
}
static void spawns_one_more(void) {
    small_play(0);
    spawn_crowd(CROWD - 1, CROWD);
}
static void empties(void) {
    struct worker *worker = small_play(1);
    uint64_t first;
    for (unsigned i = 0; i < RING_SHORT; i++)
        if (ring_steal(&worker->ring, &small_worker(0)->ring, &first) > 0) step_run(worker, find_claim(first));
}
static void all_ended(void) {
    small_run_own(small_play(1));
    small_run_own(small_play(0));
    size_t waiting = inject_size(&small_worker(0)->newborn) + inject_size(&small_worker(1)->newborn) + inject_size(&small->inject);
    chk_assert(ended + waiting == CROWD, "each has run once, or waits to be found");
    small_end();
}
SCENARIO(newborn_emptied, .about = "a worker spawns when its ring is long || a thief empties the ring", .setup = long_ring,
         .threads = {spawns_one_more, empties}, .finish = all_ended)
