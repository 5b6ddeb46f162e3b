/* Locks that weft does not know: the owner is stopped, and more processes than there may be extra workers fall asleep at the lock. The
 * process that was stopped goes on all the same, and all of them end. */
#include "preempt/loops.h"

static void compute_for(uint64_t ns) {
    uint64_t end = weft_now() + ns;
    while (weft_now() < end)
        for (volatile unsigned i = 0; i < 1000; i++) {}
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned inside; /* under the mutex */

/* Longer than a time slice: the owner is stopped with the lock. */
static void locks_and_computes(void *arg) {
    pthread_mutex_lock(&mutex);
    EXPECT_EQ(inside++, 0);
    compute_for((uintptr_t)arg);
    inside--;
    pthread_mutex_unlock(&mutex);
    atom_add_rel(&done, 1);
}

static void case_crowd(const weft_config *config, weft_entry entry, uint64_t ns, unsigned count) {
    weft_config all = *config;
    all.preempt = true;
    all.seed = 1;
    rt_start_with(&all);
    forget();
    for (unsigned i = 0; i < count; i++)
        victim_spawn(entry, (void *)(uintptr_t)ns, 0, "locker");
    rt_wait(&done, count);
    rt_stop();
}
static void crowd_of_policy(const char *policy, unsigned workers, unsigned extra, unsigned count) {
    weft_config config = {.policy = policy, .workers = workers, .max_extra = extra};
    case_crowd(&config, locks_and_computes, 12 * RT_MS, count);
}
/* As many as a program has that was written with threads in mind. */
TEST_WITHIN(locks_of_two_hundred, 120) {
    PREEMPT_TEST_APPLIES();
    crowd_of_policy("ring", 2, 0, 200);
    pre_note("two hundred");
}
TEST_WITHIN(locks_with_few_extra_workers, 120) {
    PREEMPT_TEST_APPLIES();
    for (unsigned i = 0; i < 3; i++)
        crowd_of_policy((const char *[]){"ring", "deque", "line"}[i], 2, 8, 20);
    crowd_of_policy("ring", 1, 1, 20);
    crowd_of_policy("ring", 4, 1, 30);
    pre_note("few extra workers");
}
/* One may be stopped at a time, and time slices are short. */
TEST_WITHIN(locks_with_one_displaced, 120) {
    PREEMPT_TEST_APPLIES();
    weft_config config = {.policy = "ring", .workers = 2, .max_extra = 1, .max_stopped = 1, .preempt_us = 1000};
    case_crowd(&config, locks_and_computes, 5 * RT_MS, 40);
}
/* Threads are short as well. */
TEST_WITHIN(locks_with_few_threads, 120) {
    PREEMPT_TEST_APPLIES();
    for (unsigned most = 2; most <= 8; most += 2) {
        weft_config config = {.policy = "ring", .workers = 2, .max_threads = most, .preempt_us = 1000};
        case_crowd(&config, locks_and_computes, 5 * RT_MS, 30);
    }
}

/* Processes that sleep at the lock cannot be interrupted, nor told from one that waits for a processor: the owner goes on all the same, if
 * later. */
static bool never_asleep(uint32_t id) { return (void)id, false; }
static void locks_undisturbed(void *arg) {
    weft_nopreempt_begin();
    locks_and_computes(arg);
    weft_nopreempt_end();
}
static void owns_and_lets_others_come(void *arg) {
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; i < 20; i++)
        victim_spawn(locks_undisturbed, arg, 0, "sleeper");
    compute_for(50 * RT_MS);
    pthread_mutex_unlock(&mutex);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(locks_where_sleepers_cannot_be_told, 120) {
    PREEMPT_TEST_APPLIES();
    static struct sys blind;
    rt_start_with(&(weft_config){.policy = "ring", .workers = 2, .max_extra = 2, .preempt = true, .preempt_us = 1000});
    const struct sys *sees = sys;
    blind = *sys;
    blind.thread_asleep = never_asleep;
    sys = &blind;
    forget();
    victim_spawn(owns_and_lets_others_come, (void *)(uintptr_t)RT_MS, 0, "owner");
    rt_wait(&done, 21);
    sys = sees;
    rt_stop();
}

/* Two locks, always in the same order: a process that was stopped with one goes on and falls asleep at the other. */
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static void locks_two(void *arg) {
    compute_for((uintptr_t)arg / 8);
    pthread_mutex_lock(&outer);
    compute_for((uintptr_t)arg / 4);
    locks_and_computes((void *)((uintptr_t)arg / 2));
    pthread_mutex_unlock(&outer);
    locks_and_computes((void *)((uintptr_t)arg / 4));
}
TEST_WITHIN(locks_in_a_chain, 120) {
    PREEMPT_TEST_APPLIES();
    rt_start_with(&(weft_config){.policy = "ring", .workers = 2, .max_extra = 2, .max_stopped = 4, .preempt = true, .preempt_us = 1000});
    forget();
    for (unsigned i = 0; i < 40; i++)
        victim_spawn(locks_two, (void *)(uintptr_t)(8 * RT_MS), 0, "locker");
    rt_wait(&done, 80);
    rt_stop();
}

/* Few may be interrupted, and the processes that sleep at the lock are others. */
TEST_WITHIN(locks_of_one_that_is_marked, 120) {
    PREEMPT_TEST_APPLIES();
    rt_start_with(&(weft_config){.policy = "ring", .workers = 2, .max_extra = 3, .preempt_us = 1000});
    forget();
    for (unsigned i = 0; i < 60; i++) {
        if (i % 10 == 0) spawn_marked(locks_and_computes, (void *)(uintptr_t)(5 * RT_MS));
        else victim_spawn(locks_and_computes, (void *)(uintptr_t)RT_MS, 0, "locker");
    }
    rt_wait(&done, 60);
    rt_stop();
}

/* The lock is waited for in blocking calls, and its owner is stopped. */
static void waits_for_the_mutex(void *arg) {
    (void)arg;
    pthread_mutex_lock(&mutex);
}
static void locks_in_a_call(void *arg) {
    /* A mutex of this kind may be unlocked by another thread, where the process may be by then. */
    EXPECT_EQ(weft_blocking(waits_for_the_mutex, NULL), 0);
    compute_for((uintptr_t)arg);
    pthread_mutex_unlock(&mutex);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(locks_in_blocking_calls, 120) {
    PREEMPT_TEST_APPLIES();
    weft_config config = {.policy = "ring", .workers = 2, .max_extra = 2, .preempt_us = 1000};
    case_crowd(&config, locks_in_a_call, 3 * RT_MS, 60);
}

/* The number of workers changes meanwhile: relief workers become others, and others leave. */
TEST_WITHIN(locks_while_workers_come_and_go, 120) {
    PREEMPT_TEST_APPLIES();
    rt_start_with(&(weft_config){.policy = "ring", .workers = 2, .max_extra = 2, .preempt = true, .preempt_us = 1000});
    forget();
    unsigned count = 150;
    for (unsigned i = 0; i < count; i++)
        victim_spawn(locks_and_computes, (void *)(uintptr_t)(3 * RT_MS), 0, "locker");
    for (unsigned i = 0; atom_load_acq(&done) < count; i++) {
        weft_set_workers(rt.runtime, 1 + i * 7 % 5);
        usleep(1000);
    }
    rt_wait(&done, count);
    rt_stop();
}

/* A runtime stops while all are at the lock: processes that are cancelled do not hear of it, and are waited for. */
TEST_WITHIN(locks_while_the_runtime_stops, 120) {
    PREEMPT_TEST_APPLIES();
    for (unsigned i = 0; i < 5; i++) {
        rt_start_with(&(weft_config){.policy = "ring", .workers = 2, .max_extra = 2, .preempt = true, .preempt_us = 1000});
        forget();
        for (unsigned j = 0; j < 40; j++)
            victim_spawn(locks_and_computes, (void *)(uintptr_t)(2 * RT_MS), 0, "locker");
        rt_wait(&done, i);
        rt_stop();
        EXPECT_EQ(atom_load_acq(&done), 40);
    }
}

/* One connection of a library that locks itself: each call is short or long, and allocates. */
static void one_connection(void *arg) {
    for (unsigned i = 0; i < 3; i++) {
        pthread_mutex_lock(&mutex);
        void *volatile block = malloc(1000 + 100 * i);
        compute_for(i == 1 ? (uintptr_t)arg : 100000);
        free(block);
        pthread_mutex_unlock(&mutex);
    }
    atom_add_rel(&done, 1);
}
TEST_WITHIN(locks_of_one_connection, 120) {
    PREEMPT_TEST_APPLIES();
    weft_config config = {.policy = "ring", .workers = 2};
    case_crowd(&config, one_connection, 8 * RT_MS, 200);
}

/* All write to one stream, which has a lock of the C library's. */
static FILE *stream;
static void writes_lines(void *arg) {
    flockfile(stream);
    for (unsigned i = 0; i < 100; i++)
        fprintf(stream, "line %u of many, %f\n", i, 0.25 * i);
    compute_for((uintptr_t)arg);
    funlockfile(stream);
    for (unsigned i = 0; i < 100; i++)
        fprintf(stream, "%u\n", i);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(locks_of_a_stream, 120) {
    PREEMPT_TEST_APPLIES();
    stream = fopen("/dev/null", "w");
    EXPECT(stream != NULL);
    weft_config config = {.policy = "ring", .workers = 2, .preempt_us = 500};
    case_crowd(&config, writes_lines, RT_MS, 900);
    fclose(stream);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
