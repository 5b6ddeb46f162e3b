/* The handler of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT: see fiber/fault.h. */
#include "fiber/fault.h"

#include "fiber/altstack.h"
#include "fiber/contain.h"
#include "fiber/held_locks.h"
#include "fiber/overflow.h"
#include "fiber/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FAULT_SPARE = 64 << 10 }; /* what a process gets to end on */

/* ---- the machine -------------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static void fault_read(struct fault *fault, const ucontext_t *context) {
    fault->pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    fault->sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}
/* The ABI wants the direction flag clear. */
void fault_divert(const struct fault *fault, void (*function)(void *), void *argument, void *top) {
    ucontext_t *context = fault->context;
    uintptr_t sp = ((uintptr_t)top & ~(uintptr_t)15) - 8;
    *(uintptr_t *)sp = 0;
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)function;
    context->uc_mcontext.gregs[REG_RDI] = (greg_t)(uintptr_t)argument;
    context->uc_mcontext.gregs[REG_RBP] = 0;
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)0x400;
}
/* The trap number is that of the thread's last fault. 0: there was none; 14: a page fault, which has an address. */
bool fault_is_by_processor(const ucontext_t *context) {
    return context->uc_mcontext.gregs[REG_TRAPNO] != 0 && context->uc_mcontext.gregs[REG_TRAPNO] != 14;
}
#elif defined(__aarch64__)
bool fault_is_by_processor(const ucontext_t *context) { return (void)context, false; } /* such faults have other codes */
static void fault_read(struct fault *fault, const ucontext_t *context) {
    fault->pc = (uintptr_t)context->uc_mcontext.pc;
    fault->sp = (uintptr_t)context->uc_mcontext.sp;
}
void fault_divert(const struct fault *fault, void (*function)(void *), void *argument, void *top) {
    ucontext_t *context = fault->context;
    context->uc_mcontext.sp = (uintptr_t)top & ~(uintptr_t)15;
    context->uc_mcontext.pc = (uintptr_t)function;
    context->uc_mcontext.regs[0] = (uintptr_t)argument;
    context->uc_mcontext.regs[29] = context->uc_mcontext.regs[30] = 0;
}
#endif

/* ---- the process -------------------------------------------------------------------------------------------------------- */

/* A process in a blocking call has no worker: its thread knows it. */
static struct proc *fault_proc(struct worker *worker) {
    if (worker) return worker->current;
    return my_thread && my_thread->caller ? my_thread->caller->proc : NULL;
}

struct runtime *fault_runtime(const struct fault *fault) {
    if (fault->worker) return fault->worker->runtime;
    return fault->proc ? my_thread->runtime : NULL;
}

weft_pid fault_pid(const struct fault *fault) {
    struct proc *proc = fault->proc;
    return proc ? proc_pid(proc) : WEFT_NOBODY;
}

uintptr_t fault_entry(const struct fault *fault) {
    struct proc *proc = fault->proc;
    if (!proc) return 0;
    return proc->stackful ? (uintptr_t)fiber_start_of(proc)->entry : (uintptr_t)atom_load_rlx(&proc->behavior)->step; /* rlx: its own */
}

const char *fault_name(const struct fault *fault) {
    struct proc *proc = fault->proc;
    const char *name = !proc            ? NULL
                       : proc->stackful ? fiber_name_text(fiber_start_of(proc))
                                        : atom_load_rlx(&proc->behavior)->name; /* rlx: its own */
    return name ? name : "process";
}

/* NULL: it holds none. */
static const char *fault_locks(unsigned count, const void *last, char *text, size_t size) {
    if (count == 0) return NULL;
    snprintf(text, size, "it holds %u of weft's locks, the one it took last is %p", count, last);
    return text;
}

const char *fault_held_by_step(const struct fault *fault, char *text, size_t size) {
    const void *last;
    unsigned count = held_lock_step_count(fault->worker->runtime, fault->proc, &last);
    return fault_locks(count, last, text, size);
}

