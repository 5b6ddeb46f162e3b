/* Processes that do not give way are interrupted: they go on where they were, and the others go on meanwhile. */
#include "preempt/preempt_helpers.h"

#include "sched/preempt.h"
#include "sched/thread.h"

#include <weft/blocking.h>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { HOGS_MOST = 32 };

static atom_u64 done, rounds[HOGS_MOST];
static atom_u32 numbers[HOGS_MOST]; /* of their threads */
static atom_bool over;

static uint32_t thread_number(void) { return (uint32_t)syscall(SYS_gettid); }

static void forget(void) {
    atom_store_rlx(&done, 0);
    atom_store_rlx(&over, false);
    for (unsigned i = 0; i < HOGS_MOST; i++) {
        atom_store_rlx(&rounds[i], 0);
        atom_store_rlx(&numbers[i], 0);
    }
}

/* Without a single call, once it has begun. */
static __attribute__((noinline)) void loops_until_over(atom_u64 *mine) {
    uint64_t count = 0;
    while (!atom_load_rlx(&over))
        atom_store_rlx(mine, ++count);
}
static void loops(void *arg) {
    uintptr_t which = (uintptr_t)arg;
    uint32_t before = thread_number();
    atom_store_rlx(&numbers[which], before);
    errno = (int)which + 1000;
    loops_until_over(&rounds[which]);
    EXPECT_EQ(errno, (int)which + 1000);
    EXPECT_EQ(thread_number(), before); /* interrupted or not, it has stayed there */
    atom_add_rel(&done, 1);
}
static weft_pid spawn_marked(weft_entry entry, void *arg) {
    weft_pid pid = WEFT_NOBODY;
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_PREEMPT, .name = "marked"};
    EXPECT_EQ(weft_spawn_with(&pid, entry, arg, &options), 0);
    return pid;
}

static void ticks(void *arg) {
    unsigned times = (unsigned)(uintptr_t)arg;
    for (unsigned i = 0; i < times; i++)
        EXPECT_EQ(weft_sleep(2 * WEFT_MILLISECOND), 0);
    atom_store_rlx(&over, true);
    atom_add_rel(&done, 1);
}

static void ticks_on(void *arg) {
    (void)arg;
    while (!atom_load_rlx(&over))
        EXPECT_EQ(weft_sleep(2 * WEFT_MILLISECOND), 0);
    atom_add_rel(&done, 1);
}

static struct runtime *runtime_now(void) { return (struct runtime *)rt.runtime; }

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
    EXPECT_EQ(rt_stats().displaced, 0);
    rt_stop();
}
TEST_WITHIN(preempt_endless_loops, 60) {
    PREEMPT_TEST_APPLIES();
    rt_cases(case_loops);
    pre_note("endless loops");
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
    uint64_t start = weft_now(), preemptions = rt_stats().preemptions;
    for (unsigned i = 0; i < HOGS; i++)
        EXPECT_EQ(sys->thread_time(atom_load_rlx(&numbers[i]), &began[i]), 0);
    while (weft_now() < start + RT_SECOND) {
        rt_pause(RT_MS);
        if (atom_load_rlx(&runtime_now()->extra) > extra) extra = atom_load_rlx(&runtime_now()->extra);
    }
    for (unsigned i = 0; i < HOGS; i++) {
        EXPECT_EQ(sys->thread_time(atom_load_rlx(&numbers[i]), &had[i]), 0);
        had[i] -= began[i];
        sum += had[i];
    }
    double wall = (double)(weft_now() - start);
    printf("note: in %.2f s the loops had %.2f s of CPU: %.2f, %.2f, %.2f, %.2f; %lu preemptions; at most %u workers beside\n", wall / 1e9,
           (double)sum / 1e9, (double)had[0] / 1e9, (double)had[1] / 1e9, (double)had[2] / 1e9, (double)had[3] / 1e9,
           rt_stats().preemptions - preemptions, extra);
    EXPECT((double)sum < wall * 1.1);
    EXPECT(rt_stats().preemptions - preemptions > 10);
    for (unsigned i = 0; i < HOGS; i++)
        EXPECT((double)had[i] > (double)sum / HOGS / 4); /* nobody is forgotten */
    atom_store_rlx(&over, true);
    rt_wait(&done, HOGS);
    rt_stop();
}

