/* How the real table (sys.h) starts a child program: vfork, which copies nothing of this program, and exec. (posix_spawn does the same, but knows no resource
 * limits and no controlling terminal.)
 *
 *   V1  Between vfork and exec the child has this program's memory. It makes system calls only, with all signals blocked until no handler of this
 *       program's can run in it any more.
 *   V2  An error of the child's comes through a pipe that exec closes, so it arrives too where vfork is a fork: under ThreadSanitizer and emulators. */
#include "sys/sys_net.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals as a new program expects them: those that this one handles, and SIGPIPE, are at their defaults, and none is blocked. */
static void start_signals(void) {
    struct sigaction action, usual = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int i = 1; i <= SIGRTMAX; i++)
        if (sigaction(i, NULL, &action) == 0 && (i == SIGPIPE || (action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL)))
            sigaction(i, &usual, NULL);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* A descriptor that is one of the three is moved out of the way first. */
static int start_descriptors(const struct sys_start *start) {
    int ends[3];
    for (int i = 0; i < 3; i++) {
        ends[i] = start->ends[i];
        if (ends[i] >= 0 && ends[i] < 3 && (ends[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, 3)) < 0) return errno;
    }
    for (int i = 0; i < 3; i++)
        if (ends[i] >= 0 && dup2(ends[i], i) < 0) return errno;
    return 0;
}

static int start_limits(const struct sys_start *start) {
    for (size_t i = 0; i < start->limit_count; i++) {
        const weft_child_limit *limit = &start->limits[i];
        struct rlimit both = {.rlim_cur = limit->soft, .rlim_max = limit->hard};
        if (setrlimit((unsigned)limit->resource, &both) < 0) return errno;
    }
    return 0;
}

/* In the child; returns why it could not begin. V1 */
static int start_exec(const struct sys_start *start) {
    if (start->session && setsid() < 0) return errno;
    if (start->group && setpgid(0, 0) < 0) return errno;
    int error = start_descriptors(start);
    if (!error && start->session && ioctl(0, TIOCSCTTY, 0) < 0) error = errno;
    if (!error && start->directory && chdir(start->directory) < 0) error = errno;
    if (!error) error = start_limits(start);
    if (error) return error;
    start_signals();
    char *const *environment = start->environment ? (char *const *)(uintptr_t)start->environment : environ;
    execvpe(start->arguments[0], (char *const *)(uintptr_t)start->arguments, environment);
    return errno;
}

/* The rest of the parent's part: what the child says in the pipe is its error; nothing, when exec has closed it, is success. */
static int start_outcome(int from, pid_t child) {
    int error = 0;
    ssize_t n;
    do
        n = read(from, &error, sizeof error);
    while (n < 0 && errno == EINTR);
    if (n != sizeof error) return 0;
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    return error;
}

static __attribute__((noinline)) pid_t start_fork(const struct sys_start *start, const int pipe[2]) {
    pid_t child = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork): V1
    if (child != 0) return child;
    int error = start_exec(start);                       // NOLINT(clang-analyzer-unix.Vfork): V1
    ssize_t told = write(pipe[1], &error, sizeof error); // NOLINT(clang-analyzer-unix.Vfork)
    _exit(told == sizeof error ? 127 : 126);
}

int linux_net_start(const struct sys_start *start, pid_t *child) {
    int before = errno, pipe[2], error = 0;
    sigset_t all, mask;
    if (pipe2(pipe, O_CLOEXEC) < 0) return -errno;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask); /* V1 */
    pid_t pid = start_fork(start, pipe);
    if (pid < 0) error = errno;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    close(pipe[1]);
    if (pid > 0) error = start_outcome(pipe[0], pid);
    close(pipe[0]);
    errno = before;
    if (!error) *child = pid;
    return -error;
}

int linux_net_terminal(unsigned rows, unsigned columns, int pair[2]) {
    char name[64];
    int before = errno, error;
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    pair[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), pair[1] = -1;
    bool ready = pair[0] >= 0 && grantpt(pair[0]) == 0 && unlockpt(pair[0]) == 0 && ptsname_r(pair[0], name, sizeof name) == 0;
    if (ready) pair[1] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    error = pair[1] < 0 ? -errno : 0;
    if (!error && (rows > 0 || columns > 0) && ioctl(pair[1], TIOCSWINSZ, &size) < 0) error = -errno;
    for (int i = 0; i < 2 && error; i++)
        if (pair[i] >= 0) close(pair[i]);
    errno = before;
    return error;
}
