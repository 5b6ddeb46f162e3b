/* The random mixture of everything (cross/mix.h) in the simulation, by seed: which policy, how many workers, whether their number changes. */
#include "seeds.h"

#include "cross/mixture.h"

enum { MIXTURES = 40 };

static int one_mixture(void) {
    static const char *const policies[] = {"ring", "deque", "line"};
    static const unsigned workers[] = {1, 2, 4};
    uint64_t seed = sim_seed();
    mixture_run(policies[seed % 3], workers[seed / 3 % 3], false, seed);
    return 0;
}

TEST_WITHIN(mixtures_by_seed, 600) { seeds_pass(test_seed(1), MIXTURES * test_scale(), one_mixture); }

int main(int argc, char **argv) { return test_main(argc, argv); }
