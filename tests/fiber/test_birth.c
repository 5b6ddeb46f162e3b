/* Birth, turns and ends of stackful processes. */
#include "sched_stage.h"
#include "victim.h"

static atom_u64 done, turns[2];
static atom_bool over;

/* ---- turns -------------------------------------------------------------------------------------------------------------- */

static char order[64];
static unsigned ordered;
static void leaves_letter(void *arg) {
    for (unsigned i = 0; i < 5; i++) {
        order[ordered++] = *(const char *)arg;
        weft_yield();
    }
    atom_add_rel(&done, 1);
}
/* On one worker they take turns; which is first depends on the policy. Without threads, so that no other worker helps. */
static void alternate(enum policy_name policy) {
    stage_begin(policy, 1);
    stage_stacks(0);
    stage_play(0);
    ordered = 0;
    memset(order, 0, sizeof order);
    EXPECT(weft_spawn(leaves_letter, "a") && weft_spawn(leaves_letter, "b") && weft_spawn(leaves_letter, "c"));
    stage_run(0);
    stage_end();
    printf("policy %u: %s\n", policy, order);
    EXPECT_EQ(ordered, 15);
    for (unsigned i = 3; i < 15; i++)
        EXPECT(order[i] == order[i - 3]);
    EXPECT(order[0] != order[1] && order[1] != order[2] && order[0] != order[2]);
}
TEST(spawn_alternate) {
    alternate(POLICY_RING);
    alternate(POLICY_LINE);
}

static void yields(void *arg) {
    (void)arg;
    while (!atom_load_acq(&over)) {
        weft_yield();
        atom_add_rlx(&turns[0], 1);
    }
    atom_add_rel(&done, 1);
}
static int steps(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    atom_add_rlx(&turns[1], 1);
    bool end = atom_load_acq(&over);
    if (end) atom_add_rel(&done, 1);
    weft_out_status(out, end ? WEFT_STEP_DONE : WEFT_STEP_CONTINUE);
    return 0;
}
static const weft_behavior stepper = {.name = "stepper", .step = steps};
static void fair(void) {
    atom_store_rlx(&over, false);
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 2; i++)
        atom_store_rlx(&turns[i], 0);
    for (unsigned i = 0; i < 10; i++) {
        victim_spawn(yields, NULL, 0, NULL);
        rt_spawn(&stepper);
    }
    for (unsigned i = 0; i < 2; i++)
        rt_wait(&turns[i], 2000 / RT_SLOW); /* all are there; those that came first have had more */
    uint64_t stackful = atom_load_rlx(&turns[0]), step = atom_load_rlx(&turns[1]);
    rt_wait(&turns[0], stackful + 20000 / RT_SLOW);
    rt_wait(&turns[1], step + 20000 / RT_SLOW);
    stackful = atom_load_rlx(&turns[0]) - stackful;
    step = atom_load_rlx(&turns[1]) - step;
    atom_store_rel(&over, true);
    rt_wait(&done, 20);
    printf("%lu turns of stackful processes, %lu of step processes\n", (unsigned long)stackful, (unsigned long)step);
    if (rt.workers == 1) EXPECT(stackful < 4 * step && step < 4 * stackful);
}
TEST(spawn_fair_with_step_processes) { rt_each(fair); }

