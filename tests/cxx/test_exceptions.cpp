/* Exceptions of different processes do not meet, wherever a process waits and on whichever thread it goes on. */
#include "cxx_helpers.hpp"

enum { PROCESSES = 24, ROUNDS = 40 / CXX_SLOW + 1 };

/* ---- in a catch block ---------------------------------------------------------------------------------------------------- */

struct failure {
    unsigned number, round;
};

/* Different lengths, so that they change over in every order. */
static void wait_a_little(unsigned number, unsigned round) {
    if ((number + round) % 3 == 0) weft_sleep((number % 7) * 10 * WEFT_MICROSECOND);
    else weft_yield();
}

static void computes(unsigned number) { /* long enough to be interrupted */
    for (volatile unsigned i = 0; i < 20000 + number; i = i + 1) {
    }
}

static void catches(void *arg) {
    unsigned number = *(unsigned *)arg;
    for (unsigned round = 0; round < ROUNDS; round++) {
        try {
            throw failure{number, round};
        } catch (const failure &outer) {
            wait_a_little(number, round);
            EXPECT_EQ(outer.number, number);
            try {
                EXPECT_EQ(std::uncaught_exceptions(), 0);
                throw std::runtime_error(std::to_string(number));
            } catch (const std::exception &inner) {
                wait_a_little(number + 1, round);
                computes(number);
                EXPECT(std::to_string(number) == inner.what());
                EXPECT(std::current_exception() != nullptr);
            }
            try {
                throw; /* the outer one, and this process's */
            } catch (const failure &again) {
                wait_a_little(number + 2, round);
                EXPECT_EQ(again.number, number);
                EXPECT_EQ(again.round, round);
            }
        }
        EXPECT(std::current_exception() == nullptr);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
    }
}

static unsigned numbers[PROCESSES];
static void catch_all(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < PROCESSES; i++)
        numbers[i] = i;
    EXPECT_EQ(weft_spawn_many(PROCESSES, catches, numbers, sizeof numbers[0]), 0);
}
static void catching(void) { EXPECT_EQ(cxx_run(catch_all, NULL), 0); }
TEST_WITHIN(exceptions_in_catch_blocks, 120) { cxx_each(catching); }

/* ---- while one is on its way ------------------------------------------------------------------------------------------------ */

struct waits_when_destroyed {
    unsigned number, round;
    ~waits_when_destroyed() {
        EXPECT_EQ(std::uncaught_exceptions(), 1);
        wait_a_little(number, round);
        EXPECT_EQ(std::uncaught_exceptions(), 1);
        try { /* another one in here */
            throw number;
        } catch (unsigned mine) {
            wait_a_little(number + 1, round);
            EXPECT_EQ(mine, number);
        }
        EXPECT_EQ(std::uncaught_exceptions(), 1);
    }
};
static void unwinds(void *arg) {
    unsigned number = *(unsigned *)arg;
    for (unsigned round = 0; round < ROUNDS; round++) {
        try {
            waits_when_destroyed guard = {number, round};
            throw failure{number, round};
        } catch (const failure &mine) {
            EXPECT_EQ(mine.number, number);
            EXPECT_EQ(mine.round, round);
        }
        EXPECT_EQ(std::uncaught_exceptions(), 0);
    }
}
static void unwind_all(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < PROCESSES; i++)
        numbers[i] = i;
    EXPECT_EQ(weft_spawn_many(PROCESSES, unwinds, numbers, sizeof numbers[0]), 0);
}
static void unwinding(void) { EXPECT_EQ(cxx_run(unwind_all, NULL), 0); }
TEST_WITHIN(exceptions_while_one_is_on_its_way, 120) { cxx_each(unwinding); }

/* ---- on other threads -------------------------------------------------------------------------------------------------------- */

/* In a call that lasts the worker goes to another thread, and the process goes on wherever it is taken up. */
static void lasts(void *arg) {
    struct timespec pause = {0, 2000000};
    (void)arg;
    nanosleep(&pause, NULL);
}
static void blocks(void *arg) {
    unsigned number = *(unsigned *)arg;
    for (unsigned round = 0; round < 5; round++) {
        try {
            throw failure{number, round};
        } catch (const failure &mine) {
            EXPECT_EQ(weft_blocking_long(lasts, NULL), 0);
            EXPECT_EQ(mine.number, number);
            try {
                throw;
            } catch (const failure &again) {
                EXPECT_EQ(again.number, number);
            }
        }
        EXPECT(std::current_exception() == nullptr);
    }
}
static void block_all(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < PROCESSES; i++)
        numbers[i] = i;
    EXPECT_EQ(weft_spawn_many(PROCESSES, blocks, numbers, sizeof numbers[0]), 0);
}
static void blocking(void) { EXPECT_EQ(cxx_run(block_all, NULL), 0); }
TEST_WITHIN(exceptions_across_blocking_calls, 120) { cxx_each(blocking); }

/* Beside a pinned process a call goes out with another thread. */
static std::atomic<bool> unpin;
static void pinned(void *) {
    weft_pin_begin();
    while (!unpin)
        weft_sleep(WEFT_MILLISECOND);
    weft_pin_end();
}
static void block_beside(void *arg) {
    unpin = false;
    for (unsigned i = 0; i < 4; i++)
        EXPECT(weft_spawn(pinned, NULL) != WEFT_NOBODY);
    weft_sleep(WEFT_MILLISECOND);
    block_all(arg);
    unpin = true;
}
static void blocking_beside(void) { EXPECT_EQ(cxx_run(block_beside, NULL), 0); }
TEST_WITHIN(exceptions_across_calls_beside_pinned_processes, 120) { cxx_each(blocking_beside); }

/* ---- what is there between processes ------------------------------------------------------------------------------------------ */

/* A step process, and one that begins, find nothing of those that wait. */
static std::atomic<unsigned> steps;
static int step(void *, const weft_event *, size_t, weft_out *out) {
    EXPECT(std::current_exception() == nullptr);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    try {
        throw 1;
    } catch (int) {
    }
    weft_out_status(out, ++steps % 4 == 0 ? WEFT_STEP_DONE : WEFT_STEP_CONTINUE);
    return 0;
}
static void is_clean(void *) {
    EXPECT(std::current_exception() == nullptr);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
}
static void waits_and_spawns(void *) {
    static const weft_behavior stepping = {"stepping", NULL, 0, NULL, step, NULL};
    try {
        throw 7;
    } catch (int seven) {
        weft_pid pid;
        EXPECT_EQ(weft_spawn_step(&stepping, NULL, &pid), 0);
        for (unsigned i = 0; i < 10; i++) {
            EXPECT(weft_spawn(is_clean, NULL) != WEFT_NOBODY);
            weft_yield();
        }
        EXPECT_EQ(seven, 7);
    }
}
static void between(void) {
    for (unsigned i = 0; i < 10; i++)
        EXPECT_EQ(cxx_run(waits_and_spawns, NULL), 0);
}
TEST_WITHIN(exceptions_are_not_seen_by_others, 60) { cxx_each(between); }

/* A process whose exception is not caught ends the program, as a thread's does. */
static void throws(void *) { throw std::runtime_error("not caught"); }
static void uncaught(void) {
    cxx_start("ring", 2, false);
    cxx_run(throws, NULL);
}
TEST(exceptions_that_are_not_caught_terminate) { EXPECT_ABORT(uncaught, "not caught"); }

int main(int argc, char **argv) { return test_main(argc, argv); }
