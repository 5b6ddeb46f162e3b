/* Births when memory is refused: at the Nth request, for every N, and no stack. */
#include "victim.h"

static atom_u64 done, delivered;

static void listens(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_msg_free(message);
        atom_add_rel(&delivered, 1);
    }
}
static void big(void *arg) { (void)arg, weft_yield(); }
/* A process-local value that is inherited: as many are destroyed as were made. */
static weft_key inherited;
static atom_u64 values;
static void *value_again(void *value) {
    atom_add_rel(&values, 1);
    return value;
}
static void value_gone(void *value) {
    (void)value;
    atom_sub_rel(&values, 1);
}
static void boss_with_a_value(void) {
    if (!inherited) EXPECT_EQ(weft_key_new(&(weft_key_options){value_gone, value_again}, &inherited), 0);
    int error = weft_local_set(inherited, value_again(&values));
    EXPECT(error == 0 || error == WEFT_ENOMEM);
    if (error) value_gone(&values);
}
static void boss(void *arg) {
    (void)arg;
    weft_pid pids[6];
    boss_with_a_value();
    for (unsigned i = 0; i < 6; i++) {
        weft_stackful_options options = {.stack_size = (size_t)(16 << 10) << i % 3, .flags = i % 2 ? WEFT_SPAWN_STACK_NOW : 0};
        if (i > 2) options.arg_size = sizeof pids;
        int error = weft_spawn_with(listens, pids, &options, &pids[i]);
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
    EXPECT_EQ(atom_load_acq(&values), 0);
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

int main(int argc, char **argv) { return test_main(argc, argv); }
