/* Child programs, of the operating system's: starting one with pipes or a terminal, several in a row, and waiting until they end. */
#ifndef WEFT_CHILD_H
#define WEFT_CHILD_H

#include <weft/command.h>
#include <weft/net.h>

#include <sys/types.h>

WEFT_BEGIN

/* Waits until the child has ended, and reaps it: 0 and *status (may be NULL) as waitpid(2) has it, for WIFEXITED and the like.
 * From a stackful process, or a thread of the program's own. WEFT_ECHILD: there is no such child, or another caller has reaped it;
 * WEFT_EINVAL: not the PID of one child; WEFT_ETIMEDOUT, WEFT_ECANCELED: it may be waited for again. A deadline that has passed: only if it
 * has ended already. The process parks: a wait takes a descriptor and no thread.
 *
 * If the kernel cannot report the end (before Linux 5.3, or no descriptors are left), the call checks every few milliseconds. */
WEFT_API int weft_waitpid(pid_t child, int *status, uint64_t deadline);

/* A program with pipes to it. */
typedef struct weft_child {
    pid_t pid;
    weft_fd in, out, err; /* our ends of the child's standard input, output and error; WEFT_NO_FD: there is no pipe to it */
    weft_fd terminal;     /* our end of its pseudo-terminal (WEFT_CHILD_TERMINAL); WEFT_NO_FD: it has none */
} weft_child;
enum { WEFT_CHILD_IN = 1, WEFT_CHILD_OUT = 2, WEFT_CHILD_ERR = 4 };

/* Starts arguments[0], searched for as a shell does, with these arguments (the last is NULL), and pipes for those of its three descriptors
 * that are in `pipes`. In a stackful process. 0, and then the caller closes the pipes by weft_fd_close and waits for the child by
 * weft_waitpid; or an error of the operating system's: WEFT_ENOENT, WEFT_EACCES, WEFT_EMFILE ... The program starts with no signal blocked
 * and SIGPIPE at its default. */
WEFT_API int weft_child_start_sized(const char *const *arguments, unsigned pipes, weft_child *child, size_t child_size);
static inline int weft_child_start(const char *const *arguments, unsigned pipes, weft_child *child) {
    return weft_child_start_sized(arguments, pipes, child, sizeof *child);
}

/* ---- with options ---- */

enum weft_child_flags {
    /* It leads a process group of its own: signals of the terminal (Ctrl-C) do not reach it, and it can be ended with all that it has started. */
    WEFT_CHILD_GROUP = 1,
    /* It belongs to the process that starts it: when that process ends in whatever way (it returns, exits, is killed, its fault is contained) and has not waited for the
     * child, the child is killed (SIGKILL) and reaped first. With WEFT_CHILD_GROUP that goes for all of its group, and weft_waitpid also kills what the
     * child has left of its group. Only its owner may wait for it. Not when a runtime takes down a process that will not end, nor when the whole program is killed. */
    WEFT_CHILD_OWNED = 2,
    /* /dev/null instead of this program's own. */
    WEFT_CHILD_NULL_IN = 4,
    WEFT_CHILD_NULL_OUT = 8,
    WEFT_CHILD_NULL_ERR = 16,
    /* Its error output goes where its output goes. */
    WEFT_CHILD_ERR_TO_OUT = 32,
    /* A pseudo-terminal is its standard input, output and error, and the controlling terminal of a session of its own, which it leads as a group. `terminal` of the
     * weft_child is our end, to read and to write. Reading it when the child has closed its end says WEFT_EIO. Excludes all pipes and the three above. */
    WEFT_CHILD_TERMINAL = 64,
};

/* A limit of setrlimit(2): RLIMIT_CPU and so on. UINT64_MAX is no limit. */
typedef struct weft_child_limit {
    int resource;
    uint64_t soft, hard;
} weft_child_limit;

typedef struct weft_child_options {
    unsigned pipes;                 /* WEFT_CHILD_IN, WEFT_CHILD_OUT, WEFT_CHILD_ERR */
    unsigned flags;                 /* enum weft_child_flags */
    const char *directory;          /* where it begins; NULL: where this program is */
    const char *const *environment; /* "NAME=value" ... NULL; NULL: this program's own. Programs are searched for in this program's PATH */
    const weft_child_limit *limits;
    size_t limit_count;
    unsigned rows, columns; /* of the terminal; 0: not set */
} weft_child_options;

/* As weft_child_start. WEFT_EINVAL for flags that exclude each other; WEFT_EPERM and others for a limit that may not be set; for `directory` what chdir(2) says. Everything of the
 * options is used before the call returns. A cancelled process may start programs. In a simulation there are no terminals (WEFT_ENOSYS), and only the arguments and
 * pipes count. */
WEFT_API int weft_child_start_with_sized(const char *const *arguments, const weft_child_options *options, size_t options_size,
                                         weft_child *child, size_t child_size);
static inline int weft_child_start_with(const char *const *arguments, const weft_child_options *options, weft_child *child) {
    return weft_child_start_with_sized(arguments, options, sizeof *options, child, sizeof *child);
}

/* A pipeline: the output of each program is the input of the next. Of the options' pipes, WEFT_CHILD_IN is for the first, WEFT_CHILD_OUT for the last, WEFT_CHILD_ERR for each,
 * and so it is with what goes to /dev/null; the rest goes for each. `children` has room for `count`. 0, or why one could not be started; then none runs. Each is waited for
 * by itself. WEFT_EINVAL: no program, or with WEFT_CHILD_TERMINAL. In a stackful process. */
WEFT_API int weft_pipeline_start_sized(const char *const *const *programs, size_t count, const weft_child_options *options,
                                       size_t options_size, weft_child *children, size_t child_size);
static inline int weft_pipeline_start(const char *const *const *programs, size_t count, const weft_child_options *options,
                                      weft_child *children) {
    return weft_pipeline_start_sized(programs, count, options, sizeof *options, children, sizeof *children);
}

/* A signal to the child, and to all of its process group if it leads one. For a child that has not been waited for yet. From anywhere. 0, or WEFT_ECHILD: there is no such
 * child; WEFT_EINVAL: no such signal, or not the PID of one child. */
WEFT_API int weft_child_signal(pid_t child, int signal);
/* Ends it, and its group if it leads one: SIGTERM, and if it has not ended `grace` nanoseconds later, SIGKILL. What is left of the group when it has ended gets
 * SIGKILL. Waits for its end and reaps it, as weft_waitpid does, in a cancelled process too; in one that is killed, or was (in what it has deferred), there is no grace. From a stackful process or a thread of the program's own. 0 and *status (may be NULL), or WEFT_ECHILD, WEFT_EINVAL. */
WEFT_API int weft_child_end(pid_t child, uint64_t grace, int *status);

/* Both as commands for step processes (weft/command.h). The completion's data: of a start a weft_child (a
 * later version may add to its end), of a wait an int, the status. If
 * the process has ended by then, the pipes are closed, and the child runs on. Results as weft_out_yield, and WEFT_EINVAL as above. */
WEFT_API int weft_out_child_start(weft_out *out, uint64_t tag, const char *const *arguments, unsigned pipes);
WEFT_API int weft_out_waitpid(weft_out *out, uint64_t tag, pid_t child, uint64_t deadline);

WEFT_END

#endif
