/* The handler of SIGSEGV and SIGBUS: recognises stack overflows, reports them, ends the process or aborts. */
#include "fiber/overflow.h"

#include "fiber/altstack.h"
#include "fiber/snapshot.h"
#include "fiber/stack_usage.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    OVERFLOW_SPARE = 64 << 10, /* what a process gets to end on */
    OVERFLOW_LOST_TOLD = 100,  /* at most so many reports of signals that came too late to be handled */
    OVERFLOW_REACH = 4096,     /* how far below the stack pointer code reaches by growing: pushes, red zone, probes */
};

/* ---- the machine -------------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static void overflow_read(struct fault *fault, const ucontext_t *context) {
    fault->pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    fault->sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}
/* Makes the context as if `function` had been called with `argument` on that stack. The ABI wants the direction flag clear. */
static void overflow_divert(ucontext_t *context, void (*function)(void *), void *argument, void *top) {
    uintptr_t sp = ((uintptr_t)top & ~(uintptr_t)15) - 8;
    *(uintptr_t *)sp = 0;
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)function;
    context->uc_mcontext.gregs[REG_RDI] = (greg_t)(uintptr_t)argument;
    context->uc_mcontext.gregs[REG_RBP] = 0;
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)0x400;
}
/* Whether the processor has raised this fault, which has no address. The trap number is that of the thread's last fault. 0: there was none;
 * 14: a page fault, which has an address. */
static bool overflow_is_by_processor(const ucontext_t *context) {
    return context->uc_mcontext.gregs[REG_TRAPNO] != 0 && context->uc_mcontext.gregs[REG_TRAPNO] != 14;
}
#elif defined(__aarch64__)
static bool overflow_is_by_processor(const ucontext_t *context) { return (void)context, false; } /* such faults have other codes */
static void overflow_read(struct fault *fault, const ucontext_t *context) {
    fault->pc = (uintptr_t)context->uc_mcontext.pc;
    fault->sp = (uintptr_t)context->uc_mcontext.sp;
}
static void overflow_divert(ucontext_t *context, void (*function)(void *), void *argument, void *top) {
    context->uc_mcontext.sp = (uintptr_t)top & ~(uintptr_t)15;
    context->uc_mcontext.pc = (uintptr_t)function;
    context->uc_mcontext.regs[0] = (uintptr_t)argument;
    context->uc_mcontext.regs[29] = context->uc_mcontext.regs[30] = 0;
}
#endif

/* ---- is it one? --------------------------------------------------------------------------------------------------------- */

static bool overflow_by_growing(const struct fault *fault) { return fault->sp <= fault->address + OVERFLOW_REACH; }

enum overflow_kind overflow_kind(struct worker *worker, const struct fault *fault, struct stack_place *place) {
    if (stacks_find(&worker->runtime->stacks, (void *)fault->address, place) != STACK_IN_GUARD) return OVERFLOW_NONE;
    if (!overflow_by_growing(fault)) return OVERFLOW_NONE; /* a wild pointer */
    struct fiber *fiber = worker->current && worker->current->stackful ? fiber_of(worker->current) : NULL;
    struct stack *stack = fiber ? altstack_stack(fiber) : NULL;
    if (stack == place->stack) return OVERFLOW_HERE;
    /* If the stack pointer is still in the process's stack, the pointer was wild. Else the process has left its stack downwards; or no
     * process is current (between two processes, on the stack of the first), and then only the stack pointer tells. */
    uintptr_t guard = worker->runtime->stacks.guard;
    if (stack && fault->sp >= (uintptr_t)stack->low && fault->sp <= (uintptr_t)stack_top(stack)) return OVERFLOW_NONE;
    if (!stack && fault->sp + guard < (uintptr_t)place->low) return OVERFLOW_NONE;
    return OVERFLOW_BEYOND;
}

/* ---- own code? ---------------------------------------------------------------------------------------------------------- */

/* Where weft is linked into a program, the linker gives the bounds of its code (cmake/library.cmake puts it into a section). */
extern const char __start_weft_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_weft_text[] __attribute__((weak, visibility("hidden")));

static const void *overflow_object(uintptr_t address) {
    Dl_info info;
    return dladdr((const void *)address, &info) ? info.dli_fbase : NULL;
}

