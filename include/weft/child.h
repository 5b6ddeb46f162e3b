/* Child programs, of the operating system's: starting one with pipes to it, and waiting until it ends. */
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
    weft_fd in, out, err; /* our ends of the child's standard input, output and error; WEFT_NO_FD: it has this program's own */
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

/* Both as commands for step processes (weft/command.h). The completion's data: of a start a weft_child (a
 * later version may add to its end), of a wait an int, the status. If
 * the process has ended by then, the pipes are closed, and the child runs on. Results as weft_out_yield, and WEFT_EINVAL as above. */
WEFT_API int weft_out_child_start(weft_out *out, uint64_t tag, const char *const *arguments, unsigned pipes);
WEFT_API int weft_out_waitpid(weft_out *out, uint64_t tag, pid_t child, uint64_t deadline);

WEFT_END

#endif