const char *fault_held(struct proc *proc, char *text, size_t size) {
    struct fiber *fiber = fiber_of(proc);
    if (fiber->holds) return "it holds a mutex";
    if (fiber->held_locks) return fault_locks(fiber->held_locks, fiber->last_lock, text, size);
    return proc->extras & PROC_TASKS ? "it is in a fork/join region, whose tasks others may be running" : NULL;
}

void fault_prepare(struct worker *worker) {
    if (!worker->spare) worker->spare = stack_take(&worker->local.stacks, stack_class_of(FAULT_SPARE));
}

struct stack *fault_spare(struct worker *worker) {
    fault_prepare(worker);
    struct stack *spare = worker->spare;
    worker->spare = NULL;
    return spare;
}

/* ---- telling ------------------------------------------------------------------------------------------------------------ */

void fault_print(const char *text, int length, size_t most) {
    if (length < 0) return;
    size_t left = (size_t)length < most ? (size_t)length : most - 1;
    while (left > 0) {
        ssize_t n = write(STDERR_FILENO, text, left);
        if (n <= 0) return; /* cannot be reported; the end of the process or the abort shows it too */
        text += n;
        left -= (size_t)n;
    }
}

const char *fault_text(int signal) {
    switch (signal) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGILL: return "SIGILL";
    default: return "SIGABRT";
    }
}

/* Only packed stacks cannot be touched, and only in checking builds: fiber/pack.h. (Code on a stack cannot be executed in any.) */
static bool fault_is_in_packed(const struct fault *fault) {
    struct stack_place place;
    if (!WEFT_DEBUG || !fault->worker || fault->sent || fault->address == fault->pc) return false;
    const void *address = (const void *)fault->address; // NOLINT(performance-no-int-to-ptr)
    return stacks_find(&fault->worker->runtime->stacks, address, &place) == STACK_USABLE;
}

/* Whatever happens to the fault then: a sanitizer's handler, which would not know it, or a process that is ended alone. */
static void fault_tell_packed(const struct fault *fault) {
    static const char text[] = "weft: a fault in the stack of a process that is packed: nothing may point there (WEFT_SPAWN_PACK)\n";
    if (fault_is_in_packed(fault)) fault_print(text, sizeof text - 1, sizeof text);
}

/* A line or two, before the program ends. */
static void fault_tell(const struct fault *fault) {
    char text[512], at[160], entry[160];
    if (!fault->proc || !fault_is_fatal(fault)) return;
    fiber_symbol((const void *)fault->pc, at, sizeof at);                // NOLINT(performance-no-int-to-ptr)
    fiber_symbol((const void *)fault_entry(fault), entry, sizeof entry); // NOLINT(performance-no-int-to-ptr)
    int length = snprintf(text, sizeof text, "weft: %s (%s) ends the program: process %016lx (%s), entry %s, at %s\n",
                          fault->signal == SIGABRT ? "an abort" : "a fault", fault_text(fault->signal), (unsigned long)fault_pid(fault),
                          fault_name(fault), entry, at);
    fault_print(text, length, sizeof text);
}

/* ---- signals ------------------------------------------------------------------------------------------------------------ */

static const int fault_numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { FAULT_NUMBERS = sizeof fault_numbers / sizeof fault_numbers[0] };

static struct {
    struct lock lock;
    unsigned runtimes;
    struct sigaction before[FAULT_NUMBERS];
} faults;

static struct sigaction *fault_before(int number) {
    unsigned i = 0;
    while (fault_numbers[i] != number)
        i++;
    return &faults.before[i];
}

