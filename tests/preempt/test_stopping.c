/* Locks of processes that are interrupted, stopping while some are, and threads that are not to be had. */
#include "preempt/loops.h"

/* ---- locks, stopping, faults
 * ------------------------------------------------------------------------------------------------------------ */

/* A process that waits for a mutex of one that was interrupted gets it. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void locks(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 5; i++) {
        pthread_mutex_lock(&mutex);
        uint64_t end = weft_now() + 3 * RT_MS;
        while (weft_now() < end)
            for (volatile unsigned j = 0; j < 1000; j++) {}
        pthread_mutex_unlock(&mutex);
    }
    atom_add_rel(&done, 1);
}
static void case_locks(const char *policy, unsigned workers) {
    pre_start(policy, workers, 1000);
    forget();
    for (unsigned i = 0; i < 4; i++)
        victim_spawn(locks, NULL, 0, "locker");
    rt_wait(&done, 4);
    rt_stop();
}
TEST_WITHIN(preempt_with_a_mutex, 100) {
    PREEMPT_TEST_APPLIES();
    rt_cases(case_locks);
    pre_note("mutex");
}

/* A runtime stops though there are loops that never end. They are named, and sleep for ever. */
static void stops(void) {
    weft_stop_report report;
    pre_start("ring", 2, 1000);
    forget();
    weft_pid hogs[5];
    for (uintptr_t i = 0; i < 5; i++)
        hogs[i] = victim_spawn(loops, (void *)i, 0, "hog");
    for (unsigned i = 0; i < 5; i++)
        rt_wait(&rounds[i], 1);
    EXPECT_EQ(weft_stop(rt.runtime, &report, weft_now() + 50 * RT_MS), WEFT_ETIMEDOUT);
    EXPECT_EQ(report.left, 5);
    for (unsigned i = 0; i < 5; i++) {
        bool named = false;
        for (unsigned j = 0; j < 5; j++)
            named |= report.first[j] == hogs[i];
        EXPECT(named);
    }
    rt_watch_end();
    uint64_t before = 0, after = 0;
    for (unsigned i = 0; i < 5; i++)
        before += atom_load_rlx(&rounds[i]);
    usleep(20000);
    for (unsigned i = 0; i < 5; i++)
        after += atom_load_rlx(&rounds[i]);
    EXPECT_EQ(before, after);
}
static void *allocates_a_little(void *arg) {
    for (unsigned i = 0; i < 200; i++)
        free(malloc(100 * i + 5000));
    return arg;
}
/* They were in malloc and printf most of the time, and hold no lock of these when they sleep for ever. */
static void allocates(void *arg) {
    char text[64];
    (void)arg;
    for (;;) {
        void *volatile block = malloc(5000);
        snprintf(text, sizeof text, "%p %f", block, 0.1);
        fputs(text, stdout);
        free(block);
        atom_add_rlx(&rounds[0], 1);
    }
}
static void stops_in_malloc(void) {
    weft_stop_report report;
    if (!freopen("/dev/null", "w", stdout)) _exit(9);
    pre_start("ring", 2, 200);
    forget();
    for (unsigned i = 0; i < 6; i++)
        victim_spawn(allocates, NULL, 256 << 10, "allocator");
    rt_wait(&rounds[0], 1000);
    uint64_t began = weft_now();
    EXPECT_EQ(weft_stop(rt.runtime, &report, weft_now() + 50 * RT_MS), WEFT_ETIMEDOUT);
    EXPECT_EQ(report.left, 6);
    rt_watch_end();
    fprintf(stderr, "stopped in %.0f ms\n", (double)(weft_now() - began) / 1e6);
    alarm(20);
    pthread_t threads[20]; /* which would come to whatever part of the heap those were in */
    for (unsigned i = 0; i < 20; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, allocates_a_little, NULL), 0);
    for (unsigned i = 0; i < 20; i++)
        EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    exit(0);
}
TEST_WITHIN(preempt_stop_with_loops_in_malloc, 100) {
    PREEMPT_TEST_APPLIES();
    if (SANITIZED) {
        printf("note: the sanitizer's own malloc is in the program\n");
        return;
    }
    struct child result;
    for (unsigned i = 0; i < 5; i++) {
        child_run(&result, stops_in_malloc);
        EXPECT_EXIT(&result, 0);
        printf("note: %s", result.said);
    }
}
TEST_WITHIN(preempt_stop_with_endless_loops, 60) {
    PREEMPT_TEST_APPLIES();
    struct child result;
    child_run(&result, stops);
    EXPECT_EXIT(&result, 0);
    printf("note: %s", result.said);
}

