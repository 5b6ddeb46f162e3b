/* Threads that set an alarm for themselves as they go on with a stopped process: it interrupts the process in time, and nothing else. */
#include "preempt/loops.h"

#include "preempt/restart.h"

#include <poll.h>

/* No thread has a timer where it would make system calls fail, and some kernels allow no other kind. */
static bool alarms_are(enum sys_alarm_kind kind) {
    sys_alarm alarm;
    pre_alarms = kind;
    if (kind == SYS_ALARM_ANYWHERE) return restart_is_usual();
    if (sys_linux.alarm_make(&alarm, kind, SIGURG) == 0) {
        sys_linux.alarm_drop(&alarm);
        return true;
    }
    printf("note: the kernel allows no alarms that count computing time\n");
    return false;
}
/* A test with each kind. */
#define TEST_WITH_ALARMS(name, body)                                                                                                       \
    TEST_WITHIN(name, 60) {                                                                                                                \
        PREEMPT_TEST_APPLIES();                                                                                                            \
        if (alarms_are(SYS_ALARM_ANYWHERE)) rt_cases(body);                                                                                \
        if (alarms_are(SYS_ALARM_COMPUTING)) rt_cases(body);                                                                               \
    }
#define ALARM_TEST_APPLIES()                                                                                                               \
    PREEMPT_TEST_APPLIES();                                                                                                                \
    if (!alarms_are(SYS_ALARM_ANYWHERE)) return

static uint64_t rung(void) { return atom_load_rlx(&preempt_rung); }

static uint64_t step_now(void) { return atom_load_rlx(&my_worker->local.counters.steps); }

/* Computes until it has been stopped once more, and goes on in another step. */
static __attribute__((noinline)) void compute_until_stopped(void) {
    struct worker *worker = my_worker;
    uint64_t step = step_now();
    while (my_worker == worker && step_now() == step) {}
}

/* ---- beside others ---------------------------------------------------------------------------------------------------------------------- */

/* More of them than workers. How many. */
static unsigned spawn_loops(unsigned workers) {
    unsigned hogs = workers + 2;
    forget();
    for (uintptr_t i = 0; i < hogs; i++)
        victim_spawn(loops, (void *)i, 0, "hog");
    return hogs;
}

static void case_ticker(const char *policy, unsigned workers) {
    uint64_t before = rung();
    pre_start(policy, workers, 1000);
    unsigned hogs = spawn_loops(workers);
    victim_spawn(ticks_on, NULL, 0, "ticker");
    while (rung() < before + 10)
        usleep(1000);
    atom_store_rlx(&over, true);
    rt_wait(&done, hogs + 1);
    printf("note: %s, %u workers: %lu preemptions, %lu by alarms\n", policy, workers, rt_stats().preemptions, rung() - before);
    EXPECT(atom_load_rlx(&sys_script.counts.alarm_make) > 0);
    rt_stop();
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.alarm_drop), atom_load_rlx(&sys_script.counts.alarm_make)); /* the threads have ended */
}
TEST_WITH_ALARMS(alarm_interrupts_loops_beside_a_ticker, case_ticker)

/* Nothing but loops: the slice's end. */
static void case_slices(const char *policy, unsigned workers) {
    uint64_t before = rung();
    pre_start(policy, workers, 1000);
    unsigned hogs = spawn_loops(workers);
    while (rung() < before + 10)
        usleep(1000);
    atom_store_rlx(&over, true);
    rt_wait(&done, hogs);
    rt_stop();
}
TEST_WITH_ALARMS(alarm_interrupts_loops_beside_loops, case_slices)

/* No thread can have one, and each has asked once: all is as without. */
static void case_refused(const char *policy, unsigned workers) {
    uint64_t before = rung();
    pre_start(policy, workers, 1000);
    sys_script.alarm_error[pre_alarms] = -EAGAIN; /* also where one was made as a try */
    unsigned hogs = spawn_loops(workers);
    for (unsigned i = 0; i < hogs; i++)
        rt_wait(&rounds[i], 1);
    victim_spawn(ticks, (void *)10, 0, "ticker");
    rt_wait(&done, hogs + 1);
    EXPECT(rt_stats().preemptions >= 2);
    EXPECT_EQ(rung(), before);
    EXPECT(atom_load_rlx(&sys_script.counts.alarm_refused) > 0);
    EXPECT(atom_load_rlx(&sys_script.counts.alarm_refused) <= atom_load_rlx(&sys_script.counts.thread_start));
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.alarm_set), 0);
    rt_stop();
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.alarm_drop), atom_load_rlx(&sys_script.counts.alarm_make));
}
TEST_WITH_ALARMS(alarm_refused, case_refused)

