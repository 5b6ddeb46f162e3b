/* What a program states about itself: promises that hold and that do not, and named points. */
#include "seeds.h"

#include <weft/weft.h>

#define SECOND UINT64_C(1000000000)
enum { FOUND = 86 }; /* exit status when the simulation has found something */

static void expect_found(const struct seed_result *result, const char *sentence) {
    EXPECT(WIFEXITED(result->status) && WEXITSTATUS(result->status) == FOUND);
    EXPECT(strstr(result->said, "promise"));
    EXPECT(strstr(result->said, sentence));
}

/* ---- always --------------------------------------------------------------------------------------------------------------------- */

static int accounts[2];
static bool money_is_kept(void *arg) { return accounts[0] + accounts[1] == *(int *)arg; }

static weft_mutex transfer_lock;
static void transfers(void *arg) {
    for (int i = 0; i < 5; i++) {
        weft_mutex_lock(&transfer_lock, WEFT_FOREVER);
        accounts[0]--;
        if (arg) weft_yield(); /* a moment in which money is missing */
        accounts[1]++;
        weft_mutex_unlock(&transfer_lock);
        weft_yield();
    }
}

static int bank(bool wrong) {
    static int total = 100;
    weft_pid pids[2];
    accounts[0] = total;
    weft_sim_always("money is kept", money_is_kept, &total);
    for (int i = 0; i < 2; i++)
        pids[i] = weft_spawn_joinable(transfers, wrong ? &total : NULL);
    for (int i = 0; i < 2; i++)
        weft_join(pids[i], NULL, WEFT_FOREVER);
    return accounts[1] == 10 ? 0 : 1;
}
static int bank_right(int argc, char **argv) { return (void)argc, (void)argv, bank(false); }
static int bank_wrong(int argc, char **argv) { return (void)argc, (void)argv, bank(true); }
static int bank_right_main(void) { return weft_main(0, NULL, bank_right); }
static int bank_wrong_main(void) { return weft_main(0, NULL, bank_wrong); }

TEST_WITHIN(what_always_holds_is_asked_at_every_point, 60) {
    struct seed_result result;
    seeds_pass(1, 50, bank_right_main);
    seeds_find(1, 1000, bank_wrong_main, "'money is kept' does not hold", &result);
    expect_found(&result, "ns)");
}

static bool calls_weft(void *arg) {
    (void)arg;
    return !weft_sim_point("inside");
}
static int misuse_main(void) {
    weft_sim_always("it calls weft", calls_weft, NULL);
    return 0;
}

TEST(a_promise_that_calls_weft_is_refused) {
    struct seed_result result;
    seed_run(1, misuse_main, &result);
    expect_found(&result, "calls weft");
}

/* ---- eventually ------------------------------------------------------------------------------------------------------------------- */

static bool flag;
static uint64_t flag_after;
static bool flag_is_up(void *arg) {
    (void)arg;
    return flag;
}
static int waits(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_sim_eventually_within("the flag goes up", flag_is_up, NULL, 10 * SECOND);
    weft_sleep(flag_after);
    flag = true;
    weft_sleep(20 * SECOND);
    return 0;
}
static int waits_main(void) { return weft_main(0, NULL, waits); }
static int soon_main(void) {
    flag_after = 9 * SECOND;
    return waits_main();
}
static int late_main(void) {
    flag_after = 11 * SECOND;
    return waits_main();
}
static int ends_before_main(void) {
    weft_sim_eventually_within("the flag goes up", flag_is_up, NULL, 10 * SECOND);
    return 0;
}

TEST_WITHIN(what_comes_about_in_time_is_fine, 60) { seeds_pass(1, 20, soon_main); }

TEST(what_comes_too_late_is_found_at_its_time) {
    struct seed_result result;
    seed_run(1, late_main, &result);
    expect_found(&result, "'the flag goes up' has not come about within 10000000000 ns");
}

TEST(a_program_that_ends_before_has_broken_its_promise) {
    struct seed_result result;
    seed_run(1, ends_before_main, &result);
    expect_found(&result, "'the flag goes up' has not come about when the program ended");
}

/* Further away than there are moments: it is never due, and has to come about all the same. */
static int far_main(void) {
    weft_sim_eventually_within("some day", flag_is_up, NULL, UINT64_MAX);
    sleep(3600);
    flag = true;
    return 0;
}
TEST(a_promise_without_end_is_kept_by_the_end) { seeds_pass(1, 4, far_main); }

/* ---- points ------------------------------------------------------------------------------------------------------------------------- */

static int delays_main(void) {
    uint64_t before = weft_now();
    for (int i = 0; i < 100; i++)
        if (weft_sim_point("step")) return 1;                       /* nobody has asked for faults */
    return weft_now() - before > 1000000 || sim_is_quiet() ? 0 : 1; /* a quiet seed may have none */
}
static int fails_main(void) {
    int failed = 0;
    for (int i = 0; i < 100; i++)
        failed += weft_sim_point("step");
    return failed ? 2 : 0;
}

TEST_WITHIN(a_point_may_delay, 60) { seeds_pass(1, 20, delays_main); }

TEST_WITHIN(a_point_may_fail, 60) {
    unsigned failed = 0, fine = 0;
    struct seed_result result;
    setenv("WEFT_SIM_FAULTS", "point", 1);
    for (uint64_t seed = 1; seed <= 30; seed++) {
        seed_run(seed, fails_main, &result);
        failed += WEXITSTATUS(result.status) == 2, fine += WEXITSTATUS(result.status) == 0;
    }
    EXPECT(failed > 0 && fine > 0);
    EXPECT_EQ(failed + fine, 30);
}

TEST(the_program_itself_does_not_crash) {
    setenv("WEFT_SIM_FAULTS", "crash", 1);
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct seed_result result;
        seed_run(seed, fails_main, &result);
        if (!seed_passed(&result)) test_fail(__FILE__, __LINE__, "status %x, %s, %s", result.status, result.line, result.said);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
