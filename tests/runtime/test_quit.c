/* SIGQUIT prints all processes of all runtimes, and the program goes on; unless the program wants the signal otherwise. */
#include "runtime_helpers.h"
#include "sanitized.h"

#include <signal.h>
#include <sys/wait.h>
#include <weft/weft.h>

static weft_runtime *one, *two;
static void sleeps(void *arg) {
    (void)arg;
    weft_sleep_until(WEFT_FOREVER);
}
static weft_pid sleeper_in(weft_runtime *runtime, const char *name) {
    weft_pid pid;
    weft_process_info info;
    if (weft_spawn_with(sleeps, NULL, &(weft_stackful_options){.runtime = runtime, .name = name}, &pid) != 0) _exit(98);
    do
        if (weft_info(pid, &info) != 0) _exit(97);
    while (info.state != WEFT_STATE_WAITING);
    return pid;
}

/* Standard error into a file that is read until `text` comes; in vain, the test's time limit ends it. */
static FILE *said;
static void hear(void) {
    said = tmpfile();
    if (!said || dup2(fileno(said), STDERR_FILENO) < 0) _exit(96);
}
static bool was_said(const char *text) {
    static char all[1 << 16];
    ssize_t length = pread(fileno(said), all, sizeof all - 1, 0);
    all[length > 0 ? length : 0] = '\0';
    return strstr(all, text) != NULL;
}
static void until_said(const char *text) {
    while (!was_said(text))
        usleep(1000);
}

static void prints(void) {
    hear();
    if (weft_start(&(weft_config){.workers = 1}, &one) || weft_start(&(weft_config){.workers = 2}, &two)) _exit(99);
    sleeper_in(one, "first of all");
    sleeper_in(two, "second of all");
    static const weft_child_spec children[] = {{.id = "supervised", .entry = sleeps}};
    static const weft_super_spec spec = {.name = "over all", .children = children, .count = 1};
    weft_pid super;
    if (weft_super_start(&spec, &(weft_stackful_options){.runtime = two}, &super, weft_in(WEFT_SECOND * 20))) _exit(93);
    for (unsigned i = 0; i < 3; i++) {
        if (ftruncate(fileno(said), 0) != 0 || lseek(STDERR_FILENO, 0, SEEK_SET) != 0) _exit(95);
        kill(getpid(), SIGQUIT);
        until_said("first of all, test_quit+0x");
        until_said("second of all, test_quit+0x");
        until_said("(sleeps), in weft_sleep");
        until_said("worker 1: has a thread");
        until_said("(over all)\n    supervised ");
    }
    if (weft_stop(one, NULL, weft_in(WEFT_SECOND)) || weft_stop(two, NULL, weft_in(WEFT_SECOND))) _exit(94);
    _exit(7);
}
TEST(quit_prints_all_processes_and_the_program_goes_on) {
    struct child child;
    child_run(&child, prints);
    EXPECT_EXIT(&child, 7);
}

/* ---- not ours ---------------------------------------------------------------------------------------------------------- */

static void ends_with(const weft_config *config) {
    if (weft_start(config, &one)) _exit(99);
    raise(SIGQUIT);
    _exit(1);
}
static void by_config(void) { ends_with(&(weft_config){.keep_sigquit = true}); }
static void by_setting(void) {
    setenv("WEFT_SIGQUIT", "0", 1);
    ends_with(NULL);
}
static void in_a_fork(void) {
    int status;
    if (weft_start(NULL, &one)) _exit(99);
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGQUIT);
        _exit(1);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status)) _exit(2);
    raise(WTERMSIG(status) == SIGQUIT ? SIGUSR1 : SIGKILL);
}
static void after_the_last(void) {
    if (weft_start(NULL, &one) || weft_start(NULL, &two)) _exit(99);
    if (weft_stop(one, NULL, WEFT_FOREVER)) _exit(2);
    raise(SIGQUIT); /* there still is one */
    if (weft_stop(two, NULL, WEFT_FOREVER)) _exit(2);
    raise(SIGQUIT);
    _exit(1);
}
TEST(quit_ends_the_program_where_it_should) {
    static void (*const bodies[])(void) = {by_config, by_setting, after_the_last};
    struct child child;
    for (unsigned i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        child_run(&child, bodies[i]);
        EXPECT_DIED(&child, SIGQUIT);
    }
    if (ANNOTATE_THREAD) return; /* it calls no handlers in the child of a program with threads */
    child_run(&child, in_a_fork);
    EXPECT_DIED(&child, SIGUSR1);
}

static void own_handler(int number) { _exit(number == SIGQUIT ? 42 : 43); } // NOLINT(bugprone-signal-handler): it may
static void with_handler(void) {
    signal(SIGQUIT, own_handler);
    ends_with(NULL);
}
static void with_later_handler(void) {
    if (weft_start(NULL, &one)) _exit(99);
    signal(SIGQUIT, own_handler);
    if (weft_stop(one, NULL, WEFT_FOREVER)) _exit(2);
    raise(SIGQUIT);
}
static void ignored(void) {
    signal(SIGQUIT, SIG_IGN);
    if (weft_start(NULL, &one)) _exit(99);
    struct sigaction now;
    sigaction(SIGQUIT, NULL, &now);
    _exit(now.sa_handler == SIG_IGN ? 42 : 43);
}
TEST(quit_leaves_the_programs_action_alone) {
    static void (*const bodies[])(void) = {with_handler, with_later_handler, ignored};
    struct child child;
    for (unsigned i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        child_run(&child, bodies[i]);
        EXPECT_EXIT(&child, 42);
    }
}

/* A process that watches it gets it as a message; afterwards it is the default's, not the handler's that the watch has found. */
static void watches(void *arg) {
    weft_msg *message;
    (void)arg;
    if (weft_signal_watch(SIGQUIT, weft_self(), 4) != 0) _exit(2);
    kill(getpid(), SIGQUIT);
    if (weft_recv_tag(4, &message, WEFT_FOREVER) != 0) _exit(3);
    weft_msg_free(message);
    weft_sleep_until(WEFT_FOREVER);
}
static void watched(void) {
    weft_pid pid;
    weft_process_info info;
    if (weft_start(NULL, &one)) _exit(99);
    if (weft_spawn_with(watches, NULL, &(weft_stackful_options){.runtime = one}, &pid) != 0) _exit(98);
    do
        if (weft_info(pid, &info) != 0) _exit(97);
    while (info.state != WEFT_STATE_WAITING || strcmp(info.call, "weft_sleep") != 0);
    if (weft_stop(one, NULL, weft_in(WEFT_SECOND))) _exit(4);
    raise(SIGQUIT);
    _exit(1);
}
TEST(quit_can_be_watched) {
    struct child child;
    child_run(&child, watched);
    EXPECT_DIED(&child, SIGQUIT);
}

static void refused(void) {
    setenv("WEFT_SIGQUIT", "perhaps", 1);
    _exit(weft_start(NULL, &one) == WEFT_EINVAL ? 5 : 6);
}
TEST(quit_setting_is_checked) {
    struct child child;
    child_run(&child, refused);
    EXPECT_EXIT(&child, 5);
    EXPECT_SAID(&child, "WEFT_SIGQUIT is 'perhaps'; it must be 0 or 1");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
