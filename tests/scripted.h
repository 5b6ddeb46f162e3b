/* The scripted twin of the outside world, for fault tests. It does what the real table does until the script says
 * otherwise, and counts every call.
 *
 *     sys_scripted_install();
 *     sys_script.alloc_fail_at = 3;          // the third allocation from now returns NULL
 *     ...
 *     EXPECT_EQ(sys_scripted_live(), 0);     // and nothing was leaked on the way out
 *     sys_scripted_reset();                  // the real table again, all of the script forgotten
 *
 * Install, reset and the plain fields are for a moment when no other thread uses the table; the clock functions and the
 * counters may be used at any time. */
#ifndef WEFT_TESTS_SCRIPTED_H
#define WEFT_TESTS_SCRIPTED_H

#include "sys/sys.h"
#include "sys/sys_file.h"
#include "sys/sys_net.h"

/* The calls of struct sys_file that may fail. */
enum sys_file_call {
    SYS_FILE_OPEN,
    SYS_FILE_CLOSE,
    SYS_FILE_READ,
    SYS_FILE_WRITE,
    SYS_FILE_REOPEN,
    SYS_FILE_SYNC,
    SYS_FILE_TRUNCATE,
    SYS_FILE_STAT_PATH,
    SYS_FILE_STAT,
    SYS_FILE_UNLINK,
    SYS_FILE_RENAME,
    SYS_FILE_MKDIR,
    SYS_FILE_LIST,
    SYS_FILE_POLL,
    SYS_FILE_EVENT_OPEN,
    SYS_FILE_CHILD_OPEN,
    SYS_FILE_CHILD_REAP,
    SYS_FILE_CALLS,
};
extern const struct sys_file scripted_file_table;

/* The calls of struct sys_net that may fail. */
enum sys_net_call {
    SYS_NET_POLL_OPEN,
    SYS_NET_POLL_CHANGE,
    SYS_NET_POLL_WAIT,
    SYS_NET_BELL_OPEN,
    SYS_NET_READY,
    SYS_NET_SOCKET,
    SYS_NET_SOCKET_PAIR,
    SYS_NET_BIND,
    SYS_NET_LISTEN,
    SYS_NET_ACCEPT,
    SYS_NET_CONNECT,
    SYS_NET_SHUTDOWN,
    SYS_NET_NAME,
    SYS_NET_OPTION_SET,
    SYS_NET_OPTION_GET,
    SYS_NET_RECV,
    SYS_NET_SEND,
    SYS_NET_RECVMSG,
    SYS_NET_SENDMSG,
    SYS_NET_PIPE,
    SYS_NET_READV,
    SYS_NET_WRITEV,
    SYS_NET_SENDFILE,
    SYS_NET_NONBLOCKING,
    SYS_NET_CLOSE,
    SYS_NET_START,
    SYS_NET_CALLS,
};

/* Counted calls. */
struct sys_counts {
    atom_u64 now, futex_wait, futex_wake, alloc, free, thread_start, thread_join, yield, fence_heavy, random, cpus;
    atom_u64 alloc_failed;                                     /* allocations that returned NULL */
    atom_u64 alarm_make, alarm_refused, alarm_set, alarm_drop; /* those that were made, and those that were not */
    atom_u64 vm_map, vm_advise[SYS_VM_DENY + 1], vm_guards;
    atom_u64 file[SYS_FILE_CALLS];
    atom_u64 net[SYS_NET_CALLS];
};

struct sys_script {
    /* Memory. Counted from sys_scripted_install or the last sys_scripted_recount; 0 is "never". */
    uint64_t alloc_fail_at;   /* the Nth allocation fails */
    uint64_t alloc_fail_from; /* the Nth and all after it fail */

    /* Address space. The Nth map and all after it fail; maps larger than map_most fail; 0 is "never". An advice fails
     * with advise_error, a negative code, after advise_allowed successes. */
    uint64_t map_fail_from;
    size_t map_most;
    int advise_error[SYS_VM_DENY + 1];
    uint64_t advise_allowed[SYS_VM_DENY + 1];
    int guards_error, resident_error;

    /* Threads: after so many starts every further one is refused with -EAGAIN. */
    bool threads_limited;
    uint64_t threads_allowed;
    /* No thread has an alarm of that kind (enum sys_alarm_kind): a negative code. */
    int alarm_error[3];

    /* Futex: every Nth wait returns at once with -EINTR, or with 0 for no reason; 0 is "never". */
    uint64_t futex_eintr_every;
    uint64_t futex_spurious_every;

    /* membarrier is refused; takes effect with sys_fence_setup(). */
    bool fence_refused;

    /* Random bytes follow from `random_seed` alone; or every call fails with random_error, a negative code. */
    bool random_fixed;
    uint64_t random_seed;
    int random_error;

    /* Descriptors: after `after` calls, counted from install, a call fails with `error`, a negative code, `times` times (0: from then
     * on). Every Nth call that a signal could interrupt is interrupted; connect and close have done their work by then. Reads and
     * writes move at most net_most bytes. 0 is "never" and "any". */
    struct {
        int error;
        uint64_t after, times;
    } net[SYS_NET_CALLS];
    uint64_t net_eintr_every;
    size_t net_most;
    /* Not NULL: called instead of the C library to look up names. It must return a result of linux_net_lookup. */
    int (*net_lookup)(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found);

    /* Not 0: that many CPUs. */
    unsigned cpus;

    /* Files: a call of this kind fails with `error`, a negative code: every call (at is 0) or the Nth only. Reads and writes move at
     * most file_most bytes; every Nth call that can be interrupted is; nowait_refused: `nowait` is not supported; 0 is "never". */
    struct {
        int error;
        uint64_t at;
    } file[SYS_FILE_CALLS];
    size_t file_most;
    uint64_t file_eintr_every;
    bool nowait_refused;

    struct sys_counts counts;
};

extern struct sys_script sys_script;

/* Part of the table: scripted_net.c. */
extern const struct sys_net sys_scripted_net;

void sys_scripted_install(void);
void sys_scripted_reset(void);
/* The counters of allocations, starts and file calls begin again at 0; the rest of the script stays. */
void sys_scripted_recount(void);

/* Blocks that were allocated since install and not yet freed. */
uint64_t sys_scripted_live(void);
/* Bytes of address space that were mapped since and not yet unmapped. */
uint64_t sys_scripted_mapped(void);

/* The clock: moves it forward or back, stops it, lets it go on from where it stands, moves a stopped one. Sleepers
 * with a deadline notice within a millisecond, the first time within 16. */
void sys_scripted_jump(int64_t nanoseconds);
void sys_scripted_freeze(void);
void sys_scripted_unfreeze(void);

#endif
