/* Stackful processes: plain blocking C, each on its own stack.
 *
 * In such a process every call that has to wait parks the process, never the thread. Such a call takes a deadline: a moment of the
 * monotonic clock, weft_in(the longest time to wait), or WEFT_FOREVER for none; one that has passed, 0 say, means "only what can be done at
 * once".
 *
 * Cancellation, the one rule for all of these calls: what can be done at once is done, in a cancelled process too. What cannot be done at
 * once is not waited for in a cancelled process, and the result is WEFT_ECANCELED whatever the deadline: WEFT_FOREVER, one that has passed,
 * or 0. So a loop that polls with the deadline 0 learns of it too. Calls of which the process cannot know whether they would wait return
 * WEFT_ECANCELED before anything is done: weft_sleep and weft_sleep_until (for no time, too), weft_call (and what is made of it:
 * weft_call_name, weft_super_add...), weft_blocking_until, weft_file_..., weft_waitpid. Between weft_shield_begin and weft_shield_end a process counts as not cancelled. A step process is told by an event
 * (WEFT_EVENT_CANCEL), and a thread that is not a worker cannot be cancelled: both get WEFT_ETIMEDOUT.
 *
 * A process may move to another thread at any weft call. Between two such calls it does not: errno and thread-local variables behave as
 * ever. Across one, errno keeps its value, and other thread-local variables are the new thread's. */
#ifndef WEFT_STACKFUL_H
#define WEFT_STACKFUL_H

#include <weft/cxx.h>
#include <weft/errno.h>
#include <weft/process.h>

WEFT_BEGIN

typedef void (*weft_entry)(void *arg);

typedef struct weft_stackful_options {
    weft_runtime *runtime; /* NULL: the caller's own, inside a process */
    size_t stack_size;     /* bytes; 0: the runtime's default */
    weft_context *context; /* NULL: the spawner's own, or none */
    const char *name;      /* for dumps and reports; copied, 47 bytes at most; NULL: "process" */
    /* WEFT_SPAWN_STACK_NOW, WEFT_SPAWN_PREEMPT, WEFT_SPAWN_JOINABLE, WEFT_SPAWN_MONITOR, WEFT_SPAWN_LINK, WEFT_SPAWN_PACK, WEFT_SPAWN_ANNOUNCE */
    unsigned flags;
    weft_spawn_monitoring monitor;
    const char *register_as;     /* its name for others (weft/registry.h); as in weft_spawn_options */
    const weft_mailbox *mailbox; /* its bounds (weft/message.h); NULL: none */
    weft_spawn_announcement announcement;
    /* Not 0: `arg` points to so many bytes, which are copied before spawning returns. The entry function is given the address of the copy, aligned as
     * by malloc; it is the process's, and there until the process has ended and what it deferred has run. At most 1 GiB: WEFT_EINVAL. */
    size_t arg_size;
    /* Called with the argument, in place of the entry function, if the process ends without having begun: killed before that, without a stack, or with its
     * runtime. So what the argument owns is given back in any case. On any thread; it must not wait. NULL: nothing is called. */
    void (*discard)(void *arg);
} weft_stackful_options;

/* A new process that calls entry(arg) and ends when it returns. Or WEFT_NOBODY, and errno says why, in weft's codes without their sign:
 * weft_strerror(-errno) has the words. As weft_spawn_with. */
WEFT_API weft_pid weft_spawn(weft_entry entry, void *arg);
/* The same with a copy of the `size` bytes at `arg`: `arg_size` of the options. With the size 0 the argument is NULL. */
WEFT_API weft_pid weft_spawn_copy(weft_entry entry, const void *arg, size_t size);
/* weft_spawn with WEFT_SPAWN_JOINABLE: spawn, do other things, and weft_join it, whether it has ended meanwhile or not. */
WEFT_API weft_pid weft_spawn_joinable(weft_entry entry, void *arg);
/* 0 and *pid, or why not: as weft_spawn_step, and WEFT_ENOSTACK; WEFT_EINVAL for a size that makes no sense. `options` may be NULL. *pid is written before
 * the process can run. */
WEFT_API int weft_spawn_with_sized(weft_entry entry, void *arg, const weft_stackful_options *options, size_t options_size, weft_pid *pid);
static inline int weft_spawn_with(weft_entry entry, void *arg, const weft_stackful_options *options, weft_pid *pid) {
    return weft_spawn_with_sized(entry, arg, options, sizeof *options, pid);
}

/* Ends the calling process, as if its entry function returned; in a program with C++ destructors run on the way (docs/cxx.md). The reason
 * is for weft_join, and for its scope; 0 is the normal one. */
WEFT_API void weft_exit(int reason) __attribute__((noreturn));