/* As many as may be stopped at a time are, and others run. */
static void stops_with(const weft_config *config, unsigned count) {
    weft_stop_report report;
    rt_start_with(config);
    forget();
    for (uintptr_t i = 0; i < count; i++)
        victim_spawn(loops, (void *)i, 0, "hog");
    for (unsigned i = 0; i < count; i++)
        rt_wait(&rounds[i], 1);
    EXPECT_EQ(weft_stop(rt.runtime, &report, weft_now() + 20 * RT_MS), WEFT_ETIMEDOUT);
    EXPECT_EQ(report.left, count);
    rt_watch_end();
}
static void stops_over_the_cap(void) {
    stops_with(&(weft_config){.policy = "ring", .workers = 2, .preempt = true, .preempt_us = 1000, .max_stopped = 1}, 4);
}
TEST_WITHIN(preempt_stop_with_more_loops_than_may_be_stopped, 60) {
    PREEMPT_TEST_APPLIES();
    struct child result;
    child_run(&result, stops_over_the_cap);
    EXPECT_EXIT(&result, 0);
}
/* Loops that a library has called are never where they could be left for good; neither are processes that wait for a lock that one of them
 * has. After a while they are left all the same. */
static pthread_mutex_t locked = PTHREAD_MUTEX_INITIALIZER;
static atom_u64 waiters;
static int compares_for_ever(const void *a, const void *b) {
    atom_u64 *mine = *(atom_u64 *const *)a;
    for (;;)
        atom_add_rlx(mine, 1);
    return a < b;
}
static void sorts(void *arg) {
    atom_u64 *mine[2] = {arg, arg};
    if (arg == &rounds[0]) pthread_mutex_lock(&locked);
    qsort(mine, 2, sizeof mine[0], compares_for_ever);
}
static void waits_for_the_lock(void *arg) {
    (void)arg;
    atom_add_rel(&waiters, 1);
    pthread_mutex_lock(&locked);
}
static void stops_in_a_library(void) {
    weft_stop_report report;
    pre_start("ring", 2, 1000);
    forget();
    for (unsigned i = 0; i < 4; i++)
        victim_spawn(sorts, &rounds[i], 0, "sorter");
    for (unsigned i = 0; i < 4; i++)
        rt_wait(&rounds[i], 1);
    for (unsigned i = 0; i < 2; i++)
        victim_spawn(waits_for_the_lock, NULL, 0, "waiter");
    rt_wait(&waiters, 2);
    EXPECT_EQ(weft_stop(rt.runtime, &report, weft_now() + 20 * RT_MS), WEFT_ETIMEDOUT);
    EXPECT_EQ(report.left, 6);
    rt_watch_end();
}
TEST_WITHIN(preempt_stop_with_loops_in_a_library, 60) {
    PREEMPT_TEST_APPLIES();
    struct child result;
    child_run(&result, stops_in_a_library);
    EXPECT_EXIT(&result, 0);
}

/* There is no thread that could go on with a worker, and there need not be. */
static void stops_at_the_limit_of_threads(void) {
    stops_with(&(weft_config){.policy = "ring", .workers = 2, .preempt = true, .preempt_us = 1000, .max_threads = 2}, 2);
}
TEST_WITHIN(preempt_stop_at_the_limit_of_threads, 60) {
    PREEMPT_TEST_APPLIES();
    struct child result;
    child_run(&result, stops_at_the_limit_of_threads);
    EXPECT_EXIT(&result, 0);
}

/* No thread is to be had: they run on as without preemption. */
TEST_WITHIN(preempt_without_threads, 60) {
    PREEMPT_TEST_APPLIES();
    pre_start("ring", 2, 1000);
    forget();
    usleep(20000);
    sys_script.threads_limited = true;
    sys_script.threads_allowed = 0;
    for (uintptr_t i = 0; i < 8; i++)
        victim_spawn(loops, (void *)i, 0, "hog");
    usleep(100000);
    sys_script.threads_limited = false;
    for (unsigned i = 0; i < 8; i++)
        rt_wait(&rounds[i], 1);
    atom_store_rlx(&over, true);
    rt_wait(&done, 8);
    pre_note("without threads");
    rt_stop();
}

/* No thread for the thread maker either: that is said once, and it is tried again with the next one. Signals of others still come to
 * nothing. */
TEST_WITHIN(preempt_begins_when_there_are_threads_again, 60) {
    PREEMPT_TEST_APPLIES();
    struct sigaction now;
    rt_start("ring", 2);
    forget();
    sys_script.threads_limited = true;
    sys_script.threads_allowed = 0;
    rt_stderr_begin();
    for (uintptr_t i = 0; i < 3; i++)
        spawn_marked(loops, (void *)i);
    const char *said = strstr(rt_stderr_end(), "weft: processes cannot be interrupted: there is no thread");
    EXPECT(said && !strstr(said + 1, "weft: processes cannot be interrupted"));
    EXPECT(!atom_load_rlx(&runtime_now()->preempt.on));
    EXPECT_EQ(sigaction(SIGURG, NULL, &now), 0);
    EXPECT(now.sa_handler == SIG_DFL);
    sys_script.threads_limited = false;
    spawn_marked(loops, (void *)3);
    EXPECT(atom_load_rlx(&runtime_now()->preempt.on));
    for (unsigned i = 0; i < 100; i++)
        EXPECT_EQ(kill(getpid(), SIGURG), 0);
    atom_store_rlx(&over, true);
    rt_wait(&done, 4);
    rt_stop();
    EXPECT_EQ(sigaction(SIGURG, NULL, &now), 0);
    EXPECT(now.sa_handler == SIG_DFL);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
