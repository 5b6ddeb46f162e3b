/* The mutex: one at a time, in order, and no process waits for ever. */
#include "crowd.h"
#include "sync/mutex.h"

static weft_mutex mutex;
static atom_u64 done, canceled, late, got;

static void forget(void) {
    memset(&mutex, 0, sizeof mutex);
    atom_u64 *const all[] = {&done, &canceled, &late, &got};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        atom_store_rlx(all[i], 0);
}
static void queue(size_t count) { crowd_queue(&mutex_of(&mutex)->lock, &mutex_of(&mutex)->waiting, count); }
static void is_free(void) {
    EXPECT_EQ(weft_mutex_lock(&mutex, 0), 0);
    EXPECT_EQ(weft_mutex_lock(&(weft_mutex)WEFT_MUTEX_INIT, 0), 0);
    weft_mutex_unlock(&mutex);
    EXPECT_EQ(atom_load_rlx(&mutex_of(&mutex)->word), MUTEX_FREE);
}

TEST(mutex_alone) {
    forget();
    for (unsigned i = 0; i < 3; i++)
        is_free();
}

/* ---- one at a time --------------------------------------------------------------------------------------------------- */

enum { CROWD = 16 };
static uint64_t plain, rounds; /* plain: under the mutex */
static bool hurried;

static void counts(void *number) {
    struct rng rng;
    rng_seed(&rng, crowd_seed, (uintptr_t)number);
    bool process = weft_self() != WEFT_NOBODY;
    crowd_begin();
    for (uint64_t i = 0; i < rounds; i++) {
        uint32_t kind = hurried ? rng_below(&rng, 4) : 3;
        int error = weft_mutex_lock(&mutex, kind == 0   ? 0
                                            : kind == 1 ? weft_now()
                                            : kind == 2 ? weft_in(rng_below(&rng, 20000))
                                                        : WEFT_FOREVER);
        if (error == WEFT_ETIMEDOUT) {
            atom_add_rlx(&late, 1);
            continue;
        }
        EXPECT_EQ(error, 0);
        uint64_t before = plain;
        if (process && rng_below(&rng, 4) == 0) weft_yield(); /* it may be held across a yield, and a move */
        plain = before + 1;
        weft_mutex_unlock(&mutex);
        atom_add_rlx(&got, 1);
    }
    atom_add_rel(&done, 1);
}
static void *thread_counts(void *number) {
    counts(number);
    return NULL;
}
static void excludes(void) {
    for (unsigned threads = 0; threads <= 2; threads += 2) {
        pthread_t thread[2];
        crowd_close(3);
        forget();
        plain = 0;
        rounds = (hurried ? 400 : 1000) * test_scale() / RT_SLOW;
        for (uintptr_t i = 0; i < CROWD; i++)
            crowd_spawn(counts, (void *)i);
        for (uintptr_t i = 0; i < threads; i++)
            thread[i] = crowd_thread(thread_counts, (void *)(CROWD + i));
        crowd_open();
        rt_wait(&done, CROWD + threads);
        for (unsigned i = 0; i < threads; i++)
            crowd_gather(thread[i]);
        EXPECT_EQ(plain, atom_load_rlx(&got));
        EXPECT_EQ(atom_load_rlx(&got) + atom_load_rlx(&late), rounds * (CROWD + threads));
        EXPECT_EQ(weft_mutex_lock(&mutex, 0), 0); /* QUEUE may have been left to this one */
        weft_mutex_unlock(&mutex);
        is_free();
        rt_wait_until_none_lives();
    }
}
TEST_WITHIN(mutex_excludes, 120) { rt_each(excludes); }
TEST_WITHIN(mutex_excludes_with_deadlines, 120) {
    hurried = true;
    rt_each(excludes);
}

/* ---- in order -------------------------------------------------------------------------------------------------------- */

static void takes_its_turn(void *number) {
    EXPECT_EQ(weft_mutex_lock(&mutex, WEFT_FOREVER), 0);
    EXPECT_EQ(plain, (uintptr_t)number);
    plain++;
    weft_mutex_unlock(&mutex);
    atom_add_rel(&done, 1);
}
static void hands_over_in_order(void) {
    forget();
    plain = 0;
    EXPECT_EQ(weft_mutex_lock(&mutex, 0), 0);
    for (uintptr_t i = 0; i < CROWD; i++) {
        crowd_spawn(takes_its_turn, (void *)i);
        queue(i + 1);
    }
    weft_mutex_unlock(&mutex);
    /* Not past those that wait. */
    EXPECT_EQ(weft_mutex_lock(&mutex, WEFT_FOREVER), 0);
    EXPECT_EQ(plain, CROWD);
    weft_mutex_unlock(&mutex);
    rt_wait(&done, CROWD);
    rt_wait_until_none_lives();
    is_free();
}
TEST(mutex_hands_over_in_order) { rt_each(hands_over_in_order); }

/* ---- giving up ------------------------------------------------------------------------------------------------------- */

