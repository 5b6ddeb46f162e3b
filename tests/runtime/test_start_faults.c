/* The outside world refuses: memory at the Nth request for every N of a whole scenario, threads, randomness, membarrier.
 *
 * The scenario uses whatever allocates: start, commands, processes with small and large states, enough of them for the table and the
 * global queue to grow, messages of all sizes, hand-off, commands with results, contexts, more workers, stop. Each call
 * either works or says WEFT_ENOMEM; what was accepted is delivered; at the end every block is back. */
#include "runtime_helpers.h"

enum { CHILDREN = 12, CROWD = RT_SLOW > 1 ? 300 : 4500, COMMAND_NOW = 1, COMMAND_LATER };

static struct {
    atom_u64 accepted, delivered, yielded, completed, spawned, closed, boss_done;
    atom_u64 failures; /* calls that said WEFT_ENOMEM */
} tally;

/* Counts a call that may only fail for want of memory. True if it worked. */
static bool worked(int error) {
    EXPECT(error == 0 || error == WEFT_ENOMEM);
    if (error) atom_add_rlx(&tally.failures, 1);
    return error == 0;
}

/* ---- processes ----------------------------------------------------------------------------------------------------- */

static int counted_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)input, (void)size;
    atom_add_rlx(&tally.spawned, 1);
    return 0;
}
static void counted_close(void *self) {
    (void)self;
    atom_add_rel(&tally.closed, 1);
}

static int child_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type != WEFT_EVENT_MESSAGE) continue;
        EXPECT_EQ(events[i].size, events[i].tag);
        atom_add_rel(&tally.delivered, 1);
    }
    return 0;
}
#define COUNTED .init = counted_init, .close = counted_close
static const weft_behavior child = {.name = "child", .state_size = 100, .step = child_step, COUNTED};
static const weft_behavior large_child = {.name = "large child", .state_size = 9000, .step = child_step, COUNTED};
static const weft_behavior tiny = {.name = "tiny", .step = child_step, COUNTED};

static const unsigned char payload[70000];
static const size_t sizes[] = {0, 90, 200, 400, 900, 1900, 3000, 70000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void tell(weft_pid pid, size_t size, weft_out *handoff) {
    atom_add_rlx(&tally.accepted, 1);
    int error = handoff ? weft_out_handoff(handoff, pid, size, payload, size) : weft_send(pid, size, payload, size);
    if (!worked(error)) atom_sub_rlx(&tally.accepted, 1);
}

struct boss {
    uint32_t steps;
    weft_pid children[CHILDREN];
    uint32_t child_count;
};

static void boss_yields(weft_out *out) {
    for (uint64_t i = 0; i < SIZES; i++) {
        atom_add_rlx(&tally.yielded, 1);
        if (!worked(weft_out_yield(out, i % 2 ? COMMAND_NOW : COMMAND_LATER, sizes[i], payload, sizes[i]))) atom_sub_rlx(&tally.yielded, 1);
    }
}

static int boss_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct boss *boss = self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type != WEFT_EVENT_COMPLETION) continue;
        EXPECT(events[i].error == 0 || (events[i].error == WEFT_ENOMEM && events[i].size == 0));
        if (events[i].error) atom_add_rlx(&tally.failures, 1);
        else EXPECT_EQ(events[i].size, events[i].tag);
        atom_add_rel(&tally.completed, 1);
    }
    uint32_t step = boss->steps++;
    if (step < CHILDREN) {
        weft_context *context = NULL;
        if (!worked(weft_context_new(weft_own_context(), &context, WEFT_FOREVER))) context = NULL;
        if (worked(weft_spawn_step(step % 4 ? &child : &large_child, &(weft_spawn_options){.context = context},
                                   &boss->children[boss->child_count])))
            boss->child_count++;
        weft_context_drop(context);
    }
    if (step < CHILDREN && boss->child_count > 0) {
        tell(boss->children[step % boss->child_count], sizes[step % SIZES], out);
        for (unsigned i = 0; i < SIZES; i++)
            tell(boss->children[(step + i) % boss->child_count], sizes[i], NULL);
    }
    if (step == CHILDREN) boss_yields(out);
    if (step == CHILDREN) atom_store_rel(&tally.boss_done, 1);
    if (step <= CHILDREN) weft_out_status(out, WEFT_STEP_CONTINUE);
    return 0;
}
static const weft_behavior boss_behavior = {.name = "boss", .state_size = sizeof(struct boss), .step = boss_step, COUNTED};

/* ---- commands -------------------------------------------------------------------------------------------------------- */

