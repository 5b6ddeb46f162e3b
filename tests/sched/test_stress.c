/* Everything at once, at random, on real threads; what must hold is conservation.
 *
 * A run has a budget of actions: processes and two foreign threads spend it on sends, hand-offs, spawns, cancellations, exits,
 * commands. `Anchors` live to the end: every message and completion meant for them must arrive exactly once, in order
 * for each sender, nothing may arrive that is meant for another. `Mortals` come and go, their PIDs are kept in a list
 * that is mostly stale. Spawned = ended = closed, steps of one process never overlap, a cancellation is told once.
 *
 * The seed decides the actions; WEFT_TEST_SEED=n runs that one again. */
#include "runtime_helpers.h"

enum { ANCHORS = 8, LIST = 64, THREADS = 2, ACTIONS = 10000 / RT_SLOW, SENDERS = 4096, MORTALS_MAX = 500 };
enum { COMMAND_NOW = 1, COMMAND_LATER, COMMAND_FAIL, COMMAND_UNKNOWN };
enum { ERROR_OF_INIT = -701, ERROR_OF_HANDLER = -702, ERROR_OF_STEP = -703 };

static struct {
    uint64_t seed;
    atom_u64 budget, active;     /* actions left; actions being taken */
    atom_u64 sent, received;     /* to anchors */
    atom_u64 yielded, completed; /* by anchors */
    atom_u64 attempts;           /* sends and hand-offs, to any process */
    atom_u64 spawned, closed;    /* processes */
    atom_u64 ids;                /* of senders */
    atom_u64 cancelled_anchors, pending;
    atom_bool closing;
    weft_pid anchors[ANCHORS];
    atom_u64 list[LIST]; /* PIDs, most of them stale */
} all;

/* The last number that an anchor has had from a sender; owned by the anchor. */
static uint32_t last_number[ANCHORS][SENDERS];

struct letter {
    weft_pid to;
    uint32_t sender, number;
    uint32_t size; /* of the whole */
    unsigned char filler[];
};

struct voice {
    uint32_t id, number;
    struct rng rng;
};

/* ---- actions ------------------------------------------------------------------------------------------------------- */

static bool action_begin(void) {
    atom_add_sc(&all.active, 1);
    uint64_t left = atom_load_rlx(&all.budget);
    while (left > 0)
        if (atom_cas_sc_rlx(&all.budget, &left, left - 1)) return true;
    atom_sub_sc(&all.active, 1);
    return false;
}
static void action_end(void) { atom_sub_sc(&all.active, 1); }

static void voice_begin(struct voice *voice) {
    voice->id = (uint32_t)atom_add_rlx(&all.ids, 1);
    voice->number = 0;
    rng_seed(&voice->rng, all.seed, voice->id);
}

static weft_pid any_member(struct rng *rng, bool *anchor) {
    *anchor = rng_below(rng, 3) > 0;
    return *anchor ? all.anchors[rng_below(rng, ANCHORS)] : atom_load_rlx(&all.list[rng_below(rng, LIST)]);
}

static size_t some_size(struct rng *rng) {
    static const size_t sizes[] = {0, 0, 1, 8, 60, 200, 1000, 3000};
    return rng_below(rng, 200) == 0 ? 300000 : sizes[rng_below(rng, 8)];
}

/* An ordinary send, or by way of a step's output. */
static void act_send(struct voice *voice, weft_out *handoff) {
    bool anchor;
    weft_pid to = any_member(&voice->rng, &anchor);
    if (to == WEFT_NOBODY) return;
    size_t size = sizeof(struct letter) + some_size(&voice->rng);
    struct letter *letter = malloc(size);
    EXPECT(letter);
    *letter = (struct letter){.to = to, .sender = voice->id, .number = ++voice->number, .size = (uint32_t)size};
    memset(letter->filler, (int)letter->number, size - sizeof *letter);
    if (anchor) atom_add_sc(&all.sent, 1);
    atom_add_rlx(&all.attempts, 1);
    int error = handoff ? weft_out_handoff(handoff, to, voice->id, letter, size) : weft_send(to, voice->id, letter, size);
    EXPECT(error == 0 || (error == WEFT_ENOPROC && !anchor));
    free(letter);
}

static const weft_behavior mortal, large_mortal, failing;

static void act_spawn(struct voice *voice) {
    weft_pid pid;
    weft_spawn_options options = {.runtime = rt.runtime};
    if (atom_load_rlx(&all.spawned) - atom_load_rlx(&all.closed) > MORTALS_MAX || atom_load_rlx(&all.ids) >= SENDERS) return;
    if (rng_below(&voice->rng, 20) == 0) {
        EXPECT_EQ(weft_spawn_step(&failing, &options, &pid), ERROR_OF_INIT);
        return;
    }
    EXPECT_EQ(weft_spawn_step(rng_below(&voice->rng, 10) ? &mortal : &large_mortal, &options, &pid), 0);
    atom_store_rlx(&all.list[rng_below(&voice->rng, LIST)], pid);
}

