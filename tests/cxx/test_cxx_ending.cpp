/* Exceptions out of functions that weft has called, past scopes and guards; and the end of processes with live destructors. */
#include "cxx_helpers.hpp"

#include <weft/guards.hpp>

#include <pthread.h>
#include <unistd.h>
#include <vector>

/* What has been destroyed, in order; each process of a test has its own. */
struct trail {
    std::string said;
};
struct marker {
    trail *where;
    const char *name;
    bool waits;
    ~marker() {
        if (waits) weft_sleep(100 * WEFT_MICROSECOND); /* another thread may go on with it */
        where->said += name;
    }
};

static void says(void *arg) {
    trail *where = *(trail **)arg;
    where->said += "d";
}

/* ---- out of functions that weft has called ------------------------------------------------------------------------------------ */

static void throws_seven(void *) {
    struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL); /* so that the worker is lost meanwhile, now and then */
    throw 7;
}
static void out_of_blocking(void *) {
    for (unsigned i = 0; i < 5; i++) {
        int caught = 0;
        try {
            i % 2 ? weft_blocking(throws_seven, NULL) : weft_blocking_long(throws_seven, NULL);
        } catch (int seven) {
            weft_yield();
            caught = seven;
        }
        EXPECT_EQ(caught, 7);
        EXPECT(weft_self() != WEFT_NOBODY); /* a process again, with a worker */
        weft_yield();
        EXPECT_EQ(weft_sleep(1), 0);
    }
}
static void out_of_section(void *) {
    try {
        weft::blocking section;
        throw 1;
    } catch (int) {
    }
    EXPECT_EQ(weft_sleep(1), 0);
}
static void throws_deep(void *arg) {
    char room[200 << 10];
    memset(room, 1, sizeof room);
    weft_yield();
    throw std::to_string(*(int *)arg + room[17]);
}
static void out_of_big(void *) {
    for (int i = 0; i < 20; i++) {
        try {
            weft_call_big(throws_deep, &i, 512 << 10);
            EXPECT(false);
        } catch (const std::string &text) {
            EXPECT(text == std::to_string(i + 1));
            weft_yield();
        }
    }
}
static weft_once once;
static int fails_at_first(void *arg) {
    int *times = static_cast<int *>(arg);
    weft_yield();
    if (++*times < 3) throw *times;
    return 0;
}
static void out_of_once(void *) {
    int times = 0, caught = 0;
    memset(&once, 0, sizeof once);
    for (int i = 0; i < 4; i++)
        try {
            EXPECT_EQ(weft_once_do(&once, fails_at_first, &times, WEFT_FOREVER), 0);
        } catch (int number) {
            caught += number;
        }
    EXPECT_EQ(times, 3); /* as std::call_once: what throws has not done it */
    EXPECT_EQ(caught, 1 + 2);
}
static void out(void) {
    EXPECT_EQ(cxx_run(out_of_blocking, NULL), 0);
    EXPECT_EQ(cxx_run(out_of_section, NULL), 0);
    EXPECT_EQ(cxx_run(out_of_big, NULL), 0);
    EXPECT_EQ(cxx_run(out_of_once, NULL), 0);
}
TEST_WITHIN(ending_exceptions_pass_through_weft, 60) { cxx_each(out); }

static void foreign_out(void) { /* a thread of the program's own */
    int caught = 0;
    try {
        weft_blocking(throws_seven, NULL);
    } catch (int seven) {
        caught = seven;
    }
    EXPECT_EQ(caught, 7);
}
TEST(ending_exceptions_pass_through_weft_in_threads) { foreign_out(); }

static void defers_a_throw(void *) {
    weft_defer([](void *) { throw 1; }, NULL);
    try {
        weft_undefer(true);
    } catch (int) {
    }
}
static void deferred_throws(void) {
    cxx_start("ring", 1, false);
    cxx_run(defers_a_throw, NULL);
}
TEST(ending_a_deferred_call_must_not_throw) { EXPECT_ABORT(deferred_throws, "weft_defer", "an exception was thrown out of a function"); }

/* ---- past scopes and guards ----------------------------------------------------------------------------------------------------- */

