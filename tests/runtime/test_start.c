/* Starting: configuration by struct and by environment, what makes no sense, again and again, several at once. */
#include "runtime_helpers.h"
#include "sched/runtime.h"

#include <dirent.h>

static struct runtime *inside(weft_runtime *runtime) { return (struct runtime *)runtime; }

static void expect_refused(const weft_config *config, const char *what) {
    weft_runtime *runtime = NULL;
    sys_scripted_install();
    rt_stderr_begin();
    int error = weft_start(config, &runtime);
    const char *said = rt_stderr_end();
    EXPECT_EQ(error, WEFT_EINVAL);
    EXPECT(strstr(said, what));
    EXPECT_EQ(sys_scripted_live(), 0);
}

static void environment(const char *name, const char *value) {
    if (value) setenv(name, value, 1);
    else unsetenv(name);
}

static weft_runtime *started(const weft_config *config) {
    weft_runtime *runtime = NULL;
    EXPECT_EQ(weft_start(config, &runtime), 0);
    return runtime;
}
static void stopped(weft_runtime *runtime) { EXPECT_EQ(weft_stop(runtime, NULL, WEFT_FOREVER), 0); }

TEST(start_refuses_an_unknown_policy) {
    expect_refused(&(weft_config){.policy = "heap"}, "ring, deque or line");
    expect_refused(&(weft_config){.policy = "ringo"}, "ringo");
    environment("WEFT_POLICY", "stack");
    expect_refused(&(weft_config){.workers = 1}, "stack");
    expect_refused(NULL, "stack");
}

TEST(start_refuses_an_unknown_place_for_the_woken) {
    expect_refused(&(weft_config){.policy = "deque", .deque_wake = "sideways"}, "global or local");
    environment("WEFT_DEQUE_WAKE", "loca");
    expect_refused(&(weft_config){.policy = "deque"}, "loca");
    environment("WEFT_DEQUE_WAKE", "local");
    weft_runtime *runtime = started(&(weft_config){.policy = "deque"});
    EXPECT(inside(runtime)->deque_local);
    stopped(runtime);
    runtime = started(&(weft_config){.policy = "deque", .deque_wake = "global"}); /* the struct first */
    EXPECT(!inside(runtime)->deque_local);
    stopped(runtime);
    environment("WEFT_DEQUE_WAKE", NULL);
    runtime = started(&(weft_config){.policy = "deque"});
    EXPECT(!inside(runtime)->deque_local);
    stopped(runtime);
}

TEST(start_refuses_numbers_that_make_no_sense) {
    static const char *const bad[] = {"0", "-1", "1025", "two", "3x", "99999999999999999999", " "};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        environment("WEFT_WORKERS", bad[i]);
        expect_refused(NULL, "WEFT_WORKERS");
    }
    environment("WEFT_WORKERS", NULL);
    environment("WEFT_SEED", "0x");
    expect_refused(&(weft_config){.workers = 1}, "WEFT_SEED");
    environment("WEFT_SEED", NULL);
    expect_refused(&(weft_config){.workers = 1025}, "1025");
    expect_refused(&(weft_config){.workers = 1, .max_processes = (size_t)PID_SLOTS}, "16777216");
    expect_refused(&(weft_config){.workers = 1, .max_processes = (size_t)1 << 32}, "4294967296");
}

TEST(start_exclusive_excludes_others) {
    expect_refused(&(weft_config){.exclusive = true, .workers = 2}, "exclusive");
    expect_refused(&(weft_config){.exclusive = true, .preempt = true}, "exclusive");
    expect_refused(&(weft_config){.exclusive = true, .max_extra = 1}, "exclusive");
    environment("WEFT_MAX_EXTRA", "0");
    expect_refused(NULL, "WEFT_EXCLUSIVE=1 (weft_config.exclusive)");
    environment("WEFT_MAX_EXTRA", "65");
    expect_refused(NULL, "a number from 1 to 64");
    environment("WEFT_MAX_EXTRA", NULL);
    environment("WEFT_EXCLUSIVE", "2");
    expect_refused(NULL, "WEFT_EXCLUSIVE");
    environment("WEFT_EXCLUSIVE", "1");
    weft_runtime *runtime = started(NULL);
    EXPECT_EQ(weft_workers(runtime), 1);
    EXPECT(inside(runtime)->exclusive && inside(runtime)->extra_most == 0);
    stopped(runtime);
    environment("WEFT_EXCLUSIVE", NULL);
}

