/* How often the monitor looks: every 20 us while there is something to do, then less and less often, up to 10 ms. */
#include "test.h"

#include "thread/backoff.h"

TEST(pace_slows_down_step_by_step) {
    struct pace pace = pace_begin();
    EXPECT_EQ(pace.period, 20000);
    for (unsigned i = 0; i < 50; i++) {
        pace_round(&pace, false, false);
        EXPECT_EQ(pace.period, 20000);
    }
    static const uint64_t then[] = {40000, 80000, 160000, 320000, 640000, 1280000, 2560000, 5120000, 10000000, 10000000};
    for (unsigned i = 0; i < sizeof then / sizeof then[0]; i++) {
        pace_round(&pace, false, false);
        EXPECT_EQ(pace.period, then[i]);
    }
    for (unsigned i = 0; i < 1000000; i++)
        pace_round(&pace, false, false);
    EXPECT_EQ(pace.period, 10000000);
}

TEST(pace_hurries_when_there_is_something_to_do) {
    struct pace pace = {.period = 10000000, .quiet = 1000};
    pace_round(&pace, true, false);
    EXPECT_EQ(pace.period, 20000);
    for (unsigned i = 0; i < 50; i++) /* and does not forget it at once */
        pace_round(&pace, false, false);
    EXPECT_EQ(pace.period, 20000);
    pace_round(&pace, false, false);
    EXPECT_EQ(pace.period, 40000);
}

TEST(pace_while_somebody_waits_is_a_millisecond) {
    struct pace pace = {.period = 10000000, .quiet = 1000};
    pace_round(&pace, false, true);
    EXPECT_EQ(pace.period, 1000000);
    pace = pace_begin();
    for (unsigned i = 0; i < 1000; i++) {
        pace_round(&pace, false, true);
        EXPECT(pace.period <= 1000000);
    }
    EXPECT_EQ(pace.period, 1000000);
}

TEST(pace_after_being_woken) {
    struct pace pace = pace_woken();
    for (unsigned i = 0; i < 10; i++) {
        EXPECT_EQ(pace.period, 1000000);
        pace_round(&pace, false, false);
    }
    EXPECT_EQ(pace.period, 1000000);
    pace_round(&pace, false, false);
    EXPECT_EQ(pace.period, 2000000);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
