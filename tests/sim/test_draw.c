/* Draws: quiet seeds have few that are not 0; what is recorded repeats the run as a script; a script may name a draw by its time. */
#include "seeds.h"

#include <weft/weft.h>

enum { SEEDS = 400, DRAWS = 1000, BOUND = 100, WANTED = 42 };

/* ---- quiet seeds ---------------------------------------------------------------------------------------------------------- */

static unsigned draws_that_are_not_0(enum sim_draw_kind kind) {
    unsigned count = 0;
    for (unsigned i = 0; i < DRAWS; i++)
        count += sim_draw(kind, BOUND) != 0;
    return count;
}

TEST(a_quiet_seed_leaves_draws_out_and_others_do_not) {
    unsigned none = 0, all = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        unsetenv("WEFT_SIM_QUIET");
        sim_draw_setup(seed);
        if (seed % SIM_QUIET_EVERY) EXPECT(!sim_is_quiet() && draws_that_are_not_0(SIM_LATENCY) > DRAWS * 9 / 10);
        else EXPECT(sim_is_quiet());
        setenv("WEFT_SIM_QUIET", "", 1);
        sim_draw_setup(seed);
        unsigned count = draws_that_are_not_0(SIM_LATENCY);
        EXPECT(sim_is_quiet());
        none += count == 0;
        all += count > DRAWS * 9 / 10;
    }
    EXPECT(none > SEEDS / 5 && all > SEEDS / 10 && none + all < SEEDS * 4 / 5);
}

TEST(a_kind_that_quiet_seeds_are_told_to_do_without_is_always_0) {
    setenv("WEFT_SIM_QUIET", "disk,latency", 1);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        sim_draw_setup(seed);
        EXPECT(sim_is_quiet());
        EXPECT_EQ(draws_that_are_not_0(SIM_LATENCY), 0);
        EXPECT_EQ(draws_that_are_not_0(SIM_DISK), 0);
    }
}

TEST(a_rare_draw_is_mostly_0) {
    unsigned some = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        sim_draw_setup(seed);
        for (unsigned i = 0; i < DRAWS; i++) {
            uint64_t value = sim_draw_rare(SIM_POINT, 4, 40);
            EXPECT(value < 4);
            some += value > 0;
        }
    }
    EXPECT(some > DRAWS && some < 2 * DRAWS);
}

/* ---- variables of the environment ----------------------------------------------------------------------------------------- */

