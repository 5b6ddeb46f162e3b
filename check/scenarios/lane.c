/* Lanes: the timers of one receiver's messages lie in one worker's wheel, also while that worker leaves and comes back, and ring one after
 * the other. Here a timer is an timer that counts: the first to be armed must be the first to ring.
 *
 * The real lane_arm, timer_events_ring, worker_main and workers_compensate. Worker 1 is an extra one; its timers are worker 0's when it has
 * left. */
#include "small_runtime.h"

#include "mail/lane.h"
#include "thread/worker.h"

enum { EVENTS = 3, LATER = 9 };

static atom_u64 *lane;
static struct counted {
    struct timer_event timer;
    unsigned number;
} events[EVENTS];
static atom_u32 rung, sent;

static void rings(struct local *local, struct worker *self, struct timer_event *event) {
    (void)local, (void)self;
    chk_assert(atom_add_rlx(&rung, 1) == ((struct counted *)event)->number, "they ring in the order in which they were armed");
}

static void arm(struct worker *self, unsigned i) { lane_arm(small, self, lane, &events[i].timer, LATER); }

/* Worker 1, which has been sent away and has not looked at its orders, has armed so many. */
static void set_up(unsigned armed) {
    small_begin(POLICY_DEQUE, 2, 4); /* the policy with the fewest executions */
    atom_store_rlx(&small->wanted, 1);
    atom_store_rlx(&small->extra, 1);
    small_has_begun(0);
    small_has_begun(1);
    workers_compensate(small, 0);
    tick_begin(small_worker(1), 1);
    lane = lane_of(small, 1);
    chk_name(lane, "lane");
    chk_name(&rung, "rung");
    chk_name(&sent, "sent");
    atom_store_rlx(&rung, 0);
    atom_store_rlx(&sent, 0);
    for (unsigned i = 0; i < EVENTS; i++) {
        timer_event_init(&events[i].timer, rings);
        events[i].number = i;
    }
    for (unsigned i = 0; i < armed; i++)
        arm(small_worker(1), i);
}
static void none_armed(void) { set_up(0); }
static void one_armed(void) { set_up(1); }
static void all_armed(void) { set_up(EVENTS); }

static void leaves(void) { worker_main(small_play(1)); }
static void arms_1(void) { arm(NULL, 1); }
static void arms_2(void) { arm(NULL, 2); }

/* ---- the worker leaves, and comes back ------------------------------------------------------------------------------ */

/* So many are armed, all in one wheel. */
static void in_one_wheel(unsigned armed) {
    struct timers *place = atom_load_rlx(&events[0].timer.timer.place);
    for (unsigned i = 0; i < armed; i++) {
        chk_assert(atom_load_rlx(&events[i].timer.timer.place) == place, "one wheel has them all");
        chk_assert(timer_event_cancel(&events[i].timer), "none has rung");
        lane_leave(lane);
    }
    chk_assert(atom_load_rlx(lane) < LANE_ONE, "none is pending");
    chk_assert(place == &small_worker(0)->timers, "a worker that has left has none");
    small_end();
}
static void two_in_one_wheel(void) { in_one_wheel(2); }
static void all_in_one_wheel(void) { in_one_wheel(EVENTS); }
SCENARIO(lane_leave, .about = "a worker leaves with a timer || one more is armed in its lane", .setup = one_armed,
         .threads = {leaves, arms_1}, .finish = two_in_one_wheel)
/* As much of worker_leave as the two may notice: with all of it there are millions of executions. */
static void leaves_timers(void) { timers_move(&small_worker(0)->timers, &small_worker(1)->timers); }
SCENARIO(lane_leave_two, .about = "a worker's timers are moved away || two more are armed in its lane", .setup = one_armed,
         .threads = {leaves_timers, arms_1, arms_2}, .finish = all_in_one_wheel, .deep_in = CHK_ALL)

static void arms_0_as_0(void) { arm(small_play(0), 0); }
static void arms_1_as_1(void) { arm(small_play(1), 1); }
static void two_in_either_wheel(void) {
    chk_assert(atom_load_rlx(&events[0].timer.timer.place) == atom_load_rlx(&events[1].timer.timer.place), "one wheel has both");
    chk_assert(timer_event_cancel(&events[0].timer) && timer_event_cancel(&events[1].timer), "none has rung");
    small_end();
}
SCENARIO(lane_two, .about = "two workers arm the first two timers of a lane", .setup = none_armed, .threads = {arms_0_as_0, arms_1_as_1},
         .finish = two_in_either_wheel)

static void is_back(void) {
    struct spin spin = spin_begin();
    while (atom_load_rlx(&small_worker(1)->driven))
        spin_wait(&spin);
    workers_compensate(small, 1);
}
SCENARIO(lane_back, .about = "a worker leaves with a timer || comes back || one more is armed in its old lane (N2)", .setup = one_armed,
         .threads = {leaves, is_back, arms_1}, .finish = two_in_one_wheel, .deep_in = CHK_SC | CHK_TSO)

static void arms_1_again(void) { lane_arm_again(small, NULL, lane, &events[1].timer, LATER); }
static void one_armed_one_rung(void) {
    set_up(2);
    timer_event_cancel(&events[1].timer);
}
SCENARIO(lane_back_again, .about = "the same || one that has rung is armed again", .setup = one_armed_one_rung,
         .threads = {leaves, is_back, arms_1_again}, .finish = two_in_one_wheel, .deep_in = CHK_ALL)

