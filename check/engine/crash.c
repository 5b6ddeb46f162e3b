#include "crash.h"

#include "run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

/* Handlers leave by a switch to another stack, and never return; so the signal must not stay blocked (SA_NODEFER), and a thread may have no stack left. */
static unsigned char handler_stack[64 * 1024];

static uintptr_t interrupted_at(const void *context) {
    const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    return (uintptr_t)machine->gregs[REG_RIP] + 1;
#else
    return (uintptr_t)machine->pc + 1;
#endif
}

static const char *kind(int signal) {
    switch (signal) {
    case SIGSEGV: return "an invalid address";
    case SIGBUS: return "a misaligned or missing address";
    case SIGFPE: return "a division by zero, or an overflow of one";
    case SIGILL:
    case SIGTRAP: return "an invalid instruction, or __builtin_trap";
    default: return "abort";
    }
}

static void crashed(int signal_number, siginfo_t *info, void *context) {
    if (!run.active) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
        return;
    }
    run_place("the crash", run.current, interrupted_at(context));
    if (signal_number == SIGSEGV && run.current != 0 && run_on_stack((uintptr_t)info->si_addr))
        run_violation(CHK_CRASH, "the thread's stack has overflowed");
    if (signal_number == SIGSEGV || signal_number == SIGBUS) run_violation(CHK_CRASH, "%s: %p", kind(signal_number), info->si_addr);
    run_violation(CHK_CRASH, "%s", kind(signal_number));
}

/* Once a second of processor time. A thread that has done no operation that the checker orders for so many is in a loop of its own. */
enum { PATIENCE = 2 };
static void ticked(int signal_number, siginfo_t *info, void *context) {
    static uint64_t last;
    static unsigned same;
    (void)signal_number, (void)info;
    same = run.active && run.operations == last ? same + 1 : 0;
    last = run.operations;
    if (same < PATIENCE) return;
    same = 0;
    run_place("it was here", run.current, interrupted_at(context));
    run_place("the last plain access", run.current, run.pc);
    run_violation(CHK_LIVELOCK, "%d seconds of computing without an atomic operation: a loop that waits for plain data?", PATIENCE);
}

static void handle(int signal_number, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
    sigaction(signal_number, &action, NULL);
}

void crash_watch(void) {
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    sigaltstack(&stack, NULL);
    for (unsigned i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
        handle(crashes[i], crashed);
    handle(SIGVTALRM, ticked);
    struct itimerval second = {{1, 0}, {1, 0}};
    setitimer(ITIMER_VIRTUAL, &second, NULL);
}
