/* Timers with the real lock and wheel (two slots a level): armed, cancelled, run by thieves, moved; and designs that
 * are wrong.
 *
 * A waiter is memory from the heap, as a frame of a parked process would be: its user frees it as soon as the timer is
 * its own again. A thread that touches it then is reported, and so is a runner that still reads. `fired` counts what runners
 * saw, one array a thread. */
#include "time/timers.h"

#include "chk.h"

enum { WAITERS = 3 };

struct waiter {
    struct timer timer;
    unsigned id; /* plain, beside the timer: which process it is for */
};

static struct timers own, other;
SHARED struct waiter *waiters[WAITERS];
SHARED unsigned fired[CHK_THREADS + 1][WAITERS]; /* the last row is for finish */
SHARED unsigned cancelled[WAITERS], timed_out[WAITERS], lowered[CHK_THREADS];

static void make(unsigned id) {
    waiters[id] = sys->alloc(sizeof **waiters);
    waiters[id]->id = id;
    timer_init(&waiters[id]->timer);
}
static void arm(unsigned id, uint64_t when) { timers_arm(&own, &waiters[id]->timer, when); }

/* Steps 1 and 2 of a runner. */
static void run_seen(struct timers *any, uint64_t now, unsigned *seen) {
    struct timer *timer, *next;
    for (timer = timers_run(any, now); timer; timer = next) {
        next = timer->next;
        chk_assert(timer->when <= now, "no timer is early");
        seen[((struct waiter *)timer)->id]++;
        timer_done(timer);
    }
}
static void run(struct timers *any, uint64_t now) { run_seen(any, now, fired[chk_self()]); }
static void run_left(struct timers *any, uint64_t now) { run_seen(any, now, fired[CHK_THREADS]); }

static void leave(unsigned id, bool in_time) {
    if (in_time) cancelled[id] = 1;
    else timed_out[id] = 1;
    sys->free(waiters[id], sizeof **waiters);
    waiters[id] = NULL;
}
static void wait_over(unsigned id) { leave(id, timers_cancel_wait(&waiters[id]->timer)); }

static void check_once(unsigned id) {
    unsigned times = 0;
    for (unsigned i = 0; i <= CHK_THREADS; i++)
        times += fired[i][id];
    chk_assert(times == timed_out[id], "it fired if its user was told so, and then once");
    chk_assert(cancelled[id] + timed_out[id] == 1, "its user came to an end");
}

/* ---- One timers ------------------------------------------------------------------------------------------------ */

static void set_up(void) {
    timers_init(&own, 0);
    chk_name(&own.next, "next");
    chk_name(&own.lock.word, "lock");
}
static void set_up_one(void) {
    set_up();
    make(0);
    chk_name(&waiters[0]->timer.place, "place");
    arm(0, 5);
}
static void set_up_two(void) {
    set_up_one();
    make(1);
    arm(1, 4);
}
static void set_up_three(void) {
    set_up_two();
    make(2);
    arm(2, 5);
}

static void set_up_one_armed(void) {
    set_up_one();
    make(1);
}

static void run_own(void) { run(&own, 5); }
static void run_own_early(void) { run(&own, 4); }
static void arm_0(void) { lowered[chk_self()] = timers_arm(&own, &waiters[0]->timer, 5); }
static void arm_1(void) { lowered[chk_self()] = timers_arm(&own, &waiters[1]->timer, 4); }
static void wait_0(void) { wait_over(0); }
static void wait_1(void) { wait_over(1); }
static void arm_and_wait_0(void) {
    make(0);
    arm(0, 5);
    wait_over(0);
}
static void arm_and_wait_1(void) {
    make(1);
    arm(1, 4);
    wait_over(1);
}

static void finish(unsigned count) {
    for (unsigned id = 0; id < count; id++) {
        if (waiters[id]) wait_over(id);
        check_once(id);
    }
    chk_assert(timers_next(&own) == SYS_FOREVER, "nothing armed, nothing announced");
    timers_destroy(&own);
}
static void finish_1(void) { finish(1); }
static void finish_2(void) { finish(2); }
static void finish_3(void) { finish(3); }
static void finish_left(void) {
    run_left(&own, 5);
    finish(2);
}

SCENARIO(timers_fire_or_cancel, .about = "a thief runs what the user cancels (T2, T3)", .setup = set_up_one, .threads = {wait_0, run_own},
         .finish = finish_1)
SCENARIO(timers_two_thieves, .about = "two thieves run what the user cancels", .setup = set_up_one, .threads = {wait_0, run_own, run_own},
         .finish = finish_1, .deep_in = CHK_SC | CHK_TSO)
SCENARIO(timers_two_users, .about = "two users cancel, one thief hands out both", .setup = set_up_two, .threads = {wait_0, wait_1, run_own},
         .finish = finish_2, .deep_in = CHK_SC | CHK_TSO)
SCENARIO(timers_arm, .about = "a user arms and cancels, a thief runs", .setup = set_up, .threads = {arm_and_wait_0, run_own},
         .finish = finish_1)
SCENARIO(timers_arm_two, .about = "two users arm and cancel", .setup = set_up, .threads = {arm_and_wait_0, arm_and_wait_1},
         .finish = finish_2)
SCENARIO(timers_arm_run_cancel, .about = "one arms, one cancels, a thief runs", .setup = set_up_one_armed,
         .threads = {wait_0, arm_1, run_own}, .finish = finish_left, .deep_in = CHK_SC | CHK_TSO)
SCENARIO(timers_batches, .about = "more timers than a batch, out of order, two thieves with different clocks", .setup = set_up_three,
         .threads = {run_own, run_own_early}, .finish = finish_3)

/* ---- `next` ---------------------------------------------------------------------------------------------------- */

