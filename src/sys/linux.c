/* The real table of outside effects: Linux system calls, and the C library for memory and threads. Functions that a process may reach
 * leave errno as it was. */
#include "base/assert.h"
#include "sys/chunk.h"
#include "sys/delayed_signals.h"
#include "sys/heap.h"
#include "sys/leak_roots.h"
#include "sys/sys.h"
#include "sys/sys_file.h"
#include "sys/sys_net.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    LINUX_ALIGN = 64,
    LINUX_CPU_WORDS = 8192 / (sizeof(long) * CHAR_BIT),
};

static uint64_t linux_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* 0, or an error number. */
static int linux_futex_sleep(atom_u32 *word, uint32_t expected, uint64_t deadline) {
    struct timespec t, *timeout = NULL;
    if (deadline != SYS_FOREVER) {
        t.tv_sec = (time_t)(deadline / UINT64_C(1000000000));
        t.tv_nsec = (long)(deadline % UINT64_C(1000000000));
        timeout = &t;
    }
    /* The bit-set form takes an absolute time of the monotonic clock, so that a retry after a signal does not sleep
     * longer. */
    long r = syscall(SYS_futex, &word->cell, FUTEX_WAIT_BITSET_PRIVATE, expected, timeout, NULL, FUTEX_BITSET_MATCH_ANY);
    return r == 0 ? 0 : errno;
}

/* In short pieces, where signals are kept back: sys/delayed_signals.h. */
static int linux_futex_sleep_in_pieces(atom_u32 *word, uint32_t expected, uint64_t deadline) {
    for (;;) {
        uint64_t piece = linux_now() + DELAYED_SIGNALS_NS;
        bool last = deadline <= piece;
        int error = linux_futex_sleep(word, expected, last ? deadline : piece);
        delayed_signals_run();
        if (error != ETIMEDOUT || last) return error;
    }
}

static int linux_futex_wait(atom_u32 *word, uint32_t expected, uint64_t deadline) {
    int before = errno; /* a process that calls weft keeps its errno, and may get here without leaving its thread */
    int error = DELAYED_SIGNALS ? linux_futex_sleep_in_pieces(word, expected, deadline) : linux_futex_sleep(word, expected, deadline);
    errno = before;
    WEFT_ENSURE(error == 0 || error == EAGAIN || error == ETIMEDOUT || error == EINTR, "futex wait on %p failed with errno %d",
                (void *)word, error);
    return -error;
}

