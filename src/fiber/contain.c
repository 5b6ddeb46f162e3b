/* Ends the process that has caused a fault, where that is safe: see fiber/contain.h. */
#include "fiber/contain.h"

#include "ctx/unwind.h"
#include "fiber/altstack.h"
#include "fiber/own_code.h"
#include "fiber/snapshot.h"
#include "fiber/upcall.h"
#include "life/ties.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum {
    CONTAIN_FRAMES = 1 << 16, /* the most that are followed; and how many are shown */
    CONTAIN_SHOWN = 24,
    CONTAIN_REACH = 64 << 20, /* no thread has a larger stack */
    CONTAIN_ABOVE = 512,      /* above the frames of a worker's thread are those that have begun it */
};

void ctx_start(void); /* start_x86_64.S: the outermost function of every process */

/* The frames of the process, from the fault on. */
struct trace {
    struct own_code own;
    struct unwind unwind;
    bool of_step;      /* a step process: the walk ends in step_run */
    bool above_upcall; /* the frame is weft's, above an upcall, or of a call that refuses its caller */
    unsigned count;
    uintptr_t shown[CONTAIN_SHOWN];
    char text[192]; /* for what is said */
};

/* ---- following the frames (N3) ------------------------------------------------------------------------------------------- */

static uintptr_t trace_place(const struct trace *trace) { return (uintptr_t)trace->unwind.pc - trace->unwind.called; }

static void trace_note(struct trace *trace) {
    if (trace->count < CONTAIN_SHOWN) trace->shown[trace->count] = trace_place(trace);
    trace->count++;
}

static const char *trace_say(struct trace *trace, const char *what) {
    char symbol[128];
    fiber_symbol((const void *)trace_place(trace), symbol, sizeof symbol); // NOLINT(performance-no-int-to-ptr)
    snprintf(trace->text, sizeof trace->text, "%s %s", what, symbol);
    return trace->text;
}

static const char trace_is_lost[] = "its frames cannot be followed, and its stack may be damaged";

/* One frame: NULL, it does not stand in the way; else what does. */
static const char *trace_judge(struct trace *trace) {
    enum code_owner owner = own_code_at(&trace->own, trace_place(trace));
    if (trace->count > 1 && !fiber_object((const void *)trace_place(trace))) return trace_is_lost; // NOLINT(performance-no-int-to-ptr)
    if (owner == CODE_OTHER)
        return trace_say(trace,
                         trace->count == 1 ? "it was in other code than its own, at" : "it was called by other code than its own, at");
    if (owner == CODE_WEFT && !trace->above_upcall && trace->unwind.pc != (uintptr_t)upcall_back) return "it was inside of weft";
    trace->above_upcall = owner == CODE_WEFT;
    return NULL;
}

/* Whether this is the outermost frame: the first function of a stack; on a spare stack, where the process ends after a fault, nothing. */
static bool trace_is_outermost(const struct trace *trace, uint64_t function) {
    return trace->above_upcall && (function == (uint64_t)(uintptr_t)ctx_start || trace->unwind.pc == 0);
}

/* Whether the frame, and all above it, are those of a worker's thread: then it has called the step. Anything else that weft calls while a step
 * runs (the init of a process that it spawns) has the step's own frames above it. */
static bool trace_is_worker(const struct trace *trace) {
    struct trace above = *trace;
    enum code_owner owner = own_code_at(&above.own, trace_place(&above)), first = owner;
    while (owner == CODE_WEFT && unwind_step(&above.unwind))
        owner = own_code_at(&above.own, trace_place(&above));
    return first == CODE_WEFT && owner == CODE_OTHER; /* the C library's, which has begun the thread */
}

/* NULL: nothing but own code and weft's calls of it. */
static const char *trace_walk(struct trace *trace) {
    const char *why_not = NULL;
    while (trace->count < CONTAIN_FRAMES) {
        uint64_t function = unwind_function(&trace->unwind);
        if (trace_is_outermost(trace, function)) return NULL;
        trace_note(trace);
        if (trace->of_step && trace_is_worker(trace)) return NULL;
        if ((why_not = trace_judge(trace)) != NULL) return why_not;
        if (!unwind_step(&trace->unwind)) return trace_is_lost;
    }
    return "it has too many frames to look at";
}

/* ---- where to begin (N4) -------------------------------------------------------------------------------------------------- */

