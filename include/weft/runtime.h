/* Starting and stopping a runtime: the workers that run processes.
 *
 * A runtime may live inside a larger program, be fed from its threads, and be stopped and started again; several may live
 * side by side. */
#ifndef WEFT_RUNTIME_H
#define WEFT_RUNTIME_H

#include <weft/api.h>
#include <weft/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

WEFT_BEGIN

/* A process: 24 bits of slot, 32 bits of generation, 8 bits of runtime. Never reused while it could still mean the former process.
 * 0 is no process. */
typedef uint64_t weft_pid;
#define WEFT_NOBODY ((weft_pid)0)

/* No deadline. Deadlines are moments of the monotonic clock, in nanoseconds: weft_in(the longest time to wait). One that has passed is fine. But
 * a duration in its place, such as WEFT_SECOND, is a moment long before the program began: a call that would wait aborts then, and says so. */
#define WEFT_FOREVER UINT64_MAX
WEFT_API uint64_t weft_now(void);

typedef struct weft_runtime weft_runtime;

/* Zeroed fields take the environment variable in brackets, or else the default. A variable WEFT_... that weft does not know is told on standard error. */
typedef struct weft_config {
    unsigned workers;       /* [WEFT_WORKERS] the CPUs this program may use */
    const char *policy;     /* [WEFT_POLICY] "ring", "deque" or "line"; default "ring" */
    const char *deque_wake; /* [WEFT_DEQUE_WAKE] policy deque: woken processes go to the "global" queue (default), or stay "local" */
    uint64_t seed;          /* [WEFT_SEED] of the choices a scheduler makes at random; default from the kernel */
    size_t max_processes;   /* 16,777,215 */
    size_t stack_size;      /* [WEFT_STACK_SIZE] bytes of a stackful process; 64 KiB; at most 8 MiB */
    bool check_mutexes;     /* [WEFT_CHECK_MUTEXES=1] abort when a process waits with a mutex: weft/stack.h; always in debug builds */
    bool preempt;           /* [WEFT_PREEMPT=1] a stackful process is interrupted after its time slice: weft/preempt.h */
    unsigned preempt_us;    /* [WEFT_PREEMPT_US] the time slice in microseconds: 50 to 10,000, the default */
    unsigned max_threads;   /* [WEFT_MAX_THREADS] threads of the runtime, those in blocking calls included; 1024, or the workers if more */
    const char *at_max_threads; /* [WEFT_AT_MAX_THREADS] weft_blocking then: "wait" (default) or "error"; weft/blocking.h */
    unsigned
        max_extra; /* [WEFT_MAX_EXTRA] extra workers beside processes that do not yield; 64, and not more. None: `exclusive`. Processes that were
                             * interrupted go on even when these are used up */
    unsigned
        grace_ms; /* [WEFT_GRACE_MS] milliseconds that a process has to end when it is asked to, before it is ended: weft_stop; 5,000 */
    unsigned max_stopped; /* [WEFT_MAX_STOPPED] most processes interrupted at a time, each keeping a thread; 64, and not more */
    bool keep_sigquit;    /* [WEFT_SIGQUIT=0] SIGQUIT ends the program, and does not print its processes: weft/info.h */
    bool
        contain_faults; /* [WEFT_CONTAIN_FAULTS=1] a fault in a process's own code ends that process, not the program: docs/containment.md */
    /* [WEFT_MAX_MAIL_BYTES] of the whole program, from 1 MiB on: the memory of messages, in mailboxes or received and not freed, the cached
     * blocks of pools among it, moved buffers too. Beyond it sends fail: WEFT_ENOBUFS. 0: no limit, or that of a runtime started before. */
    size_t max_mail_bytes;
    /* [WEFT_EXCLUSIVE=1] Never two processes at a time: one worker, and none beside a process that computes for long; the others wait until it calls weft. So what
     * a process does between two weft calls that may wait, no other process sees half done. What runs in weft_blocking and the like is not the process's own
     * time: others run meanwhile. WEFT_EINVAL with more workers than 1, or with preemption; weft_set_workers refuses too. */
    bool exclusive;
    bool
        cpu_times; /* [WEFT_CPU_TIMES=1] the CPU time of each process is measured: weft/info.h. A system call for each worker and round of sysmon */
    /* [WEFT_PREEMPT_ALARMS=1] With preemption: processes that were interrupted and go on are interrupted again by an alarm of their thread's, on time, and not when sysmon gets
     * the CPU, up to one clock tick of the kernel later. Without this the alarm is one that rings where the thread computes, and in no system call, if the kernel allows such
     * (kernel.perf_event_paranoid up to 2); with it a timer, everywhere, and more exactly. Only where no process makes plain system calls that sleep: the timer may ring in one,
     * also of another process on the same thread, and a blocking read, write or send then answers a short count. Calls of weft's are not affected, nor is what runs in
     * weft_blocking. docs/processes.md */
    bool preempt_alarms;
} weft_config;

