/* An interruption is tried at every instruction. A child runs a small program of weft's; its parent lets its threads go on instruction by
 * instruction (ptrace), and at every place where none was before, has the handler called as if sysmon had asked for it. The program must
 * come to the same results. */
#include "preempt_helpers.h"

#include "fiber/upcall.h"
#include "thread/stopped.h"

#include <weft/blocking.h>

#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#if defined(__x86_64__)

/* ---- the program -------------------------------------------------------------------------------------------------------------- */

enum { ROUNDS_MOST = 1000000, LIMIT_SECONDS = 6, LIMIT_SECONDS_FULL = 100, PLACES_LEAST = 500 };

static struct shared {
    struct runtime *volatile runtime;
    atom_bool over;
    atom_u64 rounds, preemptions;
} * shared;

#define MUST(condition)                                                                                                                    \
    do {                                                                                                                                   \
        if (!(condition)) {                                                                                                                \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                                        \
            _exit(3);                                                                                                                      \
        }                                                                                                                                  \
    } while (0)

static atom_u64 done, sent, received;

static __attribute__((noinline)) uint64_t compute(uint64_t n) {
    uint64_t sum = 0;
    char text[64];
    for (uint64_t i = 0; i < n; i++)
        sum += i ^ (sum << 1);
    snprintf(text, sizeof text, "%lu", sum);
    return sum + strlen(text);
}

static void echo(void *arg) {
    weft_msg *message;
    (void)arg;
    for (;;) {
        MUST(weft_recv(&message, WEFT_FOREVER) == 0);
        uint64_t tag = weft_msg_tag(message);
        MUST(weft_msg_len(message) == 40 && ((const char *)weft_msg_data(message))[39] == (char)tag);
        weft_pid from = weft_msg_from(message);
        weft_msg_free(message);
        if (tag == 0) break;
        errno = (int)tag;
        MUST(weft_handoff(from, tag, NULL, 0) == 0);
        MUST(errno == (int)tag);
    }
    atom_add_rel(&done, 1);
}

static void naps(void *arg) { usleep(*(unsigned *)arg); }
static void grandchild(void *arg) { *(uint64_t *)arg = compute(20); }
static void on_more_stack(void *arg) { *(uint64_t *)arg = compute(30); }

static void plays(void *arg) {
    weft_pid to = *(weft_pid *)arg;
    char bytes[40] = {0};
    weft_msg *message;
    unsigned nothing = 0, little = 300;
    uint64_t expected_20 = compute(20), expected_30 = compute(30), result = 0;
    weft_mutex mutex = WEFT_MUTEX_INIT;
    for (uint64_t i = 1; i < ROUNDS_MOST && !atom_load_rlx(&shared->over); i++) {
        bytes[39] = (char)i;
        errno = 77;
        MUST(weft_send(to, i, bytes, sizeof bytes) == 0);
        atom_add_rlx(&sent, 1);
        weft_yield();
        MUST(weft_recv(&message, WEFT_FOREVER) == 0);
        MUST(weft_msg_tag(message) == i);
        weft_msg_free(message);
        atom_add_rlx(&received, 1);
        MUST(weft_recv(&message, 0) == WEFT_ETIMEDOUT);
        MUST(errno == 77);
        MUST(compute(20) == expected_20);
        weft_blocking(naps, &nothing);
        if (i % 4 == 1) weft_blocking_long(naps, &little); /* in the first round: step by step, that may take twenty seconds */
        if (i % 4 == 2) weft_blocking(naps, &little);
        weft_nopreempt_begin();
        MUST(compute(30) == expected_30);
        weft_nopreempt_end();
        weft_checkpoint();
        weft_sleep(10 * WEFT_MICROSECOND);
        MUST(weft_mutex_lock(&mutex, WEFT_FOREVER) == 0);
        weft_mutex_unlock(&mutex);
        weft_pin_begin();
        weft_yield();
        weft_pin_end();
        weft_pid child = weft_spawn(grandchild, &result);
        int joined = weft_join(child, NULL, WEFT_FOREVER);
        MUST(joined == 0 || joined == WEFT_ENOPROC);
        MUST(result == expected_20);
        if (i % 8 == 0) {
            MUST(weft_call_big(on_more_stack, &result, 256 << 10) == 0);
            MUST(result == expected_30);
        }
        atom_store_rlx(&shared->rounds, i);
    }
    MUST(weft_send(to, 0, (char[40]){0}, 40) == 0);
    atom_add_rel(&done, 1);
}