/* NULL: pc is in the process's own code (V2). Else the text says where it is. */
static const char *overflow_not_own(uintptr_t pc, uintptr_t entry, char *text, size_t size) {
    const void *program = overflow_object(getauxval(AT_PHDR)), *here = overflow_object(pc);
    const void *weft = overflow_object((uintptr_t)overflow_not_own), *libc = overflow_object((uintptr_t)gnu_get_libc_version());
    if (!program || libc == program || libc == weft) return "the program has its C library in itself, and may be in there";
    if (here == weft && weft != overflow_object(entry) && weft != program) return "it was inside of weft";
    if (here == weft && (weft == program || weft == overflow_object(entry))) {
        uintptr_t start = (uintptr_t)__start_weft_text, stop = (uintptr_t)__stop_weft_text;
        if (!start) return "weft is linked into the program without telling where it is";
        if (pc >= start && pc < stop) return "it was inside of weft";
    }
    if (here && (here == program || here == overflow_object(entry))) return NULL;
    char symbol[96];
    fiber_symbol((void *)pc, symbol, sizeof symbol);
    snprintf(text, size, "it was in other code than its own, at %s", symbol);
    return text;
}

const char *overflow_why_not(struct worker *worker, const struct fault *fault, enum overflow_kind kind, char *text, size_t size) {
    if (kind == OVERFLOW_BEYOND) return "the step was so large that the stacks of others may be damaged";
    struct proc *proc = worker->current;
    struct fiber *fiber = fiber_of(proc);
    if (fiber->holds) return "it holds a mutex";
    if (fiber->held_locks) {
        snprintf(text, size, "it holds %u of weft's locks, the one it took last is %p", fiber->held_locks, fiber->last_lock);
        return text;
    }
    if (proc->extras & PROC_TASKS) return "it is in a fork/join region, whose tasks others may be running";
    return overflow_not_own(fault->pc, (uintptr_t)fiber_start_of(proc)->entry, text, size);
}

/* ---- the report --------------------------------------------------------------------------------------------------------- */

static void overflow_print(const char *text, int length, size_t most) {
    if (length < 0) return;
    size_t left = (size_t)length < most ? (size_t)length : most - 1;
    while (left > 0) {
        ssize_t n = write(STDERR_FILENO, text, left);
        if (n <= 0) return; /* cannot be reported; the end of the process or the abort shows it too */
        text += n;
        left -= (size_t)n;
    }
}

/* The size that the process needs is not known, only that it is more than it has tried to use. The advice is four times the stack size, or
 * twice what it tried to use if that is more: likely enough for a run after which weft_stack_marks tells the size. */
static void overflow_advise(char *advice, size_t size, unsigned class, size_t tried) {
    size_t largest = stack_class_size(STACK_CLASSES - 1), enough = 4 * stack_class_size(class);
    if (enough < 2 * tried) enough = 2 * tried;
    if (enough > largest) enough = largest;
    if (class + 1 == STACK_CLASSES) snprintf(advice, size, "there are no larger ones: does it call itself without end?");
    else
        snprintf(advice, size,
                 "needed are more than %zu, how many is not known: try stack_size %zu when it is spawned, or WEFT_STACK_SIZE for all",
                 tried, stack_class_size(stack_class_of(enough)));
}

static void overflow_report(struct worker *worker, const struct fault *fault, const struct stack_place *place, const char *why_not) {
    char text[1024], entry[128] = "?", at[128], advice[160];
    struct proc *proc = worker->current;
    struct fiber_start *start = proc && proc->stackful ? fiber_start_of(proc) : NULL;
    struct stack *stack = start && fiber_of(proc) ? altstack_stack(fiber_of(proc)) : NULL;
    unsigned class = stack ? stack->class : place->class;
    uintptr_t top = (uintptr_t)(stack ? stack_top(stack) : place->top), low = fault->sp < fault->address ? fault->sp : fault->address;
    if (start) fiber_symbol((void *)(uintptr_t)start->entry, entry, sizeof entry);
    fiber_symbol((void *)fault->pc, at, sizeof at);
    overflow_advise(advice, sizeof advice, class, top > low ? top - low : stack_class_size(class));
    int length =
        snprintf(text, sizeof text, "weft: the stack of process %016lx (%s) has overflowed: entry %s, size %zu, at %s; %s\nweft: %s%s\n",
                 (unsigned long)worker_pid(worker), start && start->name ? start->name : "process", entry, stack_class_size(class), at,
                 advice, why_not ? "the program aborts, because " : "the process ends with WEFT_ESTACK", why_not ? why_not : "");
    overflow_print(text, length, sizeof text);
}

