/* The runner behind test.h.
 *
 * Every test runs in a forked process with its output in a pipe. The parent, which never starts a thread, is the
 * watchdog: it waits for the pipe and the time limit, and when the limit passes it shows where every thread stands (if a debugger is
 * installed), ends the whole process group and says so. What the child wants the parent to know besides its
 * output (why it failed, which seed it used) is in a shared page. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

enum { TEST_SECONDS = 60, OUTPUT_MAX = 64 * 1024 };

struct shared {
    int failed; /* set by the first thread that fails */
    int seeded;
    uint64_t seed;
    char why[1024];
    char doing[512];
};

struct output {
    size_t size;
    size_t lost;
    char bytes[OUTPUT_MAX + 1];
};

static struct test *tests;
static const char *program;
static struct shared *shared;
static struct output output;

void test_register(struct test *test) {
    struct test **end = &tests;
    while (*end)
        end = &(*end)->next;
    *end = test;
}

/* A positive number from the environment, or the fallback. */
static uint64_t number_from(const char *name, uint64_t fallback) {
    const char *text = getenv(name);
    if (!text || !*text) return fallback;
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    if (errno || *end) {
        fprintf(stderr, "%s=%s is not a number\n", name, text);
        exit(2);
    }
    return value;
}

unsigned test_scale(void) {
    uint64_t scale = number_from("WEFT_TEST_SCALE", 1);
    return scale < 1 ? 1 : scale > 1000000 ? 1000000 : (unsigned)scale;
}

uint64_t test_seed(uint64_t fallback) {
    uint64_t seed = number_from("WEFT_TEST_SEED", fallback);
    if (shared) {
        shared->seed = seed;
        shared->seeded = 1;
    }
    return seed;
}

void test_doing(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(shared->doing, sizeof shared->doing, format, arguments);
    va_end(arguments);
}

void test_fail(const char *file, int line, const char *format, ...) {
    /* Any thread may fail, several at once: the first one tells why. */
    if (!__atomic_exchange_n(&shared->failed, 1, __ATOMIC_ACQ_REL)) {
        int used = snprintf(shared->why, sizeof shared->why, "%s:%d: ", file, line);
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(shared->why + used, sizeof shared->why - (size_t)used, format, arguments);
        va_end(arguments);
        fflush(stdout);
        _exit(1);
    }
    for (;;)
        pause();
}

/* Of the kernel's clock: clock_gettime is the simulation's in programs that run in one. */
static uint64_t milliseconds(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Reads what there is; false at the end of the output. */
static bool take_output(int from) {
    char bytes[4096];
    ssize_t got = read(from, bytes, sizeof bytes);
    if (got <= 0) return got < 0 && (errno == EINTR || errno == EAGAIN);
    size_t room = OUTPUT_MAX - output.size, kept = (size_t)got < room ? (size_t)got : room;
    memcpy(output.bytes + output.size, bytes, kept);
    output.size += kept;
    output.lost += (size_t)got - kept;
    return true;
}

static void show_output(void) {
    char *line = output.bytes, *end = output.bytes + output.size;
    while (line < end) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        int length = (int)((stop ? stop : end) - line);
        printf("    | %.*s\n", length, line);
        line += length + 1;
    }
    if (output.lost) printf("    | (%zu bytes more)\n", output.lost);
}

/* Adds to the output where every thread of a hanging test stands; best effort. */
static void take_stacks(pid_t child) {
    char command[256];
    snprintf(command, sizeof command, "timeout 20 gdb -p %d -batch -nx -ex 'thread apply all bt 12' 2>/dev/null | grep -E '^(Thread|#)'",
             (int)child);
    FILE *stacks = popen(command, "r");
    if (!stacks) return;
    while (take_output(fileno(stacks)))
        ;
    pclose(stacks);
}

static void run_child(struct test *test, int to) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    dup2(to, STDOUT_FILENO);
    dup2(to, STDERR_FILENO);
    close(to);
    setvbuf(stdout, NULL, _IOLBF, 0);
    test->run();
    fflush(NULL);
    exit(0); /* not _exit: the leak checker works at exit */
}

/* Collects output until the child has ended or the deadline passes; false if it passed. */
static bool watch(pid_t child, int from, uint64_t deadline, int *status) {
    bool open = true;
    for (;;) {
        bool ended = waitpid(child, status, WNOHANG) == child;
        /* After the end, take what is left and do not wait for a grandchild that keeps the pipe open. */
        struct pollfd ready = {.fd = open ? from : -1, .events = POLLIN};
        while (open && poll(&ready, 1, ended ? 0 : 20) > 0)
            open = take_output(from);
        if (ended) return true;
        if (milliseconds() >= deadline) return false;
        if (!open) poll(NULL, 0, 1);
    }
}

