/* The rate limiter: never more than the rate allows, no permit lost, and deadlines known at once. */
#include "victim.h"

static weft_limiter limiter;
static atom_u64 taken, over;

/* ---- with a clock that stands still -------------------------------------------------------------------------------------- */

TEST(limiter_burst_and_rate) {
    sys_scripted_install();
    sys_scripted_freeze();
    weft_limiter_init(&limiter, 10, WEFT_SECOND, 3); /* one in 100 ms */
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(weft_limiter_take(&limiter, 1, 0), 0);
    EXPECT_EQ(weft_limiter_take(&limiter, 1, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_limiter_take(&limiter, 1, weft_in(100 * RT_MS - 1)), WEFT_ETIMEDOUT); /* at once */
    EXPECT_EQ(weft_limiter_take(&limiter, 0, 0), 0);
    sys_scripted_jump(100 * RT_MS - 1);
    EXPECT_EQ(weft_limiter_take(&limiter, 1, 0), WEFT_ETIMEDOUT);
    sys_scripted_jump(1);
    EXPECT_EQ(weft_limiter_take(&limiter, 1, 0), 0);
    EXPECT_EQ(weft_limiter_take(&limiter, 1, 0), WEFT_ETIMEDOUT);
    sys_scripted_jump(3600 * RT_SECOND); /* no more than the burst is saved up */
    EXPECT_EQ(weft_limiter_take(&limiter, 2, 0), 0);
    EXPECT_EQ(weft_limiter_take(&limiter, 2, 0), WEFT_ETIMEDOUT); /* and nothing was taken */
    EXPECT_EQ(weft_limiter_take(&limiter, 1, 0), 0);
    weft_limiter_init(&limiter, 1, UINT64_MAX / 8, 1); /* a hundred years each */
    EXPECT_EQ(weft_limiter_take(&limiter, UINT32_MAX, WEFT_FOREVER), WEFT_ETIMEDOUT);
}

/* Permits that do not take whole nanoseconds: in the long run as many as were asked for. */
static void rate_is_exact(uint32_t permits, uint64_t period, uint32_t burst, uint64_t step, unsigned steps) {
    uint64_t got = 0;
    weft_limiter_init(&limiter, permits, period, burst);
    EXPECT_EQ(weft_limiter_take(&limiter, burst, 0), 0);
    EXPECT_EQ(weft_limiter_take(&limiter, 1, 0), WEFT_ETIMEDOUT);
    for (unsigned i = 0; i < steps; i++) {
        sys_scripted_jump(step);
        while (weft_limiter_take(&limiter, 1 + i % 2, 0) == 0)
            got += 1 + i % 2;
    }
    uint64_t ought = (uint64_t)((__uint128_t)permits * step * steps / period);
    EXPECT(got + 3 >= ought && got <= ought + 1);
}
TEST(limiter_rates_that_are_not_whole) {
    sys_scripted_install();
    sys_scripted_freeze();
    rate_is_exact(7, 10, 100, 10, 1000);
    rate_is_exact(700000000, WEFT_SECOND, 1000, 777, 1000);
    rate_is_exact(999999999, WEFT_SECOND, 1000, 500, 100);
    rate_is_exact(300000007, WEFT_SECOND, 5000, 10000, 10);
    rate_is_exact(3, 10 * WEFT_SECOND, 10, WEFT_SECOND, 3000);
    rate_is_exact(UINT32_MAX, 5 * WEFT_SECOND, 2000, 1001, 50);
}

/* ---- many callers ---------------------------------------------------------------------------------------------------------- */

static void takes(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 10; i++) {
        EXPECT_EQ(weft_limiter_take(&limiter, 1, WEFT_FOREVER), 0);
        atom_add_rel(&taken, 1);
    }
    atom_add_rel(&over, 1);
}
static void *takes_in_thread(void *arg) {
    takes(arg);
    return NULL;
}
static void crowd(void) {
    pthread_t thread;
    atom_store_rlx(&taken, 0);
    atom_store_rlx(&over, 0);
    weft_limiter_init(&limiter, 1, WEFT_MILLISECOND, 5);
    uint64_t began = weft_now();
    for (unsigned i = 0; i < 4; i++)
        victim_spawn(takes, NULL, 0, NULL);
    EXPECT_EQ(pthread_create(&thread, NULL, takes_in_thread, NULL), 0);
    while (atom_load_acq(&over) < 5) {
        uint64_t seen = atom_load_acq(&taken), now = weft_now();
        EXPECT(seen <= 5 + (now - began) / WEFT_MILLISECOND);
        usleep(200);
    }
    EXPECT_EQ(atom_load_acq(&taken), 50);
    EXPECT(weft_now() - began >= 45 * WEFT_MILLISECOND);
    pthread_join(thread, NULL);
    rt_wait_until_none_lives();
}
TEST(limiter_never_more_than_the_rate) { rt_each(crowd); }

/* ---- cancelled --------------------------------------------------------------------------------------------------------------- */

static void waits(void *arg) {
    (void)arg;
    atom_add_rel(&taken, 1);
    EXPECT_EQ(weft_limiter_take(&limiter, 1, WEFT_FOREVER), WEFT_ECANCELED);
    EXPECT_EQ(weft_limiter_take(&limiter, 1, 0), WEFT_ECANCELED); /* a loop that polls learns of it too */
    atom_add_rel(&over, 1);
}
static void given_back(void) {
    atom_store_rlx(&taken, 0);
    atom_store_rlx(&over, 0);
    weft_limiter_init(&limiter, 1, 3600 * WEFT_SECOND, 1);
    EXPECT_EQ(weft_limiter_take(&limiter, 1, 0), 0);
    weft_pid pids[3];
    for (unsigned i = 0; i < 3; i++)
        pids[i] = victim_spawn(waits, NULL, 0, NULL);
    rt_wait(&taken, 3);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(weft_cancel(pids[i]), 0);
    rt_wait(&over, 3);
    rt_wait_until_none_lives();
    EXPECT_EQ(weft_limiter_take(&limiter, 1, weft_in(3500 * WEFT_SECOND)), WEFT_ETIMEDOUT);
    atom_u64 *full = (atom_u64 *)(void *)&limiter; /* as if nobody had waited: the first word is the moment at which all are there again */
    EXPECT(atom_load_acq(full) <= weft_in(3600 * WEFT_SECOND));
}
TEST(limiter_cancelled_callers_take_nothing) { rt_each(given_back); }

static void no_rate(void) { weft_limiter_init(&limiter, 0, WEFT_SECOND, 1); }
static void too_fast(void) { weft_limiter_init(&limiter, 2000, WEFT_MICROSECOND, 1); }
static void not_begun(void) {
    weft_limiter zeroed = {{0}};
    weft_limiter_take(&zeroed, 1, 0);
}
TEST(limiter_misuse_aborts) {
    EXPECT_ABORT(no_rate, "weft_limiter_init");
    EXPECT_ABORT(too_fast, "weft_limiter_init");
    EXPECT_ABORT(not_begun, "weft_limiter_take", "weft_limiter_init");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
