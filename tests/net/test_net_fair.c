/* Many descriptors that are ready all the time: each has a turn. */
#include "net_helpers.h"

enum { FAIR_PAIRS = 1000 / RT_SLOW, FAIR_ROUNDS = 30 }; /* several times as many as a worker's ring holds */
/* A thread that the machine takes off its processor may hold a hundred events that it has just been told of. A scheduler that is unfair is
 * so all the time; it has to be fair in one of these. */
enum { FAIR_WINDOWS = 10 };

static struct fair {
    weft_fd ends[2];
    atom_u64 turns; /* rlx: a count */
} fair[FAIR_PAIRS];
static atom_bool fair_over;
static atom_u64 fair_turns;

/* Both ends of a pair send a byte to and fro. Each has to wait for the other, hence for the poll. */
static void fair_answers(void *arg) {
    struct fair *pair = arg;
    char byte;
    while (weft_fd_read(pair->ends[1], &byte, 1, WEFT_FOREVER) == 1 && weft_fd_write(pair->ends[1], &byte, 1, WEFT_FOREVER) == 1) {}
    weft_fd_close(pair->ends[1]);
    net_is_done();
}
static void fair_asks(void *arg) {
    struct fair *pair = arg;
    char byte = 'x';
    while (!atom_load_rlx(&fair_over)) { /* rlx: to be seen sometime */
        EXPECT_EQ(weft_fd_write(pair->ends[0], &byte, 1, WEFT_FOREVER), 1);
        EXPECT_EQ(weft_fd_read(pair->ends[0], &byte, 1, WEFT_FOREVER), 1);
        atom_add_rlx(&pair->turns, 1);
        atom_add_rlx(&fair_turns, 1);
    }
    weft_fd_close(pair->ends[0]);
    net_is_done();
}

/* Until there have been so many more. */
static void fair_wait(uint64_t turns) {
    uint64_t then = atom_load_rlx(&fair_turns) + turns; /* rlx, both: a count */
    while (atom_load_rlx(&fair_turns) < then)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
}

/* Whether each has had its turns, but for those that were running when the machine took their threads off the processors. */
static bool fair_window(void) {
    uint64_t before[FAIR_PAIRS], after[FAIR_PAIRS], sum = 0, behind = 0;
    for (unsigned i = 0; i < FAIR_PAIRS; i++)
        before[i] = atom_load_rlx(&fair[i].turns);
    fair_wait(FAIR_PAIRS * FAIR_ROUNDS);
    for (unsigned i = 0; i < FAIR_PAIRS; i++)
        sum += after[i] = atom_load_rlx(&fair[i].turns) - before[i];
    for (unsigned i = 0; i < FAIR_PAIRS; i++)
        behind += after[i] < sum / FAIR_PAIRS / 3;
    printf("%lu turns on average, %lu have had less than a third of that\n", (unsigned long)(sum / FAIR_PAIRS), (unsigned long)behind);
    return behind <= 4;
}

static void fair_begin(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < FAIR_PAIRS; i++) {
        atom_store_rlx(&fair[i].turns, 0);
        EXPECT_EQ(weft_net_pair(fair[i].ends), 0);
        EXPECT(weft_spawn(fair_answers, &fair[i]) != WEFT_NOBODY);
        EXPECT(weft_spawn(fair_asks, &fair[i]) != WEFT_NOBODY);
    }
    fair_wait(FAIR_PAIRS * 10); /* the first turns are for being born */
    bool good = false;
    for (unsigned window = 0; window < FAIR_WINDOWS && !good; window++)
        good = fair_window();
    atom_store_rlx(&fair_over, true);
    EXPECT(good);
    net_is_done();
}

static void fair_case(const char *policy, unsigned workers) {
    net_raise_limit();
    rt_start(policy, workers);
    atom_store_rlx(&fair_over, false);
    atom_store_rlx(&fair_turns, 0);
    net_run_until(fair_begin, 1 + 2 * FAIR_PAIRS);
    rt_stop();
}
TEST_WITHIN(each_has_a_turn_ring, 60) { fair_case("ring", 1); }
TEST_WITHIN(each_has_a_turn_ring_by_two, 60) { fair_case("ring", 2); }
TEST_WITHIN(each_has_a_turn_deque, 60) { fair_case("deque", 2); }
TEST_WITHIN(each_has_a_turn_line, 60) { fair_case("line", 2); }

int main(int argc, char **argv) { return test_main(argc, argv); }