static bool fault_has_handler(const struct sigaction *action) {
    if (action->sa_flags & SA_SIGINFO) return action->sa_sigaction != NULL;
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* A signal that is ignored, and was sent, does no harm: but abort ends the program in any case. */
bool fault_is_fatal(const struct fault *fault) {
    const struct sigaction *before = fault_before(fault->signal);
    return !fault_has_handler(before) && (!fault->sent || fault->signal == SIGABRT || before->sa_handler == SIG_DFL);
}

void fault_abort(void) {
    sys->signal_action(SIGABRT, fault_before(SIGABRT), NULL);
    abort();
}

/* V3. A fault recurs when the handler returns; a signal that was sent, by a process or by the kernel itself, has to be raised again. */
static void fault_default(const struct fault *fault) {
    sys->signal_action(fault->signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    if (fault->sent || overflow_is_lost_signal(fault)) raise(fault->signal); /* comes when this handler returns */
}

static void fault_pass_on(const struct fault *fault, siginfo_t *info) {
    struct sigaction *before = fault_before(fault->signal);
    if (!fault_has_handler(before)) {
        bool ignored = !(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_IGN;
        if (!ignored || !fault->sent) fault_default(fault); /* a fault cannot be ignored */
    } else if (before->sa_flags & SA_SIGINFO) before->sa_sigaction(fault->signal, info, fault->context);
    else before->sa_handler(fault->signal);
}

/* Of the process alone, or of the program. */
static void fault_end(const struct fault *fault, siginfo_t *info) {
    fault_tell_packed(fault);
    if (contain_handle(fault)) return;
    if (!contain_has_told(fault)) fault_tell(fault);
    fault_pass_on(fault, info);
}

static void fault_signal(int number, siginfo_t *info, void *context) {
    int error = errno;
    struct worker *worker = my_worker;
    struct fault fault = {
        .signal = number, .sent = info->si_code <= 0, .worker = worker, .proc = fault_proc(worker), .info = info, .context = context};
    fault.address = fault.sent ? 0 : (uintptr_t)info->si_addr;
    fault_read(&fault, context);
    if (!overflow_lost(&fault) && !overflow_handle(&fault)) fault_end(&fault, info);
    errno = error;
}

static bool fault_is_ours(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == fault_signal;
}

/* Keeps the signal mask of the previous handler, and its flags SA_NODEFER and SA_RESTART. */
static void fault_install(int number) {
    struct sigaction *before = fault_before(number);
    struct sigaction action = {.sa_sigaction = fault_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (sys->signal_action(number, NULL, before) != 0) return;
    action.sa_mask = before->sa_mask;
    action.sa_flags |= before->sa_flags & (SA_NODEFER | SA_RESTART);
    sys->signal_action(number, &action, NULL);
}

static void fault_uninstall(int number) {
    struct sigaction now;
    if (sys->signal_action(number, NULL, &now) == 0 && fault_is_ours(&now)) sys->signal_action(number, fault_before(number), NULL);
}

void fault_begin(void) {
    lock_take(&faults.lock);
    if (faults.runtimes == 0) contain_begin();
    if (faults.runtimes++ == 0)
        for (unsigned i = 0; i < FAULT_NUMBERS; i++)
            fault_install(fault_numbers[i]);
    lock_drop(&faults.lock);
}

void fault_finish(void) {
    lock_take(&faults.lock);
    if (--faults.runtimes == 0)
        for (unsigned i = 0; i < FAULT_NUMBERS; i++)
            fault_uninstall(fault_numbers[i]);
    lock_drop(&faults.lock);
}

/* ---- each thread's stack for signals ------------------------------------------------------------------------------------ */

void fault_thread_begin(struct signal_stack *mine, struct loop *loop) {
    loop->signals = NO_STACK;
    loop->base = (uintptr_t)__builtin_frame_address(0);
    mine->memory = sys->vm_map(SIGNAL_STACK);
    if (!mine->memory) return; /* an overflow will then kill the program, as without weft */
    stack_t stack = {.ss_sp = mine->memory, .ss_size = SIGNAL_STACK};
    if (sys->signal_stack(&stack, &mine->before) == 0) {
        loop->signals = (uintptr_t)mine->memory;
        return;
    }
    sys->vm_unmap(mine->memory, SIGNAL_STACK);
    mine->memory = NULL;
}

void fault_thread_end(struct signal_stack *mine) {
    if (!mine->memory) return;
    stack_t before = mine->before;
    if (before.ss_flags & SS_DISABLE) before = (stack_t){.ss_flags = SS_DISABLE};
    sys->signal_stack(&before, NULL);
    sys->vm_unmap(mine->memory, SIGNAL_STACK);
}