static int status_with(const char *name, const char *value) {
    int status;
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        setenv(name, value, 1);
        close(STDERR_FILENO);
        sim_draw_check();
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(nonsense_in_a_variable_is_refused) {
    EXPECT_EQ(status_with("WEFT_SIM_FAULTS", "wake,stall"), 0);
    EXPECT_EQ(status_with("WEFT_SIM_FAULTS", "all"), 0);
    EXPECT_EQ(status_with("WEFT_SIM_FAULTS", ""), 0);
    EXPECT_EQ(status_with("WEFT_SIM_FAULTS", "wake,,stall"), 2);
    EXPECT_EQ(status_with("WEFT_SIM_FAULTS", "wake,all"), 2);
    EXPECT_EQ(status_with("WEFT_SIM_QUIET", "latency"), 0);
    EXPECT_EQ(status_with("WEFT_SIM_QUIET", "latencies"), 2);
    EXPECT_EQ(status_with("WEFT_SIM_SCRIPT", "/dev/null"), 0);
    EXPECT_EQ(status_with("WEFT_SIM_SCRIPT", "/nonesuch"), 2);
}

/* ---- scripts -------------------------------------------------------------------------------------------------------------- */

/* Draws once a millisecond; ends with the number of the round that got WANTED, or 0. */
static int app(int argc, char **argv) {
    (void)argc, (void)argv;
    for (int round = 1; round <= 20; round++) {
        if (weft_sim_random(BOUND) == WANTED) return round;
        weft_sleep(WEFT_MILLISECOND);
    }
    return 0;
}
static int asks(void) { return weft_main(0, NULL, app); }

static int run_script(const char *line) {
    static struct seed_result result;
    char path[] = "/tmp/weft-draw.XXXXXX";
    int file = mkstemp(path);
    EXPECT(file >= 0 && write(file, line, strlen(line)) == (ssize_t)strlen(line));
    close(file);
    setenv("WEFT_SIM_SCRIPT", path, 1);
    seed_run(1, asks, &result);
    unsetenv("WEFT_SIM_SCRIPT");
    unlink(path);
    EXPECT(WIFEXITED(result.status));
    return WEXITSTATUS(result.status);
}

TEST_WITHIN(a_line_near_gives_the_first_draw_at_or_after_its_time, 60) {
    EXPECT_EQ(run_script("near user 42 100 0 0\n"), 1);
    int round = run_script("near user 42 100 0 5500000\n");
    EXPECT(round >= 6 && round <= 7);
    EXPECT(run_script("near user 42 100 0 9500000\n") > round);
}

TEST_WITHIN(a_line_near_is_for_its_kind_its_bound_and_its_machine, 60) {
    EXPECT_EQ(run_script("near latency 42 100 0 0\n"), 0);
    EXPECT_EQ(run_script("near user 42 99 0 0\n"), 0);
    EXPECT_EQ(run_script("near user 42 100 1 0\n"), 0);
}

TEST_WITHIN(a_line_near_is_used_once, 60) { EXPECT_EQ(run_script("near user 7 100 0 0\nnear user 42 100 0 0\n"), 2); }

/* Timers, messages across workers, a blocking function and a deadline that comes or not. */
static void answers(void *arg) {
    weft_msg *message;
    weft_pid to = *(weft_pid *)arg;
    for (int i = 0; i < 8; i++) {
        if (weft_recv(&message, weft_in(20 * WEFT_MICROSECOND)) == 0) weft_msg_free(message);
        weft_send(to, 1, NULL, 0);
    }
}
static int busy_app(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_msg *message;
    weft_pid self = weft_self(), others[3];
    for (int i = 0; i < 3; i++)
        others[i] = weft_spawn_joinable(answers, &self);
    for (int i = 0; i < 24; i++) {
        weft_send(others[i % 3], 1, NULL, 0);
        if (weft_recv(&message, weft_in(10 * WEFT_MICROSECOND)) == 0) weft_msg_free(message);
    }
    for (int i = 0; i < 3; i++)
        weft_join(others[i], NULL, WEFT_FOREVER);
    return 0;
}
static int is_busy(void) { return weft_main(0, NULL, busy_app); }

/* The whole history is the same: its hash. */
static void repeats_as_a_script(int (*body)(void), uint64_t seeds) {
    static struct seed_result result, again;
    char path[] = "/tmp/weft-draw.XXXXXX";
    close(mkstemp(path));
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        setenv(seed % 2 ? "WEFT_SIM_RECORD" : "WEFT_SIM_RECORD_DRAWS", path, 1);
        seed_run(seed, body, &result);
        unsetenv("WEFT_SIM_RECORD"), unsetenv("WEFT_SIM_RECORD_DRAWS");
        setenv("WEFT_SIM_SCRIPT", path, 1);
        seed_run(seed, body, &again);
        unsetenv("WEFT_SIM_SCRIPT");
        if (strcmp(result.line, again.line) != 0) seed_failed(seed, &again, result.line);
    }
    unlink(path);
}

TEST_WITHIN(what_was_recorded_repeats_the_run_as_a_script, 120) {
    repeats_as_a_script(asks, 24);
    repeats_as_a_script(is_busy, 48);
}

TEST_WITHIN(threads_that_stall_do_so_in_the_script_too, 120) {
    setenv("WEFT_SIM_FAULTS", "stall,wake", 1);
    repeats_as_a_script(asks, 24);
    repeats_as_a_script(is_busy, 48);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