/* ---- who is, and who is not ------------------------------------------------------------------------------------------------------ */

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

/* Not between these: nobody else runs on the only worker, as long as there is none beside it. */
static atom_bool inside;
static void passage(void *arg) {
    (void)arg;
    weft_nopreempt_begin();
    weft_nopreempt_begin();
    weft_nopreempt_end();
    atom_store_rlx(&inside, true);
    uint64_t end = weft_now() + 30 * RT_MS, before = rt_stats().preemptions;
    while (weft_now() < end) {
    }
    EXPECT_EQ(rt_stats().preemptions, before);
    EXPECT(pre_verdict(PREEMPT_FORBIDDEN) > 0);
    weft_nopreempt_end();
    while (rt_stats().preemptions == before) { /* and now it is */
    }
    atom_store_rlx(&over, true);
    atom_add_rel(&done, 1);
}
static void case_passage(const char *policy, unsigned workers) {
    (void)workers;
    pre_start(policy, 1, 1000);
    forget();
    atom_store_rlx(&inside, false);
    victim_spawn(passage, NULL, 0, "passage");
    while (!atom_load_rlx(&inside))
        usleep(100);
    victim_spawn(ticks_on, NULL, 0, "ticker"); /* somebody waits */
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
    weft_out_status(out, WEFT_DONE);
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
    rt_start_with(&(weft_config){.policy = policy, .workers = workers > 2 ? 2 : workers, .preempt = true, .preempt_us = 1000, .max_displaced = 2});
    forget();
    for (uintptr_t i = 0; i < HOGS; i++)
        victim_spawn(loops, (void *)i, 0, "hog");
    victim_spawn(ticks, (void *)30, 0, "ticker");
    while (atom_load_acq(&done) < HOGS + 1) {
        EXPECT(rt_stats().displaced <= 2);
        usleep(50);
    }
    rt_stop();
}
TEST_WITHIN(preempt_at_most_so_many, 60) {
    PREEMPT_TEST_APPLIES();
    rt_cases(case_cap);
    pre_note("cap of 2");
}

/* ---- where it is ------------------------------------------------------------------------------------------------------------------- */

/* Who hands over to one that is stopped runs it at once, and is queued behind the others. */
static void loops_then_receives(void *arg) {
    weft_msg *message;
    loops_until_over(&rounds[(uintptr_t)arg]);
    while (weft_recv(&message, 0) == 0) {
        atom_add_rlx(&rounds[30], 1);
        weft_msg_free(message);
    }
    atom_add_rel(&done, 1);
}
static void hands_over(void *arg) {
    weft_pid *to = arg;
    for (unsigned i = 0; i < 50; i++) {
        EXPECT_EQ(weft_handoff(to[i % 3], i, NULL, 0), 0);
        EXPECT_EQ(weft_send(to[i % 3], i, NULL, 0), 0);
        weft_sleep(300 * WEFT_MICROSECOND);
    }
    atom_store_rlx(&over, true);
    atom_add_rel(&done, 1);
}
static void case_handoff(const char *policy, unsigned workers) {
    weft_pid hogs[3];
    pre_start(policy, workers > 2 ? 2 : workers, 500);
    forget();
    for (uintptr_t i = 0; i < 3; i++)
        hogs[i] = victim_spawn(loops_then_receives, (void *)i, 0, "hog");
    victim_spawn(hands_over, hogs, 0, "hands over");
    rt_wait(&done, 4);
    EXPECT_EQ(atom_load_rlx(&rounds[30]), 100);
    rt_stop();
}
TEST_WITHIN(preempt_and_handoff, 60) {
    PREEMPT_TEST_APPLIES();
    rt_cases(case_handoff);
    pre_note("hand-off");
}

