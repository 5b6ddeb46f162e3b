/* `weft bench floor`: what this machine charges for the things a scheduler is made of. Everything else is judged
 * against these figures, re-measured in the same run. */
#define _GNU_SOURCE
#include "base/atom.h"
#include "base/spin.h"
#include "bench/bench.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

enum { PAGE = 4096, STACK = 64 * 1024 };

static void skip(struct bench_result *result, const char *why) { snprintf(result->skipped, sizeof result->skipped, "%s", why); }

static void skip_errno(struct bench_result *result, const char *what) {
    snprintf(result->skipped, sizeof result->skipped, "%s: %s", what, strerror(errno));
}

static void run_cas(const struct bench_args *args, struct bench_result *result) {
    static _Alignas(64) atom_u64 word;
    uint64_t seen = 0, start = bench_now();
    for (uint64_t i = 0; i < args->n; i++)
        if (atom_cas_acqrel_rlx(&word, &seen, i + 1)) /* no partner: only its price matters */
            seen = i + 1;
    result->seconds = bench_since(start);
}
BENCH(cas, .name = "floor.cas", .about = "compare-and-swap, no contention", .n = 50000000, .run = run_cas)

/* Two threads pass one line back and forth: even values are thread 0's to change, odd ones thread 1's. */
struct trip {
    _Alignas(64) atom_u32 word;
    uint64_t n;
};

static void line_body(unsigned self, void *arg) {
    struct trip *trip = arg;
    for (uint64_t i = 0; i < trip->n; i++) {
        uint32_t mine = (uint32_t)(2 * i + self);
        while (atom_load_acq(&trip->word) != mine) /* with the other thread's rel store */
            spin_pause();
        atom_store_rel(&trip->word, mine + 1); /* with the other thread's acq read */
    }
}

static void run_line(const struct bench_args *args, struct bench_result *result) {
    static struct trip trip;
    if (bench_cpus() < 2) {
        skip(result, "it needs two CPUs");
        return;
    }
    trip.n = args->n;
    result->seconds = bench_parallel(result, 2, line_body, &trip);
}
BENCH(line, .name = "floor.line", .about = "a cache line to another core and back", .n = 500000, .run = run_line)

static void run_malloc(const struct bench_args *args, struct bench_result *result) {
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < args->n; i++) {
        void *memory = malloc(64);
        bench_keep(memory);
        free(memory);
    }
    result->seconds = bench_since(start);
}
BENCH(malloc, .name = "floor.malloc", .about = "malloc and free of 64 bytes", .n = 10000000, .run = run_malloc)

static void run_clock(const struct bench_args *args, struct bench_result *result) {
    struct timespec now;
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < args->n; i++)
        clock_gettime(CLOCK_MONOTONIC, &now);
    result->seconds = bench_since(start);
}
BENCH(clock, .name = "floor.clock", .about = "clock_gettime", .n = 5000000, .run = run_clock)

#if defined(__x86_64__)
static void run_rdtsc(const struct bench_args *args, struct bench_result *result) {
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < args->n; i++)
        bench_keep(__builtin_ia32_rdtsc());
    result->seconds = bench_since(start);
}
BENCH(rdtsc, .name = "floor.rdtsc", .about = "the time stamp counter", .n = 10000000, .run = run_rdtsc)
#endif

static void run_syscall(const struct bench_args *args, struct bench_result *result) {
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < args->n; i++)
        syscall(SYS_getppid);
    result->seconds = bench_since(start);
}
BENCH(syscall, .name = "floor.syscall", .about = "the cheapest system call", .n = 1000000, .run = run_syscall)

static void futex_wake_one(atom_u32 *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

static void run_futex_wake(const struct bench_args *args, struct bench_result *result) {
    static atom_u32 word;
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < args->n; i++)
        futex_wake_one(&word);
    result->seconds = bench_since(start);
}
BENCH(futex_wake, .name = "floor.futex_wake", .about = "futex wake, no thread waiting", .n = 1000000, .run = run_futex_wake)

static void futex_body(unsigned self, void *arg) {
    struct trip *trip = arg;
    for (uint64_t i = 0; i < trip->n; i++) {
        uint32_t mine = (uint32_t)(2 * i + self), seen;
        while ((seen = atom_load_acq(&trip->word)) != mine) /* with the other thread's rel store */
            syscall(SYS_futex, &trip->word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
        atom_store_rel(&trip->word, mine + 1); /* with the other thread's acq read */
        futex_wake_one(&trip->word);
    }
}

static void run_futex_trip(const struct bench_args *args, struct bench_result *result) {
    static struct trip trip;
    trip.n = args->n;
    result->seconds = bench_parallel(result, 2, futex_body, &trip);
}
BENCH(futex_trip, .name = "floor.futex_trip", .about = "wake a sleeping thread and be woken by it", .n = 5000, .run = run_futex_trip)

static void run_epoll(const struct bench_args *args, struct bench_result *result) {
    struct epoll_event event;
    int poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) {
        skip_errno(result, "epoll_create1");
        return;
    }
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < args->n; i++)
        epoll_wait(poller, &event, 1, 0);
    result->seconds = bench_since(start);
    close(poller);
}
BENCH(epoll, .name = "floor.epoll", .about = "epoll_wait that does not wait", .n = 1000000, .run = run_epoll)

static char *map(size_t size, struct bench_result *result) {
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        skip_errno(result, "mmap");
        return NULL;
    }
    madvise(memory, size, MADV_NOHUGEPAGE);
    return memory;
}

static void run_page(const struct bench_args *args, struct bench_result *result) {
    char *memory = map(args->n * PAGE, result);
    if (!memory) return;
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < args->n; i++)
        *(volatile char *)(memory + i * PAGE) = 1;
    result->seconds = bench_since(start);
    munmap(memory, args->n * PAGE);
}
BENCH(page, .name = "floor.page", .about = "first touch of a page", .n = 50000, .run = run_page)

static void run_stack(const struct bench_args *args, struct bench_result *result) {
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < args->n; i++) {
        char *memory = map(STACK, result);
        if (!memory) return;
        mprotect(memory, PAGE, PROT_NONE);
        *(volatile char *)(memory + STACK - 1) = 1;
        munmap(memory, STACK);
    }
    result->seconds = bench_since(start);
}
BENCH(stack, .name = "floor.stack", .about = "a 64 KiB stack mapped, guarded, touched, unmapped", .n = 10000, .run = run_stack)

static void run_guard(const struct bench_args *args, struct bench_result *result) {
    size_t size = args->n * 2 * PAGE; /* every other page, as stacks would have them */
    char *memory = map(size, result);
    if (!memory) return;
    if (madvise(memory, PAGE, MADV_GUARD_INSTALL) != 0) {
        skip_errno(result, "MADV_GUARD_INSTALL");
        return;
    }
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < args->n; i++)
        madvise(memory + i * 2 * PAGE, PAGE, MADV_GUARD_INSTALL);
    result->seconds = bench_since(start);
    munmap(memory, size);
}
BENCH(guard, .name = "floor.guard", .about = "MADV_GUARD_INSTALL of one page", .n = 50000, .run = run_guard)

static void on_signal(int number) { (void)number; }

static void run_signal(const struct bench_args *args, struct bench_result *result) {
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    pid_t process = getpid();
    long thread = syscall(SYS_gettid);
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < args->n; i++)
        syscall(SYS_tgkill, process, thread, SIGUSR1);
    result->seconds = bench_since(start);
}
BENCH(signal, .name = "floor.signal", .about = "a signal to oneself and back", .n = 100000, .run = run_signal)
