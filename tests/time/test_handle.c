/* Handles of timers: cancelled and rung on one thread, and on several with handles that are old. */
#include "time/handle.h"

#include "../queue/crew.h"
#include "queue/lock.h"

struct delayed {
    struct timer timer; /* first: its address is this one's */
    struct handle handle;
    uint64_t period;
    struct delayed *next;
};

static struct timers own;
static struct delayed delayed;

static void arm(struct delayed *at, uint64_t serial, uint64_t when) {
    timer_init(&at->timer);
    handle_begin(&at->handle, serial);
    timers_arm(&own, &at->timer, when);
}
static enum handle_cancelled cancel(struct delayed *at, uint64_t serial) { return handle_cancel(&at->handle, &at->timer, serial); }

/* ---- One thread ------------------------------------------------------------------------------------------------ */

TEST(handle_cancels_what_is_armed) {
    timers_init(&own, 0);
    arm(&delayed, 7, 100);
    EXPECT_EQ(cancel(&delayed, 6), HANDLE_GONE);
    EXPECT_EQ(cancel(&delayed, 7), HANDLE_MINE);
    EXPECT_EQ(cancel(&delayed, 7), HANDLE_GONE);
    EXPECT(timers_next(&own) == SYS_FOREVER);
    arm(&delayed, 8, 100);
    EXPECT_EQ(cancel(&delayed, 7), HANDLE_GONE);
    EXPECT_EQ(cancel(&delayed, 8), HANDLE_MINE);
    timers_destroy(&own);
}

TEST(handle_of_a_timer_that_never_fires) {
    timers_init(&own, 0);
    arm(&delayed, 7, SYS_FOREVER);
    EXPECT_EQ(cancel(&delayed, 7), HANDLE_MINE);
    EXPECT_EQ(cancel(&delayed, 7), HANDLE_GONE);
    timers_destroy(&own);
}

TEST(handle_is_cancelled_between_the_handing_out_and_the_ringing) {
    timers_init(&own, 0);
    arm(&delayed, 7, 100);
    EXPECT(timers_run(&own, 100) == &delayed.timer);
    EXPECT_EQ(cancel(&delayed, 7), HANDLE_RUNNERS);
    EXPECT_EQ(cancel(&delayed, 7), HANDLE_GONE);
    EXPECT(!handle_ring(&delayed.handle));
    handle_end(&delayed.handle);
    timers_destroy(&own);
}

TEST(handle_is_rung) {
    timers_init(&own, 0);
    arm(&delayed, 7, 100);
    EXPECT(timers_run(&own, 100) == &delayed.timer);
    EXPECT(handle_ring(&delayed.handle));
    timers_arm(&own, &delayed.timer, 200);
    handle_again(&delayed.handle);
    EXPECT(timers_run(&own, 200) == &delayed.timer);
    EXPECT(handle_ring(&delayed.handle));
    handle_end(&delayed.handle);
    EXPECT_EQ(cancel(&delayed, 7), HANDLE_GONE);
    timers_destroy(&own);
}

/* ---- Threads: some arm and cancel, with whatever handles they find; others ring ----------------------------------- */

enum { USERS = 3, RUNNERS = 2, OBJECTS = 16, BOARD = 8 };
enum fate { PENDING, SENT, CANCELLED };

static struct delayed objects[OBJECTS], *unused;
static struct lock unused_lock;
static atom_u64 board[BOARD]; /* handles: a serial number, and below it the object's number */
static atom_u32 *fates;       /* by serial number */
static atom_u64 stress_clock, last_serial, ends, cancels, sends;
static atom_u32 users_left;
static uint64_t stress_rounds, stress_seed;

static struct delayed *object_new(void) {
    lock_take(&unused_lock);
    struct delayed *at = unused;
    if (at) unused = at->next;
    lock_drop(&unused_lock);
    return at;
}
static void object_free(struct delayed *at) {
    atom_add_rlx(&ends, 1);
    lock_take(&unused_lock);
    at->next = unused;
    unused = at;
    lock_drop(&unused_lock);
}