/* ---- ends --------------------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void exit_from(unsigned depth, int reason) {
    volatile char room[100];
    room[0] = (char)depth;
    if (depth == 0) weft_exit(reason);
    if (victim_always) exit_from(depth - 1, reason);
    atom_store_rlx(&victim_sink, room[0]);
}
static void exits(void *arg) { exit_from(20, (int)(uintptr_t)arg); }
static void returns(void *arg) { (void)arg; }
static void ends(void) {
    for (unsigned i = 1; i < 50; i++) {
        EXPECT_EQ(victim_reason(victim_joinable(exits, (void *)(uintptr_t)i, 0, NULL)), i);
        weft_pid pid = victim_joinable(returns, NULL, 0, NULL);
        EXPECT_EQ(victim_reason(pid), 0);
        EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), WEFT_ENOPROC);
    }
}
TEST(spawn_ends_with_its_reason) { rt_each(ends); }

static void joins(void *arg) {
    int reason = 17, error = weft_join(*(weft_pid *)arg, &reason, WEFT_FOREVER);
    EXPECT(error == 0 || error == WEFT_ENOPROC); /* too late */
    EXPECT_EQ(reason, 17);
    atom_add_rel(&done, 1);
}
static void waits_to_exit(void *arg) {
    while (!atom_load_acq((atom_bool *)arg))
        weft_sleep(100 * WEFT_MICROSECOND);
    weft_exit(17);
}
static void joined_by_many(void) {
    atom_store_rlx(&over, false);
    atom_store_rlx(&done, 0);
    weft_pid pid = victim_spawn(waits_to_exit, &over, 0, NULL);
    for (unsigned i = 0; i < 30; i++)
        victim_spawn(joins, &pid, 0, NULL);
    EXPECT_EQ(weft_join(pid, NULL, weft_in(2 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    usleep(5000);
    atom_store_rel(&over, true);
    rt_wait(&done, 30);
}
TEST(spawn_joined_by_many) { rt_each(joined_by_many); }

/* ---- from foreign threads ------------------------------------------------------------------------------------------------ */

static void counts(void *arg) {
    (void)arg;
    weft_yield();
    atom_add_rel(&done, 1);
}
static void *spawns_many(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 500; i++)
        victim_spawn(counts, NULL, i % 3 == 0 ? 16 << 10 : 0, NULL);
    return NULL;
}
static void foreign(void) {
    pthread_t threads[4];
    atom_store_rlx(&done, 0);
    EXPECT_EQ(weft_spawn(counts, NULL), WEFT_NOBODY); /* no runtime of its own */
    EXPECT_EQ(-errno, WEFT_ENOTINSIDE);
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, spawns_many, NULL), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    rt_wait(&done, 2000);
}
TEST(spawn_from_foreign_threads) { rt_each(foreign); }

/* ---- stacks that are not to be had --------------------------------------------------------------------------------------- */

static void hogs(void *arg) {
    (void)arg;
    atom_add_rel(&done, 1);
    while (!atom_load_acq(&over))
        sched_yield(); /* the thread's, so that no other process runs here */
}
static void never(void *arg) {
    (void)arg;
    test_fail(__FILE__, __LINE__, "runs without a stack");
}
static void nostack(const char *policy) {
    if (ANNOTATE_THREAD) return; /* the script is changed while it is read */
    rt_start(policy, 1);
    atom_store_rlx(&over, false);
    atom_store_rlx(&done, 0);
    victim_spawn(hogs, NULL, 0, NULL);
    rt_wait(&done, 1);
    sys_script.map_most = 64 << 10; /* nothing that a stack of a megabyte fits into */
    /* joinable: an extra worker beside the hog may be first to find no stack */
    weft_pid pid = victim_joinable(never, NULL, 1 << 20, NULL), now = WEFT_NOBODY;
    EXPECT_EQ(weft_spawn_with(never, NULL,
                              &(weft_stackful_options){.runtime = rt.runtime, .stack_size = 1 << 20, .flags = WEFT_SPAWN_STACK_NOW}, &now),
              WEFT_ENOSTACK);
    EXPECT_EQ(now, WEFT_NOBODY);
    atom_store_rel(&over, true);
    EXPECT_EQ(victim_reason(pid), WEFT_ENOSTACK);
    sys_script.map_most = 0;
    atom_store_rlx(&done, 0);
    EXPECT_EQ(weft_spawn_with(counts, NULL,
                              &(weft_stackful_options){.runtime = rt.runtime, .stack_size = 1 << 20, .flags = WEFT_SPAWN_STACK_NOW}, &now),
              0);
    rt_wait(&done, 1); /* and then there are some again */
    rt_stop();
}
TEST(spawn_without_a_stack) {
    nostack("ring");
    nostack("deque");
    nostack("line");
}

TEST(spawn_refuses_sizes) {
    weft_pid pid;
    rt_start("ring", 1);
    EXPECT_EQ(weft_spawn_with(never, NULL, &(weft_stackful_options){.runtime = rt.runtime, .stack_size = (8 << 20) + 1}, &pid),
              WEFT_EINVAL);
    EXPECT_EQ(weft_spawn_with(never, NULL, &(weft_stackful_options){.runtime = rt.runtime, .stack_size = SIZE_MAX}, &pid), WEFT_EINVAL);
    EXPECT_EQ(weft_spawn_with(never, NULL, NULL, &pid), WEFT_ENOTINSIDE);
    rt_stop();
}

/* ---- discard: the argument of a process that never begins ------------------------------------------------------------------ */

static atom_u64 discarded, begun;
static void discards(void *cell) {
    atom_add_rel((atom_u64 *)cell, 1);
    weft_send(WEFT_NOBODY, 0, NULL, 0); /* it may call weft */
    free(malloc(1));
}
static void begins(void *unused) {
    (void)unused;
    atom_add_rel(&begun, 1);
}
static weft_stackful_options discarding(unsigned flags) {
    return (weft_stackful_options){.runtime = rt.runtime, .flags = flags, .discard = discards};
}
/* Every process has begun, or was discarded. With one worker few begin that are killed at once: only if the worker's thread gets no time. */
static void expect_each(uint64_t processes) { EXPECT_EQ(atom_load_acq(&begun) + atom_load_acq(&discarded), processes); }
static void kills_unborn(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 40; i++) {
        weft_stackful_options options = discarding(WEFT_SPAWN_JOINABLE | (i % 2 ? WEFT_SPAWN_STACK_NOW : 0));
        uint64_t before = atom_load_acq(&discarded);
        weft_pid pid;
        EXPECT_EQ(weft_spawn_with(begins, &discarded, &options, &pid), 0);
        if (i % 4 < 2) weft_kill(pid);
        EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
        expect_each(i + 1);
        if (i % 4 >= 2) EXPECT_EQ(atom_load_acq(&discarded), before);
    }
    EXPECT(atom_load_acq(&discarded) > 0);
    weft_scope scope;
    weft_stackful_options child = {.discard = discards};
    weft_pid pid;
    weft_scope_begin(&scope, WEFT_FOREVER);
    EXPECT_EQ(weft_scope_spawn_with(&scope, begins, &discarded, &child, &pid), 0);
    weft_kill(pid);
    weft_scope_end(&scope);
    expect_each(41);
    uint64_t before = atom_load_acq(&discarded);
    for (unsigned i = 0; i < 500; i++) { /* the block's next processes have none of it */
        weft_pid next = weft_spawn_joinable(begins, &discarded);
        weft_kill(next);
        EXPECT_EQ(weft_join(next, NULL, WEFT_FOREVER), 0);
    }
    EXPECT_EQ(atom_load_acq(&discarded), before);
    atom_store_rel(&done, 1);
}
static void discard_killed(const char *policy) {
    rt_start(policy, 1); /* so that it does not begin before it is killed */
    atom_store_rlx(&discarded, 0);
    atom_store_rlx(&begun, 0);
    atom_store_rlx(&done, 0);
    victim_spawn(kills_unborn, NULL, 0, NULL);
    rt_wait(&done, 1);
    rt_stop();
}
TEST(spawn_killed_before_it_begins_is_discarded) {
    discard_killed("ring");
    discard_killed("deque");
    discard_killed("line");
}

