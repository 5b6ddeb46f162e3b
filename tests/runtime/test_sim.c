/* weft/sim.h in the ordinary library: nothing is simulated, and only its threads are real. */
#include "test.h"

#include <weft/errors.h>
#include <weft/sim.h>

static void *adds_one(void *number) {
    ++*(int *)number;
    return number;
}

TEST(sim_is_off_in_the_ordinary_library) {
    EXPECT(!weft_sim_on());
    EXPECT_EQ(weft_sim_seed(), 0);
    EXPECT_EQ(weft_sim_random(10), 0);
    EXPECT(!weft_sim_point("here"));
}

TEST(sim_has_no_world_in_the_ordinary_library) {
    EXPECT_EQ(weft_sim_machine("machine", NULL, NULL), WEFT_ENOSYS);
    EXPECT_EQ(weft_sim_name("name.example", "10.0.0.2"), WEFT_ENOSYS);
    EXPECT_EQ(weft_sim_name_error("name.example", WEFT_EAGAIN), WEFT_ENOSYS);
    EXPECT_EQ(weft_sim_name_delay("name.example", 1), WEFT_ENOSYS);
    EXPECT_EQ(weft_sim_child("program", NULL), WEFT_ENOSYS);
}

TEST(sim_threads_run_in_the_ordinary_library) {
    weft_sim_thread thread;
    int number = 41;
    EXPECT_EQ(weft_sim_thread_start(&thread, adds_one, &number), 0);
    EXPECT_EQ(weft_sim_thread_join(thread), 0);
    EXPECT_EQ(number, 42);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
