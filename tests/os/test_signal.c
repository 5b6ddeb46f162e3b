/* Signals as messages. */
#include "net_helpers.h"
#include "sanitized.h"

#include <weft/signal.h>

#include "fiber/altstack.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void hears(weft_signal *signal, uint64_t tag) {
    weft_msg *message;
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_msg_tag(message), tag);
    EXPECT_EQ(weft_msg_len(message), sizeof *signal);
    memcpy(signal, weft_msg_data(message), sizeof *signal);
    weft_msg_free(message);
}
static void is_default(int number) { /* at once: nothing of the watching is left */
    struct sigaction now;
    EXPECT_EQ(sigaction(number, NULL, &now), 0);
    EXPECT(now.sa_handler == SIG_DFL);
}
static void watches(void *arg) {
    (void)arg;
    weft_signal got;
    EXPECT_EQ(weft_signal_watch(SIGUSR1, weft_self(), 5), 0);
    EXPECT_EQ(weft_signal_watch(SIGUSR1, weft_self(), 6), WEFT_EBUSY);
    EXPECT_EQ(weft_signal_watch(SIGTERM, weft_self(), 6), 0);
    for (unsigned i = 0; i < 20; i++) {
        /* To whichever thread; the thread sanitizer holds such signals back until that thread makes a call that it knows to block. */
        EXPECT_EQ(RT_SLOW == 8 ? raise(SIGUSR1) : kill(getpid(), SIGUSR1), 0);
        hears(&got, 5);
        EXPECT_EQ(got.number, SIGUSR1);
        EXPECT_EQ(got.count, 1);
    }
    EXPECT_EQ(raise(SIGTERM), 0);
    hears(&got, 6);
    EXPECT_EQ(got.number, SIGTERM);
    uint64_t count = 0;
    for (unsigned i = 0; i < 100; i++)
        EXPECT_EQ(raise(SIGUSR1), 0);
    while (count < 100) {
        hears(&got, 5);
        count += got.count;
    }
    EXPECT_EQ(count, 100);
    EXPECT_EQ(weft_signal_unwatch(SIGUSR1), 0);
    EXPECT_EQ(weft_signal_unwatch(SIGUSR1), WEFT_ENOENT);
    EXPECT_EQ(weft_signal_unwatch(SIGTERM), 0);
    is_default(SIGUSR1);
    is_default(SIGTERM);
    static const int never[] = {0, -1, 65, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGURG};
    for (unsigned i = 0; i < sizeof never / sizeof never[0]; i++)
        EXPECT_EQ(weft_signal_watch(never[i], weft_self(), 1), WEFT_EINVAL);
    EXPECT_EQ(weft_signal_unwatch(-1), WEFT_ENOENT);
    net_is_done();
}
static void watches_all(void) { net_run_until(watches, 1); }
TEST(signals_are_messages) { rt_each(watches_all); }

/* The runtime stops with a signal watched, or the receiver ends: the former action is back. */
static void leaves_it(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_signal_watch(SIGUSR2, weft_self(), 1), 0);
    net_is_done();
}
static void stops(const char *policy, unsigned workers) {
    struct sigaction now;
    rt_start(policy, workers);
    net_run_until(leaves_it, 1);
    rt_stop();
    EXPECT_EQ(sigaction(SIGUSR2, NULL, &now), 0);
    EXPECT(now.sa_handler == SIG_IGN);
}
TEST(the_former_action_comes_back) {
    signal(SIGUSR2, SIG_IGN);
    rt_cases(stops);
    EXPECT_EQ(weft_signal_watch(SIGUSR2, 1, 1), WEFT_EFOREIGN);
}

/* The runtime is stopped before the process that watches for it has had time to end. */
static void holds_up(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_signal_watch(SIGUSR2, weft_self(), 1), 0);
    weft_shield_begin();
    net_is_done();
    for (uint64_t until = weft_in(50 * WEFT_MILLISECOND); weft_now() < until;) {}
    weft_sleep(WEFT_SECOND * 1000);
}
static void stops_at_once(const char *policy, unsigned workers) {
    struct sigaction now;
    rt_start(policy, workers);
    net_run_until(holds_up, 1);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, weft_now()), WEFT_ETIMEDOUT);
    rt_watch_end();
    EXPECT_EQ(sigaction(SIGUSR2, NULL, &now), 0);
    EXPECT(now.sa_handler == SIG_IGN);
    EXPECT_EQ(raise(SIGUSR2), 0);
    stops(policy, workers); /* and it can be watched again */
}
TEST(a_stop_by_force_gives_it_back) {
    signal(SIGUSR2, SIG_IGN);
    rt_cases(stops_at_once);
}