/* What weft calls back may wait, so it may be interrupted too. */
static int once_loops(void *arg) {
    loops_until_over(arg);
    return 0;
}
static void in_deferred(void *arg) {
    EXPECT_EQ(weft_defer((void (*)(void *))loops_until_over, arg), 0);
    atom_add_rel(&done, 1);
}
static void in_once(void *arg) {
    static weft_once once = WEFT_ONCE_INIT;
    memset(&once, 0, sizeof once);
    EXPECT_EQ(weft_once_do(&once, once_loops, arg, WEFT_FOREVER), 0);
    atom_add_rel(&done, 1);
}
static void in_big(void *arg) {
    EXPECT_EQ(weft_call_big((void (*)(void *))loops_until_over, arg, 1 << 20), 0);
    atom_add_rel(&done, 1);
}
WEFT_VOID_TASK(task_loops, atom_u64 *, mine) { loops_until_over(mine); }
WEFT_VOID_TASK(task_forks, atom_u64 *, mine, atom_u64 *, other) {
    WEFT_FORK(task_loops, other);
    loops_until_over(mine);
    WEFT_JOIN(task_loops);
}
static void in_tasks(void *arg) {
    atom_u64 *mine = arg;
    WEFT_RUN(task_forks, mine, mine + 1);
    atom_add_rel(&done, 1);
}
static void case_callouts(const char *policy, unsigned workers) {
    static const weft_entry entries[] = {in_deferred, in_once, in_big, in_tasks};
    for (unsigned i = 0; i < 4; i++) {
        pre_start(policy, workers > 2 ? 2 : workers, 1000);
        forget();
        uint64_t before = pre_verdict(PREEMPT_DONE);
        victim_spawn(entries[i], &rounds[0], 0, "called back");
        if (workers > 1) victim_spawn(loops, (void *)8, 0, "hog");
        rt_wait(&rounds[0], 1);
        victim_spawn(ticks, (void *)10, 0, "ticker");
        while (pre_verdict(PREEMPT_DONE) == before)
            usleep(100);
        rt_wait(&done, workers > 1 ? 3 : 2);
        rt_stop();
    }
}
TEST_WITHIN(preempt_in_what_weft_calls, 60) {
    PREEMPT_TEST_APPLIES();
    rt_cases(case_callouts);
    pre_note("called back");
}

/* Not in a predicate, which must not wait. */
static bool predicate(const weft_msg *message, void *arg) {
    (void)message;
    uint64_t end = weft_now() + 20 * RT_MS, before = pre_verdict(PREEMPT_DONE);
    while (weft_now() < end)
        for (volatile unsigned i = 0; i < 1000; i++) {
        }
    EXPECT_EQ(pre_verdict(PREEMPT_DONE), before);
    (void)arg;
    return true;
}
static void receives(void *arg) {
    weft_msg *message;
    (void)arg;
    EXPECT_EQ(weft_recv_match(&message, predicate, NULL, WEFT_FOREVER), 0);
    weft_msg_free(message);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(preempt_not_in_predicates, 60) {
    PREEMPT_TEST_APPLIES();
    pre_start("ring", 1, 1000);
    forget();
    weft_pid pid = victim_spawn(receives, NULL, 0, "receiver");
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    victim_spawn(ticks, (void *)10, 0, "ticker");
    rt_wait(&done, 2);
    EXPECT(pre_verdict(PREEMPT_IN_WEFT) > 0);
    rt_stop();
}

/* Where calls of weft have left their return addresses on the stack, the frames are counted. */
static __attribute__((noinline)) void soils(unsigned depth) {
    volatile char room[100];
    room[0] = (char)depth;
    if (depth > 0) soils(depth - 1);
    else
        for (unsigned i = 0; i < 200; i++)
            weft_yield();
    victim_sink = room[0];
}
static __attribute__((noinline)) void loops_on_soil(atom_u64 *mine) {
    volatile uintptr_t room[1000]; /* what lies there is left as it was */
    room[500] = (uintptr_t)weft_yield + 5; /* should the compiler have cleaned up */
    loops_until_over(mine);
    victim_sink = (char)room[0];
}
static void on_soil(void *arg) {
    weft_sleep(100 * WEFT_MICROSECOND);
    soils(30);
    loops_on_soil(arg);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(preempt_with_traces_of_weft_on_the_stack, 60) {
    PREEMPT_TEST_APPLIES();
    pre_start("ring", 1, 1000);
    forget();
    victim_spawn(on_soil, &rounds[0], 0, "soiled");
    rt_wait(&rounds[0], 1);
    victim_spawn(ticks, (void *)20, 0, "ticker");
    rt_wait(&done, 2);
    pre_note("traces");
    EXPECT(atom_load_rlx(&preempt_walked) > 0);
    rt_stop();
}

/* ---- system calls, other signals ---------------------------------------------------------------------------------------------------- */

/* A call that our signal interrupts is begun again: nobody hears of it, and it is not shorter. */
static void interrupted_calls(void *arg) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event;
    struct timespec nap = {0, 3000000};
    struct timeval wait = {0, 3000};
    fd_set none;
    (void)arg;
    atom_store_rlx(&numbers[0], thread_number());
    FD_ZERO(&none);
    for (unsigned i = 0; i < 20; i++) {
        EXPECT_EQ(nanosleep(&nap, NULL), 0);
        EXPECT_EQ(poll(NULL, 0, 3), 0);
        EXPECT_EQ(epoll_wait(epoll, &event, 1, 3), 0);
        EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL), 0);
        EXPECT_EQ(usleep(3000), 0);
        wait.tv_usec = 3000;
        EXPECT_EQ(select(1, &none, NULL, NULL, &wait), 0);
        EXPECT_EQ(ppoll(NULL, 0, &nap, NULL), 0);
        EXPECT_EQ(pselect(1, &none, NULL, NULL, &nap, NULL), 0);
    }
    close(epoll);
    atom_store_rel(&over, true);
}
TEST_WITHIN(preempt_calls_are_begun_again, 60) {
    PREEMPT_TEST_APPLIES();
#if !defined(__x86_64__)
    printf("note: for x86-64 only\n");
    return;
#endif
    pre_start("ring", 1, 1000);
    forget();
    victim_spawn(interrupted_calls, NULL, 0, "caller");
    uint64_t sent = 0;
    while (!atom_load_acq(&over)) { /* the monitor would not: it sleeps */
        if (atom_load_rlx(&numbers[0]) && sys->thread_signal(atom_load_rlx(&numbers[0]), SIGURG) == 0) sent++;
        usleep(6700); /* a call that is begun again has its time from the beginning */
    }
    printf("note: %lu signals into 160 calls of 3 ms\n", sent);
    EXPECT(sent > 30);
    rt_stop();
}