/* The one that arms earlier than all before is told so, and no announcement hides an earlier timer (T4). */
static void set_up_unarmed(void) {
    set_up();
    make(0);
    make(1);
}
static void finish_next(void) {
    uint64_t next = !fired[2][1] ? 4 : !fired[2][0] ? 5 : SYS_FOREVER;
    chk_assert(timers_next(&own) == next, "the earliest one that is left is announced");
    chk_assert(lowered[1], "the earliest of all lowers `next`");
    run_left(&own, 5);
    finish(2);
}
SCENARIO(timers_announce, .about = "two arm, a thief runs: `next` is the earliest that is left (T4)", .setup = set_up_unarmed,
         .threads = {arm_0, arm_1, run_own}, .finish = finish_next)

/* ---- Armed again by the runner --------------------------------------------------------------------------------- */

static void run_again(uint64_t when) {
    struct timer *timer = timers_run(&own, 5);
    if (!timer) return;
    chk_assert(((struct waiter *)timer)->id == 0 && !timer->next, "there is one");
    timers_arm(&own, timer, when);
}
static void run_periodic(void) { run_again(timer_next_period(5, 2, 5)); }
static void run_never(void) { run_again(SYS_FOREVER); }
static void run_twice(void) {
    run_periodic();
    run(&own, 7);
}
static void finish_again(void) {
    chk_assert(cancelled[0] + timed_out[0] == 1, "its user came to an end");
    chk_assert(fired[1][0] == timed_out[0], "it fired if its user was told so");
    timers_destroy(&own);
}
SCENARIO(timers_periodic, .about = "the runner arms again and runs again, the user cancels", .setup = set_up_one,
         .threads = {wait_0, run_twice}, .finish = finish_again, .deep_in = CHK_SC | CHK_TSO)
SCENARIO(timers_no_more, .about = "the runner arms for ever, the user cancels", .setup = set_up_one, .threads = {wait_0, run_never},
         .finish = finish_again)

/* ---- Moves ----------------------------------------------------------------------------------------------------- */

static void set_up_move(void) {
    set_up_one();
    timers_init(&other, 3);
    chk_name(&other.lock.word, "other lock");
}
static void set_up_move_two(void) {
    set_up_move();
    make(1);
    timers_arm(&other, &waiters[1]->timer, 4);
}
static void move(void) { timers_move(&other, &own); }
static void run_other(void) { run(&other, 5); }
static void finish_move(void) {
    chk_assert(timers_next(&own) == SYS_FOREVER && own.wheel.levels == 0, "all were moved");
    run_left(&other, 5);
    finish(waiters[1] || timed_out[1] ? 2 : 1);
    chk_assert(timers_next(&other) == SYS_FOREVER, "nothing armed, nothing announced");
    timers_destroy(&other);
}
SCENARIO(timers_move_cancel, .about = "a move while the user cancels (T1)", .setup = set_up_move, .threads = {wait_0, move},
         .finish = finish_move)
SCENARIO(timers_move_run, .about = "a move, while thieves run both", .setup = set_up_move_two, .threads = {move, run_own, run_other},
         .finish = finish_move)
SCENARIO(timers_move_run_cancel, .about = "a move, a thief at the new place, and the user cancels", .setup = set_up_move,
         .threads = {wait_0, move, run_other}, .finish = finish_move)

/* ---- Designs that are wrong ------------------------------------------------------------------------------------ */

/* The user goes as soon as cancel has said that the timer is being handed out. */
static void wait_0_impatient(void) { leave(0, timers_cancel(&waiters[0]->timer)); }
SCENARIO(timers_bad_impatient, .about = "the user does not wait for the runner", .setup = set_up_one,
         .threads = {wait_0_impatient, run_own}, .flawed_in = CHK_ALL)

/* The runner says that it is done before it has read which process the timer is for. */
static void run_hasty(void) {
    struct timer *timer = timers_run(&own, 5);
    if (!timer) return;
    timer_done(timer);
    fired[chk_self()][((struct waiter *)timer)->id]++;
}
SCENARIO(timers_bad_hasty, .about = "the runner reads after timer_done", .setup = set_up_one, .threads = {wait_0, run_hasty},
         .flawed_in = CHK_ALL)

/* The runner says so without releasing what it read. */
static void run_relaxed(void) {
    struct timer *timer = timers_run(&own, 5);
    if (!timer) return;
    fired[chk_self()][((struct waiter *)timer)->id]++;
    atom_store_rlx(&timer->place, TIMER_DONE);
}
SCENARIO(timers_bad_relaxed, .about = "timer_done without release", .setup = set_up_one, .threads = {wait_0, run_relaxed},
         .flawed_in = CHK_C11)

/* A cancel that trusts the place it read before it had the lock. */
static void wait_0_trusting(void) {
    struct timers *in = atom_load_acq(&waiters[0]->timer.place);
    spinlock_take(&in->lock);
    wheel_remove(&in->wheel, &waiters[0]->timer);
    atom_store_rlx(&waiters[0]->timer.place, TIMER_FREE);
    spinlock_drop(&in->lock);
    leave(0, true);
}
SCENARIO(timers_bad_trusting, .about = "a cancel that does not look again under the lock", .setup = set_up_move,
         .threads = {wait_0_trusting, move}, .finish = finish_move, .flawed_in = CHK_ALL)

/* A cancel by state alone: it marks the timer, and leaves it to the runner to see that. */
static void wait_0_lazy(void) {
    struct timers *armed = &own;
    if (atom_cas_acqrel_acq(&waiters[0]->timer.place, &armed, TIMER_FREE)) leave(0, true);
}
SCENARIO(timers_bad_lazy, .about = "a cancelled timer stays in its list", .setup = set_up_one, .threads = {wait_0_lazy, run_own},
         .flawed_in = CHK_ALL)
