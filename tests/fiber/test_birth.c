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

/* ---- memory refused at the Nth request, for every N ----------------------------------------------------------------------- */

static atom_u64 delivered;
static void listens(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_msg_free(message);
        atom_add_rel(&delivered, 1);
    }
}
static void big(void *arg) { (void)arg, weft_yield(); }
static void boss(void *arg) {
    (void)arg;
    weft_pid pids[6];
    for (unsigned i = 0; i < 6; i++) {
        weft_stackful_options options = {.stack_size = (size_t)(16 << 10) << i % 3, .flags = i % 2 ? WEFT_SPAWN_STACK_NOW : 0};
        int error = weft_spawn_with(listens, NULL, &options, &pids[i]);
        EXPECT(error == 0 || error == WEFT_ENOMEM || error == WEFT_ENOSTACK);
        if (error) pids[i] = WEFT_NOBODY;
    }
    for (unsigned i = 0; i < 60; i++) {
        static const unsigned char payload[3000];
        if (pids[i % 6] == WEFT_NOBODY) continue;
        int error = weft_send(pids[i % 6], i, payload, i * 50);
        EXPECT(error == 0 || error == WEFT_ENOMEM || error == WEFT_ENOPROC);
    }
    int error = weft_call_big(big, NULL, 512 << 10);
    EXPECT(error == 0 || error == WEFT_ENOSTACK);
    weft_pin_begin();
    weft_sleep(1000);
    weft_pin_end();
    for (unsigned i = 0; i < 6; i++)
        if (pids[i] != WEFT_NOBODY) {
            weft_cancel(pids[i]);
            error = weft_join(pids[i], NULL, WEFT_FOREVER);
            EXPECT(error == 0 || error == WEFT_ENOPROC || error == WEFT_ENOMEM);
        }
    atom_add_rel(&done, 1);
}
/* True: the Nth request came. */
static bool scenario_failing_at(uint64_t n, const char *policy) {
    weft_runtime *runtime;
    weft_pid pid;
    sys_scripted_install();
    sys_script.alloc_fail_at = n;
    atom_store_rlx(&done, 0);
    int error = weft_start(&(weft_config){.workers = 2, .policy = policy, .seed = 1}, &runtime);
    EXPECT(error == 0 || error == WEFT_ENOMEM);
    if (error == 0) {
        error = weft_spawn_with(boss, NULL, &(weft_stackful_options){.runtime = runtime}, &pid);
        EXPECT(error == 0 || error == WEFT_ENOMEM);
        if (error == 0)
            while (weft_alive(pid))
                usleep(20);
        EXPECT_EQ(weft_stop(runtime, NULL, WEFT_FOREVER), 0);
    }
    bool came = atom_load_rlx(&sys_script.counts.alloc_failed) > 0;
    EXPECT_EQ(sys_scripted_live(), 0);
    EXPECT_EQ(sys_scripted_mapped(), 0);
    sys_scripted_reset();
    return came;
}
TEST_WITHIN(spawn_every_allocation_fails, 120) {
    static const char *const policies[] = {"ring", "deque", "line"};
    for (unsigned p = 0; p < 3; p++) {
        uint64_t n = 1;
        unsigned quiet = 0;
        /* How many there are depends a little on which does what first. */
        for (; quiet < 3 && n < 2000; n++)
            quiet = scenario_failing_at(n, policies[p]) ? 0 : quiet + 1;
        printf("policy %s: %lu requests\n", policies[p], (unsigned long)n - quiet - 1);
        EXPECT(n > 10 && n < 2000);
    }
}

/* The same with address space: from the Nth map on there is none. */
static bool scenario_without_maps(uint64_t n) {
    weft_runtime *runtime;
    weft_pid pid;
    sys_scripted_install();
    sys_script.map_fail_from = n;
    atom_store_rlx(&done, 0);
    EXPECT_EQ(weft_start(&(weft_config){.workers = 2, .seed = 1}, &runtime), 0);
    int error = weft_spawn_with(boss, NULL, &(weft_stackful_options){.runtime = runtime}, &pid);
    EXPECT_EQ(error, 0);
    while (weft_alive(pid))
        usleep(20);
    EXPECT_EQ(weft_stop(runtime, NULL, WEFT_FOREVER), 0);
    bool came = atom_load_rlx(&sys_script.counts.vm_map) >= n;
    EXPECT_EQ(sys_scripted_live(), 0);
    EXPECT_EQ(sys_scripted_mapped(), 0);
    sys_scripted_reset();
    return came;
}
TEST(spawn_every_map_fails) {
    unsigned n = 1;
    while (scenario_without_maps(n))
        n++;
    EXPECT(n > 3);
}

/* One that was to be interrupted (WEFT_SPAWN_PREEMPT) and got no stack leaves nothing of that to the process that has its block next. */
static void is_plain(void *unused) {
    (void)unused;
    EXPECT_EQ(victim_self()->extras & PROC_PREEMPT, 0);
    atom_add_rel(&done, 1);
}
static void preempted_without_stack(void *unused) {
    weft_pid pid;
    weft_stackful_options options = {.stack_size = 4 << 20, .flags = WEFT_SPAWN_PREEMPT | WEFT_SPAWN_STACK_NOW};
    (void)unused;
    EXPECT_EQ(weft_spawn_with(is_plain, NULL, &options, &pid), WEFT_ENOSTACK);
    weft_spawn(is_plain, NULL);
    options.flags = WEFT_SPAWN_PREEMPT | WEFT_SPAWN_JOINABLE;
    EXPECT_EQ(weft_spawn_with(is_plain, NULL, &options, &pid), 0);
    EXPECT_EQ(victim_reason(pid), WEFT_ENOSTACK);
    for (unsigned i = 1; i < 500; i++) { /* a block is used again after some others */
        weft_spawn(is_plain, NULL);
        weft_yield();
    }
}
TEST(spawn_without_a_stack_leaves_no_traces) {
    rt_start("ring", 1);
    atom_store_rlx(&done, 0);
    victim_spawn(is_plain, NULL, 0, NULL); /* what a first process needs is there afterwards */
    rt_wait(&done, 1);
    sys_script.map_most = 1 << 20; /* no stack of 4 MiB */
    victim_spawn(preempted_without_stack, NULL, 0, NULL);
    rt_wait(&done, 501);
    sys_script.map_most = 0;
    rt_stop();
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