static int linux_futex_wake(atom_u32 *word, uint32_t count) {
    if (count > INT_MAX) count = INT_MAX;
    /* EFAULT is no error here: if the word was freed between the change and the wake, no thread sleeps on it. */
    int before = errno;
    long r = syscall(SYS_futex, &word->cell, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
    errno = before;
    return r < 0 ? 0 : (int)r;
}

static void *linux_map(size_t size, int flags) {
    int before = errno;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    errno = before;
    return memory == MAP_FAILED ? NULL : memory;
}

/* A runtime may be as large as this. */
static void *linux_map_rooted(size_t size) {
    void *memory = linux_map(size, 0);
    if (memory) leak_root(memory, size);
    return memory;
}

static void *linux_alloc(size_t size) {
    if (size > PTRDIFF_MAX) return NULL;
    if (size >= SYS_MAPPED) return linux_map_rooted(size);
    if (heap_is_on()) return heap_take(size);
    int before = errno;
    size = (size + LINUX_ALIGN - 1) & ~(size_t)(LINUX_ALIGN - 1);
    void *memory = aligned_alloc(LINUX_ALIGN, size ? size : LINUX_ALIGN);
    errno = before;
    return memory ? memset(memory, 0, size) : NULL;
}

static void linux_free(void *memory, size_t size) {
    if (size < SYS_MAPPED && heap_has(memory)) {
        heap_give(memory, size);
    } else if (size < SYS_MAPPED) {
        if (heap_is_on()) heap_keep(memory);
        else free(memory);
    } else if (memory) {
        leak_uproot(memory, size);
        int r = munmap(memory, size);
        WEFT_ENSURE(r == 0, "free of %p, %zu bytes: errno %d", memory, size, errno);
    }
}

static size_t linux_vm_page(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static void *linux_vm_map(size_t size) { return linux_map(size, MAP_NORESERVE); }

static void linux_vm_unmap(void *memory, size_t size) {
    int r = munmap(memory, size);
    WEFT_ENSURE(r == 0, "unmap of %p, %zu bytes: errno %d", memory, size, errno);
}

/* Linux 6.13; not in the C library's headers yet. */
enum { LINUX_GUARD_INSTALL = 102 };

/* An emulator (qemu-user) ignores advice that it does not know and returns 0. So the first guard is tested: the kernel, asked to
 * write a byte there, must refuse. */
static int linux_guard(void *memory, size_t size) {
    static atom_u32 works; /* 0: not tested yet, 1: yes, 2: no; rlx: every thread that tests gets the same answer */
    if (atom_load_rlx(&works) == 2) {
        errno = EINVAL;
        return -1;
    }
    if (madvise(memory, size, LINUX_GUARD_INSTALL) != 0) return -1;
    if (atom_load_rlx(&works) == 1) return 0;
    bool writable = getrandom(memory, 1, GRND_NONBLOCK) == 1;
    atom_store_rlx(&works, writable ? 2 : 1);
    errno = EINVAL;
    return writable ? -1 : 0;
}

static int linux_vm_advise(void *memory, size_t size, enum sys_vm what) {
    int r = -1, before = errno;
    switch (what) {
    case SYS_VM_SMALL: r = madvise(memory, size, MADV_NOHUGEPAGE); break;
    case SYS_VM_DROP: r = madvise(memory, size, MADV_DONTNEED); break;
    case SYS_VM_GUARD: r = linux_guard(memory, size); break;
    case SYS_VM_ALLOW: r = mprotect(memory, size, PROT_READ | PROT_WRITE); break;
    case SYS_VM_DENY: r = mprotect(memory, size, PROT_NONE); break;
    }
    int error = r == 0 ? 0 : -errno;
    errno = before;
    return error;
}

/* Linux 6.14 knows the calling thread by this number; elsewhere it is a descriptor that is not open. */
enum { LINUX_PIDFD_SELF = -10000, LINUX_GUARDS_MOST = 64 };

static int linux_vm_guards(void *memory, size_t size, size_t stride, unsigned count) {
    struct iovec ranges[LINUX_GUARDS_MOST];
    if (count > LINUX_GUARDS_MOST) return -EINVAL;
    for (unsigned i = 0; i < count; i++)
        ranges[i] = (struct iovec){(char *)memory + i * stride, size};
    int before = errno;
    long r = syscall(SYS_process_madvise, LINUX_PIDFD_SELF, ranges, count, LINUX_GUARD_INSTALL, 0);
    int error = r == (long)(size * count) ? 0 : r < 0 ? -errno : -EAGAIN;
    errno = before;
    return error;
}

static int linux_vm_resident(void *memory, size_t size, unsigned char *pages) {
    int before = errno, error = mincore(memory, size, pages) == 0 ? 0 : -errno;
    errno = before;
    return error;
}

/* struct sched_attr, which the C library does not have: the fields it had when `runtime` came to mean the time slice (Linux 6.12). */
struct linux_sched {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};
/* The runtime's threads get a short time slice, so that they wake on time beside busy threads. With the usual slice (1.4 ms with two
 * CPUs) a woken thread runs at once only if the running one has used up its slice; otherwise it runs a clock tick or several later.
 * With 4 busy threads on 2 CPUs 1 wake-up in 100 is late by 1 ms or more; with this slice for all of them, 1 in 1000. Their share of
 * the CPU is the same. */
enum {
    LINUX_SLACK = 1, /* ns */
    LINUX_SLICE = 100000,
    /* For threads that compute without end: a thread that wakes with a shorter slice runs first; they get as much CPU as before. An
     * unusual number: a slice that the program has chosen is not mistaken for it. */
    LINUX_SLICE_PATIENT = 20000001,
    LINUX_KEEP_POLICY = 8, /* of the flags: a policy that the program sets concurrently stays */
};

/* Changes the slice of a thread (id 0: the calling one) to `to` if it is `from` (0: any); returns what it was before. 0: not changed,
 * because the kernel cannot, or because the program has chosen another slice or policy. */
static uint64_t linux_set_slice(uint32_t id, uint64_t from, uint64_t to) {
    struct linux_sched sched = {.size = 0};
    if (syscall(SYS_sched_getattr, id, &sched, sizeof sched, 0) != 0 || sched.policy != SCHED_OTHER || sched.runtime == 0) return 0;
    uint64_t before = sched.runtime;
    if (before == to || (from && before != from)) return 0;
    sched.size = sizeof sched;
    sched.flags |= LINUX_KEEP_POLICY;
    sched.runtime = to;
    return syscall(SYS_sched_setattr, id, &sched, 0) == 0 ? before : 0;
}

static int linux_thread_start(sys_thread *thread, void *(*entry)(void *), void *arg) {
    _Static_assert(sizeof(pthread_t) == sizeof thread->handle, "a thread handle fits");
    int before = errno;
    /* By default the kernel lets a thread sleep 50 us longer than asked, so as to wake several at once. A new thread inherits the
     * slack of its creator, so the creator's is changed meanwhile. If the kernel refuses, nothing changes. */
    int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    if (slack != LINUX_SLACK) prctl(PR_SET_TIMERSLACK, LINUX_SLACK, 0, 0, 0);
    uint64_t slice = linux_set_slice(0, 0, LINUX_SLICE); /* likewise */
    int error =
        pthread_create((pthread_t *)&thread->handle, NULL, entry, arg); /* stored before the thread runs, so that it can be joined */
    /* A creator that was patient keeps the short slice: it is about to wait, and sysmon may just have made it impatient. */
    if (slice > 0 && slice != LINUX_SLICE_PATIENT) linux_set_slice(0, LINUX_SLICE, slice);
    if (slack > 0 && slack != LINUX_SLACK) prctl(PR_SET_TIMERSLACK, slack, 0, 0, 0);
    errno = before;
    return -error;
}

static void linux_thread_name(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

static int linux_thread_join(sys_thread thread) { return -pthread_join((pthread_t)thread.handle, NULL); }

static void linux_yield(void) { sched_yield(); }

static uint32_t linux_thread_id(void) { return (uint32_t)syscall(SYS_gettid); }

static int linux_thread_time(uint32_t id, uint64_t *time) {
    struct timespec t;
    int before = errno;
    /* The clock of one thread, as pthread_getcpuclockid makes its number. */
    clockid_t clock = (clockid_t)(~(unsigned)id << 3 | 6);
    int error = clock_gettime(clock, &t) == 0 ? 0 : -errno;
    errno = before;
    if (!error) *time = (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
    return error;
}

static void linux_thread_patient(uint32_t id, bool patient) {
    int before = errno;
    if (patient) linux_set_slice(id, LINUX_SLICE, LINUX_SLICE_PATIENT);
    else linux_set_slice(id, LINUX_SLICE_PATIENT, LINUX_SLICE);
    errno = before;
}

static bool linux_thread_asleep(uint32_t id) {
    char text[256];
    int before = errno;
    snprintf(text, sizeof text, "/proc/self/task/%u/stat", id);
    int file = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t n = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0) close(file);
    errno = before;
    text[n > 0 ? n : 0] = '\0';
    const char *at = strrchr(text, ')'); /* after the name, which may hold anything: the state */
    return at && at[1] == ' ' && (at[2] == 'S' || at[2] == 'D');
}

static int linux_thread_signal(uint32_t id, int number) {
    int before = errno;
    pid_t self = getpid();
    siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};
    info.si_pid = self;
    info.si_uid = getuid();
    info.si_value.sival_ptr = &sys;
    int error = syscall(SYS_rt_tgsigqueueinfo, self, (pid_t)id, number, &info) == 0 ? 0 : -errno;
    errno = before;
    return error;
}

/* A small file of the kernel's; "" when it cannot be read. */
static void linux_read_text(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file >= 0 ? read(file, text, size - 1) : -1;
    if (file >= 0) close(file);
    text[n > 0 ? n : 0] = '\0';
}

static int linux_thread_where(uint32_t number, int *call, uintptr_t *address) {
    char text[256];
    snprintf(text, sizeof text, "/proc/self/task/%u/syscall", number);
    linux_read_text(text, text, sizeof text);
    if (strncmp(text, "running", 7) == 0) return -EBUSY;
    const char *last = strrchr(text, ' '); /* number, six arguments, stack pointer, program counter */
    if (!last || text[0] == '-') return -ENOENT;
    *call = (int)strtol(text, NULL, 10);
    *address = strtoul(last, NULL, 16);
    return 0;
}

static unsigned linux_thread_count(void) {
    char text[1024];
    linux_read_text("/proc/self/stat", text, sizeof text);
    /* After the name, which may hold anything, and its closing bracket: the 18th field. */
    const char *at = strrchr(text, ')');
    for (unsigned field = 2; at && field < 20; field++)
        at = strchr(at + 1, ' ');
    return at ? (unsigned)strtoul(at, NULL, 10) : 0;
}

static int linux_signal_stack(const void *stack, void *before) { return sigaltstack(stack, before) == 0 ? 0 : -errno; }

static int linux_signal_action(int number, const struct sigaction *action, struct sigaction *before) {
    return sigaction(number, action, before) == 0 ? 0 : -errno;
}

static int linux_fence_register(void) {
    long r = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    return r == 0 ? 0 : -errno;
}

static void linux_fence_heavy(void) {
    if (sys_fence_is_full()) {
        atom_fence_light(); /* full; or just made light again, and then a membarrier has been passed since (sys/fence.c) */
        return;
    }
    long r = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    /* The right to it was granted; without the fence a sleeper could miss its work for ever. */
    WEFT_ENSURE(r == 0, "membarrier failed with errno %d", errno);
}

static int linux_random(void *bytes, size_t size) {
    for (char *at = bytes; size > 0;) {
        ssize_t n = getrandom(at, size, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -errno;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

static unsigned linux_cpus(void) {
    unsigned long mask[LINUX_CPU_WORDS];
    unsigned count = 0;
    /* The raw call says how many bytes it filled in. On failure nothing is counted, and one CPU certainly exists. */
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    for (long i = 0; i < bytes / (long)sizeof mask[0]; i++)
        count += (unsigned)__builtin_popcountl(mask[i]);
    unsigned quota = sys_cpus_quota("");
    if (count > quota) count = quota;
    return count ? count : 1;
}

static const char *linux_setting(const char *name) {
    return getenv(name); // NOLINT(concurrency-mt-unsafe): safe against all but setenv, which no program may call beside getenv
}

const struct sys sys_linux = {
    .now = linux_now,
    .futex_wait = linux_futex_wait,
    .futex_wake = linux_futex_wake,
    .alloc = linux_alloc,
    .free = linux_free,
    .alloc_apart = heap_begin,
    .vm_page = linux_vm_page,
    .chunk_take = chunk_take,
    .chunk_give = chunk_give,
    .vm_map = linux_vm_map,
    .vm_unmap = linux_vm_unmap,
    .vm_advise = linux_vm_advise,
    .vm_guards = linux_vm_guards,
    .vm_resident = linux_vm_resident,
    .thread_start = linux_thread_start,
    .thread_name = linux_thread_name,
    .thread_join = linux_thread_join,
    .yield = linux_yield,
    .thread_id = linux_thread_id,
    .thread_time = linux_thread_time,
    .thread_signal = linux_thread_signal,
    .thread_asleep = linux_thread_asleep,
    .thread_patient = linux_thread_patient,
    .alarm_make = linux_alarm_make,
    .alarm_set = linux_alarm_set,
    .alarm_drop = linux_alarm_drop,
    .thread_count = linux_thread_count,
    .thread_where = linux_thread_where,
    .signal_stack = linux_signal_stack,
    .signal_action = linux_signal_action,
    .fence_heavy = linux_fence_heavy,
    .fence_register = linux_fence_register,
    .random = linux_random,
    .cpus = linux_cpus,
    .setting = linux_setting,
    .file = &sys_linux_file,
    .net = &sys_linux_net,
};

const struct sys *sys = &sys_linux;
