/* The random mixture of everything (cross/mix.h) in the simulation, by seed: which policy, how many workers, whether their number changes. */
#include "seeds.h"

#include "cross/mixture.h"

#include <weft/sim.h>

enum { MIXTURES = 40 };

/* The shell of the simulated world, as act_child has it: it waits for its input, and ends. */
static int shell(const char *const *arguments, const int ends[3]) {
    char data[16];
    (void)arguments;
    while (read(ends[0], data, sizeof data) > 0) {}
    return 5;
}

static int one_mixture(void) {
    static const char *const policies[] = {"ring", "deque", "line"};
    static const unsigned workers[] = {1, 2, 4};
    uint64_t seed = sim_seed();
    EXPECT_EQ(weft_sim_child("sh", &(weft_sim_program){.main = shell}), 0);
    mixture_run(policies[seed % 3], workers[seed / 3 % 3], MIX_PREEMPT_OFF, seed);
    return 0;
}

TEST_WITHIN(mixtures_by_seed, 600) {
    setenv("WEFT_SIM_FAULTS", "wake", 1); /* its pieces of some bytes come whole or not at all, as the kernel has them */
    seeds_pass(test_seed(1), MIXTURES * test_scale(), one_mixture);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
