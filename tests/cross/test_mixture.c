/* A random mixture of everything, by seed, with conservation oracles (mix.h): on every policy, with 1, 2, 4 and 16 workers, without preemption and
 * with slices of 50 us, by sysmon, and of 500 us, by alarms; and by timers. A runtime that hangs is shown by weft_dump. */
#include "mixture.h"

#include <signal.h>

enum { SEEDS = 2 };

static void seeds(const char *policy, unsigned workers, enum mix_preempt preempt) {
    signal(SIGPIPE, SIG_IGN);
    for (unsigned i = 1; i <= SEEDS * test_scale(); i++) {
        mixture_run(policy, workers, preempt, test_seed(i));
        if (getenv("WEFT_TEST_SEED")) return;
    }
}

#define MIXTURE(policy, workers)                                                                                                           \
    TEST_WITHIN(mixture_##policy##_##workers, 300) { seeds(#policy, workers, MIX_PREEMPT_OFF); }                                           \
    TEST_WITHIN(mixture_##policy##_##workers##_preempt, 300) { seeds(#policy, workers, MIX_PREEMPT); }                                     \
    TEST_WITHIN(mixture_##policy##_##workers##_alarms, 300) { seeds(#policy, workers, MIX_PREEMPT_ALARMS); }
MIXTURE(ring, 1)
MIXTURE(ring, 2)
MIXTURE(ring, 4)
MIXTURE(ring, 16)
MIXTURE(deque, 1)
MIXTURE(deque, 2)
MIXTURE(deque, 4)
MIXTURE(deque, 16)
MIXTURE(line, 1)
MIXTURE(line, 2)
MIXTURE(line, 4)
MIXTURE(line, 16)

int main(int argc, char **argv) { return test_main(argc, argv); }