/* Two functions of the C library; looked up in time, because that may take locks. */
static struct { uint64_t abort, assert; } contain_libc;

void contain_begin(void) {
    contain_libc.abort = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "abort");
    contain_libc.assert = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "__assert_fail");
}

/* If this is assert, or a function that it has called: goes on to its caller. */
static void trace_skip_assert(struct trace *trace) {
    struct trace further = *trace;
    for (unsigned i = 0; i < 2; i++) {
        bool found = unwind_function(&further.unwind) == contain_libc.assert;
        trace_note(&further);
        if (!unwind_step(&further.unwind)) return;
        if (!found) continue;
        *trace = further;
        return;
    }
}

/* Goes on to the caller of abort, or of assert. False: abort was not called, or cannot be found. */
static bool trace_skip_abort(struct trace *trace) {
    for (unsigned i = 0; i < 8; i++) {
        bool found = unwind_function(&trace->unwind) == contain_libc.abort;
        trace_note(trace);
        if (!unwind_step(&trace->unwind)) return false;
        if (!found) continue;
        trace_skip_assert(trace);
        return true;
    }
    return false;
}

static const char *trace_begin(struct trace *trace, const struct fault *fault, uintptr_t high) {
    own_code_find(&trace->own, fault_entry(fault));
    unwind_begin(&trace->unwind, fault->context, high);
    if (trace->own.unclear) return trace->own.unclear;
    if (fault->signal == SIGABRT && !trace_skip_abort(trace)) return "the signal was sent, and not by abort";
    trace->above_upcall = fault->signal == SIGABRT && assert_refuses; /* N5: frames of weft may come first */
    if (fault->signal == SIGABRT) return NULL;
    if (fault->address != fault->pc || unwind_function(&trace->unwind) != 0) return NULL;
    trace_note(trace);
    return unwind_call(&trace->unwind) ? NULL : trace_is_lost;
}

/* ---- the verdict -------------------------------------------------------------------------------------------------------------- */

/* N1, N2, N3 of a stackful process. */
static const char *contain_stackful(const struct fault *fault, struct trace *trace) {
    struct fiber *fiber = fiber_of(fault->proc);
    if (fiber->altstack && !fiber->altstack->is_last) return "it runs on a bigger stack (weft_call_big)";
    struct stack *stack = altstack_stack(fiber);
    uintptr_t high = fiber->altstack ? (uintptr_t)fiber->altstack : (uintptr_t)fiber;
    if (fault->sp < (uintptr_t)stack->low || fault->sp > high) return "it was on another stack than its own";
    const char *why_not = fault_held(fault->proc, trace->text, sizeof trace->text);
    if (why_not) return why_not;
    if (fiber->nopreempt) return "it is in a passage (weft_nopreempt_begin)";
    if ((why_not = trace_begin(trace, fault, high)) != NULL) return why_not;
    return trace_walk(trace);
}

/* The same of a step process. */
static const char *contain_step(const struct fault *fault, struct trace *trace) {
    struct worker *worker = fault->worker;
    const char *why_not = fault_held_by_step(fault, trace->text, sizeof trace->text);
    if (why_not) return why_not;
    if (fault->sp > worker->loop->base || worker->loop->base - fault->sp > CONTAIN_REACH)
        return "it was on another stack than its worker's";
    trace->of_step = true;
    if ((why_not = trace_begin(trace, fault, worker->loop->base + CONTAIN_ABOVE)) != NULL) return why_not;
    return trace_walk(trace);
}

static const char *contain_why_not(const struct fault *fault, struct trace *trace) {
    struct proc *proc = fault->proc;
    if (!fault->worker) return "it is in a blocking call";
    if (!proc) return "no process was running";
    if (fault->worker->local.closed_size == ALL_STACKS) return "it was inside of weft";
    if (!proc->stackful) return contain_step(fault, trace);
    return fiber_of(proc) ? contain_stackful(fault, trace) : "it was inside of weft";
}

/* ---- the report ----------------------------------------------------------------------------------------------------------------- */

enum { CONTAIN_TEXT = 8192 };
struct contain_text {
    size_t used;
    char text[CONTAIN_TEXT];
};

