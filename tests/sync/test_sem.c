/* The semaphore: no permit is lost or made up, a process that asks for many is not passed. */
#include "crowd.h"

#include <weft/sync.h>

static weft_sem sem;
static atom_u64 over, inside, most, got, late, canceled;

static void forget(uint32_t permits) {
    weft_sem_init(&sem, permits);
    atom_u64 *const all[] = {&over, &inside, &most, &got, &late, &canceled};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        atom_store_rlx(all[i], 0);
}

TEST(sem_alone) {
    static weft_sem three = WEFT_SEM_INIT(3);
    EXPECT_EQ(weft_sem_available(&three), 3);
    EXPECT_EQ(weft_sem_acquire(&three, 2, 0), 0);
    EXPECT_EQ(weft_sem_acquire(&three, 2, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_sem_acquire(&three, 2, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_sem_acquire(&three, 1, 0), 0);
    EXPECT_EQ(weft_sem_available(&three), 0);
    weft_sem_release(&three, 3);
    EXPECT_EQ(weft_sem_available(&three), 3);
    EXPECT_EQ(weft_sem_acquire(&three, 3, 0), 0);
}

/* ---- never more than there are --------------------------------------------------------------------------------------- */

enum { PERMITS = 4, CROWD = 12 };
static uint64_t rounds;
static bool hurried;
static void comes_and_goes(void *number) {
    struct rng rng;
    rng_seed(&rng, crowd_seed, (uintptr_t)number);
    bool process = weft_self() != WEFT_NOBODY;
    crowd_begin();
    for (uint64_t i = 0; i < rounds; i++) {
        uint32_t want = 1 + rng_below(&rng, PERMITS), kind = hurried ? rng_below(&rng, 4) : 3;
        int error = weft_sem_acquire(&sem, want,
                                     kind == 0   ? 0
                                     : kind == 1 ? weft_now()
                                     : kind == 2 ? weft_in(rng_below(&rng, 20000))
                                                 : WEFT_FOREVER);
        if (error) {
            EXPECT_EQ(error, WEFT_ETIMEDOUT);
            atom_add_rlx(&late, 1);
            continue;
        }
        EXPECT(atom_add_rlx(&inside, want) + want <= PERMITS);
        if (process && rng_below(&rng, 3) == 0) weft_yield();
        atom_sub_rlx(&inside, want);
        atom_add_rlx(&got, 1);
        for (uint32_t back = want; back > 0;) { /* in pieces */
            uint32_t piece = 1 + rng_below(&rng, back);
            weft_sem_release(&sem, piece);
            back -= piece;
        }
    }
    atom_add_rel(&over, 1);
}
static void *thread_comes_and_goes(void *number) {
    comes_and_goes(number);
    return NULL;
}
static void bounds(void) {
    for (unsigned threads = 0; threads <= 2; threads += 2) {
        pthread_t thread[2];
        crowd_close(2);
        forget(PERMITS);
        rounds = (threads ? 300 : 1000) * test_scale() / RT_SLOW;
        for (uintptr_t i = 0; i < CROWD; i++)
            crowd_spawn(comes_and_goes, (void *)i);
        for (uintptr_t i = 0; i < threads; i++)
            thread[i] = crowd_thread(thread_comes_and_goes, (void *)(CROWD + i));
        crowd_open();
        rt_wait(&over, CROWD + threads);
        for (unsigned i = 0; i < threads; i++)
            crowd_gather(thread[i]);
        EXPECT_EQ(weft_sem_available(&sem), PERMITS);
        EXPECT_EQ(atom_load_rlx(&got) + atom_load_rlx(&late), rounds * (CROWD + threads));
        rt_wait_until_none_lives();
    }
}
TEST_WITHIN(sem_bounds, 120) { rt_each(bounds); }
TEST_WITHIN(sem_bounds_with_deadlines, 120) {
    hurried = true;
    rt_each(bounds);
}

/* ---- order, giving up ------------------------------------------------------------------------------------------------ */

static void wants(void *permits) {
    int error = weft_sem_acquire(&sem, (uint32_t)(uintptr_t)permits, WEFT_FOREVER);
    atom_add_rel(error == 0 ? &got : &canceled, 1);
}
/* The semaphore looks like this inside; for waiting until a process waits. */
struct sem_inside {
    atom_u64 word;
    struct lock lock;
    struct waiters waiting;
};
static void queue(size_t count) {
    struct sem_inside *inner = (struct sem_inside *)(void *)&sem;
    crowd_queue(&inner->lock, &inner->waiting, count);
}

static void many_before_few(void) {
    forget(2);
    weft_pid big = crowd_spawn(wants, (void *)3);
    queue(1);
    crowd_spawn(wants, (void *)1);
    crowd_spawn(wants, (void *)1);
    queue(3);
    EXPECT_EQ(weft_sem_acquire(&sem, 1, 0), WEFT_ETIMEDOUT); /* not past them */
    EXPECT_EQ(atom_load_acq(&got), 0);
    /* The one in front gives up: those behind can go. */
    weft_cancel(big);
    rt_wait(&canceled, 1);
    rt_wait(&got, 2);
    EXPECT_EQ(weft_sem_available(&sem), 0);
    crowd_spawn(wants, (void *)3);
    queue(1);
    crowd_spawn(wants, (void *)1);
    queue(2);
    weft_sem_release(&sem, 2);
    EXPECT_EQ(atom_load_acq(&got), 2);
    weft_sem_release(&sem, 1);
    rt_wait(&got, 3);
    queue(1);
    weft_sem_release(&sem, 2);
    rt_wait(&got, 4);
    EXPECT_EQ(weft_sem_available(&sem), 1);
    rt_wait_until_none_lives();
}
TEST(sem_many_before_few) { rt_each(many_before_few); }

/* The process that has waited longest is served first. */
static atom_u64 served;
static void waits_its_turn(void *number) {
    EXPECT_EQ(weft_sem_acquire(&sem, 1, WEFT_FOREVER), 0);
    EXPECT_EQ(atom_add_rlx(&served, 1), (uintptr_t)number);
    atom_add_rel(&got, 1);
}
static void in_order(void) {
    enum { N = 12 };
    forget(0);
    atom_store_rlx(&served, 0);
    for (uintptr_t i = 0; i < N; i++) {
        crowd_spawn(waits_its_turn, (void *)i);
        queue(i + 1);
    }
    for (unsigned i = 0; i < N; i++) {
        weft_sem_release(&sem, 1);
        rt_wait(&got, i + 1);
    }
    rt_wait_until_none_lives();
}
TEST(sem_serves_in_order) { rt_each(in_order); }

/* ---- a completion on the waiter's stack ------------------------------------------------------------------------------ */

static void completes(void *on) { weft_sem_release(on, 1); }
static void waits_for_completions(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 200 / RT_SLOW; i++) {
        weft_sem *ready = malloc(sizeof *ready);
        weft_sem_init(ready, 0);
        weft_spawn(completes, ready);
        weft_spawn(completes, ready);
        EXPECT_EQ(weft_sem_acquire(ready, 1, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_sem_acquire(ready, 1, WEFT_FOREVER), 0);
        free(ready);
    }
    atom_add_rel(&over, 1);
}
static void completions(void) {
    forget(0);
    for (unsigned i = 0; i < 6; i++)
        crowd_spawn(waits_for_completions, NULL);
    rt_wait(&over, 6);
    rt_wait_until_none_lives();
}
TEST(sem_freed_by_the_waiter) { rt_each(completions); }

static void overflows(void) {
    forget(WEFT_SEM_MAX);
    weft_sem_release(&sem, 1);
}
TEST(sem_overflow_aborts) { EXPECT_ABORT(overflows, "weft_sem_release", "WEFT_SEM_MAX"); }

int main(int argc, char **argv) { return test_main(argc, argv); }
