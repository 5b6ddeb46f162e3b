/* Fairness: processes that always continue, beside thousands that message each other. No process waits for ever, and how long the longest
 * wait is follows from the rules, not from luck: it is counted in steps, and held against a bound.
 *
 * The workers are played one step each in turn, so that "the worst wait is r rounds" means: while a process was ready, every worker has
 * run r others. A wait begins when a process becomes ready and ends when it runs. */
#include "sched_stage.h"

#include "life/spawn.h"
#include "runtime/stop.h"
#include "step/step.h"
#include "thread/worker.h"

#include <weft/stackful.h>

enum { EACH = RT_SLOW > 1 ? 800 : 1000, WORKERS = RT_SLOW > 1 ? 2 : 16, MANY = EACH * WORKERS };

static struct {
    weft_pid pids[MANY];
    uint64_t due[MANY]; /* the step at which it became ready, + 1; 0: it waits for a message */
    uint64_t runs[MANY];
    uint64_t now, worst;
    uint32_t worst_process;
    struct rng rng;
} crowd;

static void ready_now(uint32_t number) {
    if (!crowd.due[number]) crowd.due[number] = crowd.now + 1;
}
static uint64_t waited(uint32_t number) { return crowd.due[number] ? crowd.now + 1 - crowd.due[number] : 0; }
static void note(uint32_t number) {
    if (waited(number) <= crowd.worst) return;
    crowd.worst = waited(number);
    crowd.worst_process = number;
}
static void runs_now(uint32_t number) {
    note(number);
    crowd.due[number] = 0;
    crowd.runs[number]++;
    crowd.now++;
}

static void send_to(uint32_t number) {
    EXPECT_EQ(weft_send(crowd.pids[number], 0, NULL, 0), 0);
    ready_now(number);
}

/* ---- the crowd ----------------------------------------------------------------------------------------------------- */

/* Sends every message on to another of its kind: one that writes to itself may be given several steps in one turn. `other` is how
 * many there are. */
static enum weft_status sends_on(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)out;
    runs_now(part->number);
    uint32_t kind = (uint32_t)part->other;
    for (size_t i = 0; i < count; i++)
        send_to((part->number + 1 + rng_below(&crowd.rng, kind - 1)) % kind);
    return WEFT_STEP_IDLE;
}
/* Answers its partner, for ever. */
static enum weft_status answers(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)out;
    runs_now(part->number);
    for (size_t i = 0; i < count; i++)
        send_to((uint32_t)part->other);
    return WEFT_STEP_IDLE;
}
static enum weft_status continues(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)count, (void)out;
    runs_now(part->number);
    ready_now(part->number);
    return WEFT_STEP_CONTINUE;
}

struct mix {
    uint32_t senders, pairs, spinners, messages;
};

static void spawn_at(unsigned workers, uint32_t number, part_play *play, uint64_t other) {
    stage_play((int)(number % workers));
    crowd.pids[number] = stage_spawn(number, play, other);
    ready_now(number);
}
static void assemble(const struct mix *mix, unsigned workers) {
    uint32_t number = 0;
    for (; number < mix->senders; number++)
        spawn_at(workers, number, sends_on, mix->senders);
    for (uint32_t i = 0; i < mix->pairs; i++, number += 2) {
        spawn_at(workers, number, answers, number + 1);
        spawn_at(workers, number + 1, answers, number);
    }
    for (uint32_t i = 0; i < mix->spinners; i++)
        spawn_at(workers, number++, continues, 0);
    for (uint32_t i = 0; i < mix->messages; i++) {
        stage_play((int)(i % workers));
        send_to(rng_below(&crowd.rng, mix->senders));
    }
    for (uint32_t i = 0; i < mix->pairs; i++) {
        stage_play((int)(i % workers));
        send_to(mix->senders + 2 * i);
    }
}

static bool deque_local; /* policy deque: a woken process stays with its waker */

/* The worst wait of any process, in rounds. Plays for `rounds`. */
static uint64_t play(enum policy_name policy, unsigned workers, const struct mix *mix, uint64_t rounds) {
    uint32_t all = mix->senders + 2 * mix->pairs + mix->spinners;
    EXPECT(all <= MANY);
    memset(&crowd, 0, sizeof crowd);
    rng_seed(&crowd.rng, test_seed(1), policy);
    stage_begin(policy, workers);
    stage.runtime->deque_local = deque_local;
    assemble(mix, workers);
    uint64_t steps = rounds * workers;
    for (unsigned i = 0; crowd.now < steps; i++)
        EXPECT(stage_step(i % workers) || workers > 1);
    for (uint32_t i = 0; i < all; i++) {
        EXPECT(crowd.runs[i] > 0);
        note(i); /* the process that has not had its turn yet */
    }
    stage_end();
    return (crowd.worst + workers - 1) / workers;
}