static _Noreturn void child_main(void) {
    weft_runtime *runtime;
    weft_pid pid, other;
    MUST(weft_start(&(weft_config){.workers = 1, .seed = 1, .preempt = true}, &runtime) == 0);
    MUST(weft_spawn_with(echo, NULL, &(weft_stackful_options){.runtime = runtime}, &pid) == 0);
    MUST(weft_spawn_with(plays, &pid, &(weft_stackful_options){.runtime = runtime}, &other) == 0);
    shared->runtime = (struct runtime *)runtime;
    rt_wait(&done, 2);
    weft_stats stats;
    weft_get_stats(runtime, &stats);
    atom_store_rlx(&shared->preemptions, stats.preemptions);
    MUST(atom_load_rlx(&sent) == atom_load_rlx(&received));
    MUST(weft_stop(runtime, NULL, WEFT_FOREVER) == 0);
    _exit(0);
}

/* ---- the tracer ----------------------------------------------------------------------------------------------------------------- */

enum { THREADS_MOST = 4096, SEEN_BITS = 20, DULL = 1000, CATCH_EVERY = 2, OUTSIDE_EVERY = 8 };

static struct tracee {
    pid_t tid;
    bool stepping; /* as opposed to running freely */
    bool entering; /* the next stop is the first instruction of the handler */
    unsigned dull; /* steps since it last came to a new place */
} tracees[THREADS_MOST];
static unsigned tracee_count;

static pid_t child;
static uintptr_t seen[1 << SEEN_BITS]; /* open addressing */
static unsigned places, places_in_weft, tried, tried_without;
static uintptr_t restorer;
static bool tired; /* the time is over: threads run freely until they meet the paths that are left */

static struct tracee *tracee_of(pid_t tid) {
    for (unsigned i = 0; i < tracee_count; i++)
        if (tracees[i].tid == tid) return &tracees[i];
    EXPECT(tracee_count < THREADS_MOST);
    tracees[tracee_count] = (struct tracee){.tid = tid};
    return &tracees[tracee_count++];
}

static bool is_new(uintptr_t pc) {
    size_t at = (pc * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - SEEN_BITS);
    for (; seen[at]; at = (at + 1) & ((1 << SEEN_BITS) - 1))
        if (seen[at] == pc) return false;
    if (places >= (1 << SEEN_BITS) / 2) return false;
    seen[at] = pc;
    places++;
    places_in_weft += pre_is_in_weft(pc);
    return true;
}

/* Outside of weft most places are as good as any other, and it takes long until one that was interrupted goes on. */
static bool is_worth_it(uintptr_t pc) { return pre_is_in_weft(pc) || (places - places_in_weft) % OUTSIDE_EVERY == 0; }

/* 0: it is gone. */
static uint64_t peek(const void *address) {
    uint64_t word = 0;
    struct iovec here = {&word, sizeof word}, there = {(void *)(uintptr_t)address, sizeof word};
    return process_vm_readv(child, &here, 1, &there, 1, 0) == (ssize_t)sizeof word ? word : 0;
}
static void resume(struct tracee *tracee, bool step, int number) {
    tracee->stepping = step;
    ptrace(step ? PTRACE_SINGLESTEP : PTRACE_CONT, tracee->tid, NULL, (void *)(intptr_t)number);
}

/* The paths that matter most begin here: into a process, out of it, from one to the next, into a call of the operating system and back;
 * functions that compilers cannot put into others. The thread that first comes by, even running freely, meets a breakpoint and goes on step
 * by step. */
static struct path {
    const char *name;
    uintptr_t at;
    uint64_t code; /* what is there without a breakpoint */
    bool planted, seen;
} paths[] = {
    {.name = "fiber_step", .at = (uintptr_t)fiber_step},
    {.name = "fiber_main", .at = (uintptr_t)fiber_main},
    {.name = "upcall_call", .at = (uintptr_t)upcall_call},
    {.name = "weft_yield", .at = (uintptr_t)weft_yield},
    {.name = "weft_recv", .at = (uintptr_t)weft_recv},
    {.name = "weft_handoff", .at = (uintptr_t)weft_handoff},
    {.name = "weft_sleep", .at = (uintptr_t)weft_sleep},
    {.name = "weft_blocking", .at = (uintptr_t)weft_blocking},
    {.name = "weft_blocking_long", .at = (uintptr_t)weft_blocking_long},
};
enum { PATHS = sizeof paths / sizeof paths[0] };

