#include "time/timer.h"

#include "test.h"

TEST(timer_is_small) { EXPECT(sizeof(struct timer) <= 48); }

TEST(timer_period_leaves_out_what_was_missed) {
    EXPECT_EQ(timer_next_period(100, 10, 100), 110);
    EXPECT_EQ(timer_next_period(100, 10, 109), 110);
    EXPECT_EQ(timer_next_period(100, 10, 110), 120);
    EXPECT_EQ(timer_next_period(100, 10, 1234), 1240); /* once, and in phase */
    EXPECT_EQ(timer_next_period(100, 1, 1234), 1235);
}

TEST(timer_period_comes_after_an_early_clock) { EXPECT_EQ(timer_next_period(100, 10, 7), 110); }

TEST(timer_period_ends_with_time) {
    EXPECT(timer_next_period(100, UINT64_MAX - 100, 100) == SYS_FOREVER);
    EXPECT(timer_next_period(100, UINT64_MAX - 101, 100) == UINT64_MAX - 1);
    EXPECT(timer_next_period(100, UINT64_MAX, 100) == SYS_FOREVER);
    EXPECT(timer_next_period(0, 3, UINT64_MAX - 1) == SYS_FOREVER);
    EXPECT(timer_next_period(0, 3, UINT64_MAX - 4) == UINT64_MAX - 3);
    EXPECT(timer_next_period(0, UINT64_MAX / 2, UINT64_MAX / 2 + 5) == UINT64_MAX - 1);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