static int handler_now(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user, (void)data;
    EXPECT_EQ(size, completion.tag);
    EXPECT_EQ(weft_complete(completion, 0, payload, size), 0);
    return 0;
}
static struct {
    pthread_mutex_t lock;
    weft_completion waiting[SIZES];
    unsigned count;
} later = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int handler_later(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user, (void)data, (void)size;
    pthread_mutex_lock(&later.lock);
    later.waiting[later.count++] = completion;
    pthread_mutex_unlock(&later.lock);
    return 0;
}
/* By the test's thread, a foreign one. */
static void finish_some(void) {
    pthread_mutex_lock(&later.lock);
    for (; later.count > 0; later.count--) {
        weft_completion completion = later.waiting[later.count - 1];
        EXPECT_EQ(weft_complete(completion, 0, payload, completion.tag), 0);
    }
    pthread_mutex_unlock(&later.lock);
}

/* ---- the scenario ------------------------------------------------------------------------------------------------------ */

static void employ_boss(void) {
    weft_pid pid;
    weft_context *context = NULL;
    bool now = worked(weft_register_command(rt.runtime, COMMAND_NOW, handler_now, NULL));
    bool commands = worked(weft_register_command(rt.runtime, COMMAND_LATER, handler_later, NULL)) && now;
    if (!worked(weft_context_with(NULL, &tally, &tally, &context))) context = NULL;
    if (commands && worked(weft_spawn_step(&boss_behavior, &(weft_spawn_options){.runtime = rt.runtime, .context = context}, &pid)))
        while (!atom_load_acq(&tally.boss_done))
            usleep(20);
    weft_context_drop(context);
}

static void fill_the_table(void) {
    weft_pid pid;
    for (unsigned i = 0; i < CROWD; i++)
        if (worked(weft_spawn_step(&tiny, &(weft_spawn_options){.runtime = rt.runtime}, &pid)) && i % 64 == 0)
            tell(pid, sizes[i / 64 % SIZES], NULL);
}

static void settle(void) {
    while (atom_load_acq(&tally.delivered) < atom_load_rlx(&tally.accepted) ||
           atom_load_acq(&tally.completed) < atom_load_rlx(&tally.yielded)) {
        finish_some();
        usleep(20);
    }
    EXPECT_EQ(atom_load_rlx(&tally.delivered), atom_load_rlx(&tally.accepted));
    EXPECT_EQ(atom_load_rlx(&tally.completed), atom_load_rlx(&tally.yielded));
}

/* Fills in how many allocations were asked for. */
static void scenario(const char *policy, uint64_t *asked) {
    memset(&tally, 0, sizeof tally); /* no other thread is there */
    int error = weft_start(&(weft_config){.policy = policy, .workers = 2, .seed = 1}, &rt.runtime);
    if (worked(error)) {
        rt_watch_begin(rt.runtime, RT_WATCH_SECONDS);
        employ_boss();
        fill_the_table();
        error = weft_set_workers(rt.runtime, 4);
        EXPECT(error == 0 || error == WEFT_EAGAIN);
        if (error) atom_add_rlx(&tally.failures, 1);
        settle();
        EXPECT_EQ(rt_stats().spawned, atom_load_rlx(&tally.spawned));
        EXPECT_EQ(weft_stop(rt.runtime, NULL, WEFT_FOREVER), 0);
        rt_watch_end();
        EXPECT_EQ(atom_load_rlx(&tally.spawned), atom_load_rlx(&tally.closed));
    }
    *asked = atom_load_rlx(&sys_script.counts.alloc);
}

static void every_allocation(const char *policy, bool all_after) {
    uint64_t asked, n = 1, failed = 0;
    for (;; n++) {
        sys_scripted_install();
        if (all_after) sys_script.alloc_fail_from = n;
        else sys_script.alloc_fail_at = n;
        scenario(policy, &asked);
        if (sys_scripted_live() != 0)
            test_fail(__FILE__, __LINE__, "allocation %llu failed and %llu blocks were left behind", (unsigned long long)n,
                      (unsigned long long)sys_scripted_live());
        if (asked < n) break; /* none was refused */
        failed += atom_load_rlx(&tally.failures) > 0;
        printf("%s: allocation %llu of %llu refused, %llu calls said so\n", policy, (unsigned long long)n, (unsigned long long)asked,
               (unsigned long long)atom_load_rlx(&tally.failures));
    }
    EXPECT_EQ(atom_load_rlx(&tally.failures), 0); /* the last round, in which nothing was refused */
    EXPECT(n > 30);
    EXPECT(failed + 12 > n); /* few allocations have a second way when they fail */
}

