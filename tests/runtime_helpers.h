/* What the tests of the scheduler share: the cases a test runs on, a runtime that is watched and counted, waiting.
 *
 *     static void body(void) { ...rt.runtime...; }
 *     TEST(something) { rt_each(body); }
 *
 * Every body gets a fresh runtime, already started; afterwards it is stopped, all processes must have ended when they were
 * asked to, and every block of memory must be back. A runtime that hangs is shown by weft_dump before the test is aborted. */
#ifndef WEFT_TESTS_RUNTIME_HELPERS_H
#define WEFT_TESTS_RUNTIME_HELPERS_H

#include "base/atom.h"
#include "base/rng.h"
#include "scripted.h"
#include "test.h"

#include <weft/command.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RT_MS UINT64_C(1000000)
#define RT_SECOND (1000 * RT_MS)

/* Sizes of stress tests are divided by this: how much longer a step takes in this build, roughly. */
#if defined(__SANITIZE_THREAD__)
enum { RT_SLOW = 8 };
#elif defined(__SANITIZE_ADDRESS__)
enum { RT_SLOW = 3 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { RT_SLOW = 8 };
#elif __has_feature(address_sanitizer)
enum { RT_SLOW = 3 };
#else
enum { RT_SLOW = 1 };
#endif
#else
enum { RT_SLOW = 1 };
#endif

/* ---- the watchdog -------------------------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    weft_runtime *runtime;
    bool over;
} rt_dog = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static inline void *rt_watch(void *limit) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(uintptr_t)limit;
    pthread_mutex_lock(&rt_dog.lock);
    while (!rt_dog.over)
        if (pthread_cond_timedwait(&rt_dog.changed, &rt_dog.lock, &until) != 0 && !rt_dog.over) {
            fprintf(stderr, "the runtime hangs:\n");
            weft_dump(rt_dog.runtime, STDERR_FILENO);
            abort();
        }
    pthread_mutex_unlock(&rt_dog.lock);
    return NULL;
}

/* Aborts after so many seconds unless rt_unwatch comes first. */
static inline void rt_watch_begin(weft_runtime *runtime, unsigned seconds) {
    const char *patience = getenv("WEFT_TEST_PATIENCE");
    unsigned long times = patience && atoi(patience) > 0 ? (unsigned long)atoi(patience) : 1;
    rt_dog.runtime = runtime;
    rt_dog.over = false;
    EXPECT_EQ(pthread_create(&rt_dog.thread, NULL, rt_watch, (void *)(uintptr_t)(seconds * times)), 0);
}

static inline void rt_watch_end(void) {
    pthread_mutex_lock(&rt_dog.lock);
    rt_dog.over = true;
    pthread_cond_signal(&rt_dog.changed);
    pthread_mutex_unlock(&rt_dog.lock);
    pthread_join(rt_dog.thread, NULL);
}

/* ---- a runtime, and the cases it is tried on ------------------------------------------------------------------------ */

enum { RT_WATCH_SECONDS = 25 };

static struct {
    weft_runtime *runtime;
    const char *policy;
    unsigned workers;
} rt;

/* Allocations are counted by the scripted table, or by the simulation's if the test is built for it. */
#if WEFT_TEST_SIM
int64_t table_leaks(void);
static inline void rt_count_memory(void) {}
static inline uint64_t rt_live_memory(void) { return (uint64_t)table_leaks(); }
#else
static inline void rt_count_memory(void) { sys_scripted_install(); }
static inline uint64_t rt_live_memory(void) { return sys_scripted_live(); }
#endif

/* After rt_count_memory, and what the script should say then. */
static inline void rt_start_scripted(const weft_config *config) {
    EXPECT_EQ(weft_start(config, &rt.runtime), 0);
    rt.policy = config->policy;
    rt.workers = config->workers;
    rt_watch_begin(rt.runtime, RT_WATCH_SECONDS);
}
static inline void rt_start_with(const weft_config *config) {
    rt_count_memory();
    rt_start_scripted(config);
}

static inline void rt_start(const char *policy, unsigned workers) {
    rt_start_with(&(weft_config){.policy = policy, .workers = workers, .seed = 1});
}

/* Everybody ends when asked, and nothing is left over. */
static inline void rt_stop(void) {
    weft_stop_report report;
    EXPECT_EQ(weft_stop(rt.runtime, &report, WEFT_FOREVER), 0);
    EXPECT_EQ(report.left, 0);
    rt_watch_end();
    EXPECT_EQ(rt_live_memory(), 0);
}

/* The default policy with 1, 2, 4 and 16 workers and the others with 2; the whole matrix when tests are scaled up, unless
 * WEFT_TEST_MATRIX is 0, and when that is 1. */
static inline bool rt_whole_matrix(void) {
    const char *asked = getenv("WEFT_TEST_MATRIX");
    return asked ? atoi(asked) > 0 : test_scale() > 1;
}
static inline void rt_cases(void (*body)(const char *policy, unsigned workers)) {
    static const char *const policies[] = {"ring", "deque", "line"};
    static const unsigned workers[] = {2, 1, 4, 16};
    for (unsigned p = 0; p < 3; p++)
        for (unsigned w = 0; w < 4; w++)
            if (p == 0 || w == 0 || rt_whole_matrix()) body(policies[p], workers[w]);
}

static inline void rt_run(void (*body)(void), const char *policy, unsigned workers) {
    printf("policy %s, %u workers\n", policy, workers);
    rt_start(policy, workers);
    body();
    rt_stop();
}
static void (*rt_body)(void);
static inline void rt_one(const char *policy, unsigned workers) { rt_run(rt_body, policy, workers); }
static inline void rt_each(void (*body)(void)) {
    rt_body = body;
    rt_cases(rt_one);
}

/* How many descriptors are open. */
static inline unsigned rt_descriptors(void) {
    unsigned count = 0;
    for (int i = 0; i < 1024; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* ---- waiting, and small things ------------------------------------------------------------------------------------- */

/* Until the cell has the value, or more; in vain, the watchdog ends it. */
static inline void rt_wait(atom_u64 *cell, uint64_t value) {
    for (unsigned round = 0; atom_load_acq(cell) < value; round++)
        if (round < 100) sched_yield();
        else usleep(100);
}

/* What weft_dump says now; until the next call. */
static inline const char *rt_dump_text(void) {
    static char text[1 << 16];
    FILE *file = tmpfile();
    EXPECT(file);
    weft_dump(rt.runtime, fileno(file));
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static inline void rt_pause(uint64_t nanoseconds) {
    struct timespec t = {(time_t)(nanoseconds / RT_SECOND), (long)(nanoseconds % RT_SECOND)};
    nanosleep(&t, NULL); // NOLINT(bugprone-signal-handler): nothing but a system call on Linux, so a handler may
}

/* From the test's own thread. */
static inline weft_pid rt_spawn_with(const weft_behavior *behavior, const void *input, size_t size) {
    weft_pid pid = WEFT_NOBODY;
    EXPECT_EQ(weft_spawn_step(behavior, &(weft_spawn_options){.runtime = rt.runtime, .input = input, .input_size = size}, &pid), 0);
    EXPECT(pid != WEFT_NOBODY);
    return pid;
}
static inline weft_pid rt_spawn(const weft_behavior *behavior) { return rt_spawn_with(behavior, NULL, 0); }

static inline weft_stats rt_stats(void) {
    weft_stats stats;
    weft_get_stats(rt.runtime, &stats);
    return stats;
}

/* A message is counted after it has been given away, so its receiver may be heard of before it is. */
static inline void rt_expect_sent(uint64_t messages) {
    while (rt_stats().messages_sent < messages)
        usleep(100);
    EXPECT_EQ(rt_stats().messages_sent, messages);
}

/* Until no process lives. */
static inline void rt_wait_until_none_lives(void) {
    while (rt_stats().processes > 0)
        usleep(100);
}

/* What was written to standard error meanwhile. */
static struct {
    FILE *file;
    int saved;
} rt_stderr;
static inline void rt_stderr_begin(void) {
    fflush(stderr);
    rt_stderr.file = tmpfile();
    EXPECT(rt_stderr.file);
    rt_stderr.saved = dup(STDERR_FILENO);
    EXPECT(dup2(fileno(rt_stderr.file), STDERR_FILENO) >= 0);
}
/* So far; until the next call. */
static inline const char *rt_stderr_text(void) {
    static char text[4096];
    fflush(stderr);
    ssize_t length = pread(fileno(rt_stderr.file), text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    return text;
}
static inline const char *rt_stderr_end(void) {
    const char *text = rt_stderr_text();
    EXPECT(dup2(rt_stderr.saved, STDERR_FILENO) >= 0);
    close(rt_stderr.saved);
    fclose(rt_stderr.file);
    fputs(text, stderr);
    return text;
}

#endif
