/* Deadlocks under weft_main: found, named, and nothing taken for one that is none. */
#include "victim.h"

#include <weft/blocking.h>

#include <sys/time.h>

static int none;
static char *no_arguments[] = {"test", NULL};
static int run(int (*app)(int, char **)) { return weft_main(1, no_arguments, app); }

/* Each in a program of its own, with each policy. */
static struct child child;
static void (*child_body)(void);
static const char *child_policy;
static void child_with_policy(void) {
    setenv("WEFT_POLICY", child_policy, 1);
    child_body();
}
static void each_policy(void (*body)(void), void (*verdict)(void)) {
    static const char *const policies[] = {"ring", "deque", "line"};
    for (unsigned i = 0; i < 3; i++) {
        printf("policy %s\n", child_policy = policies[i]);
        child_body = body;
        child_run(&child, child_with_policy);
        verdict();
    }
}

/* ---- found -------------------------------------------------------------------------------------------------------------- */

static weft_mutex mutex = WEFT_MUTEX_INIT;
static weft_chan *channel;
static weft_pid joined;

static void says_goodbye(void *arg) { dprintf(STDERR_FILENO, "goodbye from %s\n", (const char *)arg); }
static void waits_for_a_message(void *arg) {
    weft_msg *message;
    (void)arg;
    weft_defer(says_goodbye, "the receiver");
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), WEFT_ECANCELED);
}
static void waits_for_a_mutex(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_mutex_lock(&mutex, WEFT_FOREVER), WEFT_ECANCELED);
}
static void waits_at_a_channel(void *arg) {
    int got;
    (void)arg;
    EXPECT_EQ(weft_chan_recv(channel, &got, WEFT_FOREVER), WEFT_ECANCELED);
}
static int idle_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    weft_out_status(out, count > 0 && events[0].type == WEFT_EVENT_CANCEL ? WEFT_STEP_DONE : WEFT_STEP_IDLE);
    return 0;
}
static const weft_behavior idle_one = {.name = "an idle step process", .step = idle_step};

