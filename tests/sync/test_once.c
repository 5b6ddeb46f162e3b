/* Once: the function succeeds once, failures are passed on, no process waits for ever. */
#include "crowd.h"

#include <weft/sync.h>

static weft_once once;
static atom_u64 runs, inside, over, failed, canceled, late, fine, gate;
static uint64_t plain; /* written by the function */

static void forget(void) {
    memset(&once, 0, sizeof once);
    atom_u64 *const all[] = {&runs, &inside, &over, &failed, &canceled, &late, &fine, &gate};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        atom_store_rlx(all[i], 0);
    plain = 0;
}

enum { CROWD = 16, FAILURES = 3, FAILED = -7 };

/* Fails the first few times. */
static int makes(void *unused) {
    (void)unused;
    EXPECT_EQ(atom_add_rlx(&inside, 1), 0);
    uint64_t run = atom_add_rlx(&runs, 1);
    if (weft_self() != WEFT_NOBODY) weft_yield();
    if (run == FAILURES) plain = 42;
    atom_sub_rlx(&inside, 1);
    return run < FAILURES ? FAILED : 0;
}
static void uses(void *unused) {
    (void)unused;
    int error = weft_once_do(&once, makes, NULL, WEFT_FOREVER);
    if (error == 0) EXPECT_EQ(plain, 42);
    else EXPECT_EQ(error, FAILED);
    atom_add_rlx(error ? &failed : &fine, 1);
    atom_add_rel(&over, 1);
}
static void *thread_uses(void *unused) {
    uses(unused);
    return NULL;
}
static void happens_once(void) {
    for (unsigned round = 0; round < 30 * test_scale() / RT_SLOW + 1; round++) {
        forget();
        for (unsigned i = 0; i < CROWD; i++)
            crowd_spawn(uses, NULL);
        pthread_t thread = crowd_thread(thread_uses, NULL);
        rt_wait(&over, CROWD + 1);
        crowd_gather(thread);
        EXPECT_EQ(atom_load_rlx(&failed), FAILURES);
        EXPECT_EQ(atom_load_rlx(&fine), CROWD + 1 - FAILURES);
        EXPECT_EQ(atom_load_rlx(&runs), FAILURES + 1);
        EXPECT_EQ(weft_once_do(&once, makes, NULL, 0), 0);
        EXPECT_EQ(atom_load_rlx(&runs), FAILURES + 1);
        rt_wait_until_none_lives();
    }
}
TEST_WITHIN(once_happens_once, 60) { rt_each(happens_once); }

/* A failure is passed on to the process that has waited longest. */
struct once_inside {
    atom_u32 word;
    struct lock lock;
    struct waiters waiting;
};
static int fails_in_turn(void *number) {
    EXPECT_EQ(atom_add_rlx(&runs, 1), (uintptr_t)number);
    while (!atom_load_acq(&gate))
        weft_yield();
    return FAILED;
}
static void runs_in_turn(void *number) {
    EXPECT_EQ(weft_once_do(&once, fails_in_turn, number, WEFT_FOREVER), FAILED);
    atom_add_rel(&over, 1);
}
static void in_order(void) {
    struct once_inside *inner = (struct once_inside *)(void *)&once;
    forget();
    for (uintptr_t i = 0; i < CROWD; i++) {
        crowd_spawn(runs_in_turn, (void *)i);
        if (i == 0) rt_wait(&runs, 1);
        else crowd_queue(&inner->lock, &inner->waiting, i);
    }
    atom_store_rel(&gate, 1);
    rt_wait(&over, CROWD);
    rt_wait_until_none_lives();
}
TEST(once_passes_failures_on_in_order) { rt_each(in_order); }

/* ---- giving up; a function that is cancelled ------------------------------------------------------------------------- */

static int waits_inside(void *unused) {
    (void)unused;
    if (atom_add_rel(&runs, 1) > 0) return 0;
    while (!atom_load_acq(&gate)) {
        int error = weft_sleep(50 * WEFT_MICROSECOND);
        if (error) return error;
    }
    return 0;
}
static uint64_t patience;
static void waits(void *unused) {
    (void)unused;
    int error = weft_once_do(&once, waits_inside, NULL, patience);
    atom_add_rel(error == 0 ? &fine : error == WEFT_ECANCELED ? &canceled : &late, 1);
}
static void gives_up(void) {
    forget();
    patience = WEFT_FOREVER;
    weft_pid runner = crowd_spawn(waits, NULL);
    rt_wait(&runs, 1);
    EXPECT_EQ(weft_once_do(&once, waits_inside, NULL, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_once_do(&once, waits_inside, NULL, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    weft_pid waiter = crowd_spawn(waits, NULL);
    weft_cancel(waiter);
    rt_wait(&canceled, 1);
    crowd_spawn(waits, NULL);
    crowd_spawn(waits, NULL);
    weft_cancel(runner); /* the function is cancelled: one of the others runs it */
    rt_wait(&canceled, 2);
    rt_wait(&fine, 2);
    EXPECT_EQ(atom_load_rlx(&runs), 2);
    rt_wait_until_none_lives();
}
TEST(once_gives_up) { rt_each(gives_up); }

int main(int argc, char **argv) { return test_main(argc, argv); }