/* lane_arm, but the tenure is looked at first and not under the lock of the timers. */
static void arms_1_by_an_old_look(void) {
    uint64_t found = atom_add_acqrel(lane, LANE_ONE);
    struct worker *at = small_worker(1);
    bool there = (uint32_t)found == (timers_moved(&at->timers) << LANE_TENURE | at->index);
    timer_event_arm_at(small, NULL, there ? at : small_worker(0), &events[1].timer, LATER);
}
SCENARIO(lane_twin_old_look, .about = "as lane_back, but the tenure is not looked at under the lock", .setup = one_armed,
         .threads = {leaves, is_back, arms_1_by_an_old_look}, .finish = two_in_one_wheel, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
/* lane_arm, but that a worker is the same whenever it comes back. */
static void arms_1_without_tenure(void) {
    atom_add_acqrel(lane, LANE_ONE);
    timer_event_arm_at(small, NULL, small_worker(1), &events[1].timer, LATER);
}
SCENARIO(lane_twin_no_tenure, .about = "the same, but a worker that is back has its old lanes", .setup = one_armed,
         .threads = {leaves, is_back, arms_1_without_tenure}, .finish = two_in_one_wheel, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* ---- several ring --------------------------------------------------------------------------------------------------- */

static uint32_t ring(unsigned door, unsigned worker) { return timer_events_ring(&small->doors[door], NULL, small_worker(worker), LATER); }
static void rings_1(void) { ring(0, 1); }
static void rings_1_too(void) { ring(1, 1); }
static void ring_rest(unsigned worker) {
    while (atom_load_rlx(&rung) < EVENTS)
        chk_assert(ring(0, worker) > 0, "what is left is there");
    small_end();
}
static void ring_rest_of_0(void) { ring_rest(0); }
static void ring_rest_of_1(void) { ring_rest(1); }
SCENARIO(lane_ring_two, .about = "three timers are due, of which two are handed out at once || two threads ring them", .setup = all_armed,
         .threads = {rings_1, rings_1_too}, .finish = ring_rest_of_1)

static void rings_as_0(void) {
    struct spin spin = spin_begin();
    while (timers_next(&small_worker(0)->timers) == SYS_FOREVER)
        spin_wait(&spin);
    ring(1, 0);
}
SCENARIO(lane_ring_leave,
         .about = "a worker leaves with three timers that are due || one rings them || one rings those that the first worker has",
         .setup = all_armed, .threads = {leaves, rings_1, rings_as_0}, .finish = ring_rest_of_0)

/* timer_events_ring, but several do at once. */
static void ring_in_a_crowd(void) {
    for (struct timer *due = timers_run(&small_worker(1)->timers, LATER), *after; due; due = after) {
        after = due->next;
        rings(NULL, NULL, (struct timer_event *)due);
        timer_done(due);
    }
}
SCENARIO(lane_twin_ring_two, .about = "as lane_ring_two, but each rings what it has got", .setup = all_armed,
         .threads = {ring_in_a_crowd, ring_in_a_crowd}, .finish = ring_rest_of_1, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
SCENARIO(lane_twin_ring_leave, .about = "as lane_ring_leave, but the worker leaves while its timers are being rung", .setup = all_armed,
         .threads = {leaves_timers, rings_1, rings_as_0}, .finish = ring_rest_of_0, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* ---- the word -------------------------------------------------------------------------------------------------------- */

/* What lane_leave ends: a message is sent, and the next timer may ring elsewhere. */
static void ends(void (*leave)(atom_u64 *)) {
    atom_store_rlx(&sent, 1);
    leave(lane);
}
static void arms_elsewhere(void) {
    arm(small_worker(0), 1);
    bool elsewhere = (uint32_t)atom_load_rlx(lane) == 0;
    chk_assert(!elsewhere || atom_load_rlx(&sent) == 1, "a new lane comes after what was sent in the old one (N1)");
}
static void one_pending(void) {
    set_up(1);
    timer_event_cancel(&events[0].timer);
}
static void one_left(void) {
    chk_assert(atom_load_rlx(lane) >> 32 == 1 && timer_event_cancel(&events[1].timer), "one is pending");
    small_end();
}
static void sends_and_ends(void) { ends(lane_leave); }
SCENARIO(lane_next, .about = "the last timer of a lane has rung || another worker arms one", .setup = one_pending,
         .threads = {sends_and_ends, arms_elsewhere}, .finish = one_left)
static void leave_relaxed(atom_u64 *own) { atom_sub_rlx(own, LANE_ONE); }
static void sends_and_ends_relaxed(void) { ends(leave_relaxed); }
SCENARIO(lane_twin_next_relaxed, .about = "the same, and nothing orders the two", .setup = one_pending,
         .threads = {sends_and_ends_relaxed, arms_elsewhere}, .finish = one_left, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* In a chunk that no process has been sent anything later before. */
static atom_u64 *found[2];
static void finds_a_lane(void) {
    found[chk_self()] = lane_of(small, TABLE_CHUNK);
    atom_add_rlx(found[chk_self()], LANE_ONE);
}
static void found_the_same(void) {
    chk_assert(found[0] == found[1] && atom_load_rlx(found[0]) == 2 * LANE_ONE, "there is one, zeroed before it was known");
    small_end();
}
SCENARIO(lane_first, .about = "two threads need the first lane of a chunk", .setup = none_armed, .threads = {finds_a_lane, finds_a_lane},
         .finish = found_the_same)
