/* The replicated log of examples/sim: it loses nothing, whatever crashes; and with either of two syncs taken away the simulation finds a seed that
 * shows it. */
#include "seeds.h"

static int planted;
static uint64_t life;
#define PLANTED planted
#define LIFE life
#define main log_main
#include "../../examples/sim/replicated_log.c"
#undef main

enum { SEEDS_RIGHT = 30, SEEDS_WRONG = 1200 };

/* Most of what goes wrong does so in the first elections: so they end after a fifth of a second, and in the deep lane after one. */
static int log_for_a_while(void) {
    life = test_scale() > 1 ? WEFT_SECOND : WEFT_SECOND / 5;
    return log_main();
}

static int right(void) {
    life = 5 * WEFT_SECOND;
    return log_main();
}
static int without_sync_of_entries(void) {
    planted = 1;
    return log_for_a_while();
}

static int without_sync_of_votes(void) {
    planted = 2;
    return log_for_a_while();
}

TEST_WITHIN(no_acknowledged_entry_is_lost, 600) {
    setenv("WEFT_SIM_FAULTS", "crash", 1);
    seeds_pass(1, SEEDS_RIGHT * test_scale(), right);
}

TEST_WITHIN(no_acknowledged_entry_is_lost_with_faults_of_disks_and_networks, 600) {
    setenv("WEFT_SIM_FAULTS", "crash,net,file,short,wake", 1);
    seeds_pass(1, SEEDS_RIGHT * test_scale(), right);
}

/* Entries come through: a log that acknowledges none would lose none either. */
static int all_acknowledged(void) {
    int status = right();
    for (unsigned value = 1; value <= VALUES; value++)
        if (!seen.acknowledged[value]) return 1;
    return status;
}
TEST_WITHIN(most_seeds_acknowledge_all_entries, 300) {
    unsigned complete = 0;
    struct seed_result result;
    setenv("WEFT_SIM_FAULTS", "", 1);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        seed_run(seed, all_acknowledged, &result);
        complete += seed_passed(&result);
    }
    EXPECT(complete > 6);
}

/* A seed that breaks this promise is among the first quiet ones, and does so again. */
static void is_found(int (*body)(void), const char *promise) {
    static struct seed_result result, again;
    setenv("WEFT_SIM_FAULTS", "crash", 1);
    setenv("WEFT_SIM_QUIET", "", 1);
    uint64_t seed = seeds_find(1, SEEDS_WRONG, body, promise, &result);
    seed_run(seed, body, &again);
    EXPECT(strcmp(result.line, again.line) == 0);
    seed_run(seed, right, &again);
    EXPECT(seed_passed(&again));
}

TEST_WITHIN(an_entry_that_is_acknowledged_before_it_is_synced_is_found, 600) { is_found(without_sync_of_entries, "promise: '"); }

/* It needs a machine that votes, crashes, forgets it, and votes again in that term. */
TEST_WITHIN(a_vote_that_is_not_synced_is_found, 600) { is_found(without_sync_of_votes, "promise: 'there is one leader a term'"); }

int main(int argc, char **argv) { return test_main(argc, argv); }
