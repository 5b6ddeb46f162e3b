/* counts [--places] [PATH...]: how many instructions of weft's a hot path takes, and how many of them are locked, counted exactly.
 *
 * A child runs the path again and again, with one worker, and marks each time by a breakpoint. Its parent lets the thread that made the
 * first mark go on instruction by instruction (ptrace), with all other threads stopped: sysmon would take a program that is so slow for a
 * hog. Instructions outside of weft's own code (memcpy, which depends on the processor) are not counted. The counts depend on the compiler
 * and on nothing else. */
#include "paths.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 9, THREADS = 64 }; /* rounds that are counted */

extern const char __start_weft_text[], __stop_weft_text[];

unsigned rounds;
__attribute__((noinline)) void mark(void) {
    if (++rounds >= WARM) __asm__ volatile("int3" ::: "memory");
}

/* ---- the child ------------------------------------------------------------------------------------------------------------------- */

static void child(const struct path *path) {
    weft_runtime *runtime;
    weft_pid pid;
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    if (!path->policy) path->run(NULL);
    if (weft_start(&(weft_config){.workers = 1, .policy = path->policy, .seed = 1}, &runtime) != 0) _exit(2);
    if (weft_spawn_with(path->run, NULL, &(weft_stackful_options){.runtime = runtime}, &pid) != 0) _exit(2);
    for (;;)
        pause();
}

/* ---- the parent ------------------------------------------------------------------------------------------------------------------ */

static struct {
    pid_t thread[THREADS];
    unsigned count;
} traced;

struct count {
    unsigned long instructions, locked;
};

/* Whether the instruction is locked: has a lock prefix, or is an exchange with memory. */
static bool is_locked(const unsigned char *code) {
    while (*code == 0x66 || *code == 0xf2 || *code == 0xf3 || *code == 0x2e || *code == 0x3e || *code == 0x64 || *code == 0x65)
        code++;
    if (*code == 0xf0) return true;
    if ((*code & 0xf0) == 0x40) code++; /* REX */
    return (*code == 0x86 || *code == 0x87) && code[1] >> 6 != 3;
}

/* What the instruction at a place is. Looked up once: code does not change. */
enum kind { UNKNOWN, PLAIN, LOCKED, BREAKPOINT };
static enum kind kind_at(pid_t thread, uintptr_t place) {
    static struct {
        uintptr_t place;
        enum kind kind;
    } known[1 << 14];
    unsigned at = (unsigned)(place * UINT64_C(0x9e3779b97f4a7c15) >> 50);
    if (known[at].place == place) return known[at].kind;
    long code[2] = {ptrace(PTRACE_PEEKTEXT, thread, place, NULL), ptrace(PTRACE_PEEKTEXT, thread, place + sizeof(long), NULL)};
    const unsigned char *bytes = (const unsigned char *)code;
    known[at].place = place;
    return known[at].kind = *bytes == 0xcc ? BREAKPOINT : is_locked(bytes) ? LOCKED : PLAIN;
}

static bool is_weft(uintptr_t place) { return place >= (uintptr_t)__start_weft_text && place < (uintptr_t)__stop_weft_text; }

static void fail(const char *what) {
    fprintf(stderr, "counts: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void know(pid_t thread) {
    for (unsigned i = 0; i < traced.count; i++)
        if (traced.thread[i] == thread) return;
    if (traced.count < THREADS) traced.thread[traced.count++] = thread;
}

/* Lets all threads run until one has made its first mark; returns that one. */
static pid_t until_marked(pid_t process) {
    for (;;) {
        int status;
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) fail("waitpid");
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread == process) fail("the child has ended");
            continue;
        }
        know(thread);
        int number = WSTOPSIG(status);
        bool event = status >> 16 != 0;
        if (number == SIGTRAP && !event) return thread;
        ptrace(PTRACE_CONT, thread, NULL, number == SIGSTOP || number == SIGTRAP ? 0 : number);
    }
}

/* Stops all threads but this one, and leaves them so. */
static void hold_others(pid_t process, pid_t own) {
    for (unsigned i = 0; i < traced.count; i++) {
        int status;
        if (traced.thread[i] == own) continue;
        syscall(SYS_tgkill, process, traced.thread[i], SIGSTOP);
        waitpid(traced.thread[i], &status, __WALL);
    }
}

static void step(pid_t thread) {
    int status;
    if (ptrace(PTRACE_SINGLESTEP, thread, NULL, NULL) != 0 || waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status))
        fail("a step");
}

static bool places; /* tell each counted instruction's address: where a path spends them */

/* Steps to the next mark, and over it. */
static struct count count_round(pid_t thread) {
    struct count count = {0, 0};
    for (;;) {
        uintptr_t place = (uintptr_t)ptrace(PTRACE_PEEKUSER, thread, offsetof(struct user, regs.rip), NULL);
        enum kind kind = kind_at(thread, place);
        if (kind != BREAKPOINT && is_weft(place)) {
            count.instructions++;
            count.locked += kind == LOCKED;
            if (places) printf("0x%lx\n", (unsigned long)place);
        }
        step(thread);
        if (kind != BREAKPOINT) continue;
        if (places) printf("mark\n");
        return count;
    }
}

static int by_size(const void *a, const void *b) {
    const struct count *left = a, *right = b;
    if (left->instructions != right->instructions) return left->instructions < right->instructions ? -1 : 1;
    return left->locked < right->locked ? -1 : left->locked > right->locked;
}

/* The lower quartile of the rounds, so that a refill of a cache now and then does not count, nor the longer of two ways that a select takes by
 * chance: the median would be now the one and now the other. */
static struct count measure(const struct path *path) {
    struct count counts[ROUNDS];
    int status;
    traced.count = 0;
    pid_t process = fork();
    if (process == 0) child(path);
    if (process < 0 || waitpid(process, &status, 0) != process) fail("fork");
    know(process);
    ptrace(PTRACE_SETOPTIONS, process, NULL, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
    ptrace(PTRACE_CONT, process, NULL, 0);
    pid_t thread = until_marked(process);
    hold_others(process, thread);
    for (unsigned i = 0; i < path->marks + path->skip; i++)
        count_round(thread);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct count best = count_round(thread);
        for (unsigned k = 1; k < path->marks; k++) {
            struct count other = count_round(thread);
            if (by_size(&other, &best) < 0) best = other; /* of a round with several marks the shortest piece */
        }
        counts[i] = best;
    }
    kill(process, SIGKILL);
    while (waitpid(-1, &status, __WALL) > 0) {}
    qsort(counts, ROUNDS, sizeof *counts, by_size);
    return counts[ROUNDS / 4];
}

static void measure_wanted(const struct path *path, char **names, int count) {
    for (; path->name; path++) {
        bool wanted = count == 0;
        for (int k = 0; k < count; k++)
            wanted |= strcmp(names[k], path->name) == 0;
        if (!wanted) continue;
        struct count found = measure(path);
        printf("%-22s %6lu %4lu\n", path->name, found.instructions, found.locked);
        fflush(stdout);
    }
}

int main(int argc, char **argv) {
    int first = argc > 1 && strcmp(argv[1], "--places") == 0 ? 2 : 1;
    places = first == 2;
    measure_wanted(paths_stackful, argv + first, argc - first);
    measure_wanted(paths_select, argv + first, argc - first);
    measure_wanted(paths_step, argv + first, argc - first);
    measure_wanted(paths_steal, argv + first, argc - first);
    return 0;
}