static void act_cancel(struct voice *voice) {
    weft_pid pid = atom_load_rlx(&all.list[rng_below(&voice->rng, LIST)]);
    if (pid == WEFT_NOBODY) return;
    int error = weft_cancel(pid);
    EXPECT(error == 0 || error == WEFT_ENOPROC);
    weft_alive(pid);
}

/* ---- commands -------------------------------------------------------------------------------------------------------- */

/* What a completion must look like follows from its tag: number, size of the result, command. */
static uint64_t tag_make(uint64_t number, size_t size, uint32_t command) { return number << 32 | (uint64_t)size << 8 | command; }
static size_t tag_size(uint64_t tag) { return tag >> 8 & 0xffffff; }

static void finish(weft_completion completion) {
    size_t size = tag_size(completion.tag);
    unsigned char *result = malloc(size + 1);
    memset(result, (int)(completion.tag >> 32), size);
    int late = weft_complete(completion, 0, result, size);
    EXPECT(late == 0 || late == WEFT_ENOPROC);
    free(result);
}

static int handler_now(void *user, weft_completion completion, const void *data, size_t size) {
    EXPECT(user == &all && size == sizeof completion.tag && memcmp(data, &completion.tag, size) == 0);
    finish(completion);
    return 0;
}

static struct {
    pthread_mutex_t lock;
    weft_completion waiting[ACTIONS + ANCHORS];
    unsigned count;
    bool over;
} later = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int handler_later(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user, (void)data, (void)size;
    pthread_mutex_lock(&later.lock);
    later.waiting[later.count++] = completion;
    pthread_mutex_unlock(&later.lock);
    return 0;
}

static int handler_fail(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user, (void)completion, (void)data, (void)size;
    return ERROR_OF_HANDLER;
}

/* A foreign thread that completes commands, in any order. */
static void *finisher(void *unused) {
    struct rng rng;
    rng_seed(&rng, all.seed, 1 << 20);
    for (bool over = false; !over;) {
        pthread_mutex_lock(&later.lock);
        unsigned at = later.count ? rng_below(&rng, later.count) : 0;
        bool any = later.count > 0;
        weft_completion completion;
        if (any) {
            completion = later.waiting[at];
            later.waiting[at] = later.waiting[--later.count];
        }
        over = later.over && !any;
        pthread_mutex_unlock(&later.lock);
        if (any) finish(completion);
        else usleep(100);
    }
    return unused;
}

/* ---- processes -------------------------------------------------------------------------------------------------------- */

struct member {
    struct voice voice;
    weft_pid pid;
    uint32_t anchor; /* its number + 1 */
    uint32_t outstanding, yields;
    bool running, cancelled;
};

static int member_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    struct member *member = self;
    (void)context, (void)method;
    for (size_t i = 0; i < sizeof *member; i++)
        EXPECT_EQ(((unsigned char *)self)[i], 0);
    if (size > 0) member->anchor = *(const uint32_t *)input + 1;
    voice_begin(&member->voice);
    atom_add_rlx(&all.spawned, 1);
    return 0;
}
static int failing_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)input, (void)size;
    return ERROR_OF_INIT;
}
static void member_close(void *self) {
    EXPECT(!((struct member *)self)->running);
    atom_add_rel(&all.closed, 1);
}

static void hear_message(struct member *member, const weft_event *event) {
    const struct letter *letter = event->data;
    EXPECT_EQ(letter->to, member->pid); /* never another's mailbox */
    EXPECT_EQ(event->size, letter->size);
    EXPECT_EQ(event->tag, letter->sender);
    EXPECT_EQ(event->error, 0);
    for (size_t i = 0; i < event->size - sizeof *letter; i += 1 + i / 8)
        EXPECT_EQ(letter->filler[i], (unsigned char)letter->number);
    if (!member->anchor) return;
    uint32_t *last = &last_number[member->anchor - 1][letter->sender];
    EXPECT(letter->number > *last);
    *last = letter->number;
    atom_add_sc(&all.received, 1);
}