/* ---- the end of a process ----------------------------------------------------------------------------------------------- */

void overflow_prepare(struct worker *worker) {
    if (!worker->spare) worker->spare = stack_take(&worker->local.stacks, stack_class_of(OVERFLOW_SPARE));
}

/* On the spare stack, as the process, outside of the signal handler. */
static void overflow_landed(void *arg) {
    struct fiber *fiber = arg;
    altstack_going(NULL, &fiber->annotate);
    altstack_gone(NULL);
    struct altstack *before = fiber->altstack->outer;
    struct worker *worker = worker_here();
    stack_usage_end(worker->runtime, fiber->proc, before ? before->stack : fiber->stack, true);
    overflow_prepare(worker);
    fiber_quit_here(WEFT_ESTACK); /* without unwinding: the frames are on the stack that has overflowed */
}

/* Takes the worker's spare stack, so that the signal handler need not allocate one. A worker that has only run processes that got their
 * stacks elsewhere may have none yet; then it takes one now. */
static struct stack *overflow_spare(struct worker *worker) {
    overflow_prepare(worker);
    struct stack *spare = worker->spare;
    worker->spare = NULL;
    return spare;
}

/* True: handled; the thread goes on as the interrupted context now says. Does not return when the program aborts. */
static bool overflow_handle(struct worker *worker, uintptr_t address, ucontext_t *context) {
    struct fault fault = {.address = address};
    struct stack_place place;
    struct stack *spare = NULL;
    char text[192];
    overflow_read(&fault, context);
    enum overflow_kind kind = overflow_kind(worker, &fault, &place);
    if (kind == OVERFLOW_NONE) return false;
    const char *why_not = overflow_why_not(worker, &fault, kind, text, sizeof text);
    if (!why_not && !(spare = overflow_spare(worker))) why_not = "there is no stack for its end";
    overflow_report(worker, &fault, &place, why_not);
    if (spare) { /* the process goes on there when the handler returns */
        struct fiber *fiber = fiber_of(worker->current);
        overflow_divert(context, overflow_landed, fiber, altstack_push(fiber, spare));
        return true;
    }
    parts.dump((weft_runtime *)worker->runtime, STDERR_FILENO);
    abort();
}

/* ---- no room for a handler ---------------------------------------------------------------------------------------------- */

/* V4. Whether the kernel has dropped a signal: it then sends SIGSEGV itself, without an address. */
static bool overflow_is_lost_signal(const siginfo_t *info, const ucontext_t *context) {
    return info->si_code == SI_KERNEL && !info->si_addr && !overflow_is_by_processor(context);
}

/* The most that a handler's frame takes; it depends on the processor's registers. */
static size_t overflow_frame(void) {
    size_t least = getauxval(AT_MINSIGSTKSZ);
    return (least ? least : OVERFLOW_REACH) + 256; /* the red zone, and alignment */
}

static void overflow_report_lost(struct worker *worker, size_t left) {
    static atom_u32 told; /* rlx: a count */
    char text[512];
    if (atom_add_rlx(&told, 1) >= OVERFLOW_LOST_TOLD) return;
    int length =
        snprintf(text, sizeof text,
                 "weft: a signal is lost: process %016lx had %zu bytes of stack left, and the signal's handler is installed without "
                 "SA_ONSTACK (add it: weft's threads have a stack for handlers; or give the process a larger stack)\n",
                 (unsigned long)(worker ? worker_pid(worker) : WEFT_NOBODY), left);
    overflow_print(text, length, sizeof text);
}