/* The monitor does not signal a thread that sleeps in a call. */
static void sleeps_in_calls(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 10; i++)
        usleep(20000);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(preempt_not_who_sleeps, 60) {
    PREEMPT_TEST_APPLIES();
    pre_start("ring", 1, 500);
    forget();
    victim_spawn(sleeps_in_calls, NULL, 0, "sleeper");
    usleep(5000);
    victim_spawn(ticks, (void *)20, 0, "ticker"); /* on a worker beside */
    rt_wait(&done, 2);
    uint64_t signals = 0;
    for (unsigned i = 0; i < PREEMPT_VERDICTS; i++)
        signals += pre_verdict((enum preempt_verdict)i);
    printf("note: %lu signals\n", signals);
    EXPECT(signals <= 10); /* when it goes to sleep, at most */
    rt_stop();
}

/* A handler of the program's own, on the process's own stack, in the middle of weft. */
static void slow_handler(int number) {
    (void)number;
    for (volatile unsigned i = 0; i < 30000; i++) {
    }
}
static void yields(void *arg) {
    (void)arg;
    while (!atom_load_rlx(&over)) {
        weft_yield();
        weft_pid child = weft_spawn(sleeps_in_calls, NULL);
        weft_cancel(child);
        weft_sleep(50 * WEFT_MICROSECOND);
    }
    atom_add_rel(&done, 1);
}
static void short_lived(void *arg) {
    (void)arg;
    weft_yield();
}
static void spawns(void *arg) {
    (void)arg;
    while (!atom_load_rlx(&over)) {
        weft_spawn(short_lived, NULL);
        weft_yield();
    }
    atom_add_rel(&done, 1);
}
TEST_WITHIN(preempt_not_in_handlers_above_weft, 60) {
    PREEMPT_TEST_APPLIES();
    (void)yields;
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = slow_handler, .sa_flags = SA_RESTART}, NULL);
    pre_start("ring", 2, 50);
    forget();
    for (unsigned i = 0; i < 4; i++)
        victim_spawn(spawns, NULL, 0, "spawner");
    uint64_t end = weft_now() + 1500 * RT_MS;
    while (weft_now() < end) {
        for (unsigned i = 0; i < 2; i++) {
            struct worker *worker = atom_load_rlx(&runtime_now()->workers[i]);
            sys->thread_signal(atom_load_rlx(&worker->driver), SIGUSR1);
            for (volatile unsigned j = 0; j < 3000; j++) {
            }
            preempt_evict(worker);
        }
        usleep(20);
    }
    atom_store_rlx(&over, true);
    rt_wait(&done, 4);
    pre_note("handlers");
    rt_stop();
}

