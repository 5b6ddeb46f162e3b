/* Asking: what a process is, what it does or waits for, and since when.
 *
 * The answers are of one moment that has passed when the caller reads them: a process runs on meanwhile. What a process would have to pay
 * for while it runs is not kept, and is said to be unknown.
 *
 * The signal SIGQUIT (Ctrl-\) prints all workers, processes and trees of supervisors of every runtime in the program on standard error, and the program goes on;
 * not if the program has set an action of its own for it before weft_start, nor with weft_config.keep_sigquit. */
#ifndef WEFT_INFO_H
#define WEFT_INFO_H

#include <weft/runtime.h>

WEFT_BEGIN

enum weft_process_state {
    WEFT_STATE_READY = 1, /* it waits for a worker to run on */
    WEFT_STATE_RUNNING,
    WEFT_STATE_WAITING,  /* as `call` and `about` say */
    WEFT_STATE_BLOCKING, /* in a blocking call: weft/blocking.h */
    WEFT_STATE_STOPPED,  /* it was interrupted, and waits for a worker: weft/preempt.h */
};

#define WEFT_UNKNOWN UINT64_MAX

typedef struct weft_process_info {
    weft_pid pid;
    uint32_t state; /* enum weft_process_state; weft_state_text */
    bool stackful;
    bool cancelled; /* it was asked to end */
    bool pinned;    /* to its worker: weft/stack.h */
    bool has_messages;
    char name[48];     /* as given when it was spawned, or its behavior's, shortened; "": none */
    const void *entry; /* its entry function; of a step process, its step. weft_symbol names it */
    /* The weft call that a stackful process waits in, or, if it does not wait, has last waited in: this one alone is kept. NULL: none yet, or
     * a step process, which waits between its steps and in no call. */
    const char *call;
    const void *about;  /* the object that it waits for: a mutex, a channel...; NULL: none, or it does not wait */
    weft_pid about_pid; /* the process that it waits for: weft_join, weft_call, weft_send...; WEFT_NOBODY: none */
    uint64_t since;     /* for how many ns it has been waiting, to 67 ms; or running without a pause, as far as was noticed; WEFT_UNKNOWN */
    /* Messages that it has not received. Those that count, if its mailbox is bounded (weft/message.h). Of an unbounded mailbox only the process itself can count them, in as much time as there are
     * messages: WEFT_UNKNOWN for others. */
    uint64_t messages, message_bytes;
    uint32_t turns;           /* how often it has become ready to run since it was spawned, that included, modulo 65,536 */
    size_t stack_size;        /* 0: it has no stack, or none yet */
    size_t stack_used;        /* bytes from its upper end to the lowest page that was used, perhaps by processes that had it before */
    uint32_t monitors, links; /* how many it has: weft/life.h. Which processes they are of is not told */
    uint32_t watchers;        /* monitors, links, joins and calls of others that will be told of its end; a link counts on both sides */
    /* The process that has spawned it, which may have ended. WEFT_NOBODY: a thread has; or the policy is `line`, which has no room for it, and
     * the process is not joinable or its parent has ended. */
    weft_pid parent;
    char registered[48]; /* a name that it was given (weft/registry.h), the last of several; "": none */
    bool packed;         /* its stack is packed: WEFT_SPAWN_PACK */
    /* Nanoseconds of CPU time since it began; WEFT_UNKNOWN without weft_config.cpu_times. A sample: many times a second the CPU time that a
     * worker's thread has had since the last look is counted for the process that runs there now. Right on average, and for long computations;
     * a process that runs for some microseconds now and then may show 0, or a look's interval too much. Not counted: other threads, as in weft_blocking. */
    uint64_t cpu_time;
} weft_process_info;

/* 0 and *info, or WEFT_ENOPROC, WEFT_EFOREIGN. From anywhere. */
WEFT_API int weft_info_sized(weft_pid pid, weft_process_info *info, size_t info_size);
static inline int weft_info(weft_pid pid, weft_process_info *info) { return weft_info_sized(pid, info, sizeof *info); }

/* Calls `visit` with each process of the runtime, until it returns false; returns how many it has visited. Processes may be born and may end
 * meanwhile: those that live all the time are visited once, the others once or not at all. `info` is visit's until it returns; visit may
 * call weft, and may wait if its caller may. From anywhere. */
typedef bool weft_visit(const weft_process_info *info, void *user);
WEFT_API size_t weft_each_process_sized(weft_runtime *runtime, weft_visit *visit, void *user, size_t info_size);
static inline size_t weft_each_process(weft_runtime *runtime, weft_visit *visit, void *user) {
    return weft_each_process_sized(runtime, visit, user, sizeof(weft_process_info));
}

/* "ready", "running"... */
WEFT_API const char *weft_state_text(uint32_t state);
/* Writes where an address is, as program+0x1234 (function+0x10), cut off at `size`; returns `text`. Reads the file of the program or library:
 * static functions have names too, unless it was stripped. Those of C++ are shown without parameters and template arguments: app::run, app::{lambda}. */
WEFT_API const char *weft_symbol(const void *address, char *text, size_t size);

WEFT_END

#endif
