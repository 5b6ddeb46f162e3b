/* Processes that do not give way are interrupted: they go on where they were, and the others go on meanwhile. */
#include "preempt/loops.h"

#include "alone.h"
#include "slices.h"

/* ---- endless loops ------------------------------------------------------------------------------------------------------------ */

static void case_loops(const char *policy, unsigned workers) {
    unsigned hogs = workers + 2;
    pre_start(policy, workers, 1000);
    forget();
    for (uintptr_t i = 0; i < hogs; i++)
        victim_spawn(loops, (void *)i, 0, "hog");
    for (unsigned i = 0; i < hogs; i++)
        rt_wait(&rounds[i], 1); /* all of them have had a turn, while none has ended */
    victim_spawn(ticks, (void *)10, 0, "ticker");
    rt_wait(&done, hogs + 1);
    printf("note: %s, %u workers, %u loops: %lu preemptions\n", policy, workers, hogs, rt_stats().preemptions);
    EXPECT(rt_stats().preemptions >= 2);
    EXPECT_EQ(rt_stats().stopped, 0);
    rt_stop();
}
TEST_WITHIN(preempt_endless_loops, 60) {
    PREEMPT_TEST_APPLIES();
    rt_cases(case_loops);
    pre_note("endless loops");
}

/* A thread whose process computes lets threads that wake up beside it have the CPU, sysmon's among them, from the moment that the process goes on; when it waits, its
 * thread does so no more. */
