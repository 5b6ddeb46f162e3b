/* The replicated log of examples/sim: it loses nothing, whatever crashes; and with a sync taken away the simulation finds a seed that shows it. */
#include "seeds.h"

static int planted;
#define PLANTED planted
#define main log_main
#include "../../examples/sim/replicated_log.c"
#undef main

enum { SEEDS_RIGHT = 30, SEEDS_WRONG = 4000 };

static int right(void) { return log_main(); }
static int without_sync_of_entries(void) {
    planted = 1;
    return log_main();
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
    int status = log_main();
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

TEST_WITHIN(an_entry_that_is_acknowledged_before_it_is_synced_is_found, 600) {
    struct seed_result result, again;
    setenv("WEFT_SIM_FAULTS", "crash", 1);
    uint64_t seed = seeds_find(1, SEEDS_WRONG, without_sync_of_entries, "promise: '", &result);
    seed_run(seed, without_sync_of_entries, &again);
    EXPECT(strcmp(result.line, again.line) == 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