static void discards_without_stack(void *unused) {
    weft_stackful_options options = discarding(WEFT_SPAWN_STACK_NOW);
    weft_pid pid;
    (void)unused;
    options.stack_size = 4 << 20;
    EXPECT_EQ(weft_spawn_with(begins, &discarded, &options, &pid), WEFT_ENOSTACK);
    EXPECT_EQ(atom_load_acq(&discarded), 0); /* it is still the spawner's */
    options.flags = WEFT_SPAWN_JOINABLE;
    EXPECT_EQ(weft_spawn_with(begins, &discarded, &options, &pid), 0);
    EXPECT_EQ(victim_reason(pid), WEFT_ENOSTACK);
    EXPECT_EQ(atom_load_acq(&discarded), 1);
    atom_store_rel(&done, 2);
}
TEST(spawn_without_a_stack_is_discarded) {
    rt_start("ring", 1);
    atom_store_rlx(&done, 0);
    victim_spawn(counts, NULL, 0, NULL); /* what a first process needs is there afterwards */
    rt_wait(&done, 1);
    sys_script.map_most = 1 << 20;
    victim_spawn(discards_without_stack, NULL, 0, NULL);
    rt_wait(&done, 2);
    sys_script.map_most = 0;
    rt_stop();
}

/* The runtime is taken down while its only worker is held, and the process has not begun. */
static void holds_the_worker(void *unused) {
    (void)unused;
    atom_add_rel(&done, 1);
    while (!atom_load_acq(&over))
        usleep(1000);
}
TEST(spawn_taken_down_is_discarded) {
    struct child child;
    if (child_fork(&child)) {
        weft_runtime *runtime;
        weft_pid pid;
        if (weft_start(&(weft_config){.workers = 1, .max_threads = 1, .grace_ms = 1}, &runtime)) _exit(99);
        weft_spawn_with(holds_the_worker, NULL, &(weft_stackful_options){.runtime = runtime}, &pid);
        rt_wait(&done, 1);
        for (unsigned i = 0; i < 2; i++)
            weft_spawn_with(begins, &discarded,
                            &(weft_stackful_options){.runtime = runtime, .discard = discards, .flags = i ? WEFT_SPAWN_STACK_NOW : 0}, &pid);
        weft_stop(runtime, NULL, weft_in(20 * WEFT_MILLISECOND));
        _exit(atom_load_acq(&begun) == 0 && atom_load_acq(&discarded) == 2 ? 0 : 1);
    }
    EXPECT_EXIT(&child, 0);
}