static void paths_plant(pid_t tid) {
    for (struct path *path = paths; path < paths + PATHS; path++) {
        if (path->planted) continue;
        path->code = peek((void *)path->at);
        ptrace(PTRACE_POKETEXT, tid, (void *)path->at, (void *)((path->code & ~UINT64_C(0xff)) | 0xcc));
        path->planted = true;
    }
}
/* Behind a breakpoint: it goes, and the thread is where it was before. */
static void path_met(struct tracee *tracee, struct user_regs_struct *registers) {
    for (struct path *path = paths; path < paths + PATHS; path++) {
        if (registers->rip != path->at + 1 || path->seen) continue;
        ptrace(PTRACE_POKETEXT, tracee->tid, (void *)path->at, (void *)path->code);
        registers->rip = path->at;
        ptrace(PTRACE_SETREGS, tracee->tid, NULL, registers);
        path->seen = true;
    }
}
static unsigned paths_seen(void) {
    unsigned seen = 0;
    for (unsigned i = 0; i < PATHS; i++)
        seen += paths[i].seen;
    return seen;
}

/* The worker that a thread drives, in the child's memory; NULL: none. */
static struct worker *driven_by(pid_t tid) {
    struct runtime *runtime = shared->runtime;
    if (!runtime) return NULL;
    unsigned made = (unsigned)peek(&runtime->made);
    for (unsigned i = 0; i < made && i < WORKERS_MAX; i++) {
        struct worker *worker = (struct worker *)peek(&runtime->workers[i]);
        if (worker && (uint32_t)peek(&worker->driver) == (uint32_t)tid) return worker;
    }
    return NULL;
}

/* As if sysmon had asked: the request, and the signal. A thread that drives no worker, or not yet, or not any more, has been asked when it
 * did. */
static void inject(struct tracee *tracee, struct worker *worker) {
    siginfo_t info = {.si_signo = SIGURG, .si_code = SI_QUEUE};
    info.si_pid = child;
    info.si_value.sival_ptr = &sys; /* at the same address there */
    ptrace(PTRACE_POKEDATA, tracee->tid, &worker->asked, (void *)peek(&worker->local.counters.steps));
    if (ptrace(PTRACE_SETSIGINFO, tracee->tid, NULL, &info) != 0) {
        resume(tracee, true, 0);
        return;
    }
    tried++;
    tracee->entering = true;
    resume(tracee, true, SIGURG);
}

/* In the handler it runs freely; the instruction behind its return is a breakpoint. */
static void enter_handler(struct tracee *tracee, const struct user_regs_struct *registers) {
    tracee->entering = false;
    if (!restorer) {
        restorer = (uintptr_t)peek((void *)registers->rsp);
        uint64_t word = peek((void *)restorer);
        EXPECT((word & 0xffffffffffffff) == 0x0000000fc0c748); /* mov $15, %rax; then syscall */
        ptrace(PTRACE_POKETEXT, tracee->tid, (void *)restorer, (void *)((word & ~UINT64_C(0xff)) | 0xcc));
    }
    resume(tracee, false, 0);
}

static void leave_handler(struct tracee *tracee, struct user_regs_struct *registers) {
    registers->rax = SYS_rt_sigreturn;
    registers->rip = restorer + 7;
    ptrace(PTRACE_SETREGS, tracee->tid, NULL, registers);
    resume(tracee, true, 0);
}

static void stopped_by_trap(struct tracee *tracee) {
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, tracee->tid, NULL, &registers) != 0) return;
    if (tracee->entering) {
        enter_handler(tracee, &registers);
        return;
    }
    if (restorer && registers.rip == restorer + 1) {
        leave_handler(tracee, &registers);
        return;
    }
    path_met(tracee, &registers);
    if (tired) resume(tracee, false, 0);
    else if (shared->runtime && is_new(registers.rip) && is_worth_it(registers.rip)) {
        struct worker *worker = driven_by(tracee->tid);
        tracee->dull = worker ? 0 : tracee->dull + 1;
        tried_without += worker == NULL;
        inject(tracee, worker ? worker : (struct worker *)peek(&shared->runtime->workers[0]));
    } else resume(tracee, ++tracee->dull < DULL, 0);
}

