/* The barrier: none goes on before all have come, one is told that it was the last, and one that gives up does not count. */
#include "mailbox_helpers.h"
#include "victim.h"

enum { CROWD = 7, ROUNDS = 40 };
static weft_barrier barrier;
static atom_u64 over, lasts, came[ROUNDS];
static uint64_t plain[CROWD];

static void forget(uint32_t count) {
    weft_barrier_init(&barrier, count);
    atom_store_rlx(&over, 0);
    atom_store_rlx(&lasts, 0);
    for (unsigned i = 0; i < ROUNDS; i++)
        atom_store_rlx(&came[i], 0);
}

TEST(barrier_alone) {
    weft_barrier one = WEFT_BARRIER_INIT(1), two = WEFT_BARRIER_INIT(2);
    for (unsigned i = 0; i < 3; i++) {
        EXPECT_EQ(weft_barrier_wait(&one, 0), 1);
        EXPECT_EQ(weft_barrier_wait(&two, 0), WEFT_ETIMEDOUT);
        EXPECT_EQ(weft_barrier_wait(&two, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    }
}

static void *meets(void *arg) {
    uint64_t *mine = arg;
    for (unsigned round = 0; round < ROUNDS; round++) {
        *mine = round + 1;
        atom_add_rel(&came[round], 1);
        int result = weft_barrier_wait(&barrier, WEFT_FOREVER);
        EXPECT(result == 0 || result == 1);
        if (result) atom_add_rel(&lasts, 1);
        EXPECT_EQ(atom_load_acq(&came[round]), CROWD);
        for (unsigned i = 0; i < CROWD; i++)
            EXPECT(plain[i] == round + 1); /* not atomic: the barrier orders it */
        EXPECT(weft_barrier_wait(&barrier, WEFT_FOREVER) >= 0);
    }
    atom_add_rel(&over, 1);
    return NULL;
}
static void meets_in_process(void *arg) { meets(arg); }
static void all_meet(void) {
    pthread_t threads[2];
    forget(CROWD);
    for (unsigned i = 0; i < CROWD - 2; i++)
        victim_spawn(meets_in_process, &plain[i], 0, NULL);
    for (unsigned i = 0; i < 2; i++) /* threads are callers like others */
        EXPECT_EQ(pthread_create(&threads[i], NULL, meets, &plain[CROWD - 2 + i]), 0);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    rt_wait(&over, CROWD);
    EXPECT_EQ(atom_load_acq(&lasts), ROUNDS);
    rt_wait_until_none_lives();
}
TEST_WITHIN(barrier_holds_all_back, 60) { rt_each(all_meet); }

/* ---- giving up --------------------------------------------------------------------------------------------------------- */

static void gives_up(void *arg) {
    int result = weft_barrier_wait(&barrier, weft_in(*(uint64_t *)arg));
    EXPECT(result == WEFT_ETIMEDOUT);
    atom_add_rel(&over, 1);
}
static void waits_till_cancelled(void *arg) {
    (void)arg;
    atom_add_rel(&came[0], 1);
    EXPECT_EQ(weft_barrier_wait(&barrier, WEFT_FOREVER), WEFT_ECANCELED);
    atom_add_rel(&over, 1);
}
static void waits_till_killed(void *arg) {
    (void)arg;
    atom_add_rel(&came[0], 1);
    EXPECT_EQ(weft_barrier_wait(&barrier, WEFT_FOREVER), WEFT_ECANCELED);
    expect_the_end();
}
static void comes(void *arg) {
    (void)arg;
    if (weft_barrier_wait(&barrier, WEFT_FOREVER)) atom_add_rel(&lasts, 1);
    atom_add_rel(&over, 1);
}
static void some_give_up(void) {
    static uint64_t soon = WEFT_MILLISECOND;
    forget(3);
    for (unsigned i = 0; i < 2; i++)
        victim_spawn(gives_up, &soon, 0, NULL);
    rt_wait(&over, 2);
    weft_pid canceled = victim_spawn(waits_till_cancelled, NULL, 0, NULL), killed = victim_spawn(waits_till_killed, NULL, 0, NULL);
    rt_wait(&came[0], 2);
    EXPECT_EQ(weft_cancel(canceled), 0);
    EXPECT_EQ(weft_kill(killed), 0);
    rt_wait(&over, 3);
    rt_wait_until_none_lives();
    for (unsigned i = 0; i < 3; i++) /* none of those counts: it takes three more */
        victim_spawn(comes, NULL, 0, NULL);
    rt_wait(&over, 6);
    EXPECT_EQ(atom_load_acq(&lasts), 1);
    rt_wait_until_none_lives();
}
TEST(barrier_goes_on_without_those_that_give_up) { rt_each(some_give_up); }

/* Deadlines that come while the last arrives: each caller's result is the barrier's truth. */
static void comes_about_then(void *arg) {
    uint64_t *fine = arg;
    for (unsigned i = 0; i < 200 / RT_SLOW; i++) {
        int result = weft_barrier_wait(&barrier, weft_in(i % 50 * 1000));
        EXPECT(result == 0 || result == 1 || result == WEFT_ETIMEDOUT);
        if (result >= 0) ++*fine;
        if (result == 1) atom_add_rel(&lasts, 1);
    }
    atom_add_rel(&over, 1);
}
static void narrow(void) {
    static uint64_t fine[4];
    forget(2);
    memset(fine, 0, sizeof fine);
    for (unsigned i = 0; i < 4; i++)
        victim_spawn(comes_about_then, &fine[i], 0, NULL);
    rt_wait(&over, 4);
    EXPECT_EQ(fine[0] + fine[1] + fine[2] + fine[3], 2 * atom_load_acq(&lasts)); /* two callers for each round that ended */
    rt_wait_until_none_lives();
}
TEST(barrier_deadlines_while_the_last_comes) { rt_each(narrow); }

static void without_a_count(void) {
    weft_barrier zero = WEFT_BARRIER_INIT(0);
    weft_barrier_wait(&zero, 0);
}
TEST(barrier_without_a_count_aborts) { EXPECT_ABORT(without_a_count, "weft_barrier_wait", "weft_barrier_init"); }

int main(int argc, char **argv) { return test_main(argc, argv); }