static void hear_completion(struct member *member, const weft_event *event) {
    static const int errors[] = {[COMMAND_NOW] = 0, [COMMAND_FAIL] = ERROR_OF_HANDLER, [COMMAND_UNKNOWN] = WEFT_ENOENT};
    uint32_t command = event->tag & 0xff;
    EXPECT(member->outstanding > 0);
    member->outstanding--;
    EXPECT_EQ(event->error, errors[command == COMMAND_LATER ? COMMAND_NOW : command]);
    EXPECT_EQ(event->size, event->error ? 0 : tag_size(event->tag));
    for (size_t i = 0; i < event->size; i++)
        EXPECT_EQ(((const unsigned char *)event->data)[i], (unsigned char)(event->tag >> 32));
    EXPECT((event->tag >> 32) > 0 && (event->tag >> 32) <= member->yields);
    if (member->anchor) atom_add_sc(&all.completed, 1);
}

static void act_yield(struct member *member, weft_out *out) {
    struct rng *rng = &member->voice.rng;
    uint32_t command = 1 + rng_below(rng, 4);
    uint64_t tag = tag_make(++member->yields, some_size(rng), command);
    member->outstanding++;
    if (member->anchor) atom_add_sc(&all.yielded, 1);
    EXPECT_EQ(weft_out_yield(out, command, tag, &tag, sizeof tag), 0);
}

/* True if the process shall end. */
static bool member_acts(struct member *member, weft_out *out) {
    struct rng *rng = &member->voice.rng;
    bool ends = false;
    for (unsigned n = rng_below(rng, 4); n > 0 && action_begin(); n--, action_end()) {
        uint32_t what = rng_below(rng, 16);
        if (what < 5) act_send(&member->voice, NULL);
        else if (what < 8) act_send(&member->voice, out);
        else if (what < 11) act_spawn(&member->voice);
        else if (what < 13) act_yield(member, out);
        else if (what < 14) act_cancel(&member->voice);
        else ends = ends || !member->anchor;
    }
    return ends;
}

static int member_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct member *member = self;
    struct rng *rng = &member->voice.rng;
    EXPECT(!member->running);
    member->running = true;
    if (!member->pid) member->pid = weft_self();
    EXPECT_EQ(weft_self(), member->pid);
    EXPECT(weft_own_runtime() == rt.runtime);
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_MESSAGE) hear_message(member, &events[i]);
        if (events[i].type == WEFT_EVENT_COMPLETION) hear_completion(member, &events[i]);
        if (events[i].type != WEFT_EVENT_CANCEL) continue;
        EXPECT(!member->cancelled);
        member->cancelled = true;
        EXPECT(!member->anchor || atom_load_acq(&all.closing));
    }
    bool ends = member_acts(member, out) || (member->cancelled && rng_below(rng, 4) > 0);
    bool busy = member->cancelled || (rng_below(rng, 2) && atom_load_rlx(&all.budget) > 0);
    weft_out_status(out, ends ? WEFT_STEP_DONE : busy ? WEFT_STEP_CONTINUE : rng_below(rng, 2) ? WEFT_STEP_BLOCKED : WEFT_STEP_IDLE);
    member->running = false;
    return ends && rng_below(rng, 4) == 0 ? ERROR_OF_STEP : 0;
}

#define MEMBER .step = member_step, .init = member_init, .close = member_close
static const weft_behavior anchor = {.name = "anchor", .state_size = sizeof(struct member), MEMBER};
static const weft_behavior mortal = {.name = "mortal", .state_size = sizeof(struct member), MEMBER};
static const weft_behavior large_mortal = {.name = "large", .state_size = 5000, MEMBER};
static const weft_behavior failing = {.name = "failing", .state_size = 100, .step = member_step, .init = failing_init};

/* ---- foreign threads ---------------------------------------------------------------------------------------------------- */

static void *foreigner(void *unused) {
    struct voice voice;
    voice_begin(&voice);
    while (action_begin()) {
        uint32_t what = rng_below(&voice.rng, 8);
        if (what < 4) act_send(&voice, NULL);
        else if (what < 6) act_spawn(&voice);
        else act_cancel(&voice);
        action_end();
        if (rng_below(&voice.rng, 4) == 0) sched_yield();
        if (rng_below(&voice.rng, 64) == 0) usleep(rng_below(&voice.rng, 200)); /* workers may fall asleep */
    }
    return unused;
}

/* ---- a run ---------------------------------------------------------------------------------------------------------------- */

static const char *deque_wake; /* NULL: the default */

static void run_begin(const char *policy, unsigned workers, uint64_t seed) {
    memset(&all, 0, sizeof all); /* no other thread is there */
    memset(last_number, 0, sizeof last_number);
    later.count = 0;
    later.over = false;
    all.seed = seed;
    atom_store_rlx(&all.budget, ACTIONS);
    atom_store_rlx(&all.active, 1); /* no member begins before all anchors are known */
    rt_start_with(&(weft_config){.policy = policy, .workers = workers, .seed = seed, .deque_wake = deque_wake});
    EXPECT_EQ(weft_register_command(rt.runtime, COMMAND_NOW, handler_now, &all), 0);
    EXPECT_EQ(weft_register_command(rt.runtime, COMMAND_LATER, handler_later, NULL), 0);
    EXPECT_EQ(weft_register_command(rt.runtime, COMMAND_FAIL, handler_fail, NULL), 0);
}