/* Many a second from outside. Without preemption nothing is installed, and nothing happens. */
static atom_u64 heard;
static void hears(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    if (info->si_code != SI_TKILL) atom_add_rlx(&heard, 1);
}
static _Noreturn void storm(pid_t to) {
    uint64_t sent = 0, start = sys_linux.now(), elapsed;
    while ((elapsed = sys_linux.now() - start) < RT_SECOND) {
        if (kill(to, SIGURG) != 0) break;
        sent++;
        while (sys_linux.now() - start < sent * 10000) { /* 100,000 a second */
        }
    }
    _exit(sent > 1000 ? 0 : 1); /* a busy machine may not send as many */
}
static void under_storm(bool preempt) {
    int status;
    rt_start_with(&(weft_config){.policy = "ring", .workers = 2, .preempt = preempt, .preempt_us = 200});
    forget();
    pid_t self = getpid(), child = fork();
    EXPECT(child >= 0);
    if (child == 0) storm(self);
    for (uintptr_t i = 0; i < 4; i++)
        victim_spawn(loops, (void *)i, 0, "hog");
    victim_spawn(spawns, NULL, 0, "spawner");
    while (waitpid(child, &status, 0) != child) {
    }
    atom_store_rlx(&over, true);
    rt_wait(&done, 5);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    printf("note: a storm %s preemption: %lu preemptions, %lu signals came to the program's own handler\n", preempt ? "with" : "without",
           rt_stats().preemptions, atom_load_rlx(&heard));
    rt_stop();
}
TEST_WITHIN(preempt_storm, 60) {
    PREEMPT_TEST_APPLIES();
    under_storm(true);
    under_storm(false);
    EXPECT_EQ(atom_load_rlx(&heard), 0);
    /* Who had a handler before still has it. */
    sigaction(SIGURG, &(struct sigaction){.sa_sigaction = hears, .sa_flags = SA_RESTART | SA_SIGINFO}, NULL);
    under_storm(true);
    EXPECT(atom_load_rlx(&heard) > 0);
    struct sigaction now;
    sigaction(SIGURG, NULL, &now);
    EXPECT(now.sa_sigaction == hears);
}

/* ---- locks, stopping, faults ------------------------------------------------------------------------------------------------------------ */

