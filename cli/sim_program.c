/* Starts and ends the program that is simulated. */
#define _GNU_SOURCE
#include "cli/sim.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The program's ends of the pipes: the same numbers in every attempt, above those that a program opens itself. */
enum { CHILD_FROM = 250, CHILD_TO = 251, NO_PROGRAM = 127 };

uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int program_cpu(unsigned index) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0) return -1;
    unsigned left = index % (unsigned)CPU_COUNT(&allowed);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &allowed) || left-- > 0)
        cpu++;
    return cpu;
}

/* ---- in the child, before it becomes the program ---------------------------------------------------------------------- */

static void set_or_unset(const char *name, const char *value) {
    if (value) setenv(name, value, 1);
    else unsetenv(name);
}

/* An unmodified program that needs libweft.so finds the simulating one first. */
static void set_library_path(const char *folder) {
    char path[8192];
    const char *old = getenv("LD_LIBRARY_PATH");
    int used = snprintf(path, sizeof path, "%s%s%s", folder, old && *old ? ":" : "", old ? old : "");
    if (used > 0 && (size_t)used < sizeof path) setenv("LD_LIBRARY_PATH", path, 1);
}

static void set_environment(const struct sim_options *options, const struct task *task) {
    char serve[32];
    snprintf(serve, sizeof serve, "%d,%d", CHILD_TO, CHILD_FROM);
    setenv("WEFT_SIM_SERVE", serve, 1);
    set_or_unset("WEFT_SIM_SCRIPT", task->script);
    set_or_unset("WEFT_SIM_RECORD", task->draws_only ? NULL : task->record);
    set_or_unset("WEFT_SIM_RECORD_DRAWS", task->draws_only ? task->record : NULL);
    if (task->quiet) setenv("WEFT_SIM_QUIET", task->quiet, 1);
    if (options->faults) setenv("WEFT_SIM_FAULTS", options->faults, 1);
    if (options->library) set_library_path(options->library);
}

/* The same addresses in every attempt, where the kernel allows it: a program that sorts by address is replayed too. */
static void set_fixed(int cpu) {
    cpu_set_t set;
    personality(ADDR_NO_RANDOMIZE);
    if (cpu < 0) return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* A group of its own: a Ctrl-C is for the command, and the group can be killed with all that it has started. */
static void become_program(const struct sim_options *options, const struct task *task, int to, int from, int said) {
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    setpgid(0, 0);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(nothing, STDIN_FILENO);
    dup2(task->loud ? said : nothing, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    dup2(from, CHILD_FROM);
    dup2(to, CHILD_TO);
    set_environment(options, task);
    set_fixed(task->cpu);
    execv(options->program[0], options->program);
    dprintf(STDERR_FILENO, "weft sim: %s: %s\n", options->program[0], strerror(errno));
    _exit(NO_PROGRAM);
}

/* ---- starting and ending ------------------------------------------------------------------------------------------------ */

static void close_all(const int *fds, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0) close(fds[i]);
}

int program_start(struct program *program, const struct sim_options *options, const struct task *task) {
    int ends[6] = {-1, -1, -1, -1, -1, -1}; /* three pipes: to it, from it, what it says */
    for (int i = 0; i < 6; i += 2)
        if (pipe2(ends + i, O_CLOEXEC) != 0) goto refused;
    fflush(NULL);
    program->pid = fork();
    if (program->pid < 0) goto refused;
    if (program->pid == 0) become_program(options, task, ends[0], ends[3], ends[5]);
    setpgid(program->pid, program->pid);
    close_all((int[]){ends[0], ends[3], ends[5]}, 3);
    program->ended = (int)syscall(SYS_pidfd_open, program->pid, 0);
    program->to = ends[1];
    program->from = ends[2];
    program->said = ends[4];
    fcntl(program->from, F_SETFL, O_NONBLOCK);
    fcntl(program->said, F_SETFL, O_NONBLOCK);
    return 0;
refused:
    fprintf(stderr, "weft sim: cannot start a program: %s\n", strerror(errno));
    close_all(ends, 6);
    return -1;
}

bool program_ends_within(const struct program *program, int ms) {
    struct pollfd fd = {.fd = program->ended, .events = POLLIN};
    return poll(&fd, 1, ms) == 1;
}

int program_end(struct program *program) {
    int status = 0;
    kill(-program->pid, SIGKILL);
    while (waitpid(program->pid, &status, 0) < 0 && errno == EINTR) {}
    close_all((int[]){program->ended, program->to, program->from, program->said}, 4);
    return status;
}

const char *program_find_library(void) {
    static const char *const places[] = {"sim", "release/sim", WEFT_SIM_FOLDER};
    static char path[4200];
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return NULL;
    self[length] = '\0';
    *(strrchr(self, '/') + 1) = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char library[4300];
        snprintf(path, sizeof path, "%s%s", self, places[i]);
        snprintf(library, sizeof library, "%s/libweft.so", path);
        if (access(library, R_OK) == 0) return path;
    }
    return NULL;
}