/* When the calling process ends, in whatever way, run(arg) is called in it: last deferred, first called. If it ends by returning, the variables of its function are gone
 * then: call weft_undefer(true) before, if `arg` points to one. Calls in there that wait do so
 * even if the process was cancelled. 0 or WEFT_ENOMEM. */
WEFT_API int weft_defer(void (*run)(void *arg), void *arg);
/* Takes back the last deferred function; calls it now if `run`. */
WEFT_API void weft_undefer(bool run);

/* Waits for the end of a process, stackful or not; from a stackful process or from a thread that is not a worker. 0 and *reason (may
 * be NULL): 0 when it ended by itself, what it gave to weft_exit, the error of its step, WEFT_ENOSTACK... Or WEFT_ETIMEDOUT,
 * WEFT_ECANCELED, WEFT_ENOMEM; or WEFT_ENOPROC when it had ended before and its result was not kept (WEFT_SPAWN_JOINABLE), or was taken by
 * an earlier join. To join itself is a process's mistake: the program aborts and says so. */
WEFT_API int weft_join(weft_pid pid, int *reason, uint64_t deadline);
/* Ends a process: cancels it and waits for its end, also in a cancelled process, and in a killed one, which kills it. For a process that uses memory of the
 * caller's. From a stackful process, or a thread that is not a worker. 0 and *reason (may be NULL); WEFT_ENOPROC as weft_join; WEFT_ENOMEM: it was cancelled, and not waited for. */
WEFT_API int weft_end(weft_pid pid, int *reason);
/* It will not be joined: its result need not be kept. From anywhere. 0, or WEFT_ENOPROC when its result is not kept, or not any more. */
WEFT_API int weft_detach(weft_pid pid);

/* Lets other processes run. (So does, every 64th time in a row, a call that may wait and need not, because a message, a lock or an element
 * is there. Not a call with the deadline 0, and not while the process holds a lock of weft/sync.h.) */
WEFT_API void weft_yield(void);

/* For long loops: lets other processes run if this one has used up its time slice. Costs some nanoseconds. Outside of a stackful process
 * (in a step, in a thread of the program's own) it does nothing. */
WEFT_API void weft_checkpoint(void);

/* Sends, and runs the receiver at once on this worker, before any other process, if that is possible; the caller is queued behind the
 * others. Errors as weft_send. */
WEFT_API int weft_handoff(weft_pid to, uint64_t tag, const void *data, size_t size);

/* Whether the process has been asked to end. */
WEFT_API bool weft_cancelled(void);
/* Between these a cancellation has no effect: for cleaning up with calls that wait. They nest. */
WEFT_API void weft_shield_begin(void);
WEFT_API void weft_shield_end(void);

/* The whole program in a process: starts a runtime from the environment, runs app in its first process, and when that returns
 * stops it (weft_stop) and returns what app returned, or gave to weft_exit. 1 when that process ended with an error (a line on standard
 * error says which), or could not begin. The other processes have their grace period (WEFT_GRACE_MS, 5,000) to end, and a second more if
 * they have to be forced. Processes that have not ended then are listed on standard error, and the program ends without them.
 *
 * pthread_exit in a process, or pthread_cancel of a thread of the runtime's, aborts the program and says so. */
WEFT_API int weft_main(int argc, char **argv, int (*app)(int argc, char **argv));
/* The same with a configuration (weft/runtime.h). A field of it that is 0 is taken from the environment, as by weft_start. */
WEFT_API int weft_main_with_sized(const weft_config *config, size_t config_size, int argc, char **argv, int (*app)(int argc, char **argv));
static inline int weft_main_with(const weft_config *config, int argc, char **argv, int (*app)(int argc, char **argv)) {
    return weft_main_with_sized(config, sizeof *config, argc, argv, app);
}

/* A deadlock under weft_main: every process waits without a deadline, for others of them, and nothing is pending that could wake one: no
 * timer, no call in weft_blocking, no command, no descriptor or child that is waited for, no thread of the program's own. Every process is
 * then listed on standard error with the call that it waits in and since when, some 30 ms after the last of them went to sleep. What
 * follows is chosen by the environment variable WEFT_DEADLOCK (stop, abort, report, ignore), or by the program, which has precedence: */
enum weft_deadlock {
    WEFT_DEADLOCK_STOP = 1, /* the default: all are cancelled, so that they clean up, and weft_main returns WEFT_EXIT_DEADLOCK */
    WEFT_DEADLOCK_ABORT,    /* abort(), for a core dump */
    WEFT_DEADLOCK_REPORT,   /* nothing more; for programs with wake-ups that weft does not know of, by a signal handler say */
    WEFT_DEADLOCK_IGNORE,   /* not even the report */
};
enum { WEFT_EXIT_DEADLOCK = 70 };
/* From a process of a program under weft_main; elsewhere deadlocks are not detected, and this does nothing. */
WEFT_API void weft_on_deadlock(enum weft_deadlock action);

WEFT_END

#endif
