/* What the tests in C++ share: a runtime, and a body that runs in its first process, on each policy and with preemption. */
#ifndef WEFT_TESTS_CXX_CXX_HELPERS_HPP
#define WEFT_TESTS_CXX_CXX_HELPERS_HPP

#include "test.h"

#include <weft/weft.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#if defined(__SANITIZE_THREAD__)
enum { CXX_THREAD = 1 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { CXX_THREAD = 1 };
#else
enum { CXX_THREAD = 0 };
#endif
#else
enum { CXX_THREAD = 0 };
#endif
#if defined(__SANITIZE_ADDRESS__)
enum { CXX_SLOW = 4 };
#else
enum { CXX_SLOW = CXX_THREAD ? 8 : 1 };
#endif

static weft_runtime *cxx_runtime;

static inline void cxx_start(const char *policy, unsigned workers, bool preempt) {
    weft_config config = {};
    config.policy = policy;
    config.workers = workers;
    config.preempt = preempt && !CXX_THREAD;
    config.preempt_us = preempt ? 50 : 0;
    EXPECT_EQ(weft_start(&config, &cxx_runtime), 0);
}
static inline void cxx_stop(void) { EXPECT_EQ(weft_stop(cxx_runtime, NULL, WEFT_FOREVER), 0); }

/* Its reason, when it has ended. */
static inline int cxx_run(weft_entry entry, void *arg, unsigned flags = 0) {
    weft_stackful_options options = {};
    weft_pid pid;
    int reason = 1;
    options.runtime = cxx_runtime;
    options.flags = WEFT_SPAWN_JOINABLE | flags;
    EXPECT_EQ(weft_spawn_with(entry, arg, &options, &pid), 0);
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
    return reason;
}

/* On each policy with 1, 2 and 4 workers, and once with preemption. */
static inline void cxx_each(void (*body)(void)) {
    static const char *const policies[] = {"ring", "deque", "line"};
    for (const char *policy : policies)
        for (unsigned workers = 1; workers <= 4; workers *= 2) {
            std::printf("policy %s, %u workers\n", policy, workers);
            cxx_start(policy, workers, false);
            body();
            cxx_stop();
        }
    std::printf("preemption\n");
    cxx_start("ring", 2, true);
    body();
    cxx_stop();
}

#endif