/* The kernel has none that count computing time, and timers were not asked for: no thread tries. */
static void case_not_allowed(const char *policy, unsigned workers) {
    pre_alarms = SYS_ALARM_NONE;
    while (pre_alarms_next() != SYS_ALARM_ANYWHERE) {} /* the next has none */
    pre_start(policy, workers, 1000);
    unsigned hogs = spawn_loops(workers);
    victim_spawn(ticks, (void *)10, 0, "ticker");
    rt_wait(&done, hogs + 1);
    rt_stop();
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.alarm_refused), 1);
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.alarm_make), 0);
}
TEST_WITHIN(alarm_not_allowed, 60) {
    PREEMPT_TEST_APPLIES();
    rt_cases(case_not_allowed);
}

/* They would take more than they are for. */
TEST_WITHIN(alarm_not_with_short_slices, 60) {
    PREEMPT_TEST_APPLIES();
    if (!alarms_are(SYS_ALARM_COMPUTING)) return;
    pre_start("ring", 2, 100);
    unsigned hogs = spawn_loops(2);
    victim_spawn(ticks, (void *)10, 0, "ticker");
    rt_wait(&done, hogs + 1);
    rt_stop();
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.alarm_make), 0);
}

/* ---- in a system call that sleeps ------------------------------------------------------------------------------------------------------- */

enum { SLEEPS = 5, SLEEP_MS = 20 }; /* a slice is 1 ms */

/* Most alarms that were set when the process went on ring in the call; it has its result and its time all the same. */
static void sleeper(void *arg) {
    uint64_t calls = atom_load_rlx(&restarted_calls);
    bool polls = arg != NULL;
    for (unsigned i = 0; i < SLEEPS || atom_load_rlx(&restarted_calls) == calls; i++) {
        compute_until_stopped();
        struct timespec time = {0, SLEEP_MS * 1000 * 1000};
        uint64_t before = sys_linux.now();
        EXPECT_EQ(polls ? poll(NULL, 0, SLEEP_MS) : nanosleep(&time, NULL), 0);
        EXPECT(sys_linux.now() >= before + (uint64_t)SLEEP_MS * 1000 * 1000);
    }
    atom_store_rlx(&over, true);
    atom_add_rel(&done, 1);
}
static void case_sleeper(const char *policy, bool polls) {
    uint64_t calls = atom_load_rlx(&restarted_calls);
    pre_start(policy, 1, 1000);
    forget();
    victim_spawn(loops, (void *)0, 0, "hog");
    victim_spawn(ticks_on, NULL, 0, "ticker");
    victim_spawn(sleeper, polls ? &over : NULL, 64 << 10, "sleeper");
    rt_wait(&done, 3);
    printf("note: %s: %lu calls begun again\n", policy, atom_load_rlx(&restarted_calls) - calls);
    rt_stop();
}
static void case_sleepers(const char *policy, unsigned workers) {
    (void)workers;
    case_sleeper(policy, false);
    case_sleeper(policy, true);
}
TEST_WITHIN(alarm_in_a_call_that_sleeps_lets_it_end, 60) {
    ALARM_TEST_APPLIES();
    rt_cases(case_sleepers);
}

/* In a call that weft knows of no alarm rings: a transfer is not cut short. */
enum { PIPED = 500000 };
static int piped[2];
static void *drains(void *unused) {
    static char some[16 << 10];
    (void)unused;
    while (read(piped[0], some, sizeof some) > 0)
        usleep(200);
    return NULL;
}
static void writes_all(void *arg) {
    static char all[PIPED];
    *(ssize_t *)arg = write(piped[1], all, sizeof all);
}
static void is_never_abandoned(void *unused) {
    (void)unused;
    EXPECT(!"abandoned");
}
/* At once; in a later step than the alarm was set for; on a thread that carries the call, and may have run the step. */
static void writer(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < SLEEPS + 1; i++) {
        ssize_t wrote = 0;
        compute_until_stopped();
        if (i % 3 == 1) weft_yield();
        EXPECT_EQ(
            i % 3 == 2 ? weft_blocking_until(writes_all, &wrote, is_never_abandoned, WEFT_FOREVER) : weft_blocking(writes_all, &wrote), 0);
        EXPECT_EQ(wrote, PIPED);
    }
    atom_store_rlx(&over, true);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(alarm_does_not_ring_in_weft_blocking, 60) {
    ALARM_TEST_APPLIES();
    pthread_t reader;
    EXPECT_EQ(pipe(piped), 0);
    EXPECT_EQ(pthread_create(&reader, NULL, drains, NULL), 0);
    pre_start("ring", 1, 1000);
    forget();
    victim_spawn(loops, (void *)0, 0, "hog");
    victim_spawn(ticks_on, NULL, 0, "ticker");
    victim_spawn(writer, NULL, 64 << 10, "writer");
    rt_wait(&done, 3);
    rt_stop();
    close(piped[1]);
    pthread_join(reader, NULL);
}

/* ---- not meant -------------------------------------------------------------------------------------------------------------------------- */

static uint64_t signals(void) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < PREEMPT_VERDICTS; i++)
        sum += pre_verdict((enum preempt_verdict)i);
    return sum;
}

/* An alarm that rings soon, in the process that calls this. The worker's notes say which step it was set for, since when that has lasted, and when it should ring.
 * True: the process was stopped by it. */