/* NULL: all defaults. 0 and *runtime, or an error: WEFT_EINVAL for a value that makes no sense (a line on standard error says
 * which), WEFT_ENOMEM, WEFT_EAGAIN when not even one thread could be started. With some threads refused the runtime works with
 * fewer workers and says so on standard error. */
WEFT_API int weft_start_sized(const weft_config *config, size_t config_size, weft_runtime **runtime);
static inline int weft_start(const weft_config *config, weft_runtime **runtime) {
    return weft_start_sized(config, sizeof *config, runtime);
}

typedef struct weft_stop_report {
    size_t left;        /* processes that would not end */
    weft_pid first[16]; /* some of them */
} weft_stop_report;

/* Cancels every process, lets all run on until none is left or the deadline has passed, and takes the runtime down. Refuses
 * new processes from then on (WEFT_ESTOPPING). 0, or WEFT_ETIMEDOUT when processes were left; the report (may be NULL) names them.
 *
 * A stackful process has its grace period (weft_config.grace_ms) to end. After that, or at the deadline if that is earlier, it is ended at
 * its next call that may wait, weft_yield or weft_checkpoint, with the reason WEFT_EKILLED: its deferred functions run. Not while it is shielded,
 * nor in a fork/join task. A step process is left to itself until the deadline.
 *
 * Processes that have not ended a second later, or at the deadline, are listed on standard error: entry function, the call they are in, and
 * since when. At the deadline weft_stop returns (a tenth of a second later if processes had to be ended by force). Processes that wait are
 * closed then, without their deferred functions. Processes in a blocking call of the operating system, or that compute, cannot be ended:
 * their threads go on, and the memory of the runtime, with all that they hold in it, stays as it is. If such a process comes back to weft,
 * its thread ends there. Without a deadline weft_stop waits for it. Not to be called from a process. */
WEFT_API int weft_stop_sized(weft_runtime *runtime, weft_stop_report *report, size_t report_size, uint64_t deadline);
static inline int weft_stop(weft_runtime *runtime, weft_stop_report *report, uint64_t deadline) {
    return weft_stop_sized(runtime, report, sizeof *report, deadline);
}

/* The number of workers; changed while running, up or down, nothing is lost. WEFT_EINVAL for 0 or more than 1024 (1 where `exclusive`); WEFT_EAGAIN
 * when a thread could not be started (as many as possible were); WEFT_EBUSY when a worker that was to end has pinned processes
 * (weft/stack.h): as many as possible end, those with the highest numbers first. weft_set_workers does not wait for them: each leaves when
 * the process that it runs waits, yields or ends. From a thread of your own, or from a process of another runtime; in a process of this one
 * the program aborts and says so. */
WEFT_API unsigned weft_workers(weft_runtime *runtime);
WEFT_API int weft_set_workers(weft_runtime *runtime, unsigned workers);

/* Counters since the start; each is exact once the runtime is quiet. */
typedef struct weft_stats {
    uint64_t processes, spawned, ended;
    uint64_t steps, messages_sent, messages_refused;
    uint64_t steals, stolen, injected, handoffs;
    uint64_t sleeps, wakeups;
    uint64_t late_completions;
    uint64_t preemptions, stopped; /* how often processes were interrupted; how many are interrupted now */
} weft_stats;
WEFT_API void weft_get_stats_sized(weft_runtime *runtime, weft_stats *stats, size_t stats_size);
static inline void weft_get_stats(weft_runtime *runtime, weft_stats *stats) { weft_get_stats_sized(runtime, stats, sizeof *stats); }

/* Every worker, 200 processes (and a line that says how many more there are) and the trees of supervisors, for a person; safe to call at any time
 * from any thread. SIGQUIT and a fault that ends the program show up to 10,000 processes of each runtime. */
WEFT_API void weft_dump(weft_runtime *runtime, int descriptor);

WEFT_END

#endif
