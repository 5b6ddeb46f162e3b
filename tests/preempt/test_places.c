/* Where a process may be interrupted, and where not: in what weft calls back, with traces of weft on its stack, in system calls, under
 * signals of others. */
#include "preempt/loops.h"

#include "preempt/restart.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/time.h>

/* ---- where it is ------------------------------------------------------------------------------------------------------------------- */

/* A process that hands over to a stopped one runs it at once, and is queued behind the others. */
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
    uint64_t before = pre_verdict(PREEMPT_DONE), tried = pre_verdict(PREEMPT_IN_WEFT) + 3;
    while (pre_verdict(PREEMPT_IN_WEFT) < tried)
        for (volatile unsigned i = 0; i < 1000; i++) {}
    EXPECT_EQ(pre_verdict(PREEMPT_DONE), before);
    (void)arg;
    return true;
}
static void receives(void *arg) {
    weft_msg *message;
    (void)arg;
    EXPECT_EQ(weft_recv_match(predicate, NULL, &message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(preempt_not_in_predicates, 60) {
    PREEMPT_TEST_APPLIES();
    rt_start_with(&(weft_config){.policy = "ring", .workers = 1, .seed = 1, .preempt_us = 1000});
    forget();
    weft_pid pid = spawn_marked(receives, NULL); /* and no other process is */
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    victim_spawn(ticks_on, NULL, 0, "ticker");
    rt_wait(&done, 1);
    atom_store_rlx(&over, true);
    rt_wait(&done, 2);
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
    atom_store_rlx(&victim_sink, room[0]);
}
static __attribute__((noinline)) void loops_on_soil(atom_u64 *mine) {
    volatile uintptr_t room[1000];         /* what lies there is left as it was */
    room[500] = (uintptr_t)weft_yield + 5; /* should the compiler have cleaned up */
    loops_until_over(mine);
    atom_store_rlx(&victim_sink, (char)room[0]);
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

/* All of weft's code is known as such, what compilers put aside as seldom used too. */
TEST(preempt_knows_all_of_weft) {
    const void *const code[] = {(const void *)weft_recv, (const void *)weft_yield, (const void *)fiber_give_way,
                                (const void *)stack_take_slow, (const void *)stack_spill};
    for (unsigned i = 0; i < sizeof code / sizeof code[0]; i++)
        EXPECT(pre_is_in_weft((uintptr_t)code[i]));
}

/* ---- in fork ---------------------------------------------------------------------------------------------------------- */

/* Fork holds all locks of malloc meanwhile. If it stopped there no thread could be made: pthread_create waits for one of them. Handlers that were registered before weft's come last before the
 * fork, and first behind it. */
static unsigned fork_times(void) { return test_emulated() ? 4 : 20; }
static atom_u64 forks, steps_in_fork;
static atom_bool fork_lasts;
static void computes_in_fork(void) {
    if (!atom_load_rlx(&fork_lasts)) return;
    uint64_t step = atom_load_rlx(&my_worker->local.counters.steps), refused = pre_verdict(PREEMPT_FORBIDDEN);
    while (pre_verdict(PREEMPT_FORBIDDEN) == refused) {}
    if (atom_load_rlx(&my_worker->local.counters.steps) != step) atom_add_rlx(&steps_in_fork, 1);
}
struct waited {
    pid_t child;
    int *status;
};
static void waits_for_child(void *arg) {
    struct waited *waited = arg;
    while (waitpid(waited->child, waited->status, 0) < 0 && errno == EINTR) {}
}
static void forks_often(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < fork_times(); i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) _exit(7);
        EXPECT_EQ(weft_blocking(waits_for_child, &(struct waited){child, &status}), 0);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        atom_add_rlx(&forks, 1);
    }
    atom_store_rlx(&over, true);
    atom_add_rel(&done, 1);
}
static void case_forks(const char *policy, unsigned workers) {
    pre_start(policy, workers, 1000);
    forget();
    atom_store_rlx(&fork_lasts, true);
    for (uintptr_t i = 0; i < workers + 1; i++)
        victim_spawn(loops, (void *)i, 0, "hog");
    victim_spawn(forks_often, NULL, 64 << 10, "forks");
    rt_wait(&done, workers + 2);
    atom_store_rlx(&fork_lasts, false);
    EXPECT_EQ(atom_load_rlx(&steps_in_fork), 0);
    rt_stop();
}
TEST_WITHIN(preempt_not_in_fork, 60) {
    PREEMPT_TEST_APPLIES();
    pthread_atfork(computes_in_fork, NULL, NULL);
    case_forks("ring", 1);
    case_forks("line", 2);
    EXPECT_EQ(atom_load_rlx(&forks), 2 * fork_times());
}

/* ---- system calls, other signals ---------------------------------------------------------------------------------------------------- */

/* A call that our signal interrupts is begun again: the caller does not hear of it, and it is not shorter. */
static atom_u64 sent;
enum { SENT = 30 };
static void interrupted_calls(void *arg) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event;
    struct timespec nap = {0, 3000000};
    struct timeval wait = {0, 3000};
    fd_set none;
    (void)arg;
    atom_store_rlx(&numbers[0], thread_number());
    FD_ZERO(&none);
    while (atom_load_rlx(&sent) < SENT) {
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
    pre_start("ring", 1, 1000);
    forget();
    victim_spawn(interrupted_calls, NULL, 0, "caller");
    uint64_t before = atom_load_rlx(&restarted_calls);
    while (!atom_load_acq(&over)) { /* sysmon would not: it sleeps */
        if (atom_load_rlx(&numbers[0]) && sys->thread_signal(atom_load_rlx(&numbers[0]), SIGURG) == 0) atom_add_rlx(&sent, 1);
        usleep(6700); /* a call that is begun again has its time from the beginning */
    }
    uint64_t restarted = atom_load_rlx(&restarted_calls) - before;
    printf("note: %lu signals, %lu calls of 3 ms begun again\n", atom_load_rlx(&sent), restarted);
    EXPECT(restarted > 0);
    rt_stop();
}

/* Sysmon does not signal a thread that sleeps in a call. */
static void sleeps_in_calls(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 10; i++)
        usleep(20000);
    atom_add_rel(&done, 1);
}
TEST_WITHIN(preempt_not_sleepers, 60) {
    PREEMPT_TEST_APPLIES();
    pre_start("ring", 1, 500);
    forget();
    victim_spawn(sleeps_in_calls, NULL, 0, "sleeper");
    usleep(5000);
    victim_spawn(ticks, (void *)20, 0, "ticker"); /* on a worker beside */
    rt_wait(&done, 2);
    uint64_t signals = 0, restarted = atom_load_rlx(&restarted_calls);
    for (unsigned i = 0; i < PREEMPT_VERDICTS; i++)
        signals += pre_verdict((enum preempt_verdict)i);
    printf("note: %lu signals, %lu calls begun again\n", signals,
           restarted);       /* a thread that waits for a CPU is signalled, on a busy machine */
    EXPECT(restarted < 100); /* when it goes to sleep, at most; else it would be thousands */
    rt_stop();
}

/* A handler of the program's own, on the process's own stack, in the middle of weft. */
static void slow_handler(int number) {
    (void)number;
    for (volatile unsigned i = 0; i < 30000; i++) {}
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
            for (volatile unsigned j = 0; j < 3000; j++) {}
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
    if (info->si_code == SI_USER) atom_add_rlx(&heard, 1);
}
static _Noreturn void storm(pid_t to) {
    uint64_t sent = 0, start = sys_linux.now();
    while (sys_linux.now() - start < RT_SECOND) {
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
    while (waitpid(child, &status, 0) != child) {}
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
    /* The handler from before is back. */
    sigaction(SIGURG, &(struct sigaction){.sa_sigaction = hears, .sa_flags = SA_RESTART | SA_SIGINFO}, NULL);
    under_storm(true);
    EXPECT(atom_load_rlx(&heard) > 0);
    struct sigaction now;
    sigaction(SIGURG, NULL, &now);
    EXPECT(now.sa_sigaction == hears);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