/* The child is about to die. */
static void say_where(pid_t tid, int number) {
    struct user_regs_struct registers;
    siginfo_t info;
    if (ptrace(PTRACE_GETREGS, tid, NULL, &registers) != 0 || ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) != 0) return;
    printf("signal %d, code %d, about address %p, at %#llx (weft begins at %p), stack at %#llx\n", number, info.si_code, info.si_addr,
           registers.rip, (const void *)__start_weft_text, registers.rsp);
    for (unsigned i = 0; i < 16; i++)
        printf("    %#lx\n", peek((const uint64_t *)registers.rsp + i));
}

/* False: the child has ended. */
static bool tracer_round(int *status) {
    pid_t tid = waitpid(-1, status, __WALL | WNOHANG);
    if (tid < 0) return false;
    if (tid == 0) { /* all of them run */
        rt_pause(RT_MS / 5);
        return true;
    }
    if (WIFEXITED(*status) || WIFSIGNALED(*status)) return tid != child;
    struct tracee *tracee = tracee_of(tid);
    int number = WSTOPSIG(*status);
    if (shared->runtime) paths_plant(tid);
    if (*status >> 16 != 0) { /* a new thread, or one that was asked to stop */
        tracee->dull = 0;
        resume(tracee, driven_by(tid) != NULL, 0);
    } else if (number == SIGTRAP) stopped_by_trap(tracee);
    else {
        tracee->entering = number == SIGURG && tracee->stepping;
        if (number == SIGSTOP) number = 0;
        if (number == SIGSEGV || number == SIGABRT || number == SIGILL || number == SIGBUS) say_where(tid, number);
        resume(tracee, tracee->stepping, number);
    }
    return true;
}

/* A thread that drives a worker goes step by step, for a while. */
static void catch_drivers(void) {
    for (unsigned i = 0; i < tracee_count; i++)
        if (!tracees[i].stepping && driven_by(tracees[i].tid)) ptrace(PTRACE_INTERRUPT, tracees[i].tid, NULL, NULL);
}

TEST_WITHIN(steps_every_instruction, 160) {
    PREEMPT_TEST_APPLIES();
    int status = 0;
    uint64_t seconds = LIMIT_SECONDS * test_scale(), steps = 0;
    uint64_t limit = (seconds < LIMIT_SECONDS_FULL ? seconds : LIMIT_SECONDS_FULL) * RT_SECOND;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        raise(SIGSTOP);
        child_main();
    }
    EXPECT_EQ(waitpid(child, &status, WUNTRACED), child);
    if (ptrace(PTRACE_SEIZE, child, NULL, (void *)(PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)) != 0) {
        printf("note: not allowed to trace a child here: %s\n", strerror(errno));
        kill(child, SIGKILL);
        return;
    }
    kill(child, SIGCONT);
    uint64_t end = weft_now() + limit, next = 0;
    while (tracer_round(&status)) {
        uint64_t now = ++steps % 16 ? 0 : weft_now();
        tired |= now > end && places_in_weft > PLACES_LEAST && peek(&shared->runtime->preempt.times) > 0;
        if (tired && paths_seen() == PATHS) atom_store_rlx(&shared->over, true);
        if (now > next && !tired) {
            catch_drivers();
            next = now + CATCH_EVERY * RT_MS;
        }
    }
    printf("note: %lu stops, %u places (%u in weft), tried at %u (%u without a worker), %lu times interrupted, %lu rounds\n", steps, places,
           places_in_weft, tried, tried_without, atom_load_rlx(&shared->preemptions), atom_load_rlx(&shared->rounds));
    for (unsigned i = 0; i < PATHS; i++)
        if (!paths[i].seen) printf("note: never in %s\n", paths[i].name);
    EXPECT_EQ(paths_seen(), PATHS);
    if (WIFSIGNALED(status)) printf("the child died by signal %d\n", WTERMSIG(status));
    EXPECT(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT(atom_load_rlx(&shared->preemptions) > 0);
}

#else
TEST(steps_every_instruction) { printf("note: for x86-64 only\n"); }
#endif

int main(int argc, char **argv) { return test_main(argc, argv); }