static __attribute__((format(printf, 2, 3))) void contain_say(struct contain_text *report, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(report->text + report->used, CONTAIN_TEXT - report->used, format, args);
    va_end(args);
    if (length > 0) report->used += (size_t)length < CONTAIN_TEXT - report->used ? (size_t)length : CONTAIN_TEXT - report->used - 1;
}

static void contain_say_where(struct contain_text *report, uintptr_t address) {
    char symbol[160];
    fiber_symbol((const void *)address, symbol, sizeof symbol); // NOLINT(performance-no-int-to-ptr)
    contain_say(report, "%s\n", symbol);
}

/* In one piece, so that the reports of two threads do not mix. */
static void contain_report(const struct fault *fault, const struct trace *trace, const char *why_not) {
    struct contain_text report = {.used = 0};
    contain_say(&report, "weft: process %016lx (%s) has a fault: %s", (unsigned long)fault_pid(fault), fault_name(fault),
                fault_text(fault->signal));
    if (!fault->sent) contain_say(&report, " at %#lx", (unsigned long)fault->address);
    contain_say(&report, "; entry ");
    contain_say_where(&report, fault_entry(fault));
    unsigned shown = trace->count < CONTAIN_SHOWN ? trace->count : CONTAIN_SHOWN;
    for (unsigned i = 0; i < shown; i++) {
        contain_say(&report, "  #%u ", i);
        contain_say_where(&report, trace->shown[i]);
    }
    if (shown == 0) contain_say(&report, "  #0 "), contain_say_where(&report, fault->pc);
    contain_say(&report, why_not ? "weft: the program ends, because %s\n" : "weft: the process ends with WEFT_EFAULTED%s\n",
                why_not ? why_not : "");
    fault_print(report.text, (int)report.used, sizeof report.text);
}

/* ---- the end of the process ------------------------------------------------------------------------------------------------------ */

static void contain_leave_reason(struct worker *worker, int signal, const void *address) {
    ties_leave_detail(worker->runtime, worker->current, reason_detail_new(WEFT_EFAULTED, signal, address, NULL, 0));
}

/* On the spare stack, just below its struct altstack. */
struct contained {
    struct fiber *fiber;
    int signal;
    const void *address;
};

/* On the spare stack, as the process, outside of the handler. */
static void contain_landed(void *arg) {
    struct contained *contained = arg;
    struct worker *worker = worker_here();
    contained->fiber->floor = NULL; /* only frames of weft are left */
    fault_prepare(worker);
    contain_leave_reason(worker, contained->signal, contained->address);
    fiber_quit_here(
        WEFT_EFAULTED); /* without unwinding: the frames are where they were interrupted, which tables for exceptions do not know */
}

/* NULL: it will end. */
static const char *contain_end_stackful(const struct fault *fault) {
    struct fiber *fiber = fiber_of(fault->proc);
    struct stack *spare = fault_spare(fault->worker);
    if (!spare) return "there is no stack for its end";
    struct altstack *altstack = altstack_push(fiber, spare);
    struct contained *contained = (struct contained *)altstack - 1;
    altstack->is_last = true;
    *contained = (struct contained){fiber, fault->signal, (const void *)fault->address}; // NOLINT(performance-no-int-to-ptr)
    fault_divert(fault, contain_landed, contained, contained);
    return NULL;
}

static const char *contain_end_step(const struct fault *fault, const struct trace *trace) {
    if (!unwind_resume(&trace->unwind, fault->context, (uint64_t)(int64_t)WEFT_EFAULTED)) return trace_is_lost;
    contain_leave_reason(fault->worker, fault->signal, (const void *)fault->address); // NOLINT(performance-no-int-to-ptr)
    return NULL;
}

bool contain_has_told(const struct fault *fault) {
    struct runtime *runtime = fault_runtime(fault);
    return runtime && runtime->contains && (!fault->sent || fault->signal == SIGABRT);
}

bool contain_handle(const struct fault *fault) {
    if (!contain_has_told(fault)) return false;
    struct trace trace = {.count = 0};
    const char *why_not = contain_why_not(fault, &trace);
    assert_refuses = false;
    if (!why_not) why_not = fault->proc->stackful ? contain_end_stackful(fault) : contain_end_step(fault, &trace);
    contain_report(fault, &trace, why_not);
    if (why_not) parts.dump((weft_runtime *)fault_runtime(fault), STDERR_FILENO);
    return !why_not;
}
