/* How often sysmon looks: every 20 us while there is something to do, then less and less often, up to 10 ms. */
#include "test.h"

#include "thread/backoff.h"

TEST(pace_slows_down_step_by_step) {
    struct backoff backoff = backoff_begin();
    EXPECT_EQ(backoff.period, 20000);
    for (unsigned i = 0; i < 50; i++) {
        backoff_round(&backoff, false, false);
        EXPECT_EQ(backoff.period, 20000);
    }
    static const uint64_t then[] = {40000, 80000, 160000, 320000, 640000, 1280000, 2560000, 5120000, 10000000, 10000000};
    for (unsigned i = 0; i < sizeof then / sizeof then[0]; i++) {
        backoff_round(&backoff, false, false);
        EXPECT_EQ(backoff.period, then[i]);
    }
    for (unsigned i = 0; i < 1000000; i++)
        backoff_round(&backoff, false, false);
    EXPECT_EQ(backoff.period, 10000000);
}

TEST(pace_hurries_when_there_is_something_to_do) {
    struct backoff backoff = {.period = 10000000, .quiet = 1000};
    backoff_round(&backoff, true, false);
    EXPECT_EQ(backoff.period, 20000);
    for (unsigned i = 0; i < 50; i++) /* and does not forget it at once */
        backoff_round(&backoff, false, false);
    EXPECT_EQ(backoff.period, 20000);
    backoff_round(&backoff, false, false);
    EXPECT_EQ(backoff.period, 40000);
}

TEST(pace_while_a_process_waits_is_a_millisecond) {
    struct backoff backoff = {.period = 10000000, .quiet = 1000};
    backoff_round(&backoff, false, true);
    EXPECT_EQ(backoff.period, 1000000);
    backoff = backoff_begin();
    for (unsigned i = 0; i < 1000; i++) {
        backoff_round(&backoff, false, true);
        EXPECT(backoff.period <= 1000000);
    }
    EXPECT_EQ(backoff.period, 1000000);
}

TEST(pace_after_being_woken) {
    struct backoff backoff = backoff_woken();
    for (unsigned i = 0; i < 10; i++) {
        EXPECT_EQ(backoff.period, 1000000);
        backoff_round(&backoff, false, false);
    }
    EXPECT_EQ(backoff.period, 1000000);
    backoff_round(&backoff, false, false);
    EXPECT_EQ(backoff.period, 2000000);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