/* ---- stop ----------------------------------------------------------------------------------------------------------------- */

static void stays(void *arg) {
    weft_shield_begin();
    atom_add_rel(&done, 1);
    if (arg) weft_sleep_until(WEFT_FOREVER);
    weft_msg *message;
    weft_recv(&message, WEFT_FOREVER);
}
static void leftovers(const char *policy, unsigned workers) {
    weft_stop_report report;
    rt_start(policy, workers);
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 50; i++)
        victim_spawn(stays, i % 2 ? &done : NULL, 0, NULL);
    rt_wait(&done, 50);
    EXPECT_EQ(weft_stop(rt.runtime, &report, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(report.left, 50);
    rt_watch_end();
    EXPECT_EQ(sys_scripted_live(), 0);
    EXPECT_EQ(sys_scripted_mapped(), 0);
}
TEST(spawn_stop_with_processes_left) { rt_cases(leftovers); }

/* ---- two runtimes --------------------------------------------------------------------------------------------------------- */

static weft_runtime *second_runtime;
static void far_away(void *arg) {
    (void)arg;
    EXPECT(weft_own_runtime() == second_runtime);
    weft_exit(23);
}
static void reaches_out(void *arg) {
    int reason = 0;
    weft_pid pid;
    (void)arg;
    for (unsigned i = 0; i < 20; i++) {
        EXPECT_EQ(weft_spawn_with(far_away, NULL, &(weft_stackful_options){.runtime = second_runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid),
                  0);
        EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, 23);
        EXPECT(weft_own_runtime() == rt.runtime);
    }
    atom_add_rel(&done, 1);
}
static void two(void) {
    EXPECT_EQ(weft_start(&(weft_config){.workers = 2}, &second_runtime), 0);
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 5; i++)
        victim_spawn(reaches_out, NULL, 0, NULL);
    rt_wait(&done, 5);
    EXPECT_EQ(weft_stop(second_runtime, NULL, WEFT_FOREVER), 0);
}
TEST(spawn_in_another_runtime) { rt_each(two); }

/* ---- copied arguments ----------------------------------------------------------------------------------------------------- */

