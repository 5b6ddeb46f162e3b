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

enum { MANY = RT_SLOW > 1 ? 600 : 2000, SPINNER = MANY };

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

/* Sends every message on to somebody else: one who writes to itself may be given several steps in one turn. */
static enum weft_status sends_on(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)out;
    runs_now(part->number);
    for (size_t i = 0; i < count; i++) {
        uint32_t to = (part->number + 1 + rng_below(&crowd.rng, MANY - 1)) % MANY;
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
    uint64_t steps = bound * 3 / 2 > 100 * MANY ? bound * 3 / 2 : 100 * MANY;
    for (unsigned i = 0; crowd.now < steps; i++)
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

static const unsigned crowds[] = {MANY, MANY / 10, 10 * MANY}; /* messages under way */
enum { CROWDS = RT_SLOW > 1 ? 1 : 3, WORKERS = RT_SLOW > 1 ? 2 : 4 };

TEST(fair_line) {
    for (unsigned workers = 1; workers <= WORKERS; workers *= 2)
        for (unsigned i = 0; i < CROWDS; i++)
            play(POLICY_LINE, workers, crowds[i], (uint64_t)workers * (MANY + 1));
}

TEST(fair_deque) {
    for (unsigned workers = 1; workers <= WORKERS; workers *= 2)
        for (unsigned i = 0; i < CROWDS; i++)
            play(POLICY_DEQUE, workers, crowds[i], MANY + 1 + 2 * (1 + 16) * workers);
}

/* Three times, because a batch taken from the global queue may have to go back to its end when the ring overflows. */
TEST(fair_ring) {
    for (unsigned workers = 1; workers <= WORKERS; workers *= 2)
        for (unsigned i = 0; i < CROWDS; i++)
            play(POLICY_RING, workers, crowds[i], 3 * GLOBAL_TICK * (MANY + 1));
}

/* ---- the same on real threads: everybody makes progress ------------------------------------------------------------------------ */

enum { RUNNERS = 3000 / RT_SLOW, SPINNERS = 3, ROUNDS = 5 };
static weft_pid runners[RUNNERS];
static atom_u64 finished, spun[SPINNERS];

struct runner {
    uint32_t number, left;
};
static int runner_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method;
    memcpy(self, input, size);
    return 0;
}
/* A message goes round from each to the next; everybody has one to begin with and counts those that come by. */
static int runner_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct runner *runner = self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_CANCEL) {
            weft_out_status(out, WEFT_DONE);
            return 0;
        }
        if (runner->left > 0 && --runner->left == 0) atom_add_rel(&finished, 1);
        int error = events[i].tag < 3 * ROUNDS ? weft_send(runners[(runner->number + 1) % RUNNERS], events[i].tag + 1, NULL, 0) : 0;
        EXPECT(error == 0 || error == WEFT_ENOPROC); /* the runtime may be stopping */
    }
    return 0;
}
static int spinner_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    atom_add_rlx(&spun[((struct runner *)self)->number], 1);
    weft_out_status(out, count > 0 && events[0].type == WEFT_CANCEL ? WEFT_DONE : WEFT_CONTINUE);
    return 0;
}
static const weft_behavior runner_behavior = {
    .name = "runner", .state_size = sizeof(struct runner), .init = runner_init, .step = runner_step};
static const weft_behavior spinner_behavior = {
    .name = "spinner", .state_size = sizeof(struct runner), .init = runner_init, .step = spinner_step};

static void progress(void) {
    atom_store_rlx(&finished, 0);
    for (uint32_t i = 0; i < SPINNERS; i++) {
        atom_store_rlx(&spun[i], 0);
        rt_spawn_with(&spinner_behavior, &(struct runner){i, 0}, sizeof(struct runner));
    }
    for (uint32_t i = 0; i < RUNNERS; i++)
        runners[i] = rt_spawn_with(&runner_behavior, &(struct runner){i, ROUNDS}, sizeof(struct runner));
    for (uint32_t i = 0; i < RUNNERS; i++)
        EXPECT_EQ(weft_send(runners[i], 0, NULL, 0), 0);
    rt_wait(&finished, RUNNERS);
    for (uint32_t i = 0; i < SPINNERS; i++)
        rt_wait(&spun[i], 10);
}
TEST(fair_everybody_makes_progress) { rt_each(progress); }

int main(int argc, char **argv) { return test_main(argc, argv); }