static std::atomic<unsigned> children_ended;
static void child(void *arg) {
    marker mark = {static_cast<trail *>(arg), "", false};
    EXPECT_EQ(weft_sleep(WEFT_SECOND * 1000), WEFT_ECANCELED);
    children_ended++;
}
static void throws_in_scope(void *arg) {
    trail unused;
    children_ended = 0;
    try {
        weft_scope scope;
        weft_scope_begin(&scope, WEFT_FOREVER);
        for (unsigned i = 0; i < 5; i++)
            EXPECT_EQ(weft_scope_spawn(&scope, child, &unused), 0);
        weft_yield();
        weft_scope inner;
        weft_scope_begin(&inner, WEFT_FOREVER);
        EXPECT_EQ(weft_scope_spawn(&inner, child, &unused), 0);
        weft_sleep(WEFT_MILLISECOND);
        EXPECT_EQ(weft_defer(says, arg), 0); /* stays: it is the process's, not the scope's */
        throw 1;
    } catch (int) {
        EXPECT_EQ(children_ended.load(), 6); /* all have ended before the exception is here */
    }
    weft_scope after; /* and scopes work as before */
    weft_scope_begin(&after, WEFT_FOREVER);
    EXPECT_EQ(weft_scope_end(&after), 0);
}
static void throws_past_guards(void *) {
    static weft_mutex mutex;
    memset(&mutex, 0, sizeof mutex);
    for (unsigned i = 0; i < 3; i++)
        try {
            weft::shield shield;
            weft::nopreempt nopreempt;
            weft::mutex_lock held(&mutex);
            EXPECT(held);
            throw 1;
        } catch (int) {
            weft::mutex_lock again(&mutex, weft_in(WEFT_SECOND));
            EXPECT_EQ(again.error(), 0);
        }
    EXPECT_EQ(weft_cancel(weft_self()), 0);
    EXPECT_EQ(weft_sleep(WEFT_SECOND * 100), WEFT_ECANCELED); /* shielded no longer */
}
static void past(void) {
    trail trail, *where = &trail;
    EXPECT_EQ(cxx_run(throws_in_scope, &where), 0);
    EXPECT(trail.said == "d");
    EXPECT_EQ(cxx_run(throws_past_guards, NULL), 0);
}
TEST_WITHIN(ending_exceptions_past_scopes_and_guards, 60) { cxx_each(past); }

/* ---- weft_exit ------------------------------------------------------------------------------------------------------------------ */

static __attribute__((noinline)) void exits_below(trail *where, int reason) {
    marker third = {where, "3", true};
    weft_exit(reason);
}
static void exits(void *arg) {
    trail *where = *(trail **)arg;
    EXPECT_EQ(weft_defer(says, arg), 0);
    marker first = {where, "1", true};
    std::vector<int> memory(1000);
    marker second = {where, "2", false};
    exits_below(where, 5);
}
static void exits_in_catch(void *arg) {
    trail *where = *(trail **)arg;
    marker first = {where, "1", false};
    try {
        throw std::runtime_error("something");
    } catch (const std::exception &) {
        exits_below(where, 6);
    }
}
/* A handler for everything that does not throw on: the process ends all the same. */
static void exits_swallowed(void *arg) {
    trail *where = *(trail **)arg;
    marker first = {where, "1", false};
    try {
        try {
            exits_below(where, 7);
        } catch (...) {
            where->said += "c";
            weft_yield();
        }
        where->said += "never";
    } catch (...) {
        where->said += "C";
    }
    where->said += "never";
}
static void exits_rethrown(void *arg) {
    trail *where = *(trail **)arg;
    try {
        exits_below(where, 8);
    } catch (...) {
        where->said += "c";
        throw;
    }
}
static trail *big_where;
static void exits_big(void *) { exits_below(big_where, 9); }
static void exits_on_a_big_stack(void *arg) {
    big_where = *(trail **)arg;
    marker first = {big_where, "1", false};
    weft_call_big(exits_big, NULL, 512 << 10);
}
static void exits_in_scope(void *arg) {
    trail *where = *(trail **)arg;
    marker first = {where, "1", false};
    weft_scope scope;
    children_ended = 0;
    weft_scope_begin(&scope, WEFT_FOREVER);
    EXPECT_EQ(weft_scope_spawn(&scope, child, where), 0);
    weft_sleep(WEFT_MILLISECOND);
    exits_below(where, 10);
}
static void exits_when_deferred(void *arg) {
    static trail *where;
    where = *(trail **)arg;
    weft_defer(says, &where);
    weft_defer([](void *) {
        marker inside = {where, "i", true};
        weft_exit(11);
    }, NULL);
    marker first = {where, "1", false};
    weft_exit(1);
}
static void exit_all(void) {
    static const struct {
        weft_entry entry;
        int reason;
        const char *said;
    } cases[] = {
        {exits, 5, "321d"}, {exits_in_catch, 6, "31"}, {exits_swallowed, 7, "3cC1"}, {exits_rethrown, 8, "3c"},
        {exits_on_a_big_stack, 9, "31"}, {exits_in_scope, 10, "31"}, {exits_when_deferred, 11, "1id"},
    };
    for (unsigned round = 0; round < 3; round++)
        for (const auto &each : cases) {
            trail trail, *where = &trail;
            EXPECT_EQ(cxx_run(each.entry, &where), each.reason);
            if (trail.said != each.said) test_fail(__FILE__, __LINE__, "%d: %s and not %s", each.reason, trail.said.c_str(), each.said);
            if (each.entry == exits_in_scope) EXPECT_EQ(children_ended.load(), 1);
        }
}
TEST_WITHIN(ending_weft_exit_runs_destructors, 60) { cxx_each(exit_all); }

