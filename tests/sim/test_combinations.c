/* The product of calls, states and completions (cross/trial.h), and the random mixture, in the simulation: one combination a seed. */
#include "seeds.h"

#include "cross/driver.h"

enum { SEEDS = 2000 };

/* Calls that need no descriptor of the kernel, which the test opens itself. */
static bool is_inside(const struct call *call) {
    static const char *const outside[] = {"fd_", "net", "file", "resolve", "waitpid", "_fds", "_to", "recv_from", "accept", "connect"};
    for (unsigned i = 0; i < sizeof outside / sizeof outside[0]; i++)
        if (strstr(call->name, outside[i])) return false;
    return true;
}

static int one_combination(void) {
    uint64_t seed = sim_seed();
    const struct combination *one;
    do
        one = &sample[rng_splitmix(&seed) % sample_size];
    while (!is_inside(&calls[one->at[CALL]]));
    trial_run(one, sim_seed());
    return 0;
}

TEST_WITHIN(combinations_by_seed, 600) {
    sample_make(1);
    seeds_pass(test_seed(1), SEEDS * test_scale(), one_combination);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