/* Why the child failed; false if it did not. */
static bool failure(char *why, size_t size, int status) {
    if (shared->failed) snprintf(why, size, "%s", shared->why);
    else if (WIFSIGNALED(status)) snprintf(why, size, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status)) snprintf(why, size, "exit status %d", WEXITSTATUS(status));
    else return false;
    return true;
}

/* Of a test that passed: the lines that begin with "note: ". */
static void show_notes(void) {
    for (size_t at = 0; at < output.size;) {
        const char *line = output.bytes + at, *end = memchr(line, '\n', output.size - at);
        size_t length = end ? (size_t)(end - line) : output.size - at;
        if (length > 6 && memcmp(line, "note: ", 6) == 0) printf("    | %.*s\n", (int)(length - 6), line + 6);
        at += length + 1;
    }
}

static void report(struct test *test, const char *why, uint64_t start) {
    if (!why[0]) {
        printf("ok %s (%llu ms)\n", test->name, (unsigned long long)(milliseconds() - start));
        show_notes();
        return;
    }
    printf("FAIL %s: %s\n", test->name, why);
    if (shared->seeded)
        printf("    seed %llu: WEFT_TEST_SEED=%llu runs it again\n", (unsigned long long)shared->seed, (unsigned long long)shared->seed);
    if (shared->doing[0]) printf("    repeat: %s %s %s\n", shared->doing, program, test->name);
    show_output();
}

/* Waits for the child; fills in why it failed, or leaves that empty. */
static void judge(struct test *test, pid_t child, int from, uint64_t start, char *why, size_t size) {
    /* A slow build (a sanitizer, an emulator) stretches every limit. */
    uint64_t limit = (test->seconds ? test->seconds : TEST_SECONDS) * number_from("WEFT_TEST_PATIENCE", 1);
    int status = 0;
    if (watch(child, from, start + limit * 1000, &status)) {
        failure(why, size, status);
        kill(-child, SIGKILL); /* whatever it left behind */
        return;
    }
    snprintf(why, size, "still running after %llu s, killed", (unsigned long long)limit);
    take_stacks(child);
    kill(-child, SIGKILL);
    waitpid(child, &status, 0);
}

static bool run_test(struct test *test) {
    int ends[2];
    char why[1200] = "";
    uint64_t start = milliseconds();
    memset(shared, 0, sizeof *shared);
    output.size = output.lost = 0;
    fflush(NULL);
    if (pipe(ends) != 0) {
        snprintf(why, sizeof why, "pipe: %s", strerror(errno));
        report(test, why, start);
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(test, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        snprintf(why, sizeof why, "fork: %s", strerror(errno));
    } else {
        setpgid(child, child); /* the child does it too: whichever comes first */
        judge(test, child, ends[0], start, why, sizeof why);
    }
    close(ends[0]);
    report(test, why, start);
    fflush(stdout);
    return !why[0];
}

/* No names select every test. */
static bool wanted(const struct test *test, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strstr(test->name, argv[i])) return true;
    return argc < 2;
}

static int list(FILE *to) {
    for (struct test *test = tests; test; test = test->next)
        fprintf(to, "%s\n", test->name);
    return 0;
}

/* The emulator gives itself away by an implementer number that no hardware has. */
bool test_emulated(void) {
#if defined(__aarch64__)
    uint64_t id = 1 << 24;
    if (getauxval(AT_HWCAP) & HWCAP_CPUID) __asm__("mrs %0, midr_el1" : "=r"(id));
    return (id >> 24 & 0xff) == 0;
#else
    return false;
#endif
}

/* qemu-user (7.2, on x86-64) runs aarch64's stlr and ldar without a fence between them: two emulated threads on two CPUs see store
 * buffering where seq_cst forbids it, and nothing built on seq_cst can work. On one CPU it cannot happen. */
static void stay_on_one_cpu_if_emulated(void) {
    cpu_set_t one;
    if (!test_emulated()) return;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) perror("sched_setaffinity");
}

int test_main(int argc, char **argv) {
    stay_on_one_cpu_if_emulated();
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "--list") == 0) return list(stdout);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("mmap");
        return 2;
    }
    unsigned passed = 0, failed = 0;
    for (struct test *test = tests; test; test = test->next) {
        if (!wanted(test, argc, argv)) continue;
        if (run_test(test)) passed++;
        else failed++;
    }
    if (passed + failed == 0) {
        fprintf(stderr, "no test has that in its name; there are:\n");
        list(stderr);
        return 2;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
