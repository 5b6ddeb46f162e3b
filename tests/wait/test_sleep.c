/* Sleeping: not too short, not much too long, in order, cancellable; when nothing else is going on, exact. */
#include "mailbox_helpers.h"

enum { SLEEPERS = 200 };

static struct {
    uint64_t moments[SLEEPERS];
    atom_u64 woken, early;
} bed;

static void one(void *arg) {
    uint64_t moment = *(uint64_t *)arg;
    EXPECT_EQ(weft_sleep_until(moment), 0);
    if (weft_now() < moment) atom_add_rlx(&bed.early, 1);
    atom_add_rel(&bed.woken, 1);
}
static void sleeps_body(void) {
    struct rng rng;
    rng_seed(&rng, test_seed(1), 0);
    atom_store_rlx(&bed.woken, 0);
    atom_store_rlx(&bed.early, 0);
    uint64_t now = weft_now();
    for (unsigned i = 0; i < SLEEPERS; i++) {
        bed.moments[i] = now + rng_below(&rng, 30) * RT_MS;
        run_spawn(one, &bed.moments[i]);
    }
    rt_wait(&bed.woken, SLEEPERS);
    EXPECT_EQ(atom_load_rlx(&bed.early), 0);
}
TEST(sleep_is_never_too_short) { rt_each(sleeps_body); }

static void short_ones(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_sleep(0), 0);
    EXPECT_EQ(weft_sleep_until(0), 0);
    EXPECT_EQ(weft_sleep_until(weft_now()), 0);
    uint64_t begin = weft_now();
    EXPECT_EQ(weft_sleep(1), 0);
    EXPECT(weft_now() > begin);
    EXPECT(weft_in(UINT64_MAX) == WEFT_FOREVER && weft_in(WEFT_FOREVER - 1) == WEFT_FOREVER);
}
static void short_body(void) { EXPECT_EQ(run(short_ones, NULL), 0); }
TEST(sleep_of_nothing) { rt_each(short_body); }

static void cancels(void *unused) {
    (void)unused;
    weft_pid pids[50];
    for (unsigned i = 0; i < 50; i++)
        pids[i] = weft_spawn(sleeper, NULL);
    if (rt.workers % 2) run_others();
    for (unsigned i = 0; i < 50; i++)
        EXPECT_EQ(weft_cancel(pids[i]), 0);
    for (unsigned i = 0; i < 50; i++)
        run_join(pids[i]);
}
static void cancels_body(void) { EXPECT_EQ(run(cancels, NULL), 0); }
TEST(sleep_is_cancelled) { rt_each(cancels_body); }

/* ---- lateness of an idle runtime ------------------------------------------------------------------------------------------ */

/* A worker that has nothing to do asks the kernel to wake it at the very moment, and not at some tick near it. How late the kernel is then
 * depends on what else the machine does: that is printed here, and measured by `weft bench sleepers`. */
static atom_u64 wanted, exact;
static int noted_wait(atom_u32 *word, uint32_t expected, uint64_t deadline) {
    if (deadline == atom_load_rlx(&wanted)) atom_add_rlx(&exact, 1);
    return sys_linux.futex_wait(word, expected, deadline);
}
static void measures(void *unused) {
    uint64_t best = UINT64_MAX;
    (void)unused;
    for (unsigned i = 0; i < 100; i++) {
        uint64_t moment = weft_in(WEFT_MILLISECOND);
        atom_store_rlx(&wanted, moment);
        EXPECT_EQ(weft_sleep_until(moment), 0);
        uint64_t late = weft_now() - moment;
        if (late < best) best = late;
    }
    printf("late by %.1f us at best; %lu of 100 slept until the very moment\n", (double)best / 1e3, (unsigned long)atom_load_rlx(&exact));
    EXPECT(atom_load_rlx(&exact) > 0); /* not all: on a busy machine the moment may have passed before any process could sleep */
}
TEST(sleep_is_exact) {
    static struct sys noted;
    noted = sys_linux;
    noted.futex_wait = noted_wait;
    sys = &noted;
    EXPECT_EQ(weft_start(&(weft_config){.workers = 2}, &rt.runtime), 0);
    EXPECT_EQ(run(measures, NULL), 0);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, WEFT_FOREVER), 0);
    sys = &sys_linux;
}

/* ---- the clock is the table's ------------------------------------------------------------------------------------------------ */

TEST(sleep_by_an_injected_clock) {
    rt_start("ring", 2);
    atom_store_rlx(&bed.woken, 0);
    sys_scripted_freeze();
    for (unsigned i = 0; i < 10; i++) {
        bed.moments[i] = weft_now() + (i + 1) * 3600 * RT_SECOND;
        run_spawn(one, &bed.moments[i]);
    }
    rt_pause(20 * RT_MS);
    for (unsigned i = 0; i < 10; i++) {
        EXPECT_EQ(atom_load_acq(&bed.woken), i);
        sys_scripted_jump((int64_t)(3600 * RT_SECOND));
        rt_wait(&bed.woken, i + 1);
    }
    sys_scripted_unfreeze();
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