/* ---- what the rules promise -------------------------------------------------------------------------------------------- */

struct promise {
    uint64_t once;  /* rounds until one's turn comes */
    uint64_t first; /* rounds, in all, until the rule takes effect */
};

/* First in, first out, on each worker; in the worst case all are in one line. */
static struct promise promise_line(uint64_t all, unsigned workers) {
    (void)workers;
    return (struct promise){all, 0};
}
/* The global queue is first in, first out; a worker that has taken a batch runs it before it comes back. The newborn, which it puts into
 * its own deque, are run newest first, and one in 61 meanwhile is from the global queue. */
static struct promise promise_deque(uint64_t all, unsigned workers) {
    return (struct promise){all / workers + 1 + 2 * (1 + 16), all / workers / (GLOBAL_TICK - 1)};
}
/* In the ring there are at most all before one, or RING_SIZE, each behind as many from the slot as may be; and three of four are from there. In
 * the global queue there are at most all, of which each worker takes one in four when its patience is at an end. */
static struct promise promise_ring(uint64_t all, unsigned workers) {
    uint64_t ring = (all < RING_SIZE ? all : RING_SIZE) * (SLOT_RUNS_MAX + 1) * GLOBAL_OFTEN / (GLOBAL_OFTEN - 1);
    return (struct promise){ring + GLOBAL_OFTEN * all / workers, (GLOBAL_PATIENCE + 1) * GLOBAL_TICK};
}

/* `times`: how often a process may have to queue up. Where a step wakes many, a ring that has just been filled from the global queue
 * overflows before all of those have run, and they go back to its end. */
static void expect_fair(enum policy_name policy, unsigned workers, const struct mix *mix, unsigned times) {
    static struct promise (*const promises[])(uint64_t, unsigned) = {promise_ring, promise_deque, promise_line};
    static const char *const names[] = {"ring", "deque", "line"};
    uint64_t all = mix->senders + 2 * mix->pairs + mix->spinners;
    struct promise promise = promises[policy](all, workers);
    if (policy != POLICY_RING || all < RING_SIZE) times = 1;
    uint64_t bound = promise.first + times * promise.once, rounds = policy == POLICY_RING ? bound * 9 / 8 : 6 * EACH;
    uint64_t worst = play(policy, workers, mix, rounds);
    printf("%s, %u workers, %u senders, %u pairs, %u that continue, %u messages: worst wait %llu rounds (process %u), bound %llu\n",
           names[policy], workers, mix->senders, mix->pairs, mix->spinners, mix->messages, (unsigned long long)worst, crowd.worst_process,
           (unsigned long long)bound);
    EXPECT(worst <= bound);
}

/* So many processes for each worker. */
static void expect_fair_with(enum policy_name policy, unsigned workers) {
    uint32_t n = EACH * workers;
    expect_fair(policy, workers, &(struct mix){.senders = n - 1, .spinners = 1, .messages = n}, 4);
    expect_fair(policy, workers, &(struct mix){.spinners = n}, 1);
    expect_fair(policy, workers, &(struct mix){.pairs = 8 * workers, .spinners = n - 16 * workers}, 1);
    expect_fair(policy, workers, &(struct mix){.pairs = 4 * workers, .spinners = 40 * workers}, 1); /* all fit into the rings */
    if (workers > 4) return;
    expect_fair(policy, workers, &(struct mix){.senders = n - 1, .spinners = 1, .messages = n / 10}, 1);
    expect_fair(policy, workers, &(struct mix){.senders = n - 1, .spinners = 1, .messages = 10 * n}, 6);
    expect_fair(policy, workers, &(struct mix){.pairs = n / 2 - workers, .spinners = workers}, 1);
    expect_fair(policy, workers, &(struct mix){.senders = n / 2, .pairs = 8 * workers, .spinners = n / 4, .messages = n / 2}, 4);
}
/* 1, 2, 4 and 16 workers. */
static void expect_fair_for_all(enum policy_name policy) {
    for (unsigned workers = 1; workers <= WORKERS; workers *= workers > 2 ? 4 : 2)
        expect_fair_with(policy, workers);
}
TEST_WITHIN(fair_ring, 120) { expect_fair_for_all(POLICY_RING); }
TEST_WITHIN(fair_deque, 120) { expect_fair_for_all(POLICY_DEQUE); }
TEST_WITHIN(fair_line, 120) { expect_fair_for_all(POLICY_LINE); }