TEST(start_takes_the_struct_first_then_the_environment_then_the_default) {
    sys_scripted_install();
    sys_script.cpus = 3;
    sys_script.random_fixed = true;
    weft_runtime *runtime = started(NULL);
    EXPECT_EQ(weft_workers(runtime), 3);
    EXPECT_EQ(inside(runtime)->policy, POLICY_RING);
    EXPECT(inside(runtime)->seed != 0);
    stopped(runtime);
    environment("WEFT_WORKERS", "5");
    environment("WEFT_POLICY", "line");
    environment("WEFT_SEED", "0x1234");
    runtime = started(NULL);
    EXPECT_EQ(weft_workers(runtime), 5);
    EXPECT_EQ(inside(runtime)->policy, POLICY_LINE);
    EXPECT_EQ(inside(runtime)->seed, 0x1234);
    stopped(runtime);
    runtime = started(&(weft_config){.workers = 2, .policy = "deque", .seed = 9});
    EXPECT_EQ(weft_workers(runtime), 2);
    EXPECT_EQ(inside(runtime)->policy, POLICY_DEQUE);
    EXPECT_EQ(inside(runtime)->seed, 9);
    stopped(runtime);
    environment("WEFT_WORKERS", ""); /* empty is as good as not there */
    environment("WEFT_POLICY", "");
    environment("WEFT_SEED", "");
    runtime = started(NULL);
    EXPECT_EQ(weft_workers(runtime), 3);
    EXPECT_EQ(inside(runtime)->policy, POLICY_RING);
    stopped(runtime);
    EXPECT_EQ(sys_scripted_live(), 0);
}

/* ---- again and again ----------------------------------------------------------------------------------------------- */

static atom_u64 heard;
static int listener_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        else atom_add_rel(&heard, 1);
    }
    return 0;
}
static const weft_behavior listener = {.name = "listener", .step = listener_step};

/* More often than there are instances: their numbers come round. */
/* How many of the program's threads have the name. */
static unsigned threads_named(const char *name) {
    char path[300], text[32];
    unsigned count = 0;
    DIR *all = opendir("/proc/self/task");
    EXPECT(all);
    for (struct dirent *one; (one = readdir(all)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", one->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(text, sizeof text, file)) count += strcmp(text, name) == 0;
        if (file) fclose(file);
    }
    closedir(all);
    return count;
}
TEST(start_names_its_threads) {
    weft_runtime *runtime = started(&(weft_config){.workers = 3});
    for (unsigned i = 0; i < 20000 && (threads_named("weft\n") < 3 || threads_named("weft-sysmon\n") < 1); i++)
        usleep(1000); /* each names itself when it begins */
    EXPECT(threads_named("weft\n") >= 3 && threads_named("weft-sysmon\n") == 1);
    stopped(runtime);
}

TEST(start_and_stop_repeatedly) {
    static const char *const policies[] = {"ring", "deque", "line"};
    weft_pid former[4] = {0};
    for (unsigned i = 0; i < 300; i++) {
        atom_store_rlx(&heard, 0);
        rt_start(policies[i % 3], 1 + i % 4);
        weft_pid pid = rt_spawn(&listener);
        EXPECT_EQ(weft_send(pid, 1, "x", 1), 0);
        rt_wait(&heard, 1);
        for (unsigned k = 0; k < 4; k++) {
            EXPECT_EQ(weft_send(former[k], 1, NULL, 0), former[k] ? WEFT_EFOREIGN : weft_send(WEFT_NOBODY, 1, NULL, 0));
            EXPECT(!weft_alive(former[k]));
            if (former[k]) EXPECT_EQ(weft_cancel(former[k]), WEFT_EFOREIGN);
        }
        former[i % 4] = pid;
        rt_stop();
        EXPECT_EQ(weft_send(pid, 1, NULL, 0), WEFT_EFOREIGN);
    }
}

TEST(start_as_many_runtimes_as_there_are_instances) {
    static weft_runtime *runtimes[INSTANCES + 1];
    static weft_pid pids[INSTANCES];
    sys_scripted_install();
    for (unsigned i = 0; i < INSTANCES; i++) {
        runtimes[i] = started(&(weft_config){.workers = 1});
        EXPECT_EQ(weft_spawn_step(&listener, &(weft_spawn_options){.runtime = runtimes[i]}, &pids[i]), 0);
        for (unsigned k = 0; k < i; k++)
            EXPECT(pids[k] != pids[i]);
    }
    EXPECT_EQ(weft_start(&(weft_config){.workers = 1}, &runtimes[INSTANCES]), WEFT_ENOBUFS);
    for (unsigned i = 0; i < INSTANCES; i++)
        EXPECT_EQ(weft_send(pids[i], 1, NULL, 0), 0);
    rt_wait(&heard, INSTANCES);
    stopped(runtimes[100]);
    EXPECT_EQ(weft_send(pids[100], 1, NULL, 0), WEFT_EFOREIGN);
    runtimes[100] = started(&(weft_config){.workers = 1});     /* there is room again */
    EXPECT_EQ(weft_send(pids[100], 1, NULL, 0), WEFT_ENOPROC); /* the number is the same, the process is not there */
    for (unsigned i = 0; i < INSTANCES; i++)
        stopped(runtimes[i]);
    EXPECT_EQ(sys_scripted_live(), 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