static int all_wait(int argc, char **argv) {
    weft_pid pid;
    (void)argc, (void)argv;
    EXPECT_EQ(weft_mutex_lock(&mutex, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_chan_new(sizeof(int), 0, &channel), 0);
    EXPECT_EQ(weft_spawn_step(&idle_one, NULL, &pid), 0);
    EXPECT_EQ(weft_spawn_with(waits_for_a_mutex, NULL, NULL, &pid), 0);
    EXPECT_EQ(weft_spawn_with(waits_at_a_channel, NULL, NULL, &pid), 0);
    EXPECT_EQ(weft_spawn_with(waits_for_a_message, NULL, &(weft_stackful_options){.name = "receiver"}, &joined), 0);
    weft_join(joined, NULL, WEFT_FOREVER); /* cancelled, or so was the other first */
    weft_sleep(20 * WEFT_MILLISECOND);     /* until they have gone: they wait at the channel's list */
    return 3;
}
static void all_wait_body(void) { _exit(run(all_wait)); }
static void all_wait_verdict(void) {
    char text[64];
    EXPECT_EXIT(&child, WEFT_EXIT_DEADLOCK);
    EXPECT_SAID(&child, "weft: deadlock: all 5 processes wait, and nothing is left that could wake one\n");
    EXPECT_SAID(&child, "(main, ");
    EXPECT_SAID(&child, "(receiver, ");
    EXPECT_SAID(&child, ", in weft_recv, for ");
    EXPECT_SAID(&child, ", in weft_mutex_lock");
    EXPECT_SAID(&child, ", in weft_chan_recv of 0x");
    EXPECT_SAID(&child, ", in weft_join of 01");
    EXPECT_SAID(&child, "(an idle step process), waits for a message, for ");
    EXPECT_SAID(&child, "goodbye from the receiver");
    snprintf(text, sizeof text, " of %#lx", (unsigned long)(uintptr_t)&mutex);
    EXPECT_SAID(&child, text);
}
TEST(deadlock_is_named) { each_policy(all_wait_body, all_wait_verdict); }

/* Long after everybody fell asleep for the first time. */
static int later(int argc, char **argv) {
    weft_msg *message;
    (void)argc, (void)argv;
    EXPECT_EQ(weft_recv(&message, weft_in(1200 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    uint64_t began = weft_now();
    int error = weft_recv(&message, WEFT_FOREVER);
    dprintf(STDERR_FILENO, "waited for %.1f s\n", (double)(weft_now() - began) / 1e9);
    return error == WEFT_ECANCELED ? 0 : 1;
}
/* The number behind this text. */
static double said_number(const char *text) {
    const char *at = strstr(child.said, text);
    return at ? atof(at + strlen(text)) : -1;
}
static void later_body(void) { _exit(run(later)); }
static void later_verdict(void) {
    EXPECT_EXIT(&child, WEFT_EXIT_DEADLOCK);
    EXPECT_SAID(&child, "the only process waits");
    double said = said_number(", in weft_recv, for "), was = said_number("waited for ");
    EXPECT(said >= 0 && was >= 0 && said < was + 0.5); /* not since the first one, which was 1.2 s earlier; the clock is a coarse one */
}
TEST(deadlock_after_a_long_sleep) { each_policy(later_body, later_verdict); }

/* ---- what follows --------------------------------------------------------------------------------------------------------- */

static int waits_alone(int argc, char **argv) {
    weft_msg *message;
    (void)argv;
    if (argc > 1) weft_on_deadlock((enum weft_deadlock)argc);
    return weft_recv(&message, WEFT_FOREVER);
}
static void abort_body(void) {
    setenv("WEFT_DEADLOCK", "abort", 1);
    run(waits_alone);
}
TEST(deadlock_aborts) {
    child_run(&child, abort_body);
    EXPECT_DIED(&child, SIGABRT);
    EXPECT_SAID(&child, "deadlock");
}
static void abort_chosen_body(void) { weft_main(WEFT_DEADLOCK_ABORT, no_arguments, waits_alone); }
TEST(deadlock_aborts_by_choice) {
    child_run(&child, abort_chosen_body);
    EXPECT_DIED(&child, SIGABRT);
}

static void alarm_in(unsigned ms) {
    struct itimerval when = {.it_value = {ms / 1000, ms % 1000 * 1000}};
    EXPECT_EQ(setitimer(ITIMER_REAL, &when, NULL), 0);
}
static void on_alarm(int number) {
    (void)number;
    _exit(5);
}
static void report_body(void) {
    setenv("WEFT_DEADLOCK", "report", 1);
    signal(SIGALRM, on_alarm);
    alarm_in(2500); /* long enough for the second look, on a busy machine too */
    run(waits_alone);
}
TEST(deadlock_reports_once) {
    child_run(&child, report_body);
    EXPECT_EXIT(&child, 5);
    const char *first = strstr(child.said, "weft: deadlock");
    EXPECT(first && !strstr(first + 1, "weft: deadlock"));
}
static void ignore_body(void) {
    signal(SIGALRM, on_alarm);
    alarm_in(2500); /* long enough for the second look, on a busy machine too */
    weft_main(WEFT_DEADLOCK_IGNORE, no_arguments, waits_alone);
}
TEST(deadlock_is_ignored) {
    child_run(&child, ignore_body);
    EXPECT_EXIT(&child, 5);
    EXPECT(!strstr(child.said, "weft: deadlock"));
}
static void nonsense_body(void) {
    setenv("WEFT_DEADLOCK", "maybe", 1);
    _exit(run(waits_alone));
}
TEST(deadlock_refuses_nonsense) {
    child_run(&child, nonsense_body);
    EXPECT_EXIT(&child, 1);
    EXPECT_SAID(&child, "WEFT_DEADLOCK is 'maybe'");
}

/* One that will not hear of it. */
static int stubborn(int argc, char **argv) {
    weft_msg *message;
    (void)argc, (void)argv;
    weft_shield_begin();
    return weft_recv(&message, WEFT_FOREVER);
}
static void stubborn_body(void) { run(stubborn); }
TEST(deadlock_does_not_wait_for_ever) {
    child_run(&child, stubborn_body);
    EXPECT_EXIT(&child, WEFT_EXIT_DEADLOCK);
    EXPECT_SAID(&child, "and has not");
}

/* ---- none ------------------------------------------------------------------------------------------------------------------- */

enum { A_WHILE_MS = 200 }; /* long enough for sysmon to look */

static void pause_a_while(void) { rt_pause(A_WHILE_MS * RT_MS); }

static int sleeps(int argc, char **argv) {
    (void)argc, (void)argv;
    return weft_sleep(A_WHILE_MS * WEFT_MILLISECOND);
}
static void blocks(void *unused) {
    (void)unused;
    pause_a_while();
}
static int in_a_call(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_blocking(blocks, NULL);
    weft_blocking_long(blocks, NULL);
    return 0;
}
static int gets_message_later(int argc, char **argv) {
    weft_msg *message;
    (void)argc, (void)argv;
    weft_timer timer;
    EXPECT_EQ(weft_after(A_WHILE_MS * WEFT_MILLISECOND, weft_self(), 7, NULL, 0, &timer), 0);
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    return 0;
}
static void *sends_from_a_thread(void *pid) {
    pause_a_while();
    EXPECT_EQ(weft_send(*(weft_pid *)pid, 7, NULL, 0), 0);
    return NULL;
}
static int hears_from_a_thread(int argc, char **argv) {
    weft_pid self = weft_self();
    pthread_t thread;
    weft_msg *message;
    (void)argc, (void)argv;
    EXPECT_EQ(pthread_create(&thread, NULL, sends_from_a_thread, &self), 0);
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    pthread_join(thread, NULL);
    return 0;
}
/* A command that is completed after a while, by a process of the operating system's making: nothing of it is a thread. */
static weft_completion kept;
static int keeps(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user, (void)data, (void)size;
    kept = completion;
    return 0;
}
static void on_alarm_complete(int number) {
    (void)number;
    _exit(9);
}
static int commands_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    if (count == 0) EXPECT_EQ(weft_out_yield(out, 77, 1, NULL, 0), 0);
    weft_out_status(out, count > 0 && events[0].type == WEFT_EVENT_CANCEL ? WEFT_STEP_DONE : WEFT_STEP_BLOCKED);
    return 0;
}
static const weft_behavior commands = {.name = "waits for a command", .step = commands_step};
static int waits_for_a_command(int argc, char **argv) {
    weft_pid pid;
    (void)argc, (void)argv;
    EXPECT_EQ(weft_register_command(weft_own_runtime(), 77, keeps, NULL), 0);
    EXPECT_EQ(weft_spawn_step(&commands, NULL, &pid), 0);
    signal(SIGALRM, on_alarm_complete);
    alarm_in(400); /* it is not completed, and that is no deadlock */
    return weft_join(pid, NULL, WEFT_FOREVER);
}

/* Until a signal comes. */
static int sleeps_for_ever(int argc, char **argv) {
    (void)argc, (void)argv;
    signal(SIGALRM, on_alarm_complete);
    alarm_in(400);
    return weft_sleep_until(WEFT_FOREVER);
}

/* Another program at the other end of a pipe, or of a connection, might send something; here none does. */
static int reads_a_pipe(int argc, char **argv) {
    int ends[2];
    char got;
    (void)argc, (void)argv;
    EXPECT_EQ(pipe(ends), 0);
    signal(SIGALRM, on_alarm_complete);
    alarm_in(400);
    return (int)weft_file_read(ends[0], &got, 1, WEFT_FOREVER);
}
static int reads_a_socket(int argc, char **argv) {
    weft_fd pair[2];
    char got;
    (void)argc, (void)argv;
    EXPECT_EQ(weft_net_pair(pair), 0);
    signal(SIGALRM, on_alarm_complete);
    alarm_in(400);
    return (int)weft_fd_read(pair[0], &got, 1, WEFT_FOREVER);
}

/* The first process has ended and another waits; the thread in weft_main is slow to hear of it, and has yet to stop the runtime. */
static pthread_t main_thread;
static void on_slow(int number) {
    (void)number;
    pause_a_while();
}
static int ends_before_the_others(int argc, char **argv) {
    (void)argc, (void)argv;
    EXPECT(weft_spawn(waits_for_a_message, NULL) != WEFT_NOBODY);
    weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(pthread_kill(main_thread, SIGUSR1), 0);
    return 3;
}
static void slow_main_body(void) {
    main_thread = pthread_self();
    signal(SIGUSR1, on_slow);
    _exit(run(ends_before_the_others));
}
/* The same after a deadlock: the first process has ended in time, whatever the thread in weft_main does. */
static int ends_when_cancelled(int argc, char **argv) {
    weft_msg *message;
    (void)argc, (void)argv;
    EXPECT(weft_spawn(waits_for_a_message, NULL) != WEFT_NOBODY);
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), WEFT_ECANCELED);
    EXPECT_EQ(pthread_kill(main_thread, SIGUSR1), 0);
    return 3;
}
static void slow_after_deadlock_body(void) {
    main_thread = pthread_self();
    signal(SIGUSR1, on_slow);
    setenv("WEFT_GRACE_MS", "20", 1);
    _exit(run(ends_when_cancelled));
}

static int (*none_app)(int, char **);
static void none_body(void) { _exit(run(none_app)); }
static void none_verdict(void) {
    EXPECT_EXIT(&child, none);
    EXPECT(!strstr(child.said, "weft: deadlock"));
}
static void no_deadlock(int (*app)(int, char **), int status) {
    none_app = app;
    none = status;
    each_policy(none_body, none_verdict);
}
static void slow_main_verdict(void) {
    EXPECT_EXIT(&child, 3);
    EXPECT(!strstr(child.said, "weft: deadlock"));
}
TEST(deadlock_not_when_the_first_process_has_ended) { each_policy(slow_main_body, slow_main_verdict); }
static void slow_after_deadlock_verdict(void) {
    EXPECT_EXIT(&child, WEFT_EXIT_DEADLOCK);
    EXPECT_SAID(&child, "goodbye from the receiver");
    EXPECT(!strstr(child.said, "and has not"));
}
TEST(deadlock_waits_for_weft_main) { each_policy(slow_after_deadlock_body, slow_after_deadlock_verdict); }
TEST(deadlock_not_while_one_sleeps) { no_deadlock(sleeps, 0); }
TEST(deadlock_not_while_one_sleeps_for_ever) { no_deadlock(sleeps_for_ever, 9); }
TEST(deadlock_not_while_one_is_in_a_call) { no_deadlock(in_a_call, 0); }
TEST(deadlock_not_while_a_message_is_to_come) { no_deadlock(gets_message_later, 0); }
TEST(deadlock_not_with_threads_of_ones_own) { no_deadlock(hears_from_a_thread, 0); }
TEST(deadlock_not_while_one_reads_a_pipe) { no_deadlock(reads_a_pipe, 9); }
TEST(deadlock_not_while_one_reads_a_socket) { no_deadlock(reads_a_socket, 9); }
TEST(deadlock_not_while_a_command_is_at_work) { no_deadlock(waits_for_a_command, 9); }

int main(int argc, char **argv) { return test_main(argc, argv); }
