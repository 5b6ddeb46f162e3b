/* Whole programs in the simulation: they end well with every seed, the same seed gives the same history, and what is wrong is found. */
#include "seeds.h"

#include <weft/weft.h>

#include <assert.h>

enum { PROCESSES = 20, ROUNDS = 10, HOUR_S = 3600 };
#define SECOND UINT64_C(1000000000)

/* ---- a program that is right ---------------------------------------------------------------------------------------------- */

static weft_mutex mutex;
static weft_chan *channel;
static int counter;

static void counts(void *arg) {
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        weft_mutex_lock(&mutex, WEFT_FOREVER);
        int found = counter;
        if (i % 5 == 0) weft_yield();
        counter = found + 1;
        weft_mutex_unlock(&mutex);
        if (i % 7 == 0) weft_sleep(SECOND / 1000);
    }
    uint64_t one = 1;
    weft_chan_send(channel, &one, WEFT_FOREVER);
}

static int counting(int argc, char **argv) {
    (void)argc, (void)argv;
    uint64_t one;
    if (weft_chan_new(sizeof one, 4, &channel)) return 1;
    for (int i = 0; i < PROCESSES; i++)
        if (!weft_spawn(counts, NULL)) return 1;
    for (int i = 0; i < PROCESSES; i++)
        if (weft_chan_recv(channel, &one, WEFT_FOREVER)) return 1;
    weft_chan_free(channel);
    return counter == PROCESSES * ROUNDS ? 0 : 1;
}
static int counting_main(void) { return weft_main(0, NULL, counting); }

TEST_WITHIN(a_program_ends_well_with_every_seed, 120) { seeds_pass(1, 200, counting_main); }

/* ---- time ----------------------------------------------------------------------------------------------------------------- */

static int sleeps(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_msg *message;
    uint64_t before = weft_now();
    if (weft_recv(&message, before + HOUR_S * SECOND) != WEFT_ETIMEDOUT) return 1;
    return weft_now() - before >= HOUR_S * SECOND ? 0 : 1;
}
static int sleeps_main(void) { return weft_main(0, NULL, sleeps); }

TEST_WITHIN(an_hour_takes_no_time, 120) { seeds_pass(1, 50, sleeps_main); }

/* ---- threads that the kernel does not run for a while -------------------------------------------------------------------- */

TEST_WITHIN(threads_that_stall_harm_no_program, 120) {
    setenv("WEFT_SIM_FAULTS", "stall", 1);
    seeds_pass(1, 100, counting_main);
}

static int naps(int argc, char **argv) {
    (void)argc, (void)argv;
    uint64_t before = weft_now();
    weft_sleep(SECOND / 1000);
    assert(weft_now() - before < SECOND); /* not where the kernel has other things to do */
    return 0;
}
static int naps_main(void) { return weft_main(0, NULL, naps); }

TEST_WITHIN(a_stall_is_found_that_lasts_a_second, 120) {
    struct seed_result result;
    seeds_pass(1, 50, naps_main);
    setenv("WEFT_SIM_FAULTS", "stall", 1);
    seeds_find(1, 1000, naps_main, "< SECOND", &result);
}

/* ---- programs that are wrong ---------------------------------------------------------------------------------------------- */

static int shared;
static void adds(void *arg) {
    (void)arg;
    int found = shared;
    weft_yield();
    shared = found + 1;
}
static int racing(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_pid pids[2];
    for (int i = 0; i < 2; i++)
        pids[i] = weft_spawn_joinable(adds, NULL);
    for (int i = 0; i < 2; i++)
        weft_join(pids[i], NULL, WEFT_FOREVER);
    assert(shared == 2);
    return 0;
}
static int racing_main(void) { return weft_main(0, NULL, racing); }

TEST_WITHIN(a_lost_update_is_found, 60) {
    struct seed_result result, again;
    uint64_t seed = seeds_find(1, 200, racing_main, "shared == 2", &result);
    seed_run(seed, racing_main, &again);
    EXPECT_EQ(again.status, result.status);
}

static weft_sem first_fork, second_fork;
static void dines(void *arg) {
    weft_sem *left = arg ? &first_fork : &second_fork, *right = arg ? &second_fork : &first_fork;
    weft_sem_acquire(left, 1, WEFT_FOREVER);
    weft_sem_acquire(right, 1, WEFT_FOREVER);
    weft_sem_release(right, 1);
    weft_sem_release(left, 1);
}
static int dining_main(void) {
    weft_runtime *runtime;
    weft_pid one, other;
    weft_sem_init(&first_fork, 1);
    weft_sem_init(&second_fork, 1);
    if (weft_start(&(weft_config){.workers = 2}, &runtime)) return 1;
    weft_stackful_options options = {.runtime = runtime, .flags = WEFT_SPAWN_JOINABLE};
    if (weft_spawn_with(dines, NULL, &options, &one) || weft_spawn_with(dines, &one, &options, &other)) return 1;
    weft_join(one, NULL, WEFT_FOREVER);
    weft_join(other, NULL, WEFT_FOREVER);
    return weft_stop(runtime, NULL, WEFT_FOREVER);
}

TEST_WITHIN(a_deadlock_is_found_and_exact, 60) {
    struct seed_result result;
    seeds_find(1, 500, dining_main, "deadlock", &result);
    EXPECT(WIFEXITED(result.status) && WEXITSTATUS(result.status) == 86);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
