/* The product of calls, states and completions (cross/trial.h), and the random mixture, in the simulation: one combination a seed. */
#include "seeds.h"

#include "cross/driver.h"

enum { SEEDS = 2000, OUTWARD_SEEDS = 1000 };

/* Calls on descriptors, files, names and children. */
static bool is_outward(const struct call *call) {
    static const char *const outward[] = {"fd_", "net", "file", "waitpid", "_fds", "_to", "recv_from", "accept", "connect"};
    for (unsigned i = 0; i < sizeof outward / sizeof outward[0]; i++)
        if (strstr(call->name, outward[i])) return true;
    return false;
}
/* c-ares asks a server that the test plays; in the simulation names come from a table. Shells are real programs. */
static bool is_left_out(const struct call *call) { return strstr(call->name, "resolve") || strstr(call->name, "program"); }

/* A datagram that was sent is on its way for some virtual time: it need not be there when the call is made, which has little time or was
 * cancelled. */
static bool is_too_soon(const struct combination *one) {
    return strcmp(calls[one->at[CALL]].name, "recv_from") == 0 && one->at[MOMENT] == BEFORE;
}

static void one_combination(bool outward) {
    uint64_t seed = sim_seed();
    const struct combination *one;
    const struct call *call;
    do {
        one = &sample[rng_splitmix(&seed) % sample_size];
        call = &calls[one->at[CALL]];
    } while (is_left_out(call) || is_too_soon(one) || is_outward(call) != outward);
    trial_run(one, sim_seed());
}
static int inward_combination(void) {
    one_combination(false);
    return 0;
}
static int outward_combination(void) {
    one_combination(true);
    return 0;
}

TEST_WITHIN(combinations_by_seed, 600) {
    sample_make(1);
    seeds_pass(test_seed(1), SEEDS * test_scale(), inward_combination);
}
TEST_WITHIN(combinations_of_descriptors_by_seed, 600) {
    setenv("WEFT_SIM_FAULTS", "wake", 1); /* completers write and read pieces of some bytes as a whole */
    sample_make(1);
    seeds_pass(test_seed(1), OUTWARD_SEEDS * test_scale(), outward_combination);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
