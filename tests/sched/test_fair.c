/* Fairness: a process that always continues, beside thousands that message each other. Nobody waits for ever, and how long the
 * longest wait is follows from the rules, not from luck: it is counted in steps, and held against a bound.
 *
 * A wait begins when a process becomes ready and ends when it runs. With n processes, of which all may be ready:
 *
 *   line    first in, first out: everybody else once before it, on each worker
 *   deque   the global queue is first in, first out; a worker that takes a batch runs it before it comes back
 *   ring    256 have a place in the ring and the slot goes before; who was moved to the global queue for want of room waits until
 *           one in 61 has been taken from there often enough
 */
#include "stage.h"

enum { MANY = 2000, STEPS = 400000, SPINNER = MANY };

static struct {
    weft_pid pids[MANY + 1];
    uint64_t due[MANY + 1]; /* the step at which it became ready, + 1; 0: it waits for a message */
    uint64_t runs[MANY + 1];
    uint64_t now, worst, worst_spinner;
    struct rng rng;
} crowd;

static void ready_now(uint32_t number) {
    if (!crowd.due[number]) crowd.due[number] = crowd.now + 1;
}
static void runs_now(uint32_t number) {
    uint64_t wait = crowd.due[number] ? crowd.now + 1 - crowd.due[number] : 0;
    uint64_t *worst = number == SPINNER ? &crowd.worst_spinner : &crowd.worst;
    if (wait > *worst) *worst = wait;
    crowd.due[number] = 0;
    crowd.runs[number]++;
    crowd.now++;
}

/* Sends every message on to somebody. */
static enum weft_status sends_on(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)out;
    runs_now(part->number);
    for (size_t i = 0; i < count; i++) {
        uint32_t to = rng_below(&crowd.rng, MANY);
        EXPECT_EQ(weft_send(crowd.pids[to], events[i].tag, NULL, 0), 0);
        ready_now(to);
    }
    return WEFT_IDLE;
}
static enum weft_status spins(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)count, (void)out;
    runs_now(part->number);
    ready_now(part->number);
    return WEFT_CONTINUE;
}

/* The worst wait of those who send, and of the one who spins. */
static void play(enum policy_name policy, unsigned workers, unsigned messages, uint64_t bound) {
    static const char *const names[] = {"ring", "deque", "line"};
    memset(&crowd, 0, sizeof crowd);
    rng_seed(&crowd.rng, test_seed(1), policy);
    stage_begin(policy, workers);
    for (uint32_t i = 0; i < MANY; i++) {
        stage_play((int)(i % workers));
        crowd.pids[i] = stage_spawn(i, sends_on, WEFT_NOBODY);
        ready_now(i);
    }
    stage_play(0);
    crowd.pids[SPINNER] = stage_spawn(SPINNER, spins, WEFT_NOBODY);
    ready_now(SPINNER);
    for (uint32_t i = 0; i < messages; i++) {
        stage_play((int)(i % workers));
        uint32_t to = rng_below(&crowd.rng, MANY);
        EXPECT_EQ(weft_send(crowd.pids[to], i, NULL, 0), 0);
    }
    for (unsigned i = 0; crowd.now < STEPS; i++)
        EXPECT(stage_step(i % workers) || workers > 1);
    uint64_t fewest = UINT64_MAX;
    for (unsigned i = 0; i <= MANY; i++) {
        if (crowd.runs[i] < fewest) fewest = crowd.runs[i];
        uint64_t waiting = crowd.due[i] ? crowd.now + 1 - crowd.due[i] : 0;
        if (waiting > crowd.worst) crowd.worst = waiting; /* who has not had its turn yet */
    }
    printf("%s, %u workers, %u messages: worst wait %llu steps (spinner %llu), bound %llu, fewest runs %llu\n", names[policy], workers,
           messages, (unsigned long long)crowd.worst, (unsigned long long)crowd.worst_spinner, (unsigned long long)bound,
           (unsigned long long)fewest);
    EXPECT(crowd.worst <= bound);
    EXPECT(crowd.worst_spinner <= bound);
    EXPECT(fewest > 0);
    stage_end();
}

TEST(fair_all) {
    for (unsigned w = 1; w <= 4; w *= 2) for (unsigned m = 10; m <= 20000; m *= 6) {
        play(POLICY_LINE, w, m, 1000000);
        play(POLICY_DEQUE, w, m, 1000000);
        play(POLICY_RING, w, m, 1000000);
    }
    EXPECT(0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