static void user_arms(struct rng *rng) {
    struct delayed *at = object_new();
    if (!at) return;
    uint64_t serial = atom_add_rlx(&last_serial, 1) + 1;
    at->period = rng_below(rng, 4) ? 0 : 1 + rng_below(rng, 50);
    arm(at, serial, atom_load_rlx(&stress_clock) + rng_below(rng, 300));
    atom_store_rel(&board[rng_below(rng, BOARD)], serial * OBJECTS + (uint64_t)(at - objects));
}
static void user_cancels(struct rng *rng) {
    uint64_t handle = atom_load_acq(&board[rng_below(rng, BOARD)]), serial = handle / OBJECTS;
    if (!handle) return;
    struct delayed *at = &objects[handle % OBJECTS];
    enum handle_cancelled how = cancel(at, serial);
    if (how == HANDLE_GONE) return;
    EXPECT(atom_swap_rlx(&fates[serial], CANCELLED) != CANCELLED);
    atom_add_rlx(&cancels, 1);
    if (how == HANDLE_MINE) object_free(at);
}
static void users(struct rng *rng) {
    for (uint64_t round = 0; round < stress_rounds; round++) {
        user_arms(rng);
        crew_stumble(rng, 64);
        user_cancels(rng);
    }
    atom_sub_rel(&users_left, 1);
}

static void runner_rings(struct rng *rng, struct delayed *at, uint64_t now, bool last) {
    uint64_t serial = atom_load_rlx(&at->handle.word) & ~HANDLE_FLAGS;
    if (handle_ring(&at->handle)) {
        crew_stumble(rng, 16);
        uint32_t before = atom_swap_rlx(&fates[serial], SENT);
        EXPECT(before == PENDING || (before == SENT && at->period)); /* not after a cancel, and once */
        if (before == PENDING) atom_add_rlx(&sends, 1);
        if (at->period && !last) {
            timers_arm(&own, &at->timer, timer_next_period(at->timer.when, at->period, now));
            handle_again(&at->handle);
            return;
        }
    }
    handle_end(&at->handle);
    object_free(at);
}
static void run_all(struct rng *rng, uint64_t now, bool last) {
    for (struct timer *timer = timers_run(&own, now), *next; timer; timer = next) {
        next = timer->next;
        crew_stumble(rng, 32);
        runner_rings(rng, (struct delayed *)timer, now, last);
    }
}
static void runners(struct rng *rng) {
    while (atom_load_acq(&users_left))
        run_all(rng, atom_add_rlx(&stress_clock, rng_below(rng, 100)), false);
}
static void work(unsigned self) {
    struct rng rng;
    rng_seed(&rng, stress_seed, self);
    if (self < USERS) users(&rng);
    else runners(&rng);
}

TEST_WITHIN(handle_stress, 120) {
    struct rng rng;
    stress_seed = test_seed(20261118);
    stress_rounds = UINT64_C(200000) * test_scale();
    fates = sys->alloc((USERS * stress_rounds + 1) * sizeof *fates);
    EXPECT(fates != NULL);
    rng_seed(&rng, stress_seed, CREW_MAX);
    atom_store_rlx(&stress_clock, 1);
    atom_store_rlx(&users_left, USERS);
    timers_init(&own, 0);
    lock_init(&unused_lock);
    for (unsigned i = 0; i < OBJECTS; i++) {
        objects[i].next = unused;
        unused = &objects[i];
    }
    crew_run(USERS + RUNNERS, work, work);
    while (timers_next(&own) != SYS_FOREVER)
        run_all(&rng, SYS_FOREVER - 1, true);
    EXPECT_EQ(atom_load_rlx(&ends), atom_load_rlx(&last_serial)); /* each was armed once and ended once */
    EXPECT(atom_load_rlx(&cancels) > 0 && atom_load_rlx(&sends) > 0);
    EXPECT(atom_load_rlx(&cancels) + atom_load_rlx(&sends) >= atom_load_rlx(&ends)); /* a periodic one may be sent, and then cancelled */
    sys->free(fates, (USERS * stress_rounds + 1) * sizeof *fates);
    timers_destroy(&own);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