/* ---- the end of watching ------------------------------------------------------------------------------------------------------- */

/* Nothing that was caught is dropped, whenever the watching ends; and it can be watched again at once. */
enum { RAISED = 40 };
static void unwatches(void *arg) {
    (void)arg;
    for (unsigned round = 0; round < 200 / RT_SLOW; round++) {
        uint64_t count = 0;
        weft_msg *message;
        EXPECT_EQ(weft_signal_watch(SIGUSR1, weft_self(), 5), 0);
        for (unsigned i = 0; i < RAISED; i++)
            EXPECT_EQ(raise(SIGUSR1), 0);
        EXPECT_EQ(weft_signal_unwatch(SIGUSR1), 0);
        is_default(SIGUSR1);
        while (weft_recv(&message, 0) == 0) { /* all of it is there */
            count += ((weft_signal *)weft_msg_data(message))->count;
            weft_msg_free(message);
        }
        EXPECT_EQ(count, RAISED);
    }
    net_is_done();
}
static void unwatches_all(void) { net_run_until(unwatches, 1); }
TEST(what_was_caught_is_sent_before_the_watching_ends) { rt_each(unwatches_all); }

/* Signals rain from a thread of the program's own while one process watches and unwatches: each is a message, or was seen by the former handler. */
static atom_u64 by_handler;
static atom_bool raining;
static void former(int number) {
    (void)number;
    atom_add_rlx(&by_handler, 1);
}
static void *rain(void *arg) {
    (void)arg;
    uint64_t sent = 0;
    for (; atom_load_rlx(&raining); sent++)
        EXPECT_EQ(raise(SIGUSR1), 0); /* to this thread: so none melts into another */
    return (void *)(uintptr_t)sent;
}
static atom_u64 by_message;
static void in_the_rain(void *arg) {
    (void)arg;
    weft_msg *message;
    for (unsigned round = 0; round < 300 / RT_SLOW; round++) {
        EXPECT_EQ(weft_signal_watch(SIGUSR1, weft_self(), 5), 0);
        weft_sleep(100 * WEFT_MICROSECOND);
        if (round == 0) { /* for as long as it takes until one has come */
            EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
            atom_add_rlx(&by_message, ((weft_signal *)weft_msg_data(message))->count);
            weft_msg_free(message);
        }
        EXPECT_EQ(weft_signal_unwatch(SIGUSR1), 0);
        while (weft_recv(&message, 0) == 0) {
            atom_add_rlx(&by_message, ((weft_signal *)weft_msg_data(message))->count);
            weft_msg_free(message);
        }
    }
    net_is_done();
}
static void rains(void) {
    pthread_t thread;
    void *sent;
    atom_store_rlx(&by_handler, 0);
    atom_store_rlx(&by_message, 0);
    atom_store_rlx(&raining, true);
    EXPECT_EQ(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = former}, NULL), 0);
    EXPECT_EQ(pthread_create(&thread, NULL, rain, NULL), 0);
    net_run_until(in_the_rain, 1);
    atom_store_rlx(&raining, false);
    pthread_join(thread, &sent);
    EXPECT(atom_load_rlx(&by_message) > 0);
    EXPECT_EQ(atom_load_rlx(&by_message) + atom_load_rlx(&by_handler), (uintptr_t)sent);
}
TEST_WITHIN(every_signal_is_a_message_or_the_former_handlers, 60) { rt_each(rains); }

/* The receiver has ended: what comes then is the former action's. */
static void ends_watching(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_signal_watch(SIGUSR1, weft_self(), 5), 0);
    net_is_done();
}
static void none_left(void) {
    atom_store_rlx(&by_handler, 0);
    EXPECT_EQ(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = former}, NULL), 0);
    atom_store_rlx(&net_done, 0);
    weft_pid pid = net_spawn(ends_watching, NULL);
    rt_wait(&net_done, 1);
    while (weft_alive(pid))
        usleep(1000);
    EXPECT_EQ(raise(SIGUSR1), 0);
    rt_wait(&by_handler, 1);
    EXPECT_EQ(weft_signal_unwatch(SIGUSR1), WEFT_ENOENT);
}
TEST(without_a_receiver_the_former_action_holds) { rt_each(none_left); }