static void yields_once(void *arg) { (void)arg, weft_yield(); }
struct order {
    unsigned number;
    char text[100];
};
static void reads_last(void *arg) {
    const struct order *order = arg;
    EXPECT(order->number == (unsigned)atoi(order->text)); /* still there */
    atom_add_rel(&done, 1);
}
static void reads_its_copy(void *arg) {
    struct order *order = arg;
    EXPECT_EQ((uintptr_t)order % 16, 0);
    weft_defer(reads_last, order);
    weft_yield();
    EXPECT_EQ(order->number, (unsigned)atoi(order->text));
    order->number += 1000; /* its own */
    snprintf(order->text, sizeof order->text, "%u", order->number);
    if (order->number % 3 == 0) weft_exit(1);
}
static void has_none(void *arg) {
    EXPECT(!arg);
    atom_add_rel(&done, 1);
}
static void gives_copies(void *arg) {
    struct order order;
    weft_pid pid;
    (void)arg;
    weft_scope scope;
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (unsigned i = 0; i < 60; i++) {
        order.number = i;
        snprintf(order.text, sizeof order.text, "%u", i);
        weft_stackful_options options = {.arg_size = sizeof order, .flags = i % 2 ? WEFT_SPAWN_STACK_NOW : 0};
        if (i % 3 == 0) EXPECT(weft_spawn_copy(reads_its_copy, &order, sizeof order));
        else if (i % 3 == 1) EXPECT_EQ(weft_scope_spawn_with(&scope, reads_its_copy, &order, &options, NULL), 0);
        else EXPECT_EQ(weft_spawn_with(reads_its_copy, &order, &options, &pid), 0);
        memset(&order, 0xee, sizeof order);
    }
    weft_scope_end(&scope);
    EXPECT(weft_spawn_copy(has_none, &order, 0)); /* not the original, which may be gone by then */
    EXPECT_EQ(weft_spawn_with(reads_its_copy, &order, &(weft_stackful_options){.arg_size = SIZE_MAX}, &pid), WEFT_EINVAL);
    EXPECT(weft_spawn_copy(reads_its_copy, &order, SIZE_MAX) == WEFT_NOBODY && errno == -WEFT_EINVAL);
    EXPECT_EQ(weft_spawn_with(yields_once, &order, &(weft_stackful_options){.arg_size = sizeof order}, &pid), 0);
    weft_kill(pid); /* perhaps before it has begun: its copy is freed all the same */
    atom_add_rel(&done, 1);
}
static void copied(void) {
    atom_store_rlx(&done, 0);
    victim_spawn(gives_copies, NULL, 0, NULL);
    rt_wait(&done, 62);
}
TEST(spawn_copies_its_argument) { rt_each(copied); }

/* ---- many ----------------------------------------------------------------------------------------------------------------- */

static void parks(void *arg) {
    weft_msg *message;
    (void)arg;
    atom_add_rel(&turns[0], 1);
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    atom_add_rel(&done, 1);
}
static void many(void) {
    /* The thread sanitizer has room for 8,000; an emulator has guards that are mappings, and takes its time for each. */
    unsigned count = ANNOTATE_THREAD || test_emulated() ? 3000 : 100000 / RT_SLOW;
    weft_pid *pids = malloc(count * sizeof *pids);
    atom_store_rlx(&done, 0);
    atom_store_rlx(&turns[0], 0);
    for (unsigned i = 0; i < count; i++)
        pids[i] = victim_spawn(parks, NULL, 16 << 10, NULL);
    rt_wait(&turns[0], count);
    EXPECT_EQ(rt_stats().processes, count);
    for (unsigned i = 0; i < count; i++)
        EXPECT_EQ(weft_send(pids[i], 0, NULL, 0), 0);
    rt_wait(&done, count);
    free(pids);
}
static void many_one(const char *policy, unsigned workers) {
    rt_body = many;
    if (workers == 2) rt_one(policy, workers);
}
TEST_WITHIN(spawn_a_hundred_thousand, 120) { rt_cases(many_one); }

int main(int argc, char **argv) { return test_main(argc, argv); }