static uint64_t patience;
static void tries_to_lock(void *unused) {
    (void)unused;
    int error = weft_mutex_lock(&mutex, patience);
    if (error == 0) weft_mutex_unlock(&mutex);
    atom_add_rel(error == 0 ? &got : error == WEFT_ECANCELED ? &canceled : &late, 1);
}
static void gives_up(void) {
    weft_pid pids[CROWD];
    forget();
    EXPECT_EQ(weft_mutex_lock(&mutex, 0), 0);
    patience = WEFT_FOREVER;
    for (unsigned i = 0; i < CROWD; i++)
        pids[i] = crowd_spawn(tries_to_lock, NULL);
    queue(CROWD);
    for (unsigned i = 0; i < CROWD; i += 2)
        weft_cancel(pids[i]);
    rt_wait(&canceled, CROWD / 2);
    queue(CROWD / 2);
    EXPECT_EQ(atom_load_rlx(&got), 0);
    weft_mutex_unlock(&mutex);
    rt_wait(&got, CROWD / 2);
    rt_wait_until_none_lives();
    is_free();

    EXPECT_EQ(weft_mutex_lock(&mutex, 0), 0);
    patience = weft_in(3 * WEFT_MILLISECOND);
    for (unsigned i = 0; i < CROWD; i++)
        crowd_spawn(tries_to_lock, NULL);
    rt_wait(&late, CROWD);
    EXPECT_EQ(atom_load_rlx(&mutex_of(&mutex)->word), MUTEX_HELD);
    weft_mutex_unlock(&mutex);
    rt_wait_until_none_lives();
    is_free();
}
TEST(mutex_gives_up) { rt_each(gives_up); }

/* A process that has been cancelled gets what can be had at once. */
static void locks_when_cancelled(void *unused) {
    (void)unused;
    while (!weft_cancelled())
        weft_yield();
    EXPECT_EQ(weft_mutex_lock(&mutex, WEFT_FOREVER), 0);
    weft_mutex_unlock(&mutex);
    weft_shield_begin();
    EXPECT_EQ(weft_mutex_lock(&mutex, WEFT_FOREVER), 0);
    weft_mutex_unlock(&mutex);
    weft_shield_end();
    atom_add_rel(&done, 1);
}
static void free_for_the_cancelled(void) {
    forget();
    weft_cancel(crowd_spawn(locks_when_cancelled, NULL));
    rt_wait(&done, 1);
    rt_wait_until_none_lives();
}
TEST(mutex_free_for_the_cancelled) { rt_each(free_for_the_cancelled); }

/* ---- the last user frees it ------------------------------------------------------------------------------------------ */

struct shared {
    weft_mutex mutex;
    unsigned users;
};
static void uses_and_leaves(void *arg) {
    struct shared *shared = arg;
    EXPECT_EQ(weft_mutex_lock(&shared->mutex, WEFT_FOREVER), 0);
    bool last = --shared->users == 0;
    weft_mutex_unlock(&shared->mutex);
    if (last) free(shared);
    atom_add_rel(&done, 1);
}
static void is_freed(void) {
    unsigned times = 200 * test_scale() / RT_SLOW;
    forget();
    for (unsigned i = 0; i < times; i++) {
        struct shared *shared = calloc(1, sizeof *shared);
        shared->users = 4;
        for (unsigned user = 0; user < 4; user++)
            crowd_spawn(uses_and_leaves, shared);
    }
    rt_wait(&done, 4 * times);
    rt_wait_until_none_lives();
}
TEST(mutex_freed_by_the_last) { rt_each(is_freed); }

/* ---- misuse ---------------------------------------------------------------------------------------------------------- */

static void unlocks_what_is_free(void) {
    forget();
    weft_mutex_unlock(&mutex);
}
TEST(mutex_unlock_of_a_free_one_aborts) { EXPECT_ABORT(unlocks_what_is_free, "weft_mutex_unlock", "not locked"); }

/* On a worker's thread, but in no process: no process could be parked, and the thread must not sleep. */
static int ends(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static void locks_in_close(void *self) {
    (void)self;
    weft_mutex_lock(&mutex, WEFT_FOREVER);
}
static const weft_behavior closer = {.name = "closer", .step = ends, .close = locks_in_close};
static void waits_in_close(void) {
    rt_start("ring", 2);
    forget();
    EXPECT_EQ(weft_mutex_lock(&mutex, 0), 0);
    rt_spawn(&closer);
    rt_wait(&done, 1);
}
TEST(mutex_close_must_not_wait) { EXPECT_ABORT(waits_in_close, "weft_mutex_lock", "stackful"); }

#if WEFT_DEBUG
static void unlocks(void *unused) {
    (void)unused;
    weft_mutex_unlock(&mutex);
}
static void unlocks_anothers(void) {
    rt_start("ring", 2);
    forget();
    EXPECT_EQ(weft_mutex_lock(&mutex, 0), 0);
    crowd_run(unlocks, NULL);
}
TEST(mutex_unlock_by_another_aborts) { EXPECT_ABORT(unlocks_anothers, "weft_mutex_unlock", "another process or thread"); }

static void locks_twice(void) {
    forget();
    EXPECT_EQ(weft_mutex_lock(&mutex, 0), 0);
    weft_mutex_lock(&mutex, WEFT_FOREVER);
}
TEST(mutex_lock_twice_aborts) { EXPECT_ABORT(locks_twice, "weft_mutex_lock", "already"); }
#endif

int main(int argc, char **argv) { return test_main(argc, argv); }