enum { SLICE_USUAL = 100000 };
static void is_patient_and_waits(void *arg) {
    (void)arg;
    while (slice_of(0) <= SLICE_USUAL) {} /* until it has been interrupted, or has computed for long */
    atom_add_rlx(&rounds[0], 1);
    while (atom_load_rlx(&rounds[0]) < 2) {} /* both are */
    do
        weft_sleep(WEFT_MILLISECOND);
    while (slice_of(0) != SLICE_USUAL);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(preempt_threads_that_compute_are_patient, 60) {
    PREEMPT_TEST_APPLIES();
    if (slice_of(0) == 0) return; /* a kernel without slices */
    pre_start("ring", 1, 1000);
    forget();
    for (unsigned i = 0; i < 2; i++)
        victim_spawn(is_patient_and_waits, NULL, 0, "hog");
    rt_wait(&done, 2);
    rt_stop();
}

/* One worker, four loops: together they have the time of one thread, and no worker is started beside. */
TEST_WITHIN(preempt_no_more_threads_run_than_workers, 60) {
    PREEMPT_TEST_APPLIES();
    enum { HOGS = 4 };
    uint64_t began[HOGS], had[HOGS], sum = 0;
    unsigned extra = 0;
    pre_start("ring", 1, 2000);
    forget();
    for (uintptr_t i = 0; i < HOGS; i++)
        victim_spawn(loops, (void *)i, 0, "hog");
    for (unsigned i = 0; i < HOGS; i++)
        rt_wait(&rounds[i], 1);
    uint64_t start = weft_now(), preemptions = rt_stats().preemptions; /* until they have had enough, on a busy machine too */
    for (unsigned i = 0; i < HOGS; i++)
        EXPECT_EQ(sys->thread_time(atom_load_rlx(&numbers[i]), &began[i]), 0);
    while (sum < RT_SECOND / 2 || weft_now() < start + RT_SECOND) {
        rt_pause(RT_MS);
        if (atom_load_rlx(&runtime_now()->extra) > extra) extra = atom_load_rlx(&runtime_now()->extra);
        sum = 0;
        for (unsigned i = 0; i < HOGS; i++) {
            EXPECT_EQ(sys->thread_time(atom_load_rlx(&numbers[i]), &had[i]), 0);
            had[i] -= began[i];
            sum += had[i];
        }
    }
    double wall = (double)(weft_now() - start);
    printf("note: in %.2f s the loops had %.2f s of CPU: %.2f, %.2f, %.2f, %.2f; %lu preemptions; at most %u workers beside\n", wall / 1e9,
           (double)sum / 1e9, (double)had[0] / 1e9, (double)had[1] / 1e9, (double)had[2] / 1e9, (double)had[3] / 1e9,
           rt_stats().preemptions - preemptions, extra);
    EXPECT((double)sum < wall * 1.1);
    EXPECT(rt_stats().preemptions - preemptions > 10);
    for (unsigned i = 0; i < HOGS; i++)
        EXPECT((double)had[i] > (double)sum / HOGS / 4); /* no process is forgotten */
    atom_store_rlx(&over, true);
    rt_wait(&done, HOGS);
    rt_stop();
}

/* And counted: which loops go on from one look to the next. Each interruption in between lets one more of them have a turn. */
enum { LOOKS = 2000, LOOK_US = 300 };
static void counted(const char *policy, unsigned workers) {
    enum { HOGS = 8 };
    unsigned looks = 0, together = 0, changes = 0, too_many = 0;
    pre_start(policy, workers, 5000);
    forget();
    for (uintptr_t i = 0; i < HOGS; i++)
        victim_spawn(loops, (void *)i, 0, "hog");
    for (unsigned i = 0; i < HOGS; i++)
        rt_wait(&rounds[i], 1);
    alone_begin();
    while (looks < LOOKS) {
        uint64_t seen[HOGS], switches = rt_stats().preemptions;
        for (unsigned i = 0; i < HOGS; i++)
            seen[i] = atom_load_rlx(&rounds[i]);
        usleep(LOOK_US);
        unsigned went_on = 0;
        for (unsigned i = 0; i < HOGS; i++)
            went_on += atom_load_rlx(&rounds[i]) != seen[i];
        switches = rt_stats().preemptions - switches;
        too_many += went_on > workers + switches;
        if (switches == 0 && went_on > together) together = went_on;
        changes += switches > 0;
        looks++;
    }
    printf("note: %s, %u workers, %d loops: in %u looks at most %u went on without an interruption; in %u looks there was one\n", policy,
           workers, HOGS, looks, together, changes);
    EXPECT(changes > 10);
    /* A thread that the kernel takes from its processor between an interruption and its count, or after it, is seen in the wrong look. */
    EXPECT(too_many <= LOOKS / 50);
    alone_end();
    atom_store_rlx(&over, true);
    rt_wait(&done, HOGS);
    rt_stop();
}
TEST_WITHIN(preempt_running_loops_are_counted, 60) {
    PREEMPT_TEST_APPLIES();
    counted("ring", 1);
    counted("ring", 2);
    counted("deque", 2);
    counted("line", 2);
}

/* ---- what is, and what is not ---------------------------------------------------------------------------------------------------- */

/* One that was marked, beside one that was not: a worker is started beside the latter. */
static void case_marked(const char *policy, unsigned workers) {
    rt_start(policy, workers);
    forget();
    spawn_marked(loops, (void *)0);
    spawn_marked(loops, (void *)1);
    victim_spawn(loops, (void *)2, 0, "not marked");
    for (unsigned i = 0; i < 3; i++)
        rt_wait(&rounds[i], 1);
    victim_spawn(ticks, (void *)10, 0, "ticker");
    rt_wait(&done, 4);
    rt_stop();
}
TEST_WITHIN(preempt_marked_ones_only, 60) {
    PREEMPT_TEST_APPLIES();
    rt_cases(case_marked);
    EXPECT(pre_verdict(PREEMPT_DONE) > 0);
    EXPECT(pre_verdict(PREEMPT_NOT_MARKED) > 0);
    pre_note("marked");
}

/* Not between these: no other process runs on the only worker, as long as there is none beside it. */
static atom_bool inside;
static void passage(void *arg) {
    (void)arg;
    weft_nopreempt_begin();
    weft_nopreempt_begin();
    weft_nopreempt_end();
    uint64_t before = rt_stats().preemptions, tried = pre_verdict(PREEMPT_FORBIDDEN) + 3;
    atom_store_rlx(&inside, true);
    while (pre_verdict(PREEMPT_FORBIDDEN) < tried) {}
    EXPECT_EQ(rt_stats().preemptions, before);
    weft_nopreempt_end();
    while (rt_stats().preemptions == before) { /* and now it is */
    }
    atom_store_rlx(&over, true);
    atom_add_rel(&done, 1);
}
static void case_passage(const char *policy, unsigned workers) {
    (void)workers;
    rt_start_with(&(weft_config){.policy = policy, .workers = 1, .seed = 1, .preempt_us = 1000});
    forget();
    atom_store_rlx(&inside, false);
    spawn_marked(passage, NULL); /* and no other process is */
    while (!atom_load_rlx(&inside))
        usleep(100);
    victim_spawn(ticks_on, NULL, 0, "ticker"); /* a process waits */
    rt_wait(&done, 2);
    rt_stop();
}
TEST_WITHIN(preempt_not_in_passages, 60) {
    PREEMPT_TEST_APPLIES();
    rt_cases(case_passage);
}
static void ends_too_often(void *arg) {
    (void)arg;
    weft_nopreempt_end();
}
static void unpaired(void) {
    rt_start("ring", 1);
    victim_spawn(ends_too_often, NULL, 0, NULL);
    pause();
}
TEST(preempt_passages_must_be_paired) {
    struct child result;
    weft_nopreempt_begin(); /* outside of a process: nothing */
    weft_nopreempt_end();
    child_run(&result, unpaired);
    EXPECT_DIED(&result, SIGABRT);
    EXPECT_SAID(&result, "weft_nopreempt_end");
}

/* Pinned processes belong to the thread, so it keeps its worker. */
static void pinned_loop(void *arg) {
    weft_pin_begin();
    loops(arg);
    weft_pin_end();
}
static void case_pinned(const char *policy, unsigned workers) {
    pre_start(policy, workers, 1000);
    forget();
    victim_spawn(pinned_loop, (void *)0, 0, "pinned");
    victim_spawn(loops, (void *)1, 0, "hog");
    victim_spawn(loops, (void *)2, 0, "hog");
    for (unsigned i = 0; i < 3; i++)
        rt_wait(&rounds[i], 1);
    victim_spawn(ticks, (void *)10, 0, "ticker");
    rt_wait(&done, 4);
    rt_stop();
}
TEST_WITHIN(preempt_not_pinned_ones, 60) {
    PREEMPT_TEST_APPLIES();
    rt_cases(case_pinned);
}

/* A step process is not interrupted: its step is a call of weft's. */
static int endless_step(void *self, const weft_event *events, size_t count_events, weft_out *out) {
    (void)self, (void)events, (void)count_events;
    loops_until_over(&rounds[0]);
    atom_add_rel(&done, 1);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior endless_behavior = {.name = "endless", .step = endless_step};
TEST_WITHIN(preempt_not_step_processes, 60) {
    PREEMPT_TEST_APPLIES();
    pre_start("ring", 1, 1000);
    forget();
    weft_send(rt_spawn(&endless_behavior), 1, NULL, 0);
    rt_wait(&rounds[0], 1);
    victim_spawn(ticks, (void *)10, 0, "ticker");
    rt_wait(&done, 2);
    EXPECT(pre_verdict(PREEMPT_NOT_MARKED) > 0);
    EXPECT_EQ(pre_verdict(PREEMPT_DONE), 0);
    rt_stop();
}

/* So many at a time, and not more. */
static void case_cap(const char *policy, unsigned workers) {
    enum { HOGS = 6 };
    rt_start_with(
        &(weft_config){.policy = policy, .workers = workers > 2 ? 2 : workers, .preempt = true, .preempt_us = 1000, .max_stopped = 2});
    forget();
    for (uintptr_t i = 0; i < HOGS; i++)
        victim_spawn(loops, (void *)i, 0, "hog");
    victim_spawn(ticks, (void *)30, 0, "ticker");
    while (atom_load_acq(&done) < HOGS + 1) {
        EXPECT(rt_stats().stopped <= 2);
        usleep(50);
    }
    rt_stop();
}
TEST_WITHIN(preempt_at_most_so_many, 60) {
    PREEMPT_TEST_APPLIES();
    rt_cases(case_cap);
    pre_note("cap of 2");
}

/* Values that make no sense. */
TEST(preempt_settings) {
    weft_runtime *runtime;
    EXPECT_EQ(weft_start(&(weft_config){.preempt_us = 10001}, &runtime), WEFT_EINVAL);
    EXPECT_EQ(weft_start(&(weft_config){.max_stopped = 65}, &runtime), WEFT_EINVAL);
    setenv("WEFT_PREEMPT_US", "10", 1);
    EXPECT_EQ(weft_start(NULL, &runtime), WEFT_EINVAL);
    setenv("WEFT_PREEMPT_US", "500", 1);
    setenv("WEFT_PREEMPT", "1", 1);
    setenv("WEFT_MAX_STOPPED", "3", 1);
    EXPECT_EQ(weft_start(NULL, &runtime), 0);
    EXPECT_EQ(((struct runtime *)runtime)->preempt.slice, 500000);
    EXPECT_EQ(((struct runtime *)runtime)->preempt.most, 3);
    EXPECT_EQ(atom_load_rlx(&((struct runtime *)runtime)->preempt.on), !ANNOTATE_THREAD);
    EXPECT_EQ(weft_stop(runtime, NULL, WEFT_FOREVER), 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
