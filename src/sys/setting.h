/* The variables of the environment that weft reads, in one table. */
#ifndef WEFT_SYS_SETTING_H
#define WEFT_SYS_SETTING_H

#include "sys/sys.h"

/* Without WEFT_, in the order of `weft settings`; the values that it takes; what it sets. */
#define EACH_SETTING(SETTING)                                                                                                              \
    SETTING(WORKERS, "1 to 1024", "workers; as many as the CPUs that the program may use")                                                 \
    SETTING(POLICY, "ring, deque, line", "the queues of workers; ring")                                                                    \
    SETTING(DEQUE_WAKE, "global, local", "policy deque: where woken processes go; global")                                                 \
    SETTING(SEED, "a number", "of what a scheduler chooses at random")                                                                     \
    SETTING(STACK_SIZE, "bytes", "the stack of a stackful process; 65536")                                                                 \
    SETTING(PREEMPT, "0, 1", "processes are interrupted after their time slice; 0")                                                        \
    SETTING(PREEMPT_US, "50 to 10000", "the time slice in microseconds; 10000")                                                            \
    SETTING(PREEMPT_ALARMS, "0, 1", "interrupted processes go on with a timer; 0")                                                         \
    SETTING(MAX_STOPPED, "1 to 64", "most processes that are interrupted at a time; 64")                                                   \
    SETTING(MAX_THREADS, "a number", "most threads of a runtime; 1024")                                                                    \
    SETTING(AT_MAX_THREADS, "wait, error", "what weft_blocking does then; wait")                                                           \
    SETTING(MAX_EXTRA, "1 to 64", "most workers beside processes that do not yield; 64")                                                   \
    SETTING(EXCLUSIVE, "0, 1", "never two processes at a time; 0")                                                                         \
    SETTING(MAX_MAIL_BYTES, "bytes", "most memory of messages, from 1048576 on; no limit")                                                 \
    SETTING(GRACE_MS, "milliseconds", "the time that a process has to end when it is asked to; 5000")                                      \
    SETTING(CONTAIN_FAULTS, "0, 1", "a fault ends its process, and not the program; 0")                                                    \
    SETTING(CPU_TIMES, "0, 1", "the CPU time of each process is measured; 0")                                                              \
    SETTING(CHECK_MUTEXES, "0, 1", "a process that waits with a mutex aborts; 0, in debug builds 1")                                       \
    SETTING(CHECK_MESSAGES, "0, 1", "checking builds: messages that are never freed are told; 1")                                          \
    SETTING(DEADLOCK, "stop, abort, report, ignore", "what weft_main does then; stop")                                                     \
    SETTING(SIGQUIT, "0, 1", "SIGQUIT prints the processes; 1")                                                                            \
    SETTING(RESOLVER, "ares, libc", "of the names of hosts; ares, if it is there")                                                         \
    SETTING(NAMESERVERS, "addresses", "the servers that ares asks; those of the system")

#define SETTING_NUMBER(id, ...) SETTING_##id,
enum setting { EACH_SETTING(SETTING_NUMBER) SETTINGS };

/* With WEFT_. */
static inline const char *setting_name(enum setting which) {
#define SETTING_NAME(id, ...) [SETTING_##id] = "WEFT_" #id,
    static const char *const names[] = {EACH_SETTING(SETTING_NAME)};
    return names[which];
}
/* Its value, or NULL. */
static inline const char *setting_value(enum setting which) { return sys->setting(setting_name(which)); }

/* Tells on standard error, once in a program, which variables of the environment begin with WEFT_ and mean nothing. */
void settings_tell_unknown(void);

#endif