/* ---- little stack --------------------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void signals_here(pid_t program, pid_t thread) { syscall(SYS_tgkill, program, thread, SIGUSR1); }
static void deep_down(void *arg) {
    pid_t program = getpid(), thread = (pid_t)syscall(SYS_gettid);
    char here;
    size_t spare = (size_t)((uintptr_t)&here - (uintptr_t)altstack_stack(fiber_of(worker_here()->current))->low) - 600;
    volatile char *filler = __builtin_alloca(spare);
    (void)arg;
    filler[0] = 1;
    signals_here(program, thread);
    EXPECT_EQ(filler[0], 1);
}
static void little_stack(void *arg) {
    (void)arg;
    weft_signal got;
    EXPECT_EQ(weft_signal_watch(SIGUSR1, weft_self(), 5), 0);
    for (unsigned i = 0; i < 20; i++) {
        EXPECT(weft_spawn(deep_down, NULL) != WEFT_NOBODY);
        hears(&got, 5);
        EXPECT_EQ(got.count, 1);
    }
    EXPECT_EQ(weft_signal_unwatch(SIGUSR1), 0);
    net_is_done();
}
static void little_stacks(void) { net_run_until(little_stack, 1); }
TEST(a_process_with_little_stack_left_may_be_hit) {
    if (!SANITIZED) rt_each(little_stacks);
}

/* ---- children of the operating system ------------------------------------------------------------------------------------------------ */

/* A child that has not loaded its program yet: the former action holds in there, and the parent hears nothing. */
static int child_that_is_hit(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        raise(SIGUSR1);
        syscall(SYS_exit_group, 5);
    }
    EXPECT(child > 0);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}
static void forks(void *arg) {
    (void)arg;
    weft_msg *message;
    EXPECT_EQ(weft_signal_watch(SIGUSR1, weft_self(), 5), 0);
    int status = child_that_is_hit();
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
    EXPECT_EQ(weft_signal_unwatch(SIGUSR1), 0);
    EXPECT_EQ(weft_recv(&message, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = SIG_IGN}, NULL), 0);
    EXPECT_EQ(weft_signal_watch(SIGUSR1, weft_self(), 5), 0);
    status = child_that_is_hit();
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    EXPECT_EQ(raise(SIGUSR1), 0); /* and here it is watched still */
    weft_signal got;
    hears(&got, 5);
    EXPECT_EQ(got.count, 1);
    EXPECT_EQ(weft_signal_unwatch(SIGUSR1), 0);
    EXPECT_EQ(signal(SIGUSR1, SIG_DFL), SIG_IGN);
    net_is_done();
}
static void forks_all(void) { net_run_until(forks, 1); }
TEST(a_signal_to_a_forked_child_is_the_childs) {
    if (!ANNOTATE_THREAD) rt_each(forks_all); /* which has signals of its own making, and none in a child made by a process */
}

/* The runtime is idle, and the thread that called weft_main is hit, as by `kill` of a shell. The thread sanitizer keeps signals back until
 * their thread makes a call that it knows. */
static void *hits_the_first_thread(void *unused) {
    EXPECT_EQ(syscall(SYS_tgkill, getpid(), getpid(), SIGTERM), 0);
    return unused;
}
static int waits_for_the_signal(int argc, char **argv) {
    pthread_t other;
    weft_signal got;
    (void)argc, (void)argv;
    EXPECT_EQ(weft_signal_watch(SIGTERM, weft_self(), 5), 0);
    EXPECT_EQ(pthread_create(&other, NULL, hits_the_first_thread, NULL), 0);
    hears(&got, 5);
    EXPECT_EQ(got.number, SIGTERM);
    EXPECT_EQ(pthread_join(other, NULL), 0);
    return 7;
}
static void is_idle(void) {
    static char name[] = "idle", *arguments[] = {name, NULL};
    exit(weft_main(1, arguments, waits_for_the_signal));
}
TEST(a_signal_comes_while_the_runtime_is_idle) {
    struct child child;
    child_run(&child, is_idle);
    EXPECT_EXIT(&child, 7);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