TEST_WITHIN(faults_one_allocation_fails_ring, 120) { every_allocation("ring", false); }
TEST_WITHIN(faults_one_allocation_fails_deque, 120) { every_allocation("deque", false); }
TEST_WITHIN(faults_one_allocation_fails_line, 120) { every_allocation("line", false); }
TEST_WITHIN(faults_all_allocations_fail_from_one_on_ring, 120) { every_allocation("ring", true); }
TEST_WITHIN(faults_all_allocations_fail_from_one_on_deque, 120) { every_allocation("deque", true); }
TEST_WITHIN(faults_all_allocations_fail_from_one_on_line, 120) { every_allocation("line", true); }

/* ---- threads, randomness, membarrier ---------------------------------------------------------------------------------- */

TEST(faults_no_thread_at_all) {
    static const char *const policies[] = {"ring", "deque", "line"};
    for (unsigned p = 0; p < 3; p++) {
        sys_scripted_install();
        sys_script.threads_limited = true;
        EXPECT_EQ(weft_start(&(weft_config){.policy = policies[p], .workers = 3}, &rt.runtime), WEFT_EAGAIN);
        EXPECT_EQ(sys_scripted_live(), 0);
        sys_script.threads_limited = false; /* and it may be tried again */
        uint64_t asked;
        scenario(policies[p], &asked);
        EXPECT_EQ(atom_load_rlx(&tally.failures), 0);
        EXPECT_EQ(sys_scripted_live(), 0);
    }
}

static void some_threads_refused(const char *policy) {
    sys_scripted_install();
    sys_script.threads_limited = true;
    sys_script.threads_allowed = 2;
    rt_stderr_begin();
    EXPECT_EQ(weft_start(&(weft_config){.policy = policy, .workers = 5}, &rt.runtime), 0);
    EXPECT(strstr(rt_stderr_end(), "only 2 of 5 workers"));
    rt_watch_begin(rt.runtime, RT_WATCH_SECONDS);
    EXPECT_EQ(weft_workers(rt.runtime), 2);
    memset(&tally, 0, sizeof tally);
    employ_boss();
    settle();
    EXPECT_EQ(weft_set_workers(rt.runtime, 4), WEFT_EAGAIN);
    EXPECT_EQ(weft_workers(rt.runtime), 2);
    sys_script.threads_allowed = 100;
    EXPECT_EQ(weft_set_workers(rt.runtime, 4), 0); /* now there are some */
    EXPECT_EQ(weft_workers(rt.runtime), 4);
    fill_the_table();
    settle();
    EXPECT_EQ(weft_stop(rt.runtime, NULL, WEFT_FOREVER), 0);
    rt_watch_end();
    EXPECT_EQ(sys_scripted_live(), 0);
}
TEST(faults_some_threads_are_refused) {
    some_threads_refused("ring");
    some_threads_refused("deque");
    some_threads_refused("line");
}

TEST(faults_no_randomness) {
    uint64_t asked;
    sys_scripted_install();
    sys_script.random_error = -ENOSYS;
    EXPECT_EQ(weft_start(&(weft_config){.workers = 1}, &rt.runtime), 0); /* no seed given: it has to be asked for */
    EXPECT_EQ(weft_stop(rt.runtime, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.random), 1);
    scenario("ring", &asked);
    EXPECT_EQ(sys_scripted_live(), 0);
}

static void without_membarrier(const char *policy, unsigned workers) {
    uint64_t asked;
    (void)workers;
    sys_scripted_install();
    sys_script.fence_refused = true;
    sys_fence_setup();
    EXPECT(atom_load_rlx(&atom_fence_light_is_full));
    scenario(policy, &asked);
    EXPECT_EQ(atom_load_rlx(&tally.failures), 0);
    EXPECT_EQ(sys_scripted_live(), 0);
}
TEST(faults_no_membarrier) { rt_cases(without_membarrier); }

/* A futex may wake for no reason, and signals may come. */
static void restless(const char *policy, unsigned workers) {
    uint64_t asked;
    (void)workers;
    sys_scripted_install();
    sys_script.futex_eintr_every = 3;
    sys_script.futex_spurious_every = 2;
    scenario(policy, &asked);
    EXPECT_EQ(atom_load_rlx(&tally.failures), 0);
    EXPECT_EQ(sys_scripted_live(), 0);
}
TEST(faults_wake_ups_for_no_reason) { rt_cases(restless); }

int main(int argc, char **argv) { return test_main(argc, argv); }
