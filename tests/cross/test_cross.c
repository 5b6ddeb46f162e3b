/* Every call that may have to wait × the state of its caller × what completes it × when × policy × workers × preemption (trial.h): the right
 * answer in bounded time, nothing lost, nothing twice, and the process goes on afterwards.
 *
 * One test a call. Each runs its part of a sample that has every pair of values; WEFT_TEST_SEED chooses another one, and WEFT_CROSS, a
 * combination or a pattern with "*", runs all that fit instead: WEFT_CROSS='recv/unread' or WEFT_CROSS='*' for the whole product. */
#include "driver.h"

static bool is_possible(const struct call *call) {
    if (call->wait != name_wait || name_is_there()) return true;
    printf("note: no c-ares here\n");
    return false;
}

static void run_pattern(const struct call *call, const char *pattern) {
    uint64_t count = 0;
    struct combination one = {.at = {[CALL] = (uint8_t)(call - calls)}};
    do {
        if (combination_rule(&one) || !combination_matches(&one, pattern)) continue;
        trial_run(&one, test_seed(1) + count++);
    } while (combination_next(&one) && one.at[CALL] == call - calls);
    printf("note: %llu combinations\n", (unsigned long long)count);
}

static void run_sample(const struct call *call) {
    for (unsigned i = 0; i < sample_size; i++)
        if (&calls[sample[i].at[CALL]] == call) trial_run(&sample[i], test_seed(1) + i);
}

static void run_call(const char *name) {
    const struct call *call = calls;
    const char *pattern = getenv("WEFT_CROSS");
    while (strcmp(call->name, name) != 0)
        call++;
    signal(SIGPIPE, SIG_IGN);
    test_seed(1);
    if (!is_possible(call)) return;
    if (pattern) run_pattern(call, pattern);
    else run_sample(call);
}

#define CALL_TEST(id, ...)                                                                                                                 \
    TEST_WITHIN(cross_##id, 300) { run_call(#id); }
EACH_CALL(CALL_TEST)

/* The rules leave out what they say, and nothing is left out as a whole. */
TEST(rules) {
    for (unsigned i = 0; i < RULES; i++) {
        printf("note: %llu left out: %s\n", (unsigned long long)left_out[i], rules[i].why);
        EXPECT(left_out[i] > 0);
    }
    for (unsigned d = 0; d < DIMENSIONS; d++)
        for (unsigned v = 0; v < sizes[d]; v++) {
            bool exists = false;
            for (unsigned i = 0; i < sample_size; i++)
                exists |= sample[i].at[d] == v;
            if (!exists) test_fail(__FILE__, __LINE__, "%s is in no combination", value_name(d, v));
        }
}

/* Every pair of values that a combination has is in the sample. */
TEST(sample_has_all_pairs) {
    uint64_t pairs = 0;
    for (unsigned i = 0; i < sample_size; i++)
        EXPECT(!combination_rule(&sample[i]));
    for (unsigned d = 0; d < DIMENSIONS; d++)
        for (unsigned e = d + 1; e < DIMENSIONS; e++)
            for (unsigned v = 0; v < sizes[d]; v++)
                for (unsigned w = 0; w < sizes[e]; w++) {
                    EXPECT_EQ(pair_exists[d][v][e][w], pair_sampled[d][v][e][w]);
                    pairs += pair_exists[d][v][e][w];
                }
    printf("note: %llu pairs in %u of %llu combinations\n", (unsigned long long)pairs, sample_size, (unsigned long long)combinations);
}

int main(int argc, char **argv) {
    const char *seed = getenv("WEFT_TEST_SEED");
    sample_make(seed ? strtoull(seed, NULL, 0) : 1); /* before any test, since each has a process of its own */
    return test_main(argc, argv);
}
