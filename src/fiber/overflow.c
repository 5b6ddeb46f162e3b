/* Recognises stack overflows, reports them, ends the process or aborts: see fiber/overflow.h. */
#include "fiber/overflow.h"

#include "fiber/altstack.h"
#include "fiber/own_code.h"
#include "fiber/snapshot.h"
#include "fiber/stack_usage.h"

#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

enum {
    OVERFLOW_LOST_TOLD = 100, /* at most so many reports of signals that came too late to be handled */
    OVERFLOW_REACH = 4096,    /* how far below the stack pointer code reaches by growing: pushes, red zone, probes */
};

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

/* ---- what becomes of the process? --------------------------------------------------------------------------------------- */

/* NULL: pc is in the process's own code. Else the text says where it is. */
static const char *overflow_not_own(uintptr_t pc, uintptr_t entry, char *text, size_t size) {
    struct own_code own;
    own_code_find(&own, entry);
    if (own.unclear) return own.unclear;
    enum code_owner owner = own_code_at(&own, pc);
    if (owner == CODE_OWN) return NULL;
    if (owner == CODE_WEFT) return "it was inside of weft";
    char symbol[96];
    fiber_symbol((void *)pc, symbol, sizeof symbol);
    snprintf(text, size, "it was in other code than its own, at %s", symbol);
    return text;
}

const char *overflow_why_not(struct worker *worker, const struct fault *fault, enum overflow_kind kind, char *text, size_t size) {
    if (kind == OVERFLOW_BEYOND) return "the step was so large that the stacks of others may be damaged";
    struct proc *proc = worker->current;
    const char *held = fault_held(proc, text, size);
    return held ? held : overflow_not_own(fault->pc, (uintptr_t)fiber_start_of(proc)->entry, text, size);
}

/* ---- the report --------------------------------------------------------------------------------------------------------- */

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
                 (unsigned long)worker_pid(worker), start ? fiber_name_text(start) : "process", entry, stack_class_size(class), at, advice,
                 why_not ? "the program aborts, because " : "the process ends with WEFT_ESTACK", why_not ? why_not : "");
    fault_print(text, length, sizeof text);
}

/* ---- the end of a process ----------------------------------------------------------------------------------------------- */

/* On the spare stack, as the process, outside of the signal handler. */
static void overflow_landed(void *arg) {
    struct fiber *fiber = arg;
    altstack_going(NULL, &fiber->annotate);
    altstack_gone(NULL);
    struct altstack *before = fiber->altstack->outer;
    struct worker *worker = worker_here();
    stack_usage_end(worker->runtime, fiber->proc, before ? before->stack : fiber->stack, true);
    fault_prepare(worker);
    fiber_quit_here(WEFT_ESTACK); /* without unwinding: the frames are on the stack that has overflowed */
}

bool overflow_handle(const struct fault *fault) {
    struct worker *worker = fault->worker;
    struct stack_place place;
    struct stack *spare = NULL;
    char text[192];
    if (!worker || fault->sent || (fault->signal != SIGSEGV && fault->signal != SIGBUS)) return false;
    enum overflow_kind kind = overflow_kind(worker, fault, &place);
    if (kind == OVERFLOW_NONE) return false;
    const char *why_not = overflow_why_not(worker, fault, kind, text, sizeof text);
    if (!why_not && !(spare = fault_spare(worker))) why_not = "there is no stack for its end";
    overflow_report(worker, fault, &place, why_not);
    if (spare) { /* the process goes on there when the handler returns */
        struct fiber *fiber = fiber_of(worker->current);
        struct altstack *altstack = altstack_push(fiber, spare);
        altstack->is_last = true;
        fault_divert(fault, overflow_landed, fiber, altstack);
        return true;
    }
    parts.dump((weft_runtime *)worker->runtime, STDERR_FILENO);
    fault_abort();
}

/* ---- no room for a handler ---------------------------------------------------------------------------------------------- */

/* V4. Whether the kernel has dropped a signal: it then sends SIGSEGV itself, without an address. */
bool overflow_is_lost_signal(const struct fault *fault) {
    return fault->info->si_code == SI_KERNEL && !fault->info->si_addr && !fault_is_by_processor(fault->context);
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
    fault_print(text, length, sizeof text);
}

bool overflow_lost(const struct fault *fault) {
    struct stack *stack = altstack_here(fault->worker);
    if (!stack || !overflow_is_lost_signal(fault)) return false;
    size_t left = fault->sp - (uintptr_t)stack->low;
    if (left > overflow_frame()) return false; /* also if the stack pointer is below the stack */
    overflow_report_lost(fault->worker, left);
    return true;
}
