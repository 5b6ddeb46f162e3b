/* Whole programs in the simulation: they end well with every seed, the same seed gives the same history, and what is wrong is found. */
#include "seeds.h"

#include <weft/weft.h>

#include <assert.h>
#include <pthread.h>
#include <time.h>

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

/* ---- loops that wait for what needs another thread ------------------------------------------------------------------------ */

static void waits_to_be_cancelled(void *arg) {
    (void)arg;
    while (!weft_cancelled())
        weft_yield();
}
static int yields_main(void) {
    weft_runtime *runtime;
    weft_pid pid;
    if (weft_start(&(weft_config){.workers = 2}, &runtime)) return 1;
    if (weft_spawn_with(waits_to_be_cancelled, NULL, &(weft_stackful_options){.runtime = runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid))
        return 1;
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    weft_cancel(pid);
    weft_join(pid, NULL, WEFT_FOREVER);
    return weft_stop(runtime, NULL, WEFT_FOREVER);
}

static pthread_mutex_t flag_mutex = PTHREAD_MUTEX_INITIALIZER;
static bool flag;
static void *sets_the_flag(void *arg) {
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    pthread_mutex_lock(&flag_mutex);
    flag = true;
    pthread_mutex_unlock(&flag_mutex);
    return arg;
}
static bool flag_is_set(void) {
    pthread_mutex_lock(&flag_mutex);
    bool is_set = flag;
    pthread_mutex_unlock(&flag_mutex);
    return is_set;
}
static int polls_main(void) {
    pthread_t other;
    if (pthread_create(&other, NULL, sets_the_flag, NULL)) return 1;
    while (!flag_is_set()) {}
    return pthread_join(other, NULL);
}

/* In quiet seeds, and where no decision is made at all. */
static void ends_without_decisions(int (*body)(void)) {
    setenv("WEFT_SIM_QUIET", "switch,next", 1);
    seeds_pass(1, 20, body);
    setenv("WEFT_SIM_SCRIPT", "/dev/null", 1);
    seeds_pass(1, 1, body);
}
TEST_WITHIN(a_loop_of_yields_does_not_keep_the_others_from_running, 120) { ends_without_decisions(yields_main); }
TEST_WITHIN(a_loop_of_effects_does_not_keep_the_others_from_running, 120) { ends_without_decisions(polls_main); }

/* ---- what a program does with threads besides --------------------------------------------------------------------------- */

/* A child of a program with several threads has one: it is not simulated, so a sleep ends. */
static int forks_main(void) {
    pthread_t other;
    int status;
    if (pthread_create(&other, NULL, sets_the_flag, NULL)) return 1;
    pid_t child = fork();
    if (child == 0) {
        usleep(1);
        exit(7);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) return 2;
    return pthread_join(other, NULL);
}
TEST_WITHIN(a_child_made_by_fork_is_not_simulated, 60) { seeds_pass(1, 8, forks_main); }

static void *sleeps_for_ever(void *arg) {
    for (;;)
        sleep(UINT_MAX);
    return arg;
}
static int cancels_main(void) {
    pthread_t other;
    void *result;
    if (pthread_create(&other, NULL, sleeps_for_ever, NULL)) return 1;
    usleep(100);
    return pthread_cancel(other) || pthread_join(other, &result) || result != PTHREAD_CANCELED;
}
TEST_WITHIN(a_thread_that_sleeps_can_be_cancelled, 60) { seeds_pass(1, 20, cancels_main); }

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
    seeds_find(1, 10000, naps_main, "< SECOND", &result);
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
    uint64_t seed = seeds_find(1, 2000, racing_main, "shared == 2", &result);
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
    seeds_find(1, 5000, dining_main, "deadlock", &result);
    EXPECT(WIFEXITED(result.status) && WEXITSTATUS(result.status) == 86);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