/* ---- what it says --------------------------------------------------------------------------------------------------------- */

/* When it is full some of the middle goes: the last lines tell most. */
static void make_room(struct said *said) {
    static const char mark[] = "\n...\n";
    enum { KEPT = SAID_MAX / 2, GONE = SAID_MAX / 4 };
    memmove(said->text + KEPT, said->text + KEPT + GONE, said->size - KEPT - GONE);
    memcpy(said->text + KEPT, mark, sizeof mark - 1);
    said->size -= GONE;
}

bool program_read_said(int fd, struct said *said) {
    for (;;) {
        if (said->size == SAID_MAX) make_room(said);
        ssize_t got = read(fd, said->text + said->size, SAID_MAX - said->size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0;
        said->size += (size_t)got;
        said->text[said->size] = '\0';
    }
}

void lines_read(struct lines *lines, int fd) {
    while (lines->size < sizeof lines->text) {
        ssize_t got = read(fd, lines->text + lines->size, sizeof lines->text - lines->size);
        if (got < 0 && errno == EINTR) continue;
        lines->ended = lines->ended || got == 0;
        if (got <= 0) return;
        lines->size += (size_t)got;
    }
}

bool lines_next(struct lines *lines, char *line) {
    char *end = memchr(lines->text, '\n', lines->size);
    if (!end && lines->size == sizeof lines->text) lines->size = 0; /* no line of ours is so long */
    if (!end) return false;
    size_t length = (size_t)(end - lines->text);
    memcpy(line, lines->text, length);
    line[length] = '\0';
    lines->size -= length + 1;
    memmove(lines->text, end + 1, lines->size);
    return true;
}

bool is_hello(const char *line) { return strcmp(line, "weft-sim 1") == 0; }

/* By this command, which could not start it; or by the simulation in it, which cannot use what the environment has. */
static bool has_said_why(int status, const struct said *said) {
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return (code == NO_PROGRAM || code == SIM_REFUSED) && strncmp(said->text, "weft sim: ", 10) == 0;
}

void program_no_hello(const struct sim_options *options, int status, bool gave_up, const struct said *said) {
    if (has_said_why(status, said)) {
        fputs(said->text, stderr);
        return;
    }
    fprintf(stderr, "weft sim: %s is not a program in simulation: %s\n", options->program[0],
            gave_up ? "it ran, and did not answer" : "it ran and ended as any program does");
    if (said->size) fprintf(stderr, "  it said: %s%s", said->text, said->text[said->size - 1] == '\n' ? "" : "\n");
    fprintf(stderr, "  Link it with the simulating library (`pkg-config --libs weft-sim`), or with the shared libweft%s.\n",
            options->library ? "" : "; but this command finds no simulating shared library");
}