/* Whoever waits for a mutex of one that was interrupted gets it. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void locks(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 5; i++) {
        pthread_mutex_lock(&mutex);
        uint64_t end = weft_now() + 3 * RT_MS;
        while (weft_now() < end)
            for (volatile unsigned j = 0; j < 1000; j++) {
            }
        pthread_mutex_unlock(&mutex);
    }
    atom_add_rel(&done, 1);
}
static void case_locks(const char *policy, unsigned workers) {
    pre_start(policy, workers, 1000);
    forget();
    for (unsigned i = 0; i < 4; i++)
        victim_spawn(locks, NULL, 0, "locker");
    rt_wait(&done, 4);
    rt_stop();
}
TEST_WITHIN(preempt_with_a_mutex, 100) {
    PREEMPT_TEST_APPLIES();
    rt_cases(case_locks);
    pre_note("mutex");
}

/* A runtime stops though there are loops that never end. They are named, and sleep for ever. */
static void stops(void) {
    weft_stop_report report;
    pre_start("ring", 2, 1000);
    forget();
    weft_pid hogs[5];
    for (uintptr_t i = 0; i < 5; i++)
        hogs[i] = victim_spawn(loops, (void *)i, 0, "hog");
    for (unsigned i = 0; i < 5; i++)
        rt_wait(&rounds[i], 1);
    EXPECT_EQ(weft_stop(rt.runtime, weft_now() + 50 * RT_MS, &report), WEFT_ETIMEDOUT);
    EXPECT_EQ(report.left, 5);
    for (unsigned i = 0; i < 5; i++) {
        bool named = false;
        for (unsigned j = 0; j < 5; j++)
            named |= report.first[j] == hogs[i];
        EXPECT(named);
    }
    rt_watch_end();
    uint64_t before = 0, after = 0;
    for (unsigned i = 0; i < 5; i++)
        before += atom_load_rlx(&rounds[i]);
    usleep(20000);
    for (unsigned i = 0; i < 5; i++)
        after += atom_load_rlx(&rounds[i]);
    EXPECT_EQ(before, after);
}
static void *allocates_a_little(void *arg) {
    for (unsigned i = 0; i < 200; i++)
        free(malloc(100 * i + 5000));
    return arg;
}
/* They were in malloc and printf most of the time, and hold no lock of these when they sleep for ever. */
static void allocates(void *arg) {
    char text[64];
    (void)arg;
    for (;;) {
        void *volatile block = malloc(5000);
        snprintf(text, sizeof text, "%p %f", block, 0.1);
        fputs(text, stdout);
        free(block);
        atom_add_rlx(&rounds[0], 1);
    }
}
static void stops_in_malloc(void) {
    weft_stop_report report;
    if (!freopen("/dev/null", "w", stdout)) _exit(9);
    pre_start("ring", 2, 200);
    forget();
    for (unsigned i = 0; i < 6; i++)
        victim_spawn(allocates, NULL, 256 << 10, "allocator");
    rt_wait(&rounds[0], 1000);
    uint64_t began = weft_now();
    EXPECT_EQ(weft_stop(rt.runtime, weft_now() + 50 * RT_MS, &report), WEFT_ETIMEDOUT);
    EXPECT_EQ(report.left, 6);
    rt_watch_end();
    fprintf(stderr, "stopped in %.0f ms\n", (double)(weft_now() - began) / 1e6);
    alarm(20);
    pthread_t threads[20]; /* who would come to whatever part of the heap those were in */
    for (unsigned i = 0; i < 20; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, allocates_a_little, NULL), 0);
    for (unsigned i = 0; i < 20; i++)
        EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    exit(0);
}
TEST_WITHIN(preempt_stop_with_loops_in_malloc, 100) {
    PREEMPT_TEST_APPLIES();
    if (SANITIZED) {
        printf("note: the sanitizer's own malloc is in the program\n");
        return;
    }
    struct child result;
    for (unsigned i = 0; i < 5; i++) {
        child_run(&result, stops_in_malloc);
        EXPECT_EXIT(&result, 0);
        printf("note: %s", result.said);
    }
}
TEST_WITHIN(preempt_stop_with_endless_loops, 60) {
    PREEMPT_TEST_APPLIES();
    struct child result;
    child_run(&result, stops);
    EXPECT_EXIT(&result, 0);
    printf("note: %s", result.said);
}

/* No thread is to be had: they run on as without preemption. */
TEST_WITHIN(preempt_without_threads, 60) {
    PREEMPT_TEST_APPLIES();
    pre_start("ring", 2, 1000);
    forget();
    usleep(20000);
    sys_script.threads_limited = true;
    sys_script.threads_allowed = 0;
    for (uintptr_t i = 0; i < 8; i++)
        victim_spawn(loops, (void *)i, 0, "hog");
    usleep(100000);
    sys_script.threads_limited = false;
    for (unsigned i = 0; i < 8; i++)
        rt_wait(&rounds[i], 1);
    atom_store_rlx(&over, true);
    rt_wait(&done, 8);
    pre_note("without threads");
    rt_stop();
}

/* Values that make no sense. */
TEST(preempt_settings) {
    weft_runtime *runtime;
    EXPECT_EQ(weft_start(&runtime, &(weft_config){.preempt_us = 10001}), WEFT_EINVAL);
    EXPECT_EQ(weft_start(&runtime, &(weft_config){.max_displaced = 65}), WEFT_EINVAL);
    setenv("WEFT_PREEMPT_US", "10", 1);
    EXPECT_EQ(weft_start(&runtime, NULL), WEFT_EINVAL);
    setenv("WEFT_PREEMPT_US", "500", 1);
    setenv("WEFT_PREEMPT", "1", 1);
    setenv("WEFT_MAX_DISPLACED", "3", 1);
    EXPECT_EQ(weft_start(&runtime, NULL), 0);
    EXPECT_EQ(((struct runtime *)runtime)->preempt.slice, 500000);
    EXPECT_EQ(((struct runtime *)runtime)->preempt.most, 3);
    EXPECT_EQ(atom_load_rlx(&((struct runtime *)runtime)->preempt.on), !ANNOTATE_THREAD);
    EXPECT_EQ(weft_stop(runtime, WEFT_FOREVER, NULL), 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