static __attribute__((noinline)) bool rings(sys_alarm *alarm, uint64_t steps, uint64_t since, uint64_t at) {
    struct worker *worker = my_worker;
    uint64_t before = rung(), seen = signals();
    worker->alarm.since = since;
    worker->alarm.at = at;
    worker->alarm.steps = steps;
    sys->alarm_set(alarm, sys->now() + RT_MS / 10); /* not in that call, where the process would not be stopped */
    while (signals() == seen) {}
    return rung() != before;
}
/* The thread sets none itself. */
static sys_alarm *takes_alarm(void) {
    EXPECT_EQ(sys_linux.alarm_make(&my_thread->alarm, pre_alarms, SIGURG), 0);
    my_thread->alarm_refused = true;
    return &my_thread->alarm;
}
static void gives_alarm_back(sys_alarm *alarm) { sys_linux.alarm_drop(alarm); }
static void tries(void *arg) {
    enum { TIMES = 20, LATER = 1000 };
    (void)arg;
    sys_alarm *alarm = takes_alarm();
    for (unsigned i = 0; i < TIMES; i++) {
        uint64_t now = sys->now(), long_ago = now - RT_SECOND;
        EXPECT(!rings(alarm, step_now() + 1000000, long_ago, long_ago));
        EXPECT(!rings(alarm, step_now() - 1, long_ago, long_ago));
        EXPECT(!rings(alarm, step_now(), long_ago, now + LATER * RT_SECOND));
        /* Sysmon may have the process stopped between the notes and the alarm. */
        while (!rings(alarm, step_now(), long_ago, long_ago)) {}
    }
    gives_alarm_back(alarm);
    atom_store_rlx(&over, true);
    atom_add_rel(&done, 1);
}
static void yields(void *arg) {
    (void)arg;
    while (!atom_load_rlx(&over))
        weft_yield();
    atom_add_rel(&done, 1);
}
static void case_not_meant(const char *policy, unsigned workers) {
    (void)workers;
    pre_start(policy, 1, 10000);
    forget();
    victim_spawn(tries, NULL, 0, "tries");
    victim_spawn(yields, NULL, 0, "waits");
    rt_wait(&done, 2);
    rt_stop();
}
TEST_WITH_ALARMS(alarm_counts_only_in_its_step_and_from_its_time_on, case_not_meant)

/* Nor in a system call, which goes on, though a process waits and its slice is over. */
static int ends[2];
static atom_bool inside;
static void reads(void *arg) {
    char byte = 0;
    (void)arg;
    sys_alarm *alarm = takes_alarm();
    struct worker *worker = my_worker;
    uint64_t before = rung();
    worker->alarm.since = worker->alarm.at = sys->now() - RT_SECOND;
    worker->alarm.steps = step_now();
    sys->alarm_set(alarm, sys->now() + 2 * RT_MS);
    atom_store_rlx(&inside, true);
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    EXPECT_EQ(rung(), before);
    EXPECT_EQ(byte, 'x');
    gives_alarm_back(alarm);
    atom_store_rlx(&over, true);
    atom_add_rel(&done, 1);
}
static void case_reads(const char *policy, unsigned workers) {
    (void)workers;
    pre_start(policy, 1, 10000);
    forget();
    EXPECT_EQ(pipe(ends), 0);
    uint64_t before = pre_verdict(PREEMPT_NOT_ASKED);
    victim_spawn(reads, NULL, 64 << 10, "reads");
    victim_spawn(yields, NULL, 0, "waits");
    while (!atom_load_rlx(&inside) || pre_verdict(PREEMPT_NOT_ASKED) == before)
        usleep(100);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    rt_wait(&done, 2);
    rt_stop();
    atom_store_rlx(&inside, false);
    close(ends[0]);
    close(ends[1]);
}
TEST_WITHIN(alarm_does_not_count_in_a_system_call, 60) {
    ALARM_TEST_APPLIES();
    rt_cases(case_reads);
}

/* No process waits: it is set again, and stops nothing. */
static void alone(void *arg) {
    (void)arg;
    sys_alarm *alarm = takes_alarm();
    uint64_t set = atom_load_rlx(&sys_script.counts.alarm_set);
    EXPECT(!rings(alarm, step_now(), sys->now(), 1)); /* the end of the slice is still to come */
    while (atom_load_rlx(&sys_script.counts.alarm_set) < set + 2) {}
    gives_alarm_back(alarm);
    atom_add_rel(&done, 1);
}
static void case_alone(const char *policy, unsigned workers) {
    (void)workers;
    pre_start(policy, 1, 10000);
    forget();
    victim_spawn(alone, NULL, 0, "alone");
    rt_wait(&done, 1);
    EXPECT_EQ(rt_stats().preemptions, 0);
    rt_stop();
}
TEST_WITH_ALARMS(alarm_is_set_again_while_no_process_waits, case_alone)

int main(int argc, char **argv) { return test_main(argc, argv); }