/* The next process begins on the stack of one that ended in the middle of its calls, and in its thread: with nothing on its way. */
static void begins_clean(void *) { EXPECT_EQ(std::uncaught_exceptions(), 0); }
static void exits_rethrown_alone(void *) {
    trail trail, *where = &trail;
    exits_rethrown(&where);
}
static void exits_among_newborn(void *) {
    for (unsigned i = 0; i < 20; i++) {
        EXPECT(weft_spawn(begins_clean, NULL) != WEFT_NOBODY);
        EXPECT(weft_spawn(exits_rethrown_alone, NULL) != WEFT_NOBODY);
        EXPECT(weft_spawn(begins_clean, NULL) != WEFT_NOBODY);
        weft_sleep(WEFT_MILLISECOND);
    }
    weft_defer(begins_clean, NULL);
    exits_rethrown_alone(NULL);
}
static void among_newborn(void) { EXPECT_EQ(cxx_run(exits_among_newborn, NULL), 8); }
TEST_WITHIN(ending_leaves_nothing_to_the_next_process, 60) { cxx_each(among_newborn); }

/* Many at once, which all wait in their destructors. */
static void exits_among_many(void *arg) {
    trail trail;
    (void)arg;
    marker first = {&trail, "1", true};
    try {
        throw 1;
    } catch (int) {
        marker second = {&trail, "2", true};
        exits_below(&trail, 0);
    }
}
static void many(void *) {
    for (unsigned i = 0; i < 200 / CXX_SLOW; i++)
        EXPECT(weft_spawn(exits_among_many, NULL) != WEFT_NOBODY);
}
static void storm(void) { EXPECT_EQ(cxx_run(many, NULL), 0); }
TEST_WITHIN(ending_many_at_once, 60) { cxx_each(storm); }

/* ---- by force, when a runtime stops -------------------------------------------------------------------------------------------------- */

static std::atomic<unsigned> forced_begun;
static void forced_stop(weft_entry entry, trail *where) {
    weft_stackful_options options = {};
    weft_config config = {};
    weft_pid pid;
    forced_begun = 0;
    config.workers = 2;
    config.grace_ms = 20;
    EXPECT_EQ(weft_start(&config, &cxx_runtime), 0);
    options.runtime = cxx_runtime;
    EXPECT_EQ(weft_spawn_with(entry, where, &options, &pid), 0);
    while (forced_begun == 0)
        usleep(1000);
    cxx_stop();
}

/* One that does not look at what its calls answer is unwound. */
static void calls_on_and_on(void *arg) {
    marker outer = {(trail *)arg, "o", true};
    forced_begun++;
    for (;;) {
        marker inner = {(trail *)arg, "", false};
        weft_sleep(WEFT_SECOND);
    }
}
TEST_WITHIN(ending_by_force_unwinds, 60) {
    trail trail;
    forced_stop(calls_on_and_on, &trail);
    EXPECT(trail.said == "o");
}

/* One that returns when it is late, with destructors that call weft, is not unwound out of these. */
static weft_mutex forced_mutex = WEFT_MUTEX_INIT;
struct locks_at_end {
    trail *where;
    ~locks_at_end() {
        int error = weft_mutex_lock(&forced_mutex, WEFT_FOREVER);
        if (error == 0) weft_mutex_unlock(&forced_mutex);
        weft_checkpoint();
        where->said += error == 0 ? "l" : "?";
    }
};
static void returns_late(void *arg) {
    marker outer = {(trail *)arg, "o", true};
    locks_at_end last = {(trail *)arg};
    forced_begun++;
    while (!weft_cancelled())
        usleep(1000);
    usleep(200000); /* the grace period is over */
}
TEST_WITHIN(ending_late_with_destructors_that_call, 60) {
    trail trail;
    forced_stop(returns_late, &trail);
    EXPECT(trail.said == "lo");
}

static void noexcept_exits(void *) noexcept { weft_exit(1); }
static void exits_through_noexcept(void) {
    cxx_start("ring", 1, false);
    cxx_run(noexcept_exits, NULL);
}
TEST(ending_through_noexcept_terminates) { EXPECT_ABORT(exits_through_noexcept, "terminate"); }

/* ---- ends that are not weft's ------------------------------------------------------------------------------------------------------ */

static void leaves_the_thread(void *) { pthread_exit(NULL); }
static void thread_exits(void) {
    cxx_start("ring", 1, false);
    cxx_run(leaves_the_thread, NULL);
}
TEST(ending_by_pthread_exit_aborts) {
    if (!CXX_THREAD) EXPECT_ABORT(thread_exits, "pthread_exit", "weft_exit"); /* the thread sanitizer ends its thread itself before */
}

int main(int argc, char **argv) { return test_main(argc, argv); }