/* Newest first, and the oldest after 61; a process that continues is in the global queue, and has one turn in 61, or more often as with the
 * ring. */
TEST_WITHIN(fair_deque_local, 120) {
    deque_local = true;
    for (unsigned workers = 1; workers <= WORKERS; workers *= workers > 2 ? 4 : 2) {
        uint32_t n = 150 * workers;
        const struct mix mixes[] = {
            {.senders = n - 1, .spinners = 1, .messages = n / 10}, {.senders = n - 1, .spinners = 1, .messages = n},
            {.senders = n - 1, .spinners = 1, .messages = 10 * n}, {.spinners = n},
            {.pairs = n / 2 - workers, .spinners = workers},       {.pairs = 8 * workers, .spinners = n - 16 * workers}};
        for (unsigned i = 0; i < sizeof mixes / sizeof mixes[0]; i++) {
            uint64_t bound = (GLOBAL_TICK + 2) * (uint64_t)n, worst = play(POLICY_DEQUE, workers, &mixes[i], bound * 5 / 4);
            printf("deque, local, %u workers, mix %u: worst wait %llu rounds (process %u), bound %llu\n", workers, i,
                   (unsigned long long)worst, crowd.worst_process, (unsigned long long)bound);
            EXPECT(worst <= bound);
        }
    }
}

/* ---- the same on real threads: all make progress ------------------------------------------------------------------------ */

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
/* A message goes round from each to the next; each has one to begin with and counts those that come by. */
static int runner_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct runner *runner = self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) {
            weft_out_status(out, WEFT_STEP_DONE);
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
    weft_out_status(out, count > 0 && events[0].type == WEFT_EVENT_CANCEL ? WEFT_STEP_DONE : WEFT_STEP_CONTINUE);
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
TEST(fair_all_make_progress) { rt_each(progress); }

/* ---- two that compute and yield, on one real worker, beside sysmon, which hurries a worker whose processes are slow -------------- */

enum { TURNS = 1000, COMPUTES = 100 * 1000, MOST_IN_A_ROW = 3 };
static atom_u64 counters_ended;
static struct { /* plain: in an exclusive runtime one process at a time is between two of its calls */
    const void *last;
    unsigned begun, taken, in_a_row, most;
} counted;

/* Of processor time: how long the kernel keeps the thread waiting makes no turn longer. */
static uint64_t thread_time(void) {
    struct timespec time;
    EXPECT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
    return (uint64_t)time.tv_sec * RT_SECOND + (uint64_t)time.tv_nsec;
}
static void computes_and_yields(void *me) {
    for (counted.begun++; counted.begun < 2;)
        weft_yield();
    for (; counted.taken < TURNS; weft_yield()) {
        counted.in_a_row = counted.last == me ? counted.in_a_row + 1 : 1;
        counted.last = me;
        if (counted.in_a_row > counted.most) counted.most = counted.in_a_row;
        counted.taken++;
        for (uint64_t until = thread_time() + COMPUTES; thread_time() < until;) {}
    }
    atom_add_rel(&counters_ended, 1);
}
static void alternate(const char *policy) {
    static char names[2];
    memset(&counted, 0, sizeof counted);
    atom_store_rlx(&counters_ended, 0);
    rt_start_with(&(weft_config){.policy = policy, .exclusive = true, .seed = 1});
    for (unsigned i = 0; i < 2; i++) {
        weft_pid pid;
        EXPECT_EQ(weft_spawn_with(computes_and_yields, &names[i], &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
    }
    rt_wait(&counters_ended, 2);
    printf("policy %s: at most %u of %u turns in a row\n", policy, counted.most, counted.taken);
    EXPECT(counted.most <= MOST_IN_A_ROW);
    rt_stop();
}
TEST(fair_two_that_compute_and_yield_alternate) {
    alternate("ring");
    alternate("deque");
    alternate("line");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
