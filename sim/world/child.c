/* Children: see child.h. */
#include "world/child.h"

#include "real.h"
#include "world/child_program.h"
#include "world/fd.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

struct child {
    struct child *next;
    int pid, status, ends[3];
    int signal; /* that ends it; 0: none yet */
    bool killed, ended;
    struct child_watch *watches;
    struct sim_thread *thread;
    const weft_sim_program *program;
    char **arguments;
};

/* A descriptor that is ready when the child has ended. */
struct child_watch {
    struct sim_fd fd;
    struct child_watch *next;
    int pid;
};

static struct child *children;
static int child_next = 5000000;

/* ---- running one ------------------------------------------------------------------------------------------------------------------------- */

static void child_close_ends(struct child *child) {
    for (int i = 0; i < 3; i++)
        if (!sim_fd_is_real(child->ends[i])) sim_fd_close(child->ends[i]);
}

static void *child_run(void *arg) {
    struct child *child = arg;
    int code = child_program_run(child->program, (const char *const *)child->arguments, child->ends, &child->killed);
    sim_effect("child:exit", (uint64_t)child->pid);
    child_close_ends(child);
    if (!child->killed) child->signal = child->program->signal;
    child->status = child->signal ? child->signal : (code & 0xff) << 8;
    child->ended = true;
    for (struct child_watch *watch = child->watches; watch; watch = watch->next)
        sim_fd_changed(&watch->fd, EPOLLIN);
    return NULL;
}

static char **child_copy_arguments(const char *const *arguments) {
    size_t count = 0;
    while (arguments[count])
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        if (!(copy[i] = strdup(arguments[i]))) sim_fail("memory", "the simulation itself has none left");
    return copy;
}

static void child_free(struct child *child) {
    for (size_t i = 0; child->arguments && child->arguments[i]; i++)
        free(child->arguments[i]);
    free(child->arguments);
    free(child);
}

/* C1: numbers of its own. */
static int child_dup_ends(struct child *child, const int ends[3]) {
    for (int i = 0; i < 3; i++) {
        struct sim_fd *fd = ends[i] < 0 ? NULL : sim_fd_at(ends[i]);
        child->ends[i] = fd ? sim_fd_number(sim_fd_keep(fd)) : ends[i] < 0 ? i : ends[i];
        if (child->ends[i] < 0) return child->ends[i];
    }
    return 0;
}

static int child_begin(struct child *child) {
    int error = sim_thread_start(&child->thread, child_run, child);
    if (error) return error;
    child->next = children;
    children = child;
    return 0;
}

int sim_child_start(const struct sys_start *start, pid_t *pid) {
    sim_effect("start", 0);
    const weft_sim_program *program = child_program_find(start->arguments[0]);
    struct child *child = program ? calloc(1, sizeof *child) : NULL;
    if (!child) return program ? -ENOMEM : -ENOENT;
    child->pid = child_next++;
    child->program = program;
    child->arguments = child_copy_arguments(start->arguments);
    int error = child_dup_ends(child, start->ends);
    if (!error) error = child_begin(child);
    if (error) {
        child_close_ends(child);
        child_free(child);
        return error;
    }
    *pid = child->pid;
    return 0;
}

/* ---- its end ----------------------------------------------------------------------------------------------------------------------------- */

static struct child **child_find(int pid) {
    struct child **at = &children;
    while (*at && (*at)->pid != pid)
        at = &(*at)->next;
    return at;
}

static uint32_t child_watch_ready(struct sim_fd *fd) {
    struct child *child = *child_find(((struct child_watch *)fd)->pid);
    return !child || child->ended ? EPOLLIN : 0;
}

static void child_watch_close(struct sim_fd *fd, bool crash) {
    struct child_watch *watch = (struct child_watch *)fd;
    struct child *child = *child_find(watch->pid);
    struct child_watch **at = child ? &child->watches : NULL;
    (void)crash;
    while (at && *at != watch)
        at = &(*at)->next;
    if (at) *at = watch->next;
    free(watch);
}

static const struct sim_fd_ops child_watch_ops = {.name = "child", .ready = child_watch_ready, .close = child_watch_close};

int sim_child_open(int pid) {
    sim_effect("child_open", (uint64_t)pid);
    struct child *child = *child_find(pid);
    int error = child ? sim_fd_may_open(1) : -ESRCH;
    if (error) return error;
    struct child_watch *watch = calloc(1, sizeof *watch);
    if (!watch) return -ENOMEM;
    sim_fd_begin(&watch->fd, &child_watch_ops);
    watch->pid = pid;
    watch->next = child->watches;
    child->watches = watch;
    return sim_fd_number(&watch->fd);
}

/* What a program does that has said nothing of the signal: it ends, or nothing happens. Stopping is not simulated. */
static bool child_heeds(const struct child *child, int signal) {
    switch (signal) {
    case 0:
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU: return false;
    default: return signal == SIGKILL || !child->program->stubborn;
    }
}

/* C3 */
int sim_child_kill(int pid, int signal) {
    sim_effect("child_kill", (uint64_t)pid);
    struct child *child = *child_find(pid);
    if (!child) return -ESRCH;
    if (signal < 0 || signal > 64) return -EINVAL;
    if (child->ended || child->killed || !child_heeds(child, signal)) return 0;
    child->killed = true;
    child->signal = signal;
    sim_unblock(&child->killed, 1, -EINTR);
    sim_fd_interrupt(child->thread);
    return 0;
}

int sim_child_peek(int pid) {
    sim_effect("child_peek", (uint64_t)pid);
    const struct child *child = *child_find(pid);
    return !child ? -ECHILD : child->ended ? pid : 0;
}

/* C2 */
int sim_child_reap(int pid, int *status) {
    sim_effect("child_reap", (uint64_t)pid);
    struct child **at = child_find(pid), *child = *at;
    if (!child) return -ECHILD;
    if (!child->ended) return 0;
    *at = child->next;
    *status = child->status;
    sim_thread_wait(child->thread);
    real()->pthread_join((pthread_t)child->thread->handle, NULL);
    child_free(child);
    return pid;
}