static void run_wait(struct rng *rng, unsigned workers) {
    bool changes = rng_below(rng, 3) == 0;
    while (atom_load_sc(&all.budget) > 0 || atom_load_sc(&all.active) > 0 || atom_load_sc(&all.received) < atom_load_sc(&all.sent) ||
           atom_load_sc(&all.completed) < atom_load_sc(&all.yielded)) {
        if (changes) EXPECT_EQ(weft_set_workers(rt.runtime, 1 + rng_below(rng, 2 * workers)), 0);
        usleep(200);
    }
    EXPECT_EQ(atom_load_sc(&all.received), atom_load_sc(&all.sent));
    EXPECT_EQ(atom_load_sc(&all.completed), atom_load_sc(&all.yielded));
}

static void run(const char *policy, unsigned workers, uint64_t seed) {
    struct rng rng;
    pthread_t threads[THREADS + 1];
    rng_seed(&rng, seed, 1 << 21);
    run_begin(policy, workers, seed);
    for (uint32_t i = 0; i < ANCHORS; i++)
        all.anchors[i] = WEFT_NOBODY;
    uint64_t budget = atom_swap_sc(&all.budget, 0);
    for (uint32_t i = 0; i < ANCHORS; i++)
        all.anchors[i] = rt_spawn_with(&anchor, &i, sizeof i);
    atom_store_sc(&all.budget, budget);
    action_end();
    for (unsigned i = 0; i < THREADS; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, foreigner, NULL), 0);
    EXPECT_EQ(pthread_create(&threads[THREADS], NULL, finisher, NULL), 0);
    run_wait(&rng, workers);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_lock(&later.lock);
    later.over = true;
    pthread_mutex_unlock(&later.lock);
    pthread_join(threads[THREADS], NULL);
    atom_store_rel(&all.closing, true);
    weft_stats stats = rt_stats();
    printf("  %lu spawned, %lu ended, %lu steps, %lu sent, %lu refused, %lu steals, %lu injected, %lu hand-offs, %lu sleeps, %lu late\n",
           stats.spawned, stats.ended, stats.steps, stats.messages_sent, stats.messages_refused, stats.steals, stats.injected,
           stats.handoffs, stats.sleeps, stats.late_completions);
    EXPECT_EQ(stats.messages_sent + stats.messages_refused, atom_load_rlx(&all.attempts));
    EXPECT_EQ(stats.spawned, atom_load_rlx(&all.spawned));
    rt_stop();
    EXPECT_EQ(atom_load_rlx(&all.spawned), atom_load_rlx(&all.closed));
}

/* Every seed on its own; 20 for each policy and number of workers in the short lane. */
static void seeds(const char *policy, unsigned workers) {
    unsigned count = 20 * test_scale();
    for (unsigned i = 1; i <= count; i++) {
        printf("policy %s, %u workers, seed %llu\n", policy, workers, (unsigned long long)test_seed(i));
        run(policy, workers, test_seed(i));
        if (getenv("WEFT_TEST_SEED")) return;
    }
}

TEST_WITHIN(stress_ring_1, 120) { seeds("ring", 1); }
TEST_WITHIN(stress_ring_2, 120) { seeds("ring", 2); }
TEST_WITHIN(stress_ring_4, 120) { seeds("ring", 4); }
TEST_WITHIN(stress_ring_16, 120) { seeds("ring", 16); }
TEST_WITHIN(stress_deque_2, 120) { seeds("deque", 2); }
TEST_WITHIN(stress_line_2, 120) { seeds("line", 2); }

TEST_WITHIN(stress_deque_local_2, 120) {
    deque_wake = "local";
    seeds("deque", 2);
}

/* The rest of the matrix, when it is wanted. */
static void seeds_if_long(const char *policy, unsigned workers) {
    if (rt_whole_matrix()) seeds(policy, workers);
}
TEST_WITHIN(stress_deque_1, 120) { seeds_if_long("deque", 1); }
TEST_WITHIN(stress_deque_4, 120) { seeds_if_long("deque", 4); }
TEST_WITHIN(stress_deque_16, 120) { seeds_if_long("deque", 16); }
TEST_WITHIN(stress_line_1, 120) { seeds_if_long("line", 1); }
TEST_WITHIN(stress_line_4, 120) { seeds_if_long("line", 4); }
TEST_WITHIN(stress_line_16, 120) { seeds_if_long("line", 16); }

int main(int argc, char **argv) { return test_main(argc, argv); }