/* True: a signal was lost on the stack of a process (V4). The process is unharmed, and goes on. */
static bool overflow_lost(struct worker *worker, const siginfo_t *info, const ucontext_t *context) {
    struct fault fault;
    struct stack *stack = altstack_here(worker);
    if (!stack || !overflow_is_lost_signal(info, context)) return false;
    overflow_read(&fault, context);
    size_t left = fault.sp - (uintptr_t)stack->low;
    if (left > overflow_frame()) return false; /* also if the stack pointer is below the stack */
    overflow_report_lost(worker, left);
    return true;
}

/* ---- signals ------------------------------------------------------------------------------------------------------------ */

static const int overflow_numbers[] = {SIGSEGV, SIGBUS};
enum { OVERFLOW_NUMBERS = sizeof overflow_numbers / sizeof overflow_numbers[0] };

static struct {
    struct lock lock;
    unsigned runtimes;
    struct sigaction before[OVERFLOW_NUMBERS];
} overflow;

static struct sigaction *overflow_before(int number) { return &overflow.before[number == overflow_numbers[1]]; }

/* V3. A fault recurs when the handler returns; a signal that was sent, by a process or by the kernel itself, has to be raised again. */
static void overflow_default(int number, const siginfo_t *info, const ucontext_t *context) {
    struct sigaction fallback = {.sa_handler = SIG_DFL};
    sys->signal_action(number, &fallback, NULL);
    if (info->si_code <= 0 || overflow_is_lost_signal(info, context)) raise(number); /* comes when this handler returns */
}

static void overflow_pass_on(int number, siginfo_t *info, void *context) {
    struct sigaction *before = overflow_before(number);
    if (before->sa_flags & SA_SIGINFO ? !before->sa_sigaction : before->sa_handler == SIG_DFL) {
        overflow_default(number, info, context);
        return;
    }
    if (!(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_IGN) {
        if (info->si_code > 0) overflow_default(number, info, context); /* a fault cannot be ignored */
        return;
    }
    if (before->sa_flags & SA_SIGINFO) before->sa_sigaction(number, info, context);
    else before->sa_handler(number);
}

static void overflow_signal(int number, siginfo_t *info, void *context) {
    int error = errno;
    struct worker *worker = my_worker;
    bool fault = info->si_code > 0 && worker; /* sent by the kernel, on a worker's thread */
    if (!overflow_lost(worker, info, context) && (!fault || !overflow_handle(worker, (uintptr_t)info->si_addr, context)))
        overflow_pass_on(number, info, context);
    errno = error;
}

static bool overflow_is_ours(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == overflow_signal;
}

/* Keeps the signal mask of the previous handler, and its flags SA_NODEFER and SA_RESTART. */
static void overflow_install(int number) {
    struct sigaction *before = overflow_before(number);
    struct sigaction action = {.sa_sigaction = overflow_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (sys->signal_action(number, NULL, before) != 0) return;
    action.sa_mask = before->sa_mask;
    action.sa_flags |= before->sa_flags & (SA_NODEFER | SA_RESTART);
    sys->signal_action(number, &action, NULL);
}

static void overflow_uninstall(int number) {
    struct sigaction now;
    if (sys->signal_action(number, NULL, &now) == 0 && overflow_is_ours(&now)) sys->signal_action(number, overflow_before(number), NULL);
}

void overflow_begin(void) {
    lock_take(&overflow.lock);
    if (overflow.runtimes++ == 0)
        for (unsigned i = 0; i < OVERFLOW_NUMBERS; i++)
            overflow_install(overflow_numbers[i]);
    lock_drop(&overflow.lock);
}

void overflow_finish(void) {
    lock_take(&overflow.lock);
    if (--overflow.runtimes == 0)
        for (unsigned i = 0; i < OVERFLOW_NUMBERS; i++)
            overflow_uninstall(overflow_numbers[i]);
    lock_drop(&overflow.lock);
}

/* ---- each thread's stack for signals ------------------------------------------------------------------------------------ */

void overflow_thread_begin(struct signal_stack *mine, struct loop *loop) {
    loop->signals = NO_STACK;
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

void overflow_thread_end(struct signal_stack *mine) {
    if (!mine->memory) return;
    stack_t before = mine->before;
    if (before.ss_flags & SS_DISABLE) before = (stack_t){.ss_flags = SS_DISABLE};
    sys->signal_stack(&before, NULL);
    sys->vm_unmap(mine->memory, SIGNAL_STACK);
}
