/* What the runtime tells about itself: counters that add up, and a dump that may be asked for at any time. */
#include "runtime_helpers.h"

#include "sched/runtime.h"

static atom_u64 heard, stop_now;

static int listener_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type == WEFT_EVENT_MESSAGE && events[i].tag == 99) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type == WEFT_EVENT_MESSAGE) atom_add_rel(&heard, 1);
    }
    return 0;
}
static const weft_behavior listener = {.name = "listener", .step = listener_step};

static void counters(void) {
    atom_store_rlx(&heard, 0);
    weft_pid a = rt_spawn(&listener), b = rt_spawn(&listener);
    for (unsigned i = 0; i < 10; i++)
        EXPECT_EQ(weft_send(a, 1, NULL, 0), 0);
    EXPECT_EQ(weft_send(b, 99, NULL, 0), 0);
    while (weft_alive(b))
        usleep(50);
    for (unsigned i = 0; i < 5; i++)
        EXPECT_EQ(weft_send(b, 1, NULL, 0), WEFT_ENOPROC);
    rt_wait(&heard, 11);
    while (rt_stats().processes != 1)
        usleep(50);
    weft_stats stats = rt_stats();
    EXPECT_EQ(stats.spawned, 2);
    EXPECT_EQ(stats.ended, 1);
    EXPECT_EQ(stats.messages_sent, 11);
    EXPECT_EQ(stats.messages_refused, 5);
    EXPECT(stats.steps >= 2 && stats.steps <= 13);
    EXPECT_EQ(stats.handoffs, 0);
    EXPECT_EQ(stats.late_completions, 0);
}
TEST(stats_add_up) { rt_each(counters); }

/* ---- the dump ---------------------------------------------------------------------------------------------------------- */

static void dumped(void) {
    char line[64];
    weft_pid a = rt_spawn(&listener), b = rt_spawn(&listener);
    char idle[2][64];
    snprintf(idle[0], sizeof idle[0], "%016lx Idle       listener", (unsigned long)a);
    snprintf(idle[1], sizeof idle[1], "%016lx Idle       listener", (unsigned long)b);
    const char *text = rt_dump_text();
    while (!strstr(text, idle[0]) || !strstr(text, idle[1])) /* in vain, the watchdog ends it */
        text = rt_dump_text();
    EXPECT(strstr(text, "2 processes (2 spawned, 0 ended)"));
    snprintf(line, sizeof line, "%u workers", rt.workers);
    EXPECT(strstr(text, line));
    for (unsigned i = 0; i < rt.workers; i++) {
        snprintf(line, sizeof line, "worker %u: has a thread", i);
        EXPECT(strstr(text, line));
    }
}
TEST(stats_dump_names_workers_and_processes) { rt_each(dumped); }

/* For how long a process has waited is told by the clock, though sysmon, whose clock it noted when it began, sleeps meanwhile. */
TEST(stats_dump_tells_for_how_long_while_sysmon_sleeps) {
    rt_start("ring", 1);
    struct runtime *runtime = (struct runtime *)rt.runtime;
    rt_spawn(&listener);
    while (!atom_load_rlx(&runtime->sysmon.asleep)) /* in vain, the watchdog ends it */
        usleep(10000);
    sys_scripted_jump((int64_t)(1000 * RT_SECOND));
    EXPECT(strstr(rt_dump_text(), "waits for a message, for 100"));
    rt_stop();
}

static void long_dump(void) {
    for (unsigned i = 0; i < 500; i++)
        rt_spawn(&listener);
    EXPECT(strstr(rt_dump_text(), "and 300 more processes"));
}
TEST(stats_dump_of_many_is_cut) { rt_each(long_dump); }

/* At any time: while processes are born, run and die, and while the number of workers changes. */
static const weft_behavior mayfly;
static int mayfly_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events;
    weft_pid child;
    if (count == 0 && !atom_load_rlx(&stop_now) && weft_spawn_step(&mayfly, NULL, &child) == 0) weft_send(child, 1, NULL, 0);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior mayfly = {.name = "mayfly", .step = mayfly_step};

static void *dumper(void *descriptor) {
    for (unsigned i = 0; i < 30; i++) {
        weft_dump(rt.runtime, *(int *)descriptor);
        rt_stats();
    }
    return NULL;
}
static void under_load(void) {
    FILE *nowhere = fopen("/dev/null", "w");
    int descriptor = fileno(nowhere);
    pthread_t thread;
    atom_store_rlx(&stop_now, 0);
    for (unsigned i = 0; i < 20; i++)
        rt_spawn(&mayfly);
    EXPECT_EQ(pthread_create(&thread, NULL, dumper, &descriptor), 0);
    for (unsigned i = 0; i < 20; i++)
        EXPECT_EQ(weft_set_workers(rt.runtime, 1 + i % 5), 0);
    pthread_join(thread, NULL);
    atom_store_rlx(&stop_now, 1);
    fclose(nowhere);
}
TEST(stats_dump_at_any_time) { rt_each(under_load); }

int main(int argc, char **argv) { return test_main(argc, argv); }
