/* The outside-effects table: everything the runtime asks of the kernel or the C library goes through here.
 *
 * `sys` points to the real table (sys/linux.c), to a scripted one in fault tests (tests/scripted.c), or, in the check
 * configuration, to the model checker's (check/engine). Nothing else in the library calls the kernel directly.
 *
 * Conventions: 0 or a negative errno; times are nanoseconds of the monotonic clock; SYS_FOREVER is "no deadline". */
#ifndef WEFT_SYS_SYS_H
#define WEFT_SYS_SYS_H

#include "base/atom.h"
#include "base/config.h"
#include "sys/sys_alarm.h"

#include <stddef.h>
#include <stdint.h>

#define SYS_FOREVER UINT64_MAX

enum { SYS_CHUNK = WEFT_CHECK ? 512 : 64 * 1024 };
enum { SYS_MAPPED = 256 << 10 };

typedef struct sys_thread {
    uint64_t handle;
} sys_thread;

/* What vm_advise does with some pages. */
enum sys_vm {
    SYS_VM_SMALL, /* no huge pages here: a touch costs one page */
    SYS_VM_DROP,  /* their contents are not needed: zero when next touched, no memory until then; guards stay */
    SYS_VM_GUARD, /* a touch faults, without a mapping of its own; -EINVAL where the kernel cannot */
    SYS_VM_ALLOW, /* undoes SYS_VM_DENY */
    SYS_VM_DENY,  /* a touch faults; splits the mapping. -ENOMEM: a program has 65,530 of them by default, not more */
};

struct sigaction; /* <signal.h> */
struct sys_file;  /* sys/sys_file.h */
struct sys_net;   /* sys/sys_net.h */

struct sys {
    /* The monotonic clock. */
    uint64_t (*now)(void);

    /* Sleeps while *word == expected. 0: woken, perhaps for no reason. -EAGAIN: the word differs. -ETIMEDOUT: the
     * deadline passed. -EINTR: a signal. The caller re-reads the word in every case. */
    int (*futex_wait)(atom_u32 *word, uint32_t expected, uint64_t deadline);
    /* Wakes up to `count` sleepers; returns how many. */
    int (*futex_wake)(atom_u32 *word, uint32_t count);

    /* Zeroed memory, aligned for any cell (64 bytes); NULL when there is none. From SYS_MAPPED bytes on it costs nothing until it is touched. */
    void *(*alloc)(size_t size);
    void (*free)(void *memory, size_t size);
    /* From now on neither of the two uses the C library: sys/heap.h. 0 or -ENOMEM. */
    int (*alloc_apart)(void);
    /* SYS_CHUNK bytes, aligned to as many; NULL when there are none. Given back they cost no memory: sys/chunk.h. */
    void *(*chunk_take)(void);
    void (*chunk_give)(void *chunk);

    /* Address space, zeroed, page by page; costs nothing until touched. map: NULL when there is none. resident: one
     * byte a page, not 0 for one that has memory; touches nothing. Addresses and sizes are multiples of the page
     * size. */
    size_t (*vm_page)(void);
    void *(*vm_map)(size_t size);
    void (*vm_unmap)(void *memory, size_t size);
    int (*vm_advise)(void *memory, size_t size, enum sys_vm what);
    /* SYS_VM_GUARD for `count` ranges, each `stride` after the last, in one call. Any error: not all are there. */
    int (*vm_guards)(void *memory, size_t size, size_t stride, unsigned count);
    int (*vm_resident)(void *memory, size_t size, unsigned char *pages);

    /* Threads. `yield` gives the core to another thread that is ready. */
    int (*thread_start)(sys_thread *thread, void *(*entry)(void *), void *arg);
    /* The calling thread's name, for debuggers and top(1); 15 bytes at most. */
    void (*thread_name)(const char *name);
    int (*thread_join)(sys_thread thread);
    void (*yield)(void);

    /* Threads by number. thread_id: the calling thread's. thread_time: the CPU time (ns) that a thread has had so far.
     * thread_signal: sends a thread a signal with the value &sys, which tells it from other signals. Not 0: there is no such
     * thread. When a thread has ended, its number may come to mean another one. */
    uint32_t (*thread_id)(void);
    int (*thread_time)(uint32_t id, uint64_t *time);
    int (*thread_signal)(uint32_t id, int number);
    /* Whether a thread sleeps, as opposed to running or waiting for a CPU; takes some microseconds. False if that cannot be known. */
    bool (*thread_asleep)(uint32_t id);
    /* Marks a thread that computes: it may wait longer than others for the CPU, without having less of it; or takes that back. Ignored
     * where the kernel cannot. */
    void (*thread_patient)(uint32_t id, bool patient);
    /* An alarm of the calling thread, by which the kernel sends it the signal. alarm_set: once, for the moment `at`; it forgets the moment before. 0: never. For signal
     * handlers too. Not 0: there is none to be had. */
    int (*alarm_make)(sys_alarm *alarm, enum sys_alarm_kind kind, int signal);
    void (*alarm_set)(sys_alarm *alarm, uint64_t at);
    void (*alarm_drop)(sys_alarm *alarm);
    /* How many threads this program has, weft's and others; 0 when that cannot be known. */
    unsigned (*thread_count)(void);
    /* In which system call another thread of this program, by its number, is: 0, with the call's number and the address that it returns to.
     * -EBUSY: it is running. Anything else: that cannot be known. */
    int (*thread_where)(uint32_t number, int *call, uintptr_t *address);

    /* The calling thread's stack for signal handlers, and the handler of a signal: as sigaltstack (with its stack_t) and sigaction. */
    int (*signal_stack)(const void *stack, void *before);
    int (*signal_action)(int number, const struct sigaction *action, struct sigaction *before);

    /* Makes every running thread of this program pass a full fence: the heavy side of atom_fence_light(). */
    void (*fence_heavy)(void);
    /* Asks the kernel for the right to do so. Not 0: it cannot, and both sides have to be full fences. */
    int (*fence_register)(void);

    /* Fills `bytes` from the kernel's random source. */
    int (*random)(void *bytes, size_t size);

    /* CPUs this program may use: affinity mask and cgroup quota, at least 1. */
    unsigned (*cpus)(void);

    /* A setting of the program's environment, or NULL. */
    const char *(*setting)(const char *name);

    /* Files, descriptors, children; NULL in the check configuration. */
    const struct sys_file *file;
    /* Descriptors that can be waited for. */
    const struct sys_net *net;
};

extern const struct sys *sys;

/* The real one, which `sys` points to when the program starts. */
extern const struct sys sys_linux;

static inline void sys_fence_heavy(void) { sys->fence_heavy(); }

/* Decides, for the whole program, whether the light fence can be light. Runs by itself when the library is loaded; a
 * test that changes the table calls it again while there is one thread only. */
void sys_fence_setup(void);

/* The heavy fence is a system call of some 10 us that disturbs all other CPUs. Between a call with true and its call with false, light
 * fences are full ones and a heavy fence costs no more than they: for times in which some worker sleeps and wakes all the time beside
 * threads that do nothing but compute. From any thread; calls are counted. */
void sys_fence_wish_full(bool full);
/* For the table's fence_heavy: whether a full fence of the calling thread is enough. */
bool sys_fence_is_full(void);

/* CPUs that the cgroup quotas of this program allow, rounded up; UINT_MAX when there is no quota. `root` is put before
 * every path that is read: "" for the real files, a directory in tests. */
unsigned sys_cpus_quota(const char *root);

#endif
