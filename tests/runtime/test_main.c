/* A whole program in a process: what weft_main returns, and how a program ends. */
#include "victim.h"

static int (*app)(int argc, char **argv);
static char *arguments[] = {"program", "one", NULL};
static void body(void) { _exit(weft_main(2, arguments, app)); }
static void run(struct child *child, int (*what)(int, char **)) {
    app = what;
    child_run(child, body);
}

static int returns(int argc, char **argv) {
    EXPECT(argc == 2 && strcmp(argv[1], "one") == 0);
    EXPECT(weft_self() != WEFT_NOBODY);
    return 42;
}
static int returns_0(int argc, char **argv) { return argc > 0 && argv ? 0 : 1; }
TEST(main_returns_what_app_returns) {
    struct child child;
    for (unsigned i = 0; i < 20; i++) {
        run(&child, returns);
        EXPECT_EXIT(&child, 42);
        run(&child, returns_0);
        EXPECT_EXIT(&child, 0);
        EXPECT(!child.said[0]);
    }
}

static int exits_5(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_exit(5);
}
static int exits_0(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_exit(0);
}
static int exits_with_error(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_exit(WEFT_ENOENT);
}
static int exits_program(int argc, char **argv) {
    (void)argc, (void)argv;
    exit(9); /* from the process's stack, with all workers running */
}
TEST(main_and_weft_exit) {
    struct child child;
    for (unsigned i = 0; i < 10; i++) {
        run(&child, exits_5);
        EXPECT_EXIT(&child, 5);
        run(&child, exits_0);
        EXPECT_EXIT(&child, 0);
        run(&child, exits_with_error);
        EXPECT_EXIT(&child, 1);
        EXPECT_SAID(&child, "weft: the first process ended: does not exist");
        run(&child, exits_program);
        EXPECT_EXIT(&child, 9);
    }
}

static int runs_over(int argc, char **argv) {
    (void)argc, (void)argv;
    return dig_calls(0);
}
TEST(main_runs_over) {
    struct child child;
    run(&child, runs_over);
    EXPECT_EXIT(&child, 1);
    EXPECT_SAID(&child, "(main) has overflowed");
    EXPECT_SAID(&child, "weft: the first process ended: the process's stack has overflowed");
}

/* Others are cancelled and waited for. */
static void slow_to_end(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_sleep_until(WEFT_FOREVER), WEFT_ECANCELED);
    weft_shield_begin();
    weft_sleep(20 * WEFT_MILLISECOND);
    if (write(STDERR_FILENO, "cleaned up\n", 11) != 11) abort();
}
static int leaves_one(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_spawn(slow_to_end, NULL);
    weft_sleep(WEFT_MILLISECOND);
    return 3;
}
TEST(main_waits_for_the_others) {
    struct child child;
    run(&child, leaves_one);
    EXPECT_EXIT(&child, 3);
    EXPECT_SAID(&child, "cleaned up");
}

static void stubborn(void *arg) {
    (void)arg;
    weft_shield_begin();
    weft_sleep_until(WEFT_FOREVER);
}
static int leaves_stubborn(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_spawn(stubborn, NULL);
    weft_sleep(WEFT_MILLISECOND);
    return 4;
}
TEST(main_leaves_processes_that_do_not_end) {
    struct child child;
    run(&child, leaves_stubborn); /* takes the five seconds that they are given, and one more */
    EXPECT_EXIT(&child, 4);
    EXPECT_SAID(&child, "weft: 1 process was asked to end ");
    const char *since = strstr(child.said, ", in weft_sleep, for ");
    EXPECT(since && atof(since + strlen(", in weft_sleep, for ")) >= 5); /* although everybody slept meanwhile */
}

/* Settings come from the environment; a wrong one is named. */
static int shows_workers(int argc, char **argv) {
    (void)argc, (void)argv;
    return (int)weft_workers(weft_own_runtime());
}
TEST(main_takes_settings) {
    struct child child;
    setenv("WEFT_WORKERS", "3", 1);
    run(&child, shows_workers);
    EXPECT_EXIT(&child, 3);
    setenv("WEFT_WORKERS", "many", 1);
    run(&child, shows_workers);
    EXPECT_EXIT(&child, 1);
    EXPECT_SAID(&child, "weft: cannot start: invalid argument");
}

/* Signals behave as in any program: Ctrl-C ends it. */
static int waits(int argc, char **argv) {
    (void)argc, (void)argv;
    if (write(STDERR_FILENO, "ready\n", 6) != 6) abort();
    weft_sleep_until(WEFT_FOREVER);
    return 0;
}
static void interrupted(int number) {
    (void)number;
    _exit(77);
}
static void waits_body(void) { _exit(weft_main(0, arguments, waits)); }
static void waits_with_handler(void) {
    signal(SIGINT, interrupted);
    waits_body();
}
static int interrupt(void (*what)(void)) {
    int ends[2], status;
    char ready[6];
    EXPECT_EQ(pipe(ends), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGINT, SIG_DFL); /* a shell starts what runs in the background with it ignored */
        what();
    }
    EXPECT_EQ(read(ends[0], ready, 6), 6);
    EXPECT_EQ(kill(pid, SIGINT), 0);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    close(ends[0]);
    close(ends[1]);
    return status;
}
TEST(main_is_interrupted) {
    for (unsigned i = 0; i < 10; i++) {
        int status = interrupt(waits_body);
        EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
        if (ANNOTATE_THREAD) continue; /* that sanitizer holds a handler back until the thread makes a call that it knows */
        status = interrupt(waits_with_handler);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 77);
    }
}

/* ---- in reports ---------------------------------------------------------------------------------------------------------------- */

static int tells_its_entry(int argc, char **argv) {
    weft_process_info info;
    (void)argc, (void)argv;
    EXPECT_EQ(weft_info(weft_self(), &info), 0);
    return info.entry == (const void *)(uintptr_t)tells_its_entry ? 43 : 44;
}
static int dumps_itself(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_dump(weft_own_runtime(), STDERR_FILENO);
    return 45;
}
/* By the function that the program gave, and not by one of weft's. */
TEST(main_is_named_by_its_function) {
    struct child child;
    run(&child, tells_its_entry);
    EXPECT_EXIT(&child, 43);
    run(&child, dumps_itself);
    EXPECT_EXIT(&child, 45);
    EXPECT_SAID(&child, "(dumps_itself)");
}

/* ---- with a configuration ---------------------------------------------------------------------------------------------------- */

static weft_config wanted;
static void body_with(void) { _exit(weft_main_with(&wanted, 2, arguments, app)); }
static int tells_workers(int argc, char **argv) {
    EXPECT(argc == 2 && strcmp(argv[1], "one") == 0);
    return (int)weft_workers(weft_own_runtime());
}
TEST(main_with_a_configuration) {
    struct child child;
    app = tells_workers;
    wanted = (weft_config){.workers = 3, .policy = "line"};
    child_run(&child, body_with);
    EXPECT_EXIT(&child, 3);
    wanted = (weft_config){.workers = 5, .policy = "deque"};
    child_run(&child, body_with);
    EXPECT_EXIT(&child, 5);
    wanted = (weft_config){.policy = "nonsense"};
    child_run(&child, body_with);
    EXPECT_EXIT(&child, 1);
    EXPECT_SAID(&child, "weft: cannot start:");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
