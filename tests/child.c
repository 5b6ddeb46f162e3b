/* Children of test.h: a body in a process of the operating system of its own, for what ends the program. */
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool child_fork(struct child *child) {
    int ends[2];
    fflush(NULL);
    EXPECT_EQ(pipe(ends), 0);
    pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        return true;
    }
    close(ends[1]);
    size_t size = 0;
    ssize_t got;
    char rest[1024];
    while ((got = read(ends[0], child->said + size, sizeof child->said - 1 - size)) > 0)
        size += (size_t)got;
    while (size == sizeof child->said - 1 && read(ends[0], rest, sizeof rest) > 0) {
    } /* what there is no room for; the child shall not wait to write it */
    child->said[size] = '\0';
    close(ends[0]);
    EXPECT_EQ(waitpid(pid, &child->status, 0), pid);
    return false;
}

void child_run(struct child *child, void (*body)(void)) {
    if (child_fork(child)) {
        signal(SIGABRT, SIG_DFL);
        body();
        _exit(0);
    }
    if (!test_emulated()) return;
    char *line = strstr(child->said, "qemu: uncaught target signal"); /* the emulator's own last word */
    if (line) *line = '\0';
}

static void child_fail(const struct child *child, const char *file, int line, const char *wanted) {
    printf("it said:\n%s\n", child->said);
    test_fail(file, line, "expected %s; but the child ended by %s %d", wanted, WIFSIGNALED(child->status) ? "signal" : "exit",
              WIFSIGNALED(child->status) ? WTERMSIG(child->status) : WEXITSTATUS(child->status));
}

void child_expect_died(const struct child *child, int number, const char *file, int line) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, "signal %d", number);
    if (!WIFSIGNALED(child->status) || WTERMSIG(child->status) != number) child_fail(child, file, line, wanted);
}

void child_expect_exit(const struct child *child, int number, const char *file, int line) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, "exit %d", number);
    if (!WIFEXITED(child->status) || WEXITSTATUS(child->status) != number) child_fail(child, file, line, wanted);
}

void child_expect_said(const struct child *child, const char *text, const char *file, int line) {
    if (strstr(child->said, text)) return;
    printf("it said:\n%s\n", child->said);
    test_fail(file, line, "expected it to say \"%s\"", text);
}

void child_expect_abort(void (*body)(void), const char *const parts[], const char *file, int line) {
    struct child child;
    child_run(&child, body);
    child_expect_died(&child, SIGABRT, file, line);
    for (; *parts; parts++)
        child_expect_said(&child, *parts, file, line);
}
